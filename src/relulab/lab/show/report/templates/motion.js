// The still is the picture's first source: where its media hold, nothing moves. The button says what it will do.
for (const button of document.querySelectorAll("button[data-motion]")) {
  const source = button.closest("figure").querySelector("source");
  let moves = !matchMedia(source.media).matches;
  const say = () => {
    button.textContent = moves ? "pause" : "play";
    button.setAttribute("aria-label", button.getAttribute("aria-label").replace(/^\w+/, button.textContent));
  };
  button.addEventListener("click", () => {
    moves = !moves;
    source.media = moves ? "print" : "all";
    say();
  });
  say();
  button.hidden = false;
}

// Copies a command; where the browser does not let us, the command is selected for the reader to copy.
for (const button of document.querySelectorAll("button[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const text = document.getElementById(button.dataset.copy);
    let word = "copied";
    try {
      await navigator.clipboard.writeText(text.textContent);
    } catch {
      getSelection().selectAllChildren(text);
      word = "selected";
    }
    button.nextElementSibling.textContent = word;
  });
}

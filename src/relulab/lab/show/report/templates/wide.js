// Phones hide scroll bars: say where a figure is wider than the screen.
const say_where_to_scroll = () => {
  for (const hint of document.querySelectorAll(".hint")) {
    const box = hint.closest("figure").querySelector(".scroll");
    hint.hidden = box.scrollWidth <= box.clientWidth + 1;
  }
};
addEventListener("load", say_where_to_scroll);
addEventListener("resize", say_where_to_scroll);

// The search in the header: all words of the query must occur in a title, an id or a sentence.
{
  const form = document.getElementById("search"), query = document.getElementById("query");
  const hits = document.getElementById("hits"), most = 12;
  const fold = text => text.toLowerCase().normalize("NFKD").replace(/[\u0300-\u036f]/g, "");
  const entries = (typeof ENTRIES === "undefined" ? [] : ENTRIES).map(e => [...e, fold(e.join(" "))]);
  form.hidden = !entries.length;
  query.addEventListener("input", () => {
    const words = fold(query.value).split(/\s+/).filter(Boolean);
    const found = words.length ? entries.filter(e => words.every(word => e[4].includes(word))) : [];
    hits.replaceChildren(...found.slice(0, most).map(([title, page, id]) => {
      const item = document.createElement("li"), link = document.createElement("a");
      link.href = form.dataset.root + page.split("#").map(encodeURIComponent).join("#").replaceAll("%2F", "/");
      link.textContent = `${id}: ${title}`;
      item.append(link);
      return item;
    }));
    if (words.length && found.length > most) hits.append(Object.assign(document.createElement("li"), {textContent: `and ${found.length - most} more`}));
    if (words.length && !found.length) hits.append(Object.assign(document.createElement("li"), {textContent: "nothing found"}));
    hits.hidden = !words.length;
  });
  form.addEventListener("submit", event => { event.preventDefault(); hits.querySelector("a")?.click(); });
  addEventListener("keydown", event => { if (event.key === "Escape") hits.hidden = true; });
}

// The filter of the claims. Its state is part of the address (#paper=SS&verdict=HOLDS), so that it can be shared and is
// kept when one comes back from a study's page.
const paper = document.getElementById("paper"), verdict = document.getElementById("verdict");

function show() {
  let claims = 0;
  for (const section of document.querySelectorAll("section[data-paper]")) {
    const here = !paper.value || section.dataset.paper === paper.value;
    for (const table of section.querySelectorAll("[data-rows]")) {
      let left = 0;
      for (const row of table.querySelectorAll("tbody tr")) {
        row.hidden = !(here && (!verdict.value || row.dataset.verdict === verdict.value));
        left += !row.hidden;
      }
      table.hidden = !left;
      claims += left;
    }
    section.hidden = !section.querySelector("tbody tr:not([hidden])");
  }
  document.getElementById("shown").textContent =
    claims ? `${claims} claim${claims === 1 ? "" : "s"}` : "no claim matches";
}

function choose(wanted) {
  for (const select of [paper, verdict]) {
    select.value = wanted.get(select.id) ?? "";
    if (select.selectedIndex < 0) select.value = "";
  }
  show();
}

function keep() {
  const chosen = new URLSearchParams([paper, verdict].filter(s => s.value).map(s => [s.id, s.value]));
  history.replaceState(null, "", location.href.split("#")[0] + (chosen.size ? `#${chosen}` : ""));
}

function arrive() {
  const hash = decodeURIComponent(location.hash.slice(1));
  if (!hash || hash.includes("=")) return choose(new URLSearchParams(location.hash.slice(1)));
  const target = document.getElementById(hash);
  if (target?.closest("[hidden]")) {
    choose(new URLSearchParams());
    target.scrollIntoView();
  } else if (paper.value || verdict.value) keep();
}

for (const select of [paper, verdict]) select.addEventListener("change", () => { show(); keep(); });
addEventListener("hashchange", arrive);
choose(new URLSearchParams(location.hash.slice(1)));
document.getElementById("filter").hidden = false;

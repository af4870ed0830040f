// The search of pages that are files: what can be found lies in files beside this one, which are loaded as scripts.
"use strict";

const MOST = 100; // hits shown
const field = document.getElementById("words");
const list = document.getElementById("hits");
const said = document.getElementById("said");
const rows = [];
const times = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const plain = (text) => text.normalize("NFKC").toLocaleLowerCase();
let reads = Number(field.dataset.shards);

// Each file of the search calls this with what it holds.
function shard(more) {
  for (const row of more) rows.push([...row, plain(`${row[2]}\n${row[3]}`)]);
}

function piece(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

// The first line of a text that says one of the words, else its first.
function excerpt(text, words) {
  const lines = text.split("\n");
  const line = lines.find((one) => words.some((word) => plain(one).includes(word))) ?? lines[0];
  return line.length > 300 ? `${line.slice(0, 300)}…` : line;
}

function search() {
  const words = plain(field.value).split(/\s+/u).filter(Boolean);
  const hits = words.length ? rows.filter((row) => words.every((word) => row[4].includes(word))) : [];
  hits.sort((one, other) => other[0].startsWith("memory-") - one[0].startsWith("memory-"));
  list.replaceChildren();
  for (const [where, when, title, text] of hits.slice(0, MOST)) {
    const link = piece("a", title);
    link.href = where;
    link.dir = "auto";
    const line = piece("p", excerpt(text, words));
    line.dir = "auto";
    const item = document.createElement("li");
    item.append(link, piece("span", when ? ` ${times.format(new Date(when))}` : ""), line);
    list.append(item);
  }
  const shown = hits.length > MOST ? `${hits.length.toLocaleString()} found; the first ${MOST} are shown.` : `${hits.length} found.`;
  said.textContent = reads ? "Still reading…" : words.length ? shown : "";
}

document.getElementById("search").hidden = false;
for (let number = 1; number <= Number(field.dataset.shards); number++) {
  const script = document.createElement("script");
  script.src = `search-${number}.js`;
  script.async = false; // in their order: the newest changes first
  script.onload = script.onerror = () => {
    reads--;
    search();
  };
  document.head.append(script);
}
let waits = 0;
field.addEventListener("input", () => {
  clearTimeout(waits);
  waits = setTimeout(search, 150);
});

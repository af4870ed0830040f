// Keys, lines that open in place, dates in the browser's language, and word of what changed. Each page works without it.
"use strict";

const times = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const days = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", timeZone: "UTC" });
const dates = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeZone: "UTC" });
const numbers = new Intl.NumberFormat();

function localise(within) {
  for (const one of within.querySelectorAll("time[datetime]")) one.textContent = times.format(new Date(one.dateTime));
  for (const one of within.querySelectorAll("[data-day]"))
    one.textContent = ("long" in one.dataset ? dates : days).format(new Date(one.dataset.day));
  for (const one of within.querySelectorAll("data[value]")) one.textContent = numbers.format(Number(one.value));
}

// A line opens in place: the part of its own page that tells why.
async function open(link) {
  const row = link.closest("li, td");
  const there = row.querySelector(":scope > .opened");
  if (there) {
    there.remove();
    return;
  }
  const answer = await fetch(link.href, { credentials: "same-origin" });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const part = page.getElementById("why");
  if (!part) {
    location.assign(link.href);
    return;
  }
  for (const one of part.querySelectorAll("[id]")) one.removeAttribute("id");
  part.removeAttribute("id");
  for (const one of part.querySelectorAll("[aria-labelledby]")) one.removeAttribute("aria-labelledby");
  const opened = document.createElement("div");
  opened.className = "opened";
  opened.append(document.importNode(part, true));
  localise(opened);
  row.append(opened);
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-open]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  open(link).catch(() => location.assign(link.href));
});

function step(by) {
  const links = [...document.querySelectorAll("main a.why")];
  if (links.length) {
    const next = links.indexOf(document.activeElement) + by;
    links[Math.max(0, Math.min(next, links.length - 1))].focus();
  }
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
  const named = /^[a-z]$/.test(event.key) && document.querySelector(`[data-key="${event.key}"]`);
  if (named) {
    event.preventDefault();
    if (named.matches("textarea")) named.focus();
    else named.click();
  } else if (event.key === "j" || event.key === "k") {
    step(event.key === "j" ? 1 : -1);
  } else if (event.key === "?") {
    const keys = document.getElementById("keys");
    keys?.scrollIntoView();
    keys?.focus();
  }
});

// Word of what changed meanwhile; nothing is loaded over what somebody is reading or typing.
const shown = document.body.dataset.pulse;
const told = document.getElementById("changed");
async function look() {
  if (document.hidden || !told.hidden) return;
  const answer = await fetch("/pulse", { credentials: "same-origin" });
  if (answer.ok && (await answer.text()) !== shown) told.hidden = false;
}
if (shown && told) setInterval(() => look().catch(() => {}), 4000);

localise(document);

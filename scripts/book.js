// SPDX-License-Identifier: GPL-2.0-only
// Folds, filters and searches the book's pages. Without it they can be read as well.
"use strict";
let bookIndex = null; // set by search.js: [address, title, text] of each section

function make(name, properties, parent) {
  const element = Object.assign(document.createElement(name), properties);
  parent.append(element);
  return element;
}

function wordsOf(text) {
  return text.toLowerCase().split(/\s+/).filter(Boolean);
}

// The list of chapters is open beside the page, and folded above it on a narrow screen.
function foldChapters() {
  const chapters = document.querySelector(".chapters");
  const narrow = matchMedia("(max-width: 62.49rem)");
  const fold = () => { chapters.open = !narrow.matches; };
  fold();
  narrow.addEventListener("change", fold);
  const shown = chapters.querySelector("[aria-current]");
  if (shown) chapters.scrollTop = shown.offsetTop - chapters.offsetTop - chapters.clientHeight / 2;
}

// Points of a section: its title counts more than its text. 0 if a word is missing.
function points([, title, text], words) {
  const [head, body] = [title.toLowerCase(), text.toLowerCase()];
  let sum = body.includes(words.join(" ")) ? 3 : 0;
  for (const word of words) {
    const hits = Math.min(body.split(word).length - 1, 5) + (head.includes(word) ? 20 : 0);
    if (hits === 0) return 0;
    sum += hits;
  }
  return sum;
}

function showResults(results, query) {
  const words = wordsOf(query);
  results.replaceChildren();
  results.hidden = words.length === 0;
  if (results.hidden || !bookIndex) return;
  const found = bookIndex.map((section) => [points(section, words), section]).filter(([sum]) => sum > 0);
  found.sort((a, b) => b[0] - a[0]);
  for (const [, [address, title, text]] of found.slice(0, 20)) {
    const link = make("a", { href: address }, results);
    make("b", { textContent: title }, link);
    const places = [words.join(" "), words[0]].map((part) => text.toLowerCase().indexOf(part));
    const at = Math.max((places.find((place) => place >= 0) ?? 0) - 60, 0);
    const excerpt = text.slice(at, at + 180).replace(/\S*$/, "…");
    link.append(at > 0 ? excerpt.replace(/^\S*/, "…") : excerpt);
  }
  if (found.length === 0) results.append("Nothing found.");
}

function addSearch() {
  const form = document.createElement("form");
  document.querySelector("nav").prepend(form);
  const input = make("input", { type: "search", placeholder: "Search the book ( / )" }, form);
  input.setAttribute("aria-label", "Search the book");
  const results = make("div", { className: "results", hidden: true }, form);
  const search = () => showResults(results, input.value);
  const load = () => make("script", { src: "search.js", onload: search }, document.head);
  input.addEventListener("focus", load, { once: true });
  input.addEventListener("input", search);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    results.querySelector("a")?.click();
  });
  // A result on the same page leaves the page, and so the list, where they are.
  results.addEventListener("click", () => { results.hidden = true; });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && event.target.tagName !== "INPUT") {
      event.preventDefault();
      input.focus();
    } else if (event.key === "Escape") {
      results.hidden = true;
    }
  });
}

// A field above folded sections: it hides those that lack one of its words, and opens the rest if they are few.
function addFilter() {
  const sections = [...document.querySelectorAll(".fold")];
  if (sections.length === 0) return;
  const input = document.createElement("input");
  Object.assign(input, { type: "search", className: "filter", placeholder: `Filter ${sections.length} sections` });
  sections[0].before(input);
  input.addEventListener("input", () => {
    const words = wordsOf(input.value);
    const has = (section) => words.every((word) => section.textContent.toLowerCase().includes(word));
    const kept = sections.filter(has);
    for (const section of sections) section.hidden = !kept.includes(section);
    for (const section of sections) section.open = words.length > 0 && kept.length <= 3 && !section.hidden;
  });
}

function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const section = target?.closest(".fold");
  if (section) {
    section.open = true;
    section.scrollIntoView();
  }
}

foldChapters();
addSearch();
document.addEventListener("DOMContentLoaded", () => {
  addFilter();
  openTarget();
  addEventListener("hashchange", openTarget);
});

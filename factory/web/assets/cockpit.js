"use strict";
// The keys of the cockpit, and comments in place. Without this file the page
// works by its links and forms.
(() => {
  const root = document.querySelector("main");
  const files = () => [...root.querySelectorAll("article.file")];
  const rows = (file) => [...file.querySelectorAll("tr[data-row]")];
  let at = -1; // file
  let line = null; // row
  const body = (file) => file.querySelector("[data-body]");
  const show = (file) => {
    const link = file.querySelector("a.load");
    if (link) link.click();
  };
  const toFile = (n) => {
    const all = files();
    if (all.length === 0) return;
    at = Math.max(0, Math.min(n, all.length - 1));
    all.forEach((f, i) => f.classList.toggle("here", i === at));
    show(all[at]);
    toLine(null);
    all[at].focus({ preventScroll: true });
    all[at].scrollIntoView({ block: "start" });
  };
  const toLine = (row) => {
    if (line) line.classList.remove("here");
    line = row;
    if (!row) return;
    row.classList.add("here");
    row.scrollIntoView({ block: "center" });
  };
  const step = (by) => {
    if (at < 0) toFile(0);
    const all = rows(files()[at] || root);
    const now = all.indexOf(line);
    const next = now < 0 ? 0 : now + by;
    if (all[next]) toLine(all[next]);
  };
  const hunk = (by) => {
    if (at < 0) toFile(0);
    const file = files()[at];
    if (!file) return;
    const hunks = [...file.querySelectorAll("[data-hunk]")];
    const now = line ? hunks.indexOf(line.closest("[data-hunk]")) : -1;
    const next = hunks[now + by];
    if (!next) return toFile(at + by);
    toLine(next.querySelector("tr.changed") || next.querySelector("tr[data-row]"));
  };
  const ask = async (cell) => {
    const file = cell.closest("article.file");
    const row = cell.closest("tr");
    const page = location.pathname.replace(/\/file$/, "");
    const q = new URLSearchParams({ path: file.dataset.file, side: cell.dataset.side, line: cell.dataset.line });
    const answer = await fetch(page + "/comment?" + q, { headers: { "HX-Request": "true", "X-Forge-Token": forgeToken() } });
    const text = await answer.text();
    if (!answer.ok) {
      document.getElementById("notice").innerHTML = text;
      return;
    }
    root.querySelectorAll("tr.asking").forEach((r) => r.remove());
    const holder = document.createElement("tr");
    holder.className = "comment-row asking";
    const td = document.createElement("td");
    td.colSpan = row.children.length;
    td.innerHTML = text;
    holder.append(td);
    row.after(holder);
    htmx.process(holder);
    holder.querySelector("textarea").focus();
  };
  const commentHere = () => {
    if (!line) hunk(1);
    if (!line) return;
    const cell = line.querySelector('td[data-side="new"]') || line.querySelector("td[data-line]");
    if (cell) ask(cell);
  };
  const press = (key) => {
    const button = root.querySelector('[data-answer] button[data-key="' + key + '"]');
    if (!button) return;
    button.scrollIntoView({ block: "center" });
    button.focus();
  };
  const keys = {
    j: () => toFile(at + 1), k: () => toFile(at - 1), n: () => hunk(1), p: () => hunk(-1),
    ".": () => step(1), ",": () => step(-1), c: commentHere, a: () => press("a"), r: () => press("r"),
  };
  // The answer is one line until somebody writes. It does not shrink again: a
  // button that moves away under the pointer is not pressed.
  root.querySelector("[data-answer] textarea")?.addEventListener("focus", (e) => e.target.closest(".answer").classList.add("open"));
  document.addEventListener("keydown", (e) => {
    const t = e.target;
    if (e.key === "Escape" && t.closest && t.closest("tr.asking")) {
      t.closest("tr.asking").remove();
      return;
    }
    if (e.ctrlKey || e.metaKey || e.altKey || t.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(t.tagName)) return;
    const act = keys[e.key];
    if (!act) return;
    e.preventDefault();
    act();
  });
  root.addEventListener("click", (e) => {
    const cell = e.target.closest("td.ln[data-line]");
    if (cell && cell.closest("article.file")) {
      toLine(cell.closest("tr"));
      ask(cell);
      return;
    }
    if (e.target.closest("[data-cancel]")) {
      const asking = e.target.closest("tr.asking");
      if (asking) asking.remove();
      return;
    }
    const open = e.target.closest("[data-open]");
    if (open) {
      const n = files().findIndex((f) => f.dataset.file === open.dataset.open);
      if (n >= 0) {
        e.preventDefault();
        toFile(n);
      }
    }
  });
})();

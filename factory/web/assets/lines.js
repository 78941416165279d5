"use strict";
// Lines of a run's change that are chosen by their numbers go with what is said to
// its agent: a click, a drag, Shift with either, the same by keys, a tap and another
// one. The field is what counts; without this file it is filled by hand.
(() => {
  const field = document.getElementById("tell-with");
  const bar = document.getElementById("chosen");
  const changes = document.getElementById("changes");
  if (!field || !bar || !changes) return;
  const list = bar.querySelector("ul");
  const said = bar.querySelector("[role=status]");
  const most = Number(bar.dataset.most);
  const within = () => field.value.split("\n").map((row) => row.trim()).filter(Boolean);
  const named = (path, a, b) => `${path}:${Math.min(a, b)}` + (a === b ? "" : `-${Math.max(a, b)}`);

  // What is quoted are lines as they are now. Of a line that stayed both numbers mean it.
  const lineOf = (target) => {
    const row = target.closest?.("#changes article.file tr[data-row]");
    const cell = row?.querySelector('td.ln[data-side="new"]');
    return cell && { row, cell, path: row.closest("article.file").dataset.file, line: Number(cell.dataset.line) };
  };
  const pressed = (target) => {
    const cell = target.closest?.("#changes article.file td.ln[data-line]");
    if (!cell) return null;
    const at = lineOf(cell);
    if (at && (cell.dataset.side === "new" || !at.row.classList.contains("changed"))) return at;
    forgeNotice("That line is gone: only lines as they are now can go with what you say.");
    return null;
  };

  let last = null; // the range that was chosen last: path, anchor, end, row; tapped = by one tap
  const put = (rows, word) => {
    field.value = rows.join("\n");
    said.textContent = word;
    paint();
  };
  const take = (row) => {
    put(within().filter((one) => one !== row), `${row} does not go with it any more.`);
    if (last?.row === row) last = null;
  };
  const choose = (path, anchor, end, tapped = false) => {
    const row = named(path, anchor, end);
    if (within().includes(row)) return take(row);
    if (within().length >= most) return forgeNotice(`At most ${most} files or ranges of lines go with one message.`);
    // The lines are of the phase whose work is shown.
    const phase = document.getElementById("tell-phase");
    const shown = changes.querySelector("[data-phase]")?.dataset.phase;
    if (phase && shown && [...phase.options].some((o) => o.value === shown)) phase.value = shown;
    last = { path, anchor, end, row, tapped };
    put([...within(), row], `${row} goes with it.`);
  };
  const goesOn = (path) => last && last.path === path && within().includes(last.row);
  const extend = (path, line) => {
    if (!goesOn(path)) return choose(path, line, line);
    const row = named(path, last.anchor, line);
    const rows = within().filter((one) => one === last.row || one !== row);
    rows[rows.indexOf(last.row)] = row;
    last = { ...last, end: line, row, tapped: false };
    put(rows, `${row} goes with it.`);
  };

  // --- What is chosen is seen: in the change, and below it, where it can be taken away.
  const mark = (name, is) => {
    for (const row of changes.querySelectorAll("article.file tr[data-row]")) {
      const at = lineOf(row);
      row.classList.toggle(name, Boolean(at) && is(at));
    }
  };
  const paint = () => {
    const rows = within();
    bar.hidden = rows.length === 0;
    field.rows = Math.max(1, rows.length);
    list.replaceChildren(...rows.map((row) => {
      const item = document.createElement("li");
      const name = document.createElement("span");
      name.className = "mono";
      name.textContent = row;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "plain";
      button.textContent = "×";
      button.setAttribute("aria-label", `Take ${row} away`);
      button.addEventListener("click", () => {
        const n = [...list.querySelectorAll("button")].indexOf(button);
        take(row);
        const left = list.querySelectorAll("button");
        (left[Math.min(n, left.length - 1)] ?? document.getElementById("tell-text")).focus();
      });
      item.append(name, button);
      return item;
    }));
    const ranges = rows.map((row) => row.match(/^(.*):(\d+)(?:-(\d+))?$/)).filter(Boolean).map((m) => ({ path: m[1], from: Number(m[2]), to: Number(m[3] ?? m[2]) }));
    mark("chosen", (at) => ranges.some((r) => r.path === at.path && r.from <= at.line && at.line <= r.to));
    // One number of each file is reached by Tab, the others from there by arrows.
    for (const file of changes.querySelectorAll("article.file")) {
      if (!file.querySelector("td.ln[tabindex]")) reach(file.querySelector('td.ln[data-side="new"]'));
    }
  };
  const reach = (cell) => {
    if (!cell) return;
    const file = cell.closest("article.file");
    file.querySelectorAll("td.ln[tabindex]").forEach((one) => one.removeAttribute("tabindex"));
    cell.tabIndex = 0;
    cell.setAttribute("aria-label", `Line ${cell.dataset.line} of ${file.dataset.file}`);
    cell.setAttribute("aria-describedby", "chosen-keys");
  };

  // --- By mouse.
  let from = null; // where the button went down
  let to = null;
  let kind = ""; // of the pointer that was pressed last
  changes.addEventListener("pointerdown", (e) => {
    kind = e.pointerType;
    if (kind !== "mouse" || e.button !== 0) return;
    const at = pressed(e.target);
    if (!at) return;
    reach(at.cell);
    if (e.shiftKey) return extend(at.path, at.line);
    from = to = at;
  });
  changes.addEventListener("pointerover", (e) => {
    const at = from && lineOf(e.target);
    if (!at || at.path !== from.path) return;
    to = at;
    const [a, b] = [Math.min(from.line, to.line), Math.max(from.line, to.line)];
    mark("choosing", (one) => one.path === from.path && a <= one.line && one.line <= b);
  });
  const up = (e) => {
    if (!from) return;
    const [a, b] = [from, to];
    from = to = null;
    mark("choosing", () => false);
    if (e.type === "pointerup") choose(a.path, a.line, b.line);
  };
  document.addEventListener("pointerup", up);
  document.addEventListener("pointercancel", up);

  // --- By a finger: a tap chooses a line, the next one in the same file where it ends.
  changes.addEventListener("click", (e) => {
    if (kind === "mouse") return;
    const at = pressed(e.target);
    if (!at) return;
    if (goesOn(at.path) && last.tapped && last.end !== at.line) extend(at.path, at.line);
    else choose(at.path, at.line, at.line, true);
  });

  // --- By keys.
  changes.addEventListener("keydown", (e) => {
    const cell = e.target.closest("td.ln[tabindex]");
    if (!cell || e.ctrlKey || e.metaKey || e.altKey) return;
    const at = lineOf(cell);
    const by = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    if (by) {
      e.preventDefault();
      const all = [...cell.closest("article.file").querySelectorAll('td.ln[data-side="new"]')];
      const next = all[all.indexOf(cell) + by];
      if (!next) return;
      if (e.shiftKey && !goesOn(at.path)) choose(at.path, at.line, at.line);
      reach(next);
      next.focus();
      if (e.shiftKey) extend(at.path, Number(next.dataset.line));
    } else if (e.key === "Enter" || e.key === " ") {
      e.preventDefault();
      if (e.shiftKey) extend(at.path, at.line);
      else choose(at.path, at.line, at.line);
    }
  });

  field.addEventListener("input", paint);
  document.addEventListener("htmx:after:swap", paint);
  paint();
})();

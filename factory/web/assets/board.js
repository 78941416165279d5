"use strict";
// The board: cards are dragged, or moved by keyboard; what others do arrives by
// the stream. The server decides about every move; a refused one goes back.
(() => {
  const board = document.getElementById("board");
  if (!board) return;
  const mayMove = board.dataset.mayMove === "true";
  const columns = () => document.getElementById("columns");
  const project = () => columns().dataset.project;
  const lists = () => [...columns().querySelectorAll(".stack-of-cards")];
  const listOf = (name) => columns().querySelector(`[data-column="${name}"] .stack-of-cards`);
  const columnOf = (list) => list.closest(".column").dataset.column;
  const nameOf = (list) => list.closest(".column").querySelector("h2").firstChild.textContent.trim();
  const cardsOf = (list) => [...list.children].filter((c) => c.classList.contains("card"));
  const cardOf = (issue) => document.getElementById("card-" + issue);
  const titleOf = (card) => card.querySelector(".card-title").textContent.trim();
  const say = (text) => { document.getElementById("said").textContent = text; };

  // --- Walking: one card takes part in the order of tabs; arrows go on.
  let current = null; // number of the issue that was walked to last
  const nothingHasFocus = () => !document.activeElement || document.activeElement === document.body;
  const dress = () => {
    const all = lists().flatMap(cardsOf);
    const here = (current && cardOf(current)) || all[0];
    for (const card of all) {
      card.tabIndex = card === here ? 0 : -1;
      card.setAttribute("aria-describedby", "board-help");
      card.querySelectorAll("a").forEach((a) => { a.draggable = false; a.tabIndex = -1; });
    }
  };
  const walkTo = (card) => {
    if (!card) return;
    current = card.dataset.issue;
    dress();
    card.focus();
    card.scrollIntoView({ block: "nearest", inline: "nearest" });
  };
  const neighbour = (card, key) => {
    const list = card.parentElement;
    const cards = cardsOf(list);
    const at = cards.indexOf(card);
    if (key === "ArrowDown") return cards[at + 1];
    if (key === "ArrowUp") return cards[at - 1];
    if (key === "Home") return cards[0];
    if (key === "End") return cards.at(-1);
    const all = lists();
    const step = key === "ArrowRight" ? 1 : -1;
    for (let n = all.indexOf(list) + step; n >= 0 && n < all.length; n += step) {
      const there = cardsOf(all[n]);
      if (there.length) return there[Math.min(at, there.length - 1)];
    }
    return null;
  };

  // --- An issue is looked at beside the board, where there is room for both.
  const peek = document.getElementById("peek");
  const closePeek = () => {
    if (!peek.firstChild) return false;
    peek.replaceChildren();
    cardOf(peek.dataset.issue)?.focus();
    return true;
  };
  const openPeek = async (card) => {
    const address = card.querySelector(".card-title").href;
    const answer = await fetch(address, { headers: { "HX-Request": "true", "X-Forge-Token": forgeToken() } }).catch(() => null);
    if (!answer?.ok) { location.assign(address); return; }
    const bar = document.createElement("p");
    bar.className = "peek-bar";
    const whole = Object.assign(document.createElement("a"), { href: address, textContent: "Open its page" });
    const close = Object.assign(document.createElement("button"), { type: "button", className: "plain", textContent: "Close" });
    close.addEventListener("click", closePeek);
    bar.append(whole, close);
    const body = document.createElement("div");
    body.innerHTML = await answer.text();
    body.querySelectorAll("h1").forEach((h) => h.replaceWith(Object.assign(document.createElement("h2"), { textContent: h.textContent })));
    peek.dataset.issue = card.dataset.issue;
    peek.replaceChildren(bar, body);
    htmx.process(body);
    close.focus();
  };
  board.addEventListener("click", (e) => {
    const title = e.target.closest(".card-title");
    if (!title || e.ctrlKey || e.metaKey || e.shiftKey || e.button !== 0 || innerWidth < 1000) return;
    e.preventDefault();
    openPeek(title.closest(".card"));
  });
  document.addEventListener("keydown", (e) => { if (e.key === "Escape" && closePeek()) e.preventDefault(); });

  // --- Moving. origin is where a card stood before.
  const placeNow = (card) => ({ list: card.parentElement, next: card.nextElementSibling });
  const putBack = (card, origin) => {
    const list = origin.list.isConnected ? origin.list : listOf(columnOf(origin.list));
    const next = origin.next?.isConnected && origin.next.parentElement === list ? origin.next : list.querySelector(".more");
    list.insertBefore(card, next);
  };
  const recount = (name, by) => {
    const count = columns().querySelector(`[data-column="${name}"] .count`);
    if (!count) return;
    count.dataset.count = Math.max(0, Number(count.dataset.count) + by);
    count.textContent = count.dataset.count;
  };
  const send = async (card, origin) => {
    const list = card.parentElement;
    const fields = { column: columnOf(list), place: "bottom" };
    const cards = cardsOf(list);
    const at = cards.indexOf(card);
    if (cards[at - 1]) Object.assign(fields, { place: "after", other: cards[at - 1].dataset.issue });
    else if (cards[at + 1]) Object.assign(fields, { place: "before", other: cards[at + 1].dataset.issue });
    card.classList.add("pending");
    try {
      const now = await forgeSend(`/p/${project()}/issues/${card.dataset.issue}/move`, fields);
      say(`Issue ${card.dataset.issue} is in ${nameOf(list)} now.`);
      apply({ ...now, from: undefined });
    } catch (refused) {
      const there = cardOf(card.dataset.issue) ?? card;
      putBack(there, origin);
      forgeNotice(refused.message);
      say(`Issue ${card.dataset.issue} went back: ${refused.message}`);
    } finally {
      (cardOf(card.dataset.issue) ?? card).classList.remove("pending");
    }
  };

  // --- By keyboard.
  let held = null; // { card, origin, missed: something came for it meanwhile }
  const pickUp = (card) => {
    held = { card, origin: placeNow(card) };
    card.classList.add("picked");
    say(`Picked up issue ${card.dataset.issue}, ${titleOf(card)}. Arrows move it, Enter drops it, Escape puts it back.`);
  };
  const letGo = () => {
    const was = held;
    held = null;
    was?.card.classList.remove("picked");
    if (was?.missed) again();
  };
  const carry = (key) => {
    const { card } = held;
    const list = card.parentElement;
    const cards = cardsOf(list);
    const at = cards.indexOf(card);
    if (key === "ArrowDown" && cards[at + 1]) cards[at + 1].after(card);
    if (key === "ArrowUp" && cards[at - 1]) cards[at - 1].before(card);
    if (key === "ArrowLeft" || key === "ArrowRight") {
      const all = lists();
      const to = all[all.indexOf(list) + (key === "ArrowRight" ? 1 : -1)];
      if (!to) return;
      to.insertBefore(card, cardsOf(to)[at] ?? to.querySelector(".more"));
    }
    card.focus();
    card.scrollIntoView({ block: "nearest", inline: "nearest" });
    const now = cardsOf(card.parentElement);
    say(`${nameOf(card.parentElement)}, place ${now.indexOf(card) + 1} of ${now.length}.`);
  };
  const drop = () => {
    const { card, origin } = held;
    letGo();
    if (card.parentElement === origin.list && card.nextElementSibling === origin.next) {
      say(`Issue ${card.dataset.issue} stays where it was.`);
      return;
    }
    send(card, origin).then(() => {
      const now = cardOf(card.dataset.issue);
      if (nothingHasFocus() || document.activeElement === now) walkTo(now); // not from where one went meanwhile
    });
  };
  board.addEventListener("keydown", (e) => {
    const card = e.target.closest(".card");
    if (!card || e.target !== card || e.ctrlKey || e.metaKey || e.altKey) return;
    const arrow = e.key.startsWith("Arrow");
    if (held) {
      if (arrow) carry(e.key);
      else if (e.key === "Enter" || e.key === " ") drop();
      else if (e.key === "Escape" || e.key === "Tab") {
        putBack(held.card, held.origin);
        say(`Issue ${held.card.dataset.issue} is back where it was.`);
        held.card.focus();
        letGo();
        if (e.key === "Tab") return;
      } else return;
    } else if (arrow || e.key === "Home" || e.key === "End") walkTo(neighbour(card, e.key));
    else if (e.key === "Enter") card.querySelector(".card-title").click();
    else if (e.key === " " && mayMove) pickUp(card);
    else return;
    e.preventDefault();
  });
  board.addEventListener("focusin", (e) => {
    const card = e.target.closest(".card");
    if (card && card.dataset.issue !== current) { current = card.dataset.issue; dress(); }
  });
  board.addEventListener("focusout", (e) => {
    if (held && e.target === held.card && held.card.isConnected && e.relatedTarget && e.relatedTarget !== held.card) {
      putBack(held.card, held.origin);
      letGo();
    }
  });

  // --- By pointer. A mouse drags at once, a finger after a long press.
  let drag = null; // like held; on: it has left its place
  const inHand = () => held ?? (drag?.on ? drag : null);
  const begin = (d, x, y) => {
    const box = d.card.getBoundingClientRect();
    d.ghost = d.card.cloneNode(true);
    d.ghost.removeAttribute("id");
    d.ghost.classList.add("ghost");
    d.ghost.setAttribute("aria-hidden", "true");
    d.ghost.style.width = box.width + "px";
    d.dx = d.x - box.left;
    d.dy = d.y - box.top;
    d.line = document.createElement("li");
    d.line.className = "drop-here";
    d.card.classList.add("moving");
    document.body.append(d.ghost);
    document.body.classList.add("dragging");
    d.on = true;
    follow(d, x, y);
  };
  const follow = (d, x, y) => {
    d.ghost.style.left = x - d.dx + "px";
    d.ghost.style.top = y - d.dy + "px";
    const edge = 48;
    const box = columns().getBoundingClientRect();
    if (x > Math.min(box.right, innerWidth) - edge) columns().scrollLeft += 12;
    else if (x < Math.max(box.left, 0) + edge) columns().scrollLeft -= 12;
    if (y > innerHeight - edge) scrollBy(0, 12);
    else if (y < edge) scrollBy(0, -12);
    columns().querySelectorAll(".column.over").forEach((c) => c.classList.remove("over"));
    const column = document.elementFromPoint(x, y)?.closest(".column");
    d.line.remove();
    if (!column) return;
    column.classList.add("over");
    const list = column.querySelector(".stack-of-cards");
    const below = cardsOf(list).find((c) => {
      const b = c.getBoundingClientRect();
      return c !== d.card && y < b.top + b.height / 2;
    });
    list.insertBefore(d.line, below ?? list.querySelector(".more"));
  };
  const end = (dropped) => {
    const d = drag;
    drag = null;
    if (!d) return;
    clearTimeout(d.press);
    if (!d.on) return;
    const origin = placeNow(d.card);
    d.ghost.remove();
    d.card.classList.remove("moving");
    document.body.classList.remove("dragging");
    columns().querySelectorAll(".column.over").forEach((c) => c.classList.remove("over"));
    const there = d.line.isConnected;
    if (dropped && there) d.line.replaceWith(d.card);
    d.line.remove();
    if (d.missed) again();
    if (dropped && there && (d.card.parentElement !== origin.list || d.card.nextElementSibling !== origin.next)) send(d.card, origin);
    // The click that follows a drag opens nothing.
    const swallow = (e) => { e.preventDefault(); e.stopPropagation(); };
    addEventListener("click", swallow, { capture: true, once: true });
    setTimeout(() => removeEventListener("click", swallow, { capture: true }), 50);
  };
  if (mayMove) {
    board.addEventListener("pointerdown", (e) => {
      const card = e.target.closest(".card");
      if (!card || e.button !== 0 || e.target.closest("button, input")) return;
      drag = { card, x: e.clientX, y: e.clientY, id: e.pointerId, touch: e.pointerType !== "mouse" };
      if (drag.touch) {
        const d = drag;
        d.press = setTimeout(() => { if (drag === d) begin(d, d.x, d.y); }, 350);
      }
    });
    addEventListener("pointermove", (e) => {
      if (!drag || e.pointerId !== drag.id) return;
      const far = Math.hypot(e.clientX - drag.x, e.clientY - drag.y);
      if (!drag.on && drag.touch && far > 10) { end(false); return; } // it scrolls
      if (!drag.on && !drag.touch && far > 5) begin(drag, e.clientX, e.clientY);
      if (drag?.on) { e.preventDefault(); follow(drag, e.clientX, e.clientY); }
    });
    addEventListener("pointerup", (e) => { if (drag && e.pointerId === drag.id) end(true); });
    addEventListener("pointercancel", () => end(false));
    addEventListener("touchmove", (e) => { if (drag?.on) e.preventDefault(); }, { passive: false });
    addEventListener("contextmenu", (e) => { if (drag?.on) e.preventDefault(); });
    addEventListener("keydown", (e) => { if (e.key === "Escape" && drag?.on) end(false); }, true);
    board.addEventListener("dragstart", (e) => e.preventDefault());
  }

  // --- The columns are drawn anew: one drawing at a time, none under somebody's
  // hands. Who has the focus in them has it again before the next key can come.
  let behind = 0; // the timer
  let wanted = null; // what the filter asks for, until it is drawn
  let drawing = null; // { had: the focus was in them, refused: a card is in hand, missed: something came since it was asked for }
  const again = (wait = 300) => {
    if (behind && wait) return; // whoever asks again and again puts it off no further
    clearTimeout(behind);
    behind = setTimeout(async () => {
      behind = 0;
      if (drawing || inHand()) { again(); return; }
      const address = wanted;
      wanted = null;
      const mine = drawing = {};
      try {
        await htmx.ajax("GET", address ?? columns().dataset.again, { source: columns(), target: "#columns", swap: "outerHTML" });
      } finally { drawing = null; }
      if (mine.refused || mine.missed) again();
      if (mine.refused) wanted ??= address;
      else if (address && small.matches) bring(withCards());
    }, wait);
  };
  document.addEventListener("htmx:before:swap", (e) => {
    if (!drawing || e.detail.ctx.target !== columns()) return;
    drawing.had = columns().contains(document.activeElement);
    drawing.refused = inHand() !== null;
    if (drawing.refused) e.preventDefault();
  });
  document.addEventListener("htmx:before:settle", (e) => {
    if (e.target !== columns()) return;
    for (const settle of e.detail.settleTasks.splice(0)) settle(); // htmx would do it after dress, and take back what that sets
    dress();
    if (drawing?.had && current && nothingHasFocus()) cardOf(current)?.focus();
  });

  // --- What arrives. Each message is a card as it is now, so that a message
  // too many changes nothing.
  const apply = (m) => {
    if (drawing) drawing.missed = true;
    if (m.from === "none") recount(m.column, 1);
    else if (m.from) { recount(m.from, -1); recount(m.column, 1); }
    if (!m.issue || columns().dataset.filtered === "true") { again(); return; }
    const old = cardOf(m.issue);
    if (old && Number(old.dataset.version) > m.version) return;
    const hand = inHand();
    if (old && hand?.card === old) { hand.missed = true; return; } // all of them come again when it is let go
    const list = listOf(m.column);
    const box = document.createElement("template");
    box.innerHTML = m.html;
    const card = box.content.firstElementChild;
    const same = old && old.dataset.version === card.dataset.version && columnOf(old.parentElement) === m.column;
    const more = list.querySelector(".more");
    const rest = cardsOf(list).filter((c) => c !== old);
    const below = rest.find((c) => c.dataset.rank > m.rank);
    const had = old?.contains(document.activeElement);
    if (!below && more) { old?.remove(); return; } // further down than what is shown
    if (old) old.remove();
    list.insertBefore(card, below ?? more);
    htmx.process(card); // a card that is worked on asks what happens
    if (!same) card.classList.add("arrived");
    dress();
    if (had) card.focus();
  };
  document.addEventListener("board", (e) => {
    if (e.target.id !== "live") return;
    let m;
    try { m = JSON.parse(e.detail.data); } catch { return; }
    apply(m);
  });
  document.addEventListener("forge:behind", (e) => { e.preventDefault(); again(); });
  document.addEventListener("htmx:after:swap", () => dress());

  // --- The filter works as it is typed.
  const filter = document.querySelector("form.filter");
  let wait = 0;
  filter?.addEventListener("input", () => {
    clearTimeout(wait);
    wait = setTimeout(() => {
      const query = new URLSearchParams([...new FormData(filter)].filter(([, v]) => v !== ""));
      history.replaceState(null, "", `${location.pathname}${query.size ? "?" + query : ""}`);
      wanted = `/p/${project()}/columns?${query}`;
      again(0);
    }, 250);
  });

  dress();

  // --- Small screens show one column at a time: its neighbours are a tap away, and
  // the first that is shown is the one that needs somebody.
  // Where a filter leaves nothing in the one on show, it is the first with a card.
  const small = matchMedia("(max-width: 600px)");
  const needsSomebody = (column) => [...column.querySelectorAll(".waits .mine")].some((mine) => getComputedStyle(mine).display !== "none") || column.querySelector(".state-waits, .state-failed") !== null;
  const bring = (column) => {
    const room = columns();
    room.scrollLeft += column.getBoundingClientRect().left - room.getBoundingClientRect().left;
  };
  // A tab stays the same one while the board changes: a tap that ends on another than it
  // began on is none.
  const columnTabs = () => {
    const room = document.getElementById("column-tabs");
    if (!room || !small.matches) return;
    const tabs = [...columns().querySelectorAll(".column")].map((column) => {
      const shows = column.dataset.column;
      const tab = room.querySelector(`[data-shows="${shows}"]`) ?? newTab(shows);
      const text = `${column.querySelector("h2").firstChild.textContent.trim()} ${column.querySelector(".count").textContent}`;
      if (tab.textContent !== text) tab.textContent = text;
      if (tab.classList.toggle("asks", needsSomebody(column))) tab.setAttribute("aria-label", `${text}, needs you`);
      else tab.removeAttribute("aria-label");
      return tab;
    });
    if (tabs.length !== room.children.length || tabs.some((tab, i) => tab !== room.children[i])) room.replaceChildren(...tabs);
  };
  const newTab = (shows) => {
    const tab = document.createElement("button");
    tab.type = "button";
    tab.dataset.shows = shows;
    tab.addEventListener("click", () => bring(columns().querySelector(`[data-column="${shows}"]`)));
    return tab;
  };
  const fit = () => {
    columnTabs();
    if (!small.matches) return;
    const all = [...columns().querySelectorAll(".column")];
    const first = all.findLast(needsSomebody) ?? all.find((column) => column.querySelector(".working"));
    bring(first ?? withCards());
  };
  const withCards = () => {
    const here = nearest();
    return here.querySelector(".card") ? here : [...columns().querySelectorAll(".column")].find((column) => column.querySelector(".card")) ?? here;
  };
  const nearest = () => {
    const from = columns().getBoundingClientRect().left;
    const far = (column) => Math.abs(column.getBoundingClientRect().left - from);
    return [...columns().querySelectorAll(".column")].reduce((best, column) => (far(column) < far(best) ? column : best));
  };
  fit();
  // A window that changes its width never stands between two columns.
  addEventListener("resize", () => { if (small.matches) requestAnimationFrame(() => bring(nearest())); });
  small.addEventListener("change", () => requestAnimationFrame(() => requestAnimationFrame(fit))); // when it is laid out
  new MutationObserver(columnTabs).observe(document.getElementById("board"), { subtree: true, childList: true, characterData: true });
})();

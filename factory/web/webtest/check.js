// What is wrong with the page that is shown: names of controls, order of focus,
// contrast, ids, what sticks out at the side. The result is a list of lines.
(() => {
  const wrong = [];
  const shown = (e) => e.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && e.getClientRects().length > 0;
  const where = (e) => {
    const id = e.id ? "#" + e.id : "";
    const cls = typeof e.className === "string" && e.className ? "." + e.className.trim().split(/\s+/).join(".") : "";
    return `<${e.tagName.toLowerCase()}${id}${cls}> "${(e.textContent || "").trim().slice(0, 40)}"`;
  };
  const unseen = (e) => e.closest(".unseen, .skip") !== null;

  // The page as a whole.
  if (!document.documentElement.lang) wrong.push("the page names no language");
  if (!document.title) wrong.push("the page has no title");
  const firsts = [...document.querySelectorAll("h1")].filter(shown);
  if (firsts.length !== 1) wrong.push(`the page has ${firsts.length} first headings`);
  if (firsts[0]?.closest(".prose, .paper, .reads, .said")) wrong.push(`the first heading is what somebody wrote: ${where(firsts[0])}`);
  let level = 0;
  for (const h of [...document.querySelectorAll("h1,h2,h3,h4,h5,h6")].filter(shown)) {
    const n = Number(h.tagName[1]);
    // People who write Markdown skip levels; the page does not.
    if (level && n > level + 1 && !h.closest(".prose, .paper, .reads, .said")) wrong.push(`a heading skips a level: ${where(h)}`);
    level = n;
  }
  // The header of an article or a section is none of the page.
  const landmarks = (tag) => [...document.querySelectorAll(tag)].filter((e) => shown(e) && !e.parentElement.closest("article, aside, main, nav, section"));
  for (const tag of ["main", "header"]) if (landmarks(tag).length !== 1) wrong.push(`the page has not one <${tag}>`);
  const navs = [...document.querySelectorAll("nav")].map((n) => n.getAttribute("aria-label"));
  if (navs.length > 1 && new Set(navs).size !== navs.length) wrong.push("two <nav> have one name");
  const ids = new Map();
  for (const e of document.querySelectorAll("[id]")) ids.set(e.id, (ids.get(e.id) || 0) + 1);
  for (const [id, n] of ids) if (n > 1) wrong.push(`id ${id} stands ${n} times`);
  for (const name of ["aria-labelledby", "aria-describedby", "aria-controls", "for"]) {
    for (const e of document.querySelectorAll(`[${name}]`)) {
      for (const id of e.getAttribute(name).split(/\s+/)) if (id && !document.getElementById(id)) wrong.push(`${name} names ${id}, which is not there: ${where(e)}`);
    }
  }

  // Names.
  const nameOf = (e) => {
    const by = e.getAttribute("aria-labelledby");
    if (by) return by.split(/\s+/).map((id) => document.getElementById(id)?.textContent ?? "").join(" ").trim();
    if (e.getAttribute("aria-label")) return e.getAttribute("aria-label").trim();
    if (e.labels?.length) return [...e.labels].map((l) => l.textContent).join(" ").trim();
    if (e.tagName === "INPUT" || e.tagName === "SELECT" || e.tagName === "TEXTAREA") return (e.title || "").trim();
    const pictures = [...e.querySelectorAll("img[alt],svg[aria-label]")].map((p) => p.getAttribute("alt") || p.getAttribute("aria-label")).join(" ");
    return (e.textContent.trim() || pictures || e.title || "").trim();
  };
  for (const e of document.querySelectorAll("a[href],button,input:not([type=hidden]),select,textarea,summary,[role=button],[role=tab]")) {
    if (shown(e) && !nameOf(e)) wrong.push(`no name: ${where(e)} ${e.outerHTML.slice(0, 120)}`);
  }
  for (const e of document.querySelectorAll("img")) if (!e.hasAttribute("alt")) wrong.push(`a picture without words: ${e.outerHTML.slice(0, 80)}`);
  for (const e of document.querySelectorAll("svg")) {
    if (e.getAttribute("aria-hidden") !== "true" && !(e.getAttribute("role") === "img" && (e.getAttribute("aria-label") || e.getAttribute("aria-labelledby") || e.querySelector("title")))) wrong.push("an svg without a name, and not hidden: " + e.outerHTML.slice(0, 80));
  }
  for (const e of document.querySelectorAll("table")) if (shown(e) && !e.closest(".prose") && !e.querySelector("th")) wrong.push(`a table without headings: ${where(e)}`);

  // Focus: nothing out of order, nothing focused that is not seen, and a mark
  // on what is.
  for (const e of document.querySelectorAll("[tabindex]")) if (e.tabIndex > 0) wrong.push(`out of the order of focus: ${where(e)}`);
  const modal = document.querySelector("dialog:modal"); // nothing else takes the focus beside it
  const focusable = [...document.querySelectorAll("a[href],button:not(:disabled),input:not([type=hidden]):not(:disabled),select:not(:disabled),textarea:not(:disabled),summary,[tabindex='0']")].filter((e) => e.tabIndex === 0 && shown(e) && (!modal || modal.contains(e)));
  const before = document.activeElement;
  const stays = (e) => { for (let p = e; p; p = p.parentElement) if (/^(fixed|sticky)$/.test(getComputedStyle(p).position)) return p; return null; };
  for (const e of focusable.slice(0, 150)) {
    e.focus({ focusVisible: true });
    if (document.activeElement !== e) { wrong.push(`takes no focus: ${where(e)}`); continue; }
    const s = getComputedStyle(e);
    if (s.outlineStyle === "none" || parseFloat(s.outlineWidth) < 2) wrong.push(`focus is not seen: ${where(e)}`);
    // What has the focus is not below something that stays in its place, nor
    // below another control.
    const r = [...e.getClientRects()].find((one) => one.width > 1 && one.height > 1);
    if (!r) continue;
    const x = r.left + r.width / 2;
    const on = document.elementFromPoint(x, Math.min(r.top + r.height / 2, innerHeight - 2));
    if (!on || r.bottom < 0 || r.top > innerHeight || e.contains(on) || on.contains(e) || [...(e.labels ?? [])].some((l) => l.contains(on))) continue;
    if (stays(on) && stays(on) !== stays(e) || focusable.some((other) => other !== e && !other.contains(e) && other.contains(on))) wrong.push(`has the focus below ${where(on)}: ${where(e)}`);
  }
  before?.focus?.({ preventScroll: true });
  // Order on the page against order in the document: within one parent, what
  // comes later is not above.
  for (const e of document.querySelectorAll("*")) if (shown(e) && getComputedStyle(e).order !== "0") wrong.push(`shown in another order than read: ${where(e)}`);

  // Contrast.
  const parse = (c) => {
    const m = c.match(/^rgba?\(([^)]+)\)$/);
    if (m) { const p = m[1].split(/[\s,/]+/).map(Number); return [p[0], p[1], p[2], p.length > 3 ? p[3] : 1]; }
    const k = c.match(/^color\(srgb ([^)]+)\)$/);
    if (k) { const p = k[1].split(/[\s/]+/).map(Number); return [p[0] * 255, p[1] * 255, p[2] * 255, p.length > 3 ? p[3] : 1]; }
    return null;
  };
  const over = (top, under) => [0, 1, 2].map((n) => top[n] * top[3] + under[n] * (1 - top[3])).concat(1);
  const ground = (e) => {
    const layers = [];
    for (let p = e; p; p = p.parentElement) {
      const c = parse(getComputedStyle(p).backgroundColor);
      if (c && c[3] > 0) { layers.push(c); if (c[3] === 1) break; }
    }
    let now = [255, 255, 255, 1];
    for (const c of layers.reverse()) now = over(c, now);
    return now;
  };
  const light = (c) => {
    const [r, g, b] = c.slice(0, 3).map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((m, n) => n - m); return (x + 0.05) / (y + 0.05); };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const said = new Set();
  for (let n = walker.nextNode(); n; n = walker.nextNode()) {
    const e = n.parentElement;
    if (!n.textContent.trim() || !shown(e) || unseen(e) || e.closest("svg") || e.closest("option")) continue;
    const s = getComputedStyle(e);
    const under = ground(e);
    let colour = parse(s.color);
    if (!colour) continue;
    let alpha = 1;
    for (let p = e; p; p = p.parentElement) alpha *= Number(getComputedStyle(p).opacity);
    colour = over([colour[0], colour[1], colour[2], colour[3] * alpha], under);
    const size = parseFloat(s.fontSize);
    const least = e.closest(":disabled") || size >= 24 || (size >= 18.66 && Number(s.fontWeight) >= 700) ? 3 : 4.5;
    const got = ratio(colour, under);
    const line = `contrast ${got.toFixed(2)} of ${s.color} on rgb(${under.slice(0, 3).map(Math.round)}): ${where(e)}`;
    if (got < least - 0.005 && !said.has(line)) { said.add(line); wrong.push(line); }
  }
  for (const t of document.querySelectorAll("svg text")) {
    if (!shown(t) || !t.textContent.trim()) continue;
    const c = parse(getComputedStyle(t).fill);
    const on = t.dataset.on ? parse(getComputedStyle(document.getElementById(t.dataset.on)).fill) : ground(t.closest("svg").parentElement);
    if (c && on && ratio(over(c, on), on) < 4.5) wrong.push(`contrast ${ratio(over(c, on), on).toFixed(2)} in a picture: ${where(t)}`);
  }

  // Nothing is cut off without a way to read the rest.
  for (const e of document.querySelectorAll("body *")) {
    if (!shown(e) || unseen(e) || e.closest("svg") || ![...e.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.textContent.trim())) continue;
    const s = getComputedStyle(e);
    const cut = (/hidden|clip/.test(s.overflowX) && e.scrollWidth > e.clientWidth + 1) || (/hidden|clip/.test(s.overflowY) && e.scrollHeight > e.clientHeight + 2);
    if (cut && !e.title) wrong.push(`cut off: ${where(e)}`);
  }

  // Nothing sticks out at the side, nothing is too small for a finger.
  if (document.documentElement.scrollWidth > innerWidth + 1) {
    const out = [...document.body.querySelectorAll("*")].filter((e) => {
      if (!shown(e) || unseen(e)) return false;
      for (let p = e.parentElement; p && p !== document.body; p = p.parentElement) if (/auto|scroll|hidden|clip/.test(getComputedStyle(p).overflowX)) return false;
      return e.getBoundingClientRect().right > innerWidth + 1;
    });
    wrong.push(`the page is ${document.documentElement.scrollWidth} wide, the window ${innerWidth}: ${out.slice(-3).map(where).join(", ")}`);
  }
  for (const e of focusable) {
    const r = e.getBoundingClientRect();
    if (e.matches("button,summary,select,input:not([type=checkbox]):not([type=radio])") && !unseen(e) && (r.width < 24 || r.height < 24)) wrong.push(`smaller than 24 pixels: ${where(e)} ${r.width.toFixed()}×${r.height.toFixed()}`);
  }
  return wrong;
})()

"use strict";
// What every page does: its token goes with what htmx sends, notices close, and
// the page follows the server's stream.
(() => {
  const token = window.forgeToken = () => document.querySelector('meta[name="forge-token"]')?.content ?? "";

  document.addEventListener("htmx:config:request", (e) => {
    const request = e.detail.ctx.request;
    request.headers["X-Forge-Token"] = token();
  });

  // Pictures of pages: a picture's own request carries no token, and so it is fetched.
  const pictures = () => document.querySelectorAll("img[data-picture]").forEach(async (img) => {
    const at = img.dataset.picture;
    img.removeAttribute("data-picture");
    const answer = await fetch(at, { headers: { "X-Forge-Token": token() } });
    if (!answer.ok) return;
    const reader = new FileReader();
    reader.onload = () => { img.src = reader.result; };
    reader.readAsDataURL(await answer.blob());
  });
  document.addEventListener("DOMContentLoaded", pictures);
  document.addEventListener("htmx:after:swap", pictures);
  if (document.readyState !== "loading") pictures();

  // A fetch of our own, answered in JSON. What is refused is thrown as words.
  window.forgeSend = async (url, fields) => {
    let answer;
    try {
      answer = await fetch(url, {
        method: "POST",
        headers: { Accept: "application/json", "X-Forge-Token": token() },
        body: new URLSearchParams(fields),
        redirect: "error",
      });
    } catch {
      throw new Error("The server does not answer.");
    }
    const body = await answer.json().catch(() => ({ what: "The server answered " + answer.status + "." }));
    if (!answer.ok) throw new Error([body.what, body.fix].filter(Boolean).join(" "));
    return body;
  };

  window.forgeNotice = (text, kind = "bad") => {
    const place = document.getElementById("notice");
    const box = document.createElement("div");
    box.className = "notice " + kind;
    const p = document.createElement("p");
    p.textContent = text;
    const close = document.createElement("button");
    close.type = "button";
    close.className = "plain";
    close.dataset.close = "#notice";
    close.setAttribute("aria-label", "Close this notice");
    close.textContent = "×";
    box.append(p, close);
    place.replaceChildren(box);
  };

  document.addEventListener("click", (e) => {
    const close = e.target.closest("[data-close]");
    if (close) document.querySelector(close.dataset.close)?.replaceChildren();
    for (const menu of document.querySelectorAll("details.menu[open]")) {
      if (!menu.contains(e.target)) menu.open = false;
    }
  });
  // What a choice means stands beside it.
  document.addEventListener("input", (e) => {
    const place = e.target.dataset?.says && document.getElementById(e.target.dataset.says);
    if (place) place.textContent = e.target.selectedOptions[0]?.dataset.says ?? "";
  });
  document.addEventListener("keydown", (e) => {
    if (e.key !== "Escape") return;
    const menu = document.querySelector("details.menu[open]");
    if (menu) {
      menu.open = false;
      menu.querySelector("summary").focus();
    }
  });

  // --- Everything in one menu: Ctrl-K lists where one can go and what the page
  // offers, and finds issues; ? shows it with the keys.
  const dialog = document.getElementById("everything");
  if (dialog) {
    const field = dialog.querySelector("input");
    const list = dialog.querySelector("ul");
    const named = (el) => {
      const name = (el.getAttribute("aria-label") || el.textContent).replace(/\s+/g, " ").trim();
      if (el.closest(".theme")) return `Colours: ${name}`;
      return el.closest(".switch") ? `Project ${name}` : name;
    };
    // The brand is All projects; this menu, and the project that one is in, are here.
    const needless = ".brand, [data-everything], .narrow-only, .switch [aria-current]";
    const shown = (el) => el.checkVisibility?.() ?? el.offsetParent !== null;
    const offers = () => {
      const seen = new Set();
      const out = [];
      const add = (kind, el) => {
        const name = named(el);
        if (!name || seen.has(name) || el.matches(needless) || el.closest("#everything, .card, .events")) return;
        seen.add(name);
        out.push({ name, kind, go: () => { el.closest("details")?.setAttribute("open", ""); if (el.tagName === "A") el.click(); else { el.scrollIntoView({ block: "center" }); el.focus(); } } });
      };
      document.querySelectorAll("header.bar a, header.bar button").forEach((el) => add("go", el));
      document.querySelectorAll("main a[href]:not(.mono), main button:not([disabled])").forEach((el) => { if (shown(el)) add("here", el); });
      return out;
    };
    const paint = () => {
      const words = field.value.trim().toLowerCase();
      const found = offers().filter((o) => o.name.toLowerCase().includes(words)).slice(0, 30);
      const base = dialog.dataset.project;
      if (base && words) {
        const number = words.match(/^#?(\d+)$/);
        found.unshift(number
          ? { name: `Issue #${number[1]}`, kind: "go", go: () => location.assign(`${base}/issues/${number[1]}`) }
          : { name: `Search issues for “${field.value.trim()}”`, kind: "go", go: () => location.assign(`${base}?q=${encodeURIComponent(field.value.trim())}`) });
      }
      list.replaceChildren(...found.map((o) => {
        const item = document.createElement("li");
        const button = document.createElement("button");
        button.type = "button";
        button.className = "plain";
        button.textContent = o.name;
        button.addEventListener("click", () => { dialog.close(); o.go(); });
        item.append(button);
        return item;
      }));
    };
    const open = () => { if (!dialog.open) { field.value = ""; paint(); dialog.showModal(); } field.focus(); };
    field.addEventListener("input", paint);
    dialog.addEventListener("keydown", (e) => {
      const all = [...list.querySelectorAll("button")];
      const at = all.indexOf(document.activeElement);
      if (e.key === "ArrowDown") { e.preventDefault(); (all[at + 1] ?? all[0])?.focus(); }
      if (e.key === "ArrowUp") { e.preventDefault(); (at > 0 ? all[at - 1] : field).focus(); }
      if (e.key === "Escape") { e.preventDefault(); dialog.close(); } // a search field would only empty itself
      if (e.key === "Enter" && document.activeElement === field) { e.preventDefault(); all[0]?.click(); }
    });
    document.querySelectorAll("[data-everything]").forEach((b) => { b.hidden = false; b.addEventListener("click", open); });
    document.addEventListener("keydown", (e) => {
      const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName) || e.target.isContentEditable;
      if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === "k" || e.key === "?" && !typing && !e.ctrlKey && !e.metaKey) {
        e.preventDefault();
        open();
      }
    });
  }

  // A form that was taken is empty again.
  document.addEventListener("htmx:after:request", (e) => {
    const form = e.detail.ctx?.sourceElement;
    const answer = e.detail.ctx?.response;
    if (form?.matches?.("form[data-reset]") && answer && answer.status < 300) {
      form.reset();
      form.querySelector("input:not([type=hidden]), textarea")?.focus();
    }
  });

  // --- The companion: its room is filled when it is opened, and the end of a
  // conversation stays in sight.
  let atEnd = true;
  document.addEventListener("toggle", (e) => {
    const t = e.target;
    if (!t.matches?.("[data-companion]")) return;
    if (t.open) t.querySelector("[hx-get]").dispatchEvent(new Event("opened"));
    else t.querySelector("summary").focus();
  }, true);
  document.addEventListener("scroll", (e) => {
    const t = e.target;
    if (t.id === "companion-talk") atEnd = t.scrollHeight - t.scrollTop - t.clientHeight < 60;
  }, true);
  document.addEventListener("htmx:after:swap", () => {
    const talk = document.getElementById("companion-talk");
    if (talk && atEnd) talk.scrollTop = talk.scrollHeight;
  });
  document.addEventListener("click", (e) => {
    if (e.target.closest("[data-companion-close]")) e.target.closest("[data-companion]").open = false;
  });
  document.addEventListener("keydown", (e) => {
    if (e.key === "Enter" && (e.ctrlKey || e.metaKey) && e.target.matches?.("[data-sends]")) {
      e.preventDefault();
      e.target.form.requestSubmit();
    }
    if (e.key === "Escape") {
      const open = e.target.closest?.("[data-companion][open]");
      if (open) open.open = false;
    }
  });

  // Whether the page hears of changes stands at its root.
  const live = (state) => { document.documentElement.dataset.live = state; };
  document.addEventListener("htmx:sse:after:connection", () => live("on"));
  document.addEventListener("htmx:sse:error", () => live("off"));
  document.addEventListener("htmx:sse:close", () => live("off"));

  // What was lost of the stream is loaded: a part of the page by itself where it
  // says so, else the whole.
  document.addEventListener("reload", (e) => {
    if (e.target.id !== "live") return;
    const own = new CustomEvent("forge:behind", { cancelable: true });
    if (document.dispatchEvent(own)) location.reload();
  });
})();

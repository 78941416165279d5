"use strict";
// What every page does: its token goes with what htmx sends, notices close, and
// the page follows the server's stream.
(() => {
  const token = window.forgeToken = () => document.querySelector('meta[name="forge-token"]')?.content ?? "";

  document.addEventListener("htmx:config:request", (e) => {
    const request = e.detail.ctx.request;
    request.headers["X-Forge-Token"] = token();
  });

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
  document.addEventListener("keydown", (e) => {
    if (e.key !== "Escape") return;
    const menu = document.querySelector("details.menu[open]");
    if (menu) {
      menu.open = false;
      menu.querySelector("summary").focus();
    }
  });

  // A form that was taken is empty again.
  document.addEventListener("htmx:after:request", (e) => {
    const form = e.detail.ctx?.sourceElement;
    const answer = e.detail.ctx?.response;
    if (form?.matches?.("form[data-reset]") && answer && answer.status < 300) {
      form.reset();
      form.querySelector("input:not([type=hidden])")?.focus();
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

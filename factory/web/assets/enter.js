"use strict";
// Goes from the sign-in to the pages, where there is no https. A browser sends
// the session's cookie to every port of this host, so the server shows a page
// only to who also sends the session's token; and what is kept here is kept for
// this port alone.
(() => {
  const name = "forge-token", root = document.documentElement;
  const said = (what) => document.querySelector(`meta[name="${what}"]`)?.content;
  const kept = (token) => {
    try {
      if (token) localStorage.setItem(name, token);
      return localStorage.getItem(name);
    } catch {
      return null; // this browser keeps nothing: the page says so
    }
  };

  // Signed in just now.
  const next = said("forge-next");
  if (next) {
    if (!kept(said("forge-token"))) return;
    root.dataset.entering = "true";
    location.replace(next);
    return;
  }

  // Asked for a page: once more, with the token.
  const token = kept();
  if (!token) return;
  root.dataset.entering = "true";
  const parsed = new Promise((done) => document.addEventListener("DOMContentLoaded", done, { once: true }));
  // What a browser does by itself for a page that came at once: it goes to the
  // place that the address names, or to where it was left.
  const place = "forge-at " + location.href;
  const arrive = () => {
    const came = performance.getEntriesByType("navigation")[0]?.type;
    if (location.hash) location.replace(location.href);
    else if (came === "reload" || came === "back_forward") scrollTo(0, Number(sessionStorage.getItem(place) ?? 0));
  };
  // A request that came to nothing says nothing about the session: a network that
  // changes, or a server that begins anew, ends what is under way.
  const asked = async () => {
    for (let wait = 100; ; wait *= 2) {
      try {
        return await fetch(location.href, { headers: { "X-Forge-Token": token }, mode: "same-origin", cache: "no-store" });
      } catch (failed) {
        if (wait > 3000) throw failed;
        await new Promise((over) => setTimeout(over, wait));
      }
    }
  };
  const enter = async () => {
    const answer = await asked();
    if (answer.status === 401) throw new Error("the session has ended");
    if (!answer.headers.get("Content-Type")?.startsWith("text/html")) throw new Error("that is no page");
    const text = await answer.text();
    await parsed;
    if (answer.redirected) history.replaceState(history.state, "", answer.url + location.hash);
    document.open(); // which takes away all listeners
    addEventListener("load", arrive, { once: true });
    addEventListener("pagehide", () => sessionStorage.setItem(place, String(scrollY)));
    document.write(text);
    document.close();
  };
  enter().catch(() => { delete root.dataset.entering; });
})();

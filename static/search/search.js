// Keyboard: / goes to the box, the arrows, j and k move between results. Without this file every
// part of the page still works.
(() => {
  "use strict";
  const box = document.getElementById("q");
  const links = () => [...document.querySelectorAll(".result-link")];
  const isTyping = (target) =>
    target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);

  const toBox = () => {
    box.focus();
    box.select();
  };

  const show = (link) => {
    link.focus({ preventScroll: true });
    link.closest(".result").scrollIntoView({ block: "nearest" });
  };

  // -1 stands for the box, which lies above the first result.
  const move = (from, step) => {
    const all = links();
    const next = from + step;
    if (next === -1) toBox();
    else if (next >= 0 && next < all.length) show(all[next]);
  };

  // On a page that was opened by a link nothing has the focus: the first result in sight is next.
  const start = () => {
    const all = links();
    const inSight = all.findIndex((link) => link.getBoundingClientRect().top >= 0);
    if (all.length) show(all[Math.max(inSight, 0)]);
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.key === "/" && !isTyping(event.target)) {
      event.preventDefault();
      toBox();
      return;
    }
    const letters = isTyping(event.target) ? {} : { j: 1, k: -1 };
    const step = { ArrowDown: 1, ArrowUp: -1, ...letters }[event.key];
    if (!step || !links().length) return;
    const from = event.target === box ? -1 : links().indexOf(event.target);
    const isFree = event.target === document.body || event.target.id === "main";
    if (from === -1 && ((event.target !== box && !isFree) || step < 0)) return;
    event.preventDefault();
    if (isFree) start();
    else move(from, step);
  });

  // Back, or the link back, leads to the row that was left. It is kept with the page's entry in the
  // history, and nowhere else: a later reader of this browser must not find it.
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.(".result a[href^='/documents/']");
    if (link) history.replaceState({ ...history.state, left: link.getAttribute("href") }, "");
  });
  const left = () => {
    const [entry] = performance.getEntriesByType("navigation");
    if (entry?.type === "back_forward") return history.state?.left;
    return document.referrer && new URL(document.referrer).pathname;
  };
  const comeBack = () => {
    const address = left();
    if (!address?.startsWith("/documents/")) return;
    const link = [...document.querySelectorAll(".result a[href]")].find((each) =>
      each.getAttribute("href").startsWith(address),
    );
    if (!link?.checkVisibility()) return;
    link.focus({ preventScroll: true });
    link.closest(".result").scrollIntoView({ block: "center" });
  };
  comeBack();

  // Servers refuse long addresses: a long search is posted, and has no address of its own.
  const form = document.getElementById("search");
  const longest = Number(form.dataset.longest);
  document.body.addEventListener("htmx:configRequest", ({ detail }) => {
    const query = new URLSearchParams(new FormData(form)).toString();
    if (detail.elt !== form || query.length <= longest) return;
    Object.assign(detail, { verb: "post", useUrlParams: false });
    detail.headers["Content-Type"] = "application/x-www-form-urlencoded";
  });
  const post = (address) => {
    const posted = document.createElement("form");
    posted.method = "post";
    posted.action = address.pathname;
    for (const [name, value] of address.searchParams) {
      const field = document.createElement("input");
      Object.assign(field, { type: "hidden", name, value });
      posted.append(field);
    }
    document.body.append(posted);
    posted.submit();
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href]");
    if (!link || link.search.length <= longest) return;
    const address = new URL(link.href);
    if (address.origin !== location.origin || address.pathname !== location.pathname) return;
    event.preventDefault();
    post(address);
  });

  // A failed search must not look like one without changes.
  const status = document.getElementById("status");
  const say = (text) => {
    status.textContent = text;
  };
  document.body.addEventListener("htmx:responseError", (event) => {
    const tooLong = [400, 414, 431].includes(event.detail.xhr.status);
    say(
      tooLong
        ? status.dataset.tooLong
        : status.dataset.failed,
    );
  });
  document.body.addEventListener("htmx:sendError", () => {
    say(status.dataset.unreachable);
  });
})();

// Keyboard: / goes to the box, the arrows move between results. Without this file every
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

  // -1 stands for the box, which lies above the first result.
  const move = (from, step) => {
    const all = links();
    const next = from + step;
    if (next === -1) toBox();
    else if (next >= 0 && next < all.length) {
      all[next].focus({ preventScroll: true });
      all[next].closest(".result").scrollIntoView({ block: "nearest" });
    }
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.key === "/" && !isTyping(event.target)) {
      event.preventDefault();
      toBox();
      return;
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    const from = event.target === box ? -1 : links().indexOf(event.target);
    if (from === -1 && (event.target !== box || step < 0)) return;
    event.preventDefault();
    move(from, step);
  });

  // Servers refuse long addresses: a long search is posted, and has no address of its own.
  const form = document.getElementById("search");
  const longest = Number(form.dataset.longest);
  document.body.addEventListener("htmx:configRequest", ({ detail }) => {
    const asked = new URLSearchParams(new FormData(form)).toString();
    if (detail.elt !== form || asked.length <= longest) return;
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

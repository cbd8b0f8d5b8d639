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

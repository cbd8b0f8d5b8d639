// Brings the part of a page that is still going on up to date, until it is done.
// Without this script a reload shows the same.
(() => {
  "use strict";
  const INTERVAL = 1500;
  const SLOWEST = 30000;
  let wait = INTERVAL;

  async function poll() {
    const part = document.querySelector("[data-live]");
    if (!part) return;
    if (document.hidden) {
      document.addEventListener("visibilitychange", poll, { once: true });
      return;
    }
    try {
      const response = await fetch(part.dataset.live);
      if (!response.ok || response.redirected) throw new Error(response.statusText);
      const template = document.createElement("template");
      template.innerHTML = await response.text();
      const hadFocus = part.contains(document.activeElement);
      part.replaceWith(template.content);
      if (hadFocus) document.querySelector(`#${part.id} button`)?.focus();
      wait = INTERVAL;
    } catch {
      wait = Math.min(wait * 2, SLOWEST);
    }
    window.setTimeout(poll, wait);
  }

  window.setTimeout(poll, INTERVAL);
})();

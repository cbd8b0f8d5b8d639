// Counts a passage's tokens while it is written. Without this script saving says if it is too long.
(() => {
  "use strict";
  const PAUSE = 300;
  const text = document.querySelector("[data-count-tokens]");
  const shown = document.querySelector("[data-tokens]");
  const token = document.querySelector("#passage [name=csrfmiddlewaretoken]");
  if (!text || !shown || !token) return;
  let timer = 0;
  let asked = 0;

  async function count() {
    const mine = ++asked;
    const body = new URLSearchParams({ text: text.value, csrfmiddlewaretoken: token.value });
    try {
      const response = await fetch(shown.dataset.tokens, { method: "POST", body, headers: { Accept: "application/json" } });
      if (!response.ok || mine !== asked) return;
      const { tokens, most } = await response.json();
      shown.querySelector("span").textContent = tokens;
      shown.classList.toggle("sy-error-text", tokens > most);
    } catch {
      // The count stands still; saving counts again.
    }
  }

  text.addEventListener("input", () => {
    window.clearTimeout(timer);
    timer = window.setTimeout(count, PAUSE);
  });
})();

// Counts a passage's tokens while it is written. Without this script saving says if it is too long.
(() => {
  "use strict";
  const PAUSE = 300;
  const text = document.querySelector("[data-count-tokens]");
  const output = document.querySelector("[data-tokens]");
  const token = document.querySelector("#passage [name=csrfmiddlewaretoken]");
  if (!text || !output || !token) return;
  let timer = 0;
  let latest = 0;

  async function count() {
    const number = ++latest;
    const body = new URLSearchParams({ text: text.value, csrfmiddlewaretoken: token.value });
    try {
      const response = await fetch(output.dataset.tokens, { method: "POST", body, headers: { Accept: "application/json" } });
      if (!response.ok || number !== latest) return;
      const { tokens, most } = await response.json();
      output.querySelector("span").textContent = tokens;
      output.classList.toggle("sy-error-text", tokens > most);
    } catch {
      // The count stands still; saving counts again.
    }
  }

  text.addEventListener("input", () => {
    window.clearTimeout(timer);
    timer = window.setTimeout(count, PAUSE);
  });
})();

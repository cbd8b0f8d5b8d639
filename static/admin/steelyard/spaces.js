// Brings the cells of embedding spaces up to date while one is filled, indexed or removed.
// Without this script a reload shows the same.
(() => {
  "use strict";
  const INTERVAL = 2000;
  const SLOWEST = 30000;
  const root = window.location.pathname.match(/^.*\/ingestion\/embeddingspace\//);
  if (!root) return;
  let wait = INTERVAL;

  const unfinished = () => document.querySelectorAll(".sy-live[data-space][data-unfinished]");

  function show(row) {
    for (const [name, html] of Object.entries(row.cells)) {
      for (const cell of document.querySelectorAll(`.sy-live[data-space="${row.id}"][data-cell="${name}"]`)) {
        const template = document.createElement("template");
        template.innerHTML = html;
        cell.replaceWith(template.content);
      }
    }
  }

  // A space that is gone is in no answer: its cells are asked for no more.
  function forget(rows) {
    const answered = new Set(rows.map((row) => String(row.id)));
    for (const cell of unfinished()) {
      if (!answered.has(cell.dataset.space)) cell.removeAttribute("data-unfinished");
    }
  }

  async function poll() {
    if (!unfinished().length) return;
    if (document.hidden) {
      document.addEventListener("visibilitychange", poll, { once: true });
      return;
    }
    try {
      const response = await fetch(`${root[0]}progress/`, { headers: { Accept: "application/json" } });
      if (!response.ok) throw new Error(response.statusText);
      const { spaces } = await response.json();
      spaces.forEach(show);
      forget(spaces);
      wait = INTERVAL;
    } catch {
      wait = Math.min(wait * 2, SLOWEST);
    }
    if (unfinished().length) {
      window.setTimeout(poll, wait);
    } else if (document.querySelector("[data-reload-when-finished]") && !edited) {
      window.location.reload();
    }
  }

  let edited = false;
  document.addEventListener("input", (event) => { edited ||= Boolean(event.target.closest("form")); });
  window.setTimeout(poll, INTERVAL);
})();

// Brings the changing cells of imports and watched folders up to date, while one of them is live.
// Without this script a reload shows the same.
(() => {
  "use strict";
  const INTERVAL = 2000;
  const SLOWEST = 30000;
  const root = window.location.pathname.match(/^.*\/ingestion\/(import|watchedfolder)\//);
  if (!root) return;
  let wait = INTERVAL;

  const live = () => [...new Set([...document.querySelectorAll(".sy-row[data-live]")].map((cell) => cell.dataset.row))];

  function show(row) {
    for (const [name, html] of Object.entries(row.cells)) {
      for (const cell of document.querySelectorAll(`.sy-row[data-row="${row.id}"][data-cell="${name}"]`)) {
        const template = document.createElement("template");
        template.innerHTML = html;
        cell.replaceWith(template.content);
      }
    }
  }

  // A row that was deleted meanwhile is in no answer: it is asked for no more.
  function forget(ids, rows) {
    const answered = new Set(rows.map((row) => String(row.id)));
    for (const id of ids.filter((id) => !answered.has(id))) {
      for (const cell of document.querySelectorAll(`.sy-row[data-row="${id}"]`)) cell.removeAttribute("data-live");
    }
  }

  async function poll() {
    const ids = live();
    if (!ids.length) return;
    if (document.hidden) {
      document.addEventListener("visibilitychange", poll, { once: true });
      return;
    }
    try {
      const query = new URLSearchParams(ids.map((id) => ["id", id]));
      const response = await fetch(`${root[0]}progress/?${query}`, { headers: { Accept: "application/json" } });
      if (!response.ok) throw new Error(response.statusText);
      const { rows } = await response.json();
      rows.forEach(show);
      forget(ids, rows);
      wait = INTERVAL;
    } catch {
      wait = Math.min(wait * 2, SLOWEST);
    }
    if (live().length) window.setTimeout(poll, wait);
  }

  window.setTimeout(poll, INTERVAL);
})();

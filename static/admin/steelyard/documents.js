// Brings the cells of unfinished documents up to date, and ends when no document is left unfinished.
// Without this script a reload shows the same.
(() => {
  "use strict";
  const INTERVAL = 2000;
  const SLOWEST = 30000;
  const root = window.location.pathname.match(/^.*\/ingestion\/document\//);
  if (!root) return;
  let wait = INTERVAL;

  const unfinished = () =>
    [...new Set([...document.querySelectorAll(".sy-live[data-unfinished]")].map((cell) => cell.dataset.document))];

  function show(row) {
    for (const [name, html] of Object.entries(row.cells)) {
      const selector = `.sy-live[data-document="${row.id}"][data-cell="${name}"]`;
      for (const cell of document.querySelectorAll(selector)) {
        const template = document.createElement("template");
        template.innerHTML = html;
        cell.replaceWith(template.content);
      }
    }
  }

  // A document that was deleted meanwhile is in no answer: its cells stay, and are asked for no more.
  function forget(ids, rows) {
    const answered = new Set(rows.map((row) => String(row.id)));
    for (const id of ids.filter((id) => !answered.has(id))) {
      for (const cell of document.querySelectorAll(`.sy-live[data-document="${id}"]`)) {
        cell.removeAttribute("data-unfinished");
      }
    }
  }

  async function poll() {
    const ids = unfinished();
    if (!ids.length) return;
    if (document.hidden) {
      document.addEventListener("visibilitychange", poll, { once: true });
      return;
    }
    try {
      const query = new URLSearchParams(ids.map((id) => ["id", id]));
      const response = await fetch(`${root[0]}progress/?${query}`, { headers: { Accept: "application/json" } });
      if (!response.ok) throw new Error(response.statusText);
      const { documents } = await response.json();
      documents.forEach(show);
      forget(ids, documents);
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
  document.addEventListener("input", (event) => { edited ||= Boolean(event.target.closest("#document_form")); });
  window.setTimeout(poll, INTERVAL);
})();

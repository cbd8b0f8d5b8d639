// Brings the cells of what is under way up to date (documents, imports, watched folders, embedding
// spaces), and ends when nothing is. Without this script a reload shows the same.
(() => {
  "use strict";
  const INTERVAL = 2000;
  const SLOWEST = 30000;
  const list = window.location.pathname.match(/^.*\/ingestion\/\w+\//);
  if (!list) return;
  let wait = INTERVAL;
  let timer;
  let edited = false;

  const cells = (id) => document.querySelectorAll(`.sy-live[data-row="${id}"]`);
  const unfinished = () =>
    [...new Set([...document.querySelectorAll(".sy-live[data-unfinished]")].map((cell) => cell.dataset.row))];

  function show(row) {
    for (const cell of cells(row.id)) {
      const html = row.cells[cell.dataset.cell];
      if (html === undefined) continue;
      const template = document.createElement("template");
      template.innerHTML = html;
      cell.replaceWith(template.content);
    }
  }

  // What was deleted meanwhile is in no answer: its cells stay, and are asked for no more.
  function forget(ids, rows) {
    const answered = new Set(rows.map((row) => String(row.id)));
    for (const id of ids.filter((id) => !answered.has(id))) {
      for (const cell of cells(id)) cell.removeAttribute("data-unfinished");
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
      const response = await fetch(`${list[0]}progress/?${query}`, { headers: { Accept: "application/json", "Accept-Language": document.documentElement.lang } });
      if (!response.ok) throw new Error(response.statusText);
      const { rows, worker } = await response.json();
      rows.forEach(show);
      document.querySelector("#no-worker")?.toggleAttribute("hidden", worker);
      document.dispatchEvent(new Event("live-shown"));
      forget(ids, rows);
      wait = INTERVAL;
    } catch {
      wait = Math.min(wait * 2, SLOWEST);
    }
    if (unfinished().length) {
      timer = window.setTimeout(poll, wait);
    } else if (document.querySelector("[data-reload-when-finished]") && !edited) {
      window.location.reload();
    }
  }

  document.addEventListener("input", (event) => { edited ||= Boolean(event.target.closest("form")); });
  // Rows came into the page, or go on.
  document.addEventListener("live-begun", () => {
    window.clearTimeout(timer);
    timer = window.setTimeout(poll, INTERVAL);
  });
  timer = window.setTimeout(poll, INTERVAL);
})();

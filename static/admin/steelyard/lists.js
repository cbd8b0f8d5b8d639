// Hides the columns of a list that have no value in any row; on a phone also single cells without
// one. A column comes back when a cell that is updated in the background gets a value. Fields in
// rows are named by their column and row.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const list = document.getElementById("result_list");
  if (!list) return;
  const isBlank = (cell) =>
    ["", "-"].includes(cell.textContent.trim()) && !cell.querySelector("input, select, img, svg");

  function hideBlank() {
    const rows = [...list.querySelectorAll("tbody .data-row")].map((row) => [...row.cells]);
    for (const cell of rows.flat()) cell.classList.toggle("sy-blank", isBlank(cell));
    [...(list.tHead?.rows[0].cells ?? [])].forEach((head, at) => {
      const cells = rows.map((row) => row[at]).filter(Boolean);
      const hidden = cells.length > 0 && cells.every((cell) => cell.classList.contains("sy-blank"));
      for (const cell of [head, ...cells]) cell.classList.toggle("sy-no-value", hidden);
    });
  }

  for (const field of list.querySelectorAll("td[data-label] :is(input, select)")) {
    const name = field.closest("tr").querySelector("th")?.textContent ?? "";
    field.setAttribute("aria-label", `${field.closest("td").dataset.label}: ${name.trim()}`);
  }
  hideBlank();
  new MutationObserver(hideBlank).observe(list, { childList: true, subtree: true });
});

// Hides the columns of a list that have no value in any row; on a phone also single cells without
// one. A column comes back when a cell that is updated in the background gets a value.
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

  hideBlank();
  new MutationObserver(hideBlank).observe(list, { childList: true, subtree: true });
});

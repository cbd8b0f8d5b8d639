// The box that tries a row while it is being written; with data-by-hand only on request.
(() => {
  "use strict";
  const box = document.getElementById("sy-try");
  if (!box) return;
  const form = box.closest("form");
  const question = document.getElementById("sy-try-question");
  const output = document.getElementById("sy-tried");
  let timer = 0;
  let request = null;

  const ask = async () => {
    request?.abort();
    request = new AbortController();
    output.setAttribute("aria-busy", "true");
    const data = new FormData(form);
    data.set("row", box.dataset.row);
    data.set("question", question.value);
    try {
      const answer = await fetch(box.dataset.url, { method: "POST", body: data, signal: request.signal });
      if (answer.ok) output.innerHTML = await answer.text();
    } catch (error) {
      if (error.name === "AbortError") return;
      output.textContent = "The server did not answer.";
    }
    output.removeAttribute("aria-busy");
  };
  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(ask, 350);
  };
  const byHand = "byHand" in box.dataset;
  if (!byHand) {
    form.addEventListener("input", soon);
    form.addEventListener("change", soon);
    // The document's field is a widget of jQuery's, which tells nobody else of its changes.
    window.django?.jQuery?.(form).on("change", "select", soon);
  }
  document.getElementById("sy-try-go")?.addEventListener("click", ask);
  question.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    ask();
  });
  box.hidden = false;
  if (box.dataset.row && !byHand) ask();
})();

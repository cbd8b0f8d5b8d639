// Unfold's filters, menus and themes answer to clicks alone: here to Enter and the space bar, too.
// And one step leads past the sidebar's thirty links.
"use strict";

(() => {
  const NATIVE = "button, input, select, summary, [href], [tabindex]";

  function reachable() {
    for (const part of document.querySelectorAll(".cursor-pointer[x-on\\:click]")) {
      if (part.matches(NATIVE)) continue;
      part.tabIndex = 0;
      part.setAttribute("role", "button");
      part.dataset.byKey = "";
    }
    const content = document.getElementById("content");
    if (!content) return;
    content.tabIndex = -1;
    const skip = document.createElement("a");
    skip.href = "#content";
    skip.className = "sy-skip";
    skip.textContent = "Skip to the content";
    document.body.prepend(skip);
  }

  document.addEventListener("keydown", (event) => {
    if ((event.key !== "Enter" && event.key !== " ") || !("byKey" in event.target.dataset)) return;
    event.preventDefault();
    event.target.click();
  });

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", reachable);
  else reachable();
})();

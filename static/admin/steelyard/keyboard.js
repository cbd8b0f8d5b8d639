// Unfold's filters, menus and themes answer to clicks alone: here to Enter and the space bar, too.
// And one step leads past the sidebar's thirty links. Plain file fields are kept from its script.
"use strict";

(() => {
  const NATIVE = "button, input, select, summary, [href], [tabindex]";
  const ICON = ".material-symbols-outlined";
  const CLICKED = `.cursor-pointer[x-on\\:click], .cursor-pointer > ${ICON}[x-on\\:click]`;
  const SIDEBAR = "#nav-sidebar-inner";

  function reachable() {
    for (const part of document.querySelectorAll(CLICKED)) {
      if (part.matches(NATIVE)) continue;
      // An icon's text is its name in the font; the only ones are those that open and close the menu.
      if (part.matches(ICON)) part.setAttribute("aria-label", "Menu");
      part.tabIndex = 0;
      part.setAttribute("role", "button");
      part.dataset.byKey = "";
    }
    // It would look for the text box that its own file widget has beside it.
    for (const input of document.querySelectorAll(":is(.sy-drop, .sy-new-version) > [type=file]")) {
      input.hasChangeListener = true;
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
    // On a narrow screen the menu opens over the page, before the button in the order of the keys.
    if (event.target.matches(`${ICON}:not(${SIDEBAR} *)`)) {
      setTimeout(() => document.querySelector(`${SIDEBAR} a[href]`)?.focus());
    }
  });

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", reachable);
  else reachable();
})();

// Unfold's filters, menus and themes answer to clicks alone: here to Enter and the space bar, too.
// And one step leads past the links of the sidebar. Plain file fields are kept from its script.
// Its pages get the landmark and the labels that they lack, and lose regions that all have one name.
"use strict";

(() => {
  const NATIVE = "button, input, select, summary, [href], [tabindex]";
  const ICON = ".material-symbols-outlined";
  const CLICKED = `.cursor-pointer[x-on\\:click], .cursor-pointer > ${ICON}[x-on\\:click]`;
  const SIDEBAR = "#nav-sidebar-inner";

  // A heading stays one: its content is the button, and clicks reach the heading from there.
  function clickable(part) {
    if (!part.matches("h1, h2, h3, h4")) return part;
    const inner = document.createElement("span");
    inner.className = "sy-folds";
    inner.append(...part.childNodes);
    part.append(inner);
    return inner;
  }

  function landmarks() {
    document.getElementById("main")?.setAttribute("role", "main");
    const tabs = document.getElementById("tabs-items");
    const entry = document.querySelector("#nav-sidebar-apps a.active > span:last-of-type");
    if (tabs && entry) tabs.setAttribute("aria-label", entry.textContent.trim());
    tabs?.querySelector(".active")?.setAttribute("aria-current", "page");
    // SimpleBar names every part that scrolls “scrollable content”.
    for (const part of document.querySelectorAll(".simplebar-content-wrapper[role]")) {
      part.removeAttribute("role");
      part.removeAttribute("aria-label");
    }
    // Select2 names its parts by the chosen value alone, or not at all.
    for (const part of document.querySelectorAll(":is(.select2, .select2-dropdown) [role$=box]")) {
      const own = part.closest(".select2") ?? document.querySelector(".select2.select2-container--open");
      const list = own?.previousElementSibling;
      const label = list?.labels?.[0];
      if (!label) continue;
      label.id ||= `${list.id}-label`;
      part.setAttribute("aria-labelledby", `${label.id} select2-${list.id}-container`);
      if (part.role === "combobox") part.setAttribute("aria-controls", `select2-${list.id}-results`);
    }
    for (const icon of document.querySelectorAll(".help-tooltip")) icon.setAttribute("role", "img");
    for (const head of document.querySelectorAll("thead th:empty")) {
      head.replaceWith(document.createElement("td"));
    }
  }

  function reachable() {
    landmarks();
    addEventListener("load", landmarks);
    // SimpleBar and Select2 make their parts in their own time.
    new MutationObserver(landmarks).observe(document.body, { childList: true, subtree: true });
    for (const clicked of document.querySelectorAll(CLICKED)) {
      if (clicked.matches(NATIVE)) continue;
      const part = clickable(clicked);
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

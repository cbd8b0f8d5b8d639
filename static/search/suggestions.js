// Suggestions below the search box while typing: a combobox with a list. Enter searches for what
// was typed unless a row is chosen: a title or a heading opens its document, another text is
// searched for. Without this file the box works as it is.
(() => {
  "use strict";
  const box = document.getElementById("q");
  const form = document.getElementById("search");
  const { suggestions: address, suggestionsLabel: label } = form.dataset;
  if (!address) return;
  const PAUSE = 120; // milliseconds without a key
  const list = document.createElement("ul");
  Object.assign(list, { id: "suggestions", className: "suggestions", hidden: true });
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", label);
  box.parentElement.append(list);
  const attributes = { role: "combobox", "aria-autocomplete": "list", "aria-controls": list.id };
  for (const [name, value] of Object.entries(attributes)) box.setAttribute(name, value);

  let chosen = -1;
  let waiting = 0;
  let request = new AbortController();
  let silentUntil = 0; // after a refusal

  const choose = (place) => {
    list.children[chosen]?.setAttribute("aria-selected", "false");
    chosen = place;
    const row = list.children[chosen];
    row?.setAttribute("aria-selected", "true");
    row?.scrollIntoView({ block: "nearest" });
    if (row) box.setAttribute("aria-activedescendant", row.id);
    else box.removeAttribute("aria-activedescendant");
  };
  const open = () => {
    list.hidden = !list.children.length;
    box.setAttribute("aria-expanded", String(!list.hidden));
  };
  const close = () => {
    clearTimeout(waiting);
    request.abort();
    choose(-1);
    list.hidden = true;
    box.setAttribute("aria-expanded", "false");
  };
  const take = (row) => {
    if (!new URL(row.dataset.address).searchParams.has("q")) {
      close();
      location.assign(row.dataset.address);
      return;
    }
    box.value = row.firstElementChild.textContent;
    close();
    list.replaceChildren();
    form.requestSubmit();
  };

  // Node by node, so that a title is never read as markup.
  const row = (text, description, address, place) => {
    const [item, label, beside] = ["li", "span", "small"].map((name) => document.createElement(name));
    label.textContent = text;
    beside.textContent = description;
    item.dataset.address = address;
    item.id = `suggestion-${place}`;
    item.setAttribute("role", "option");
    item.setAttribute("aria-selected", "false");
    item.append(label, " ", beside);
    return item;
  };
  const ask = async () => {
    request.abort();
    request = new AbortController();
    const { signal } = request;
    const typed = box.value;
    const query = new URLSearchParams({ q: typed });
    for (const each of new FormData(form).getAll("collection")) query.append("collection", each);
    try {
      const response = await fetch(`${address}?${query}`, { signal });
      if (!response.ok) {
        silentUntil = Date.now() + 1000 * (Number(response.headers.get("Retry-After")) || 10);
        return;
      }
      const [, texts, descriptions, addresses] = await response.json();
      if (signal.aborted || document.activeElement !== box) return;
      choose(-1);
      list.replaceChildren(...texts.map((text, place) => row(text, descriptions[place], addresses[place], place)));
      open();
    } catch {
      // Aborted, or the server cannot be reached, which the search itself says.
    }
  };

  // While a word is composed, too: keyboards of telephones compose every word.
  box.addEventListener("input", () => {
    clearTimeout(waiting);
    if (box.value.trim().length < 2) close();
    else if (Date.now() > silentUntil) waiting = setTimeout(ask, PAUSE);
  });
  box.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.isComposing) return;
    const count = list.children.length;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (list.hidden) {
      // With Alt the list opens again; without, the arrows go to the results (search.js).
      if (!event.altKey || event.key !== "ArrowDown" || !count) return;
      open();
    } else if (step) {
      // -1 is what was typed, between the last row and the first.
      choose(((chosen + 1 + step + count + 1) % (count + 1)) - 1);
    } else if (event.key === "Escape") {
      close();
    } else if (event.key === "Enter" && chosen >= 0) {
      take(list.children[chosen]);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  });
  form.addEventListener("submit", close);
  box.addEventListener("blur", close);
  list.addEventListener("mousedown", (event) => event.preventDefault()); // the box keeps the focus
  list.addEventListener("click", (event) => {
    const item = event.target.closest("li");
    if (item) take(item);
  });
  close();
})();

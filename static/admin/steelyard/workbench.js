// The workbench: each move of a control asks the server for both rankings, then for the measures.
// Nothing is computed here: the server's one ranking is what searches use.
(() => {
  "use strict";
  const root = document.getElementById("workbench");
  if (!root) return;
  const form = document.getElementById("wb-form");
  const text = document.getElementById("wb-text");
  const rankings = document.getElementById("wb-rankings");
  const measures = document.getElementById("wb-measures");
  const status = document.getElementById("wb-status");
  const token = root.querySelector("[name=csrfmiddlewaretoken]").value;
  const PREVIEW_MS = 30; // after a move: one frame or two, so that a drag asks once each
  const MEASURE_MS = 250;
  const POLL_MS = 1500;
  const SLOW_MS = 700; // an answer that takes longer is one that reads all candidates first
  const TOAST_MS = 4000;
  const calm = matchMedia("(prefers-reduced-motion: reduce)");

  const all = (selector, within = root) => [...within.querySelectorAll(selector)];
  const values = () => Object.fromEntries(new FormData(form));
  const state = () => ({ profile: root.dataset.profile, values: values() });
  const collections = () => (text.dataset.collections || "").split(",").filter(Boolean);
  // A question is the same golden query only within the same collections.
  const address = (profile) => `${root.dataset.page}?${new URLSearchParams([["profile", profile], ["q", text.value], ...collections().map((slug) => ["collection", slug])])}`;
  let saved = JSON.stringify(values());
  const publish = document.getElementById("wb-publish"); // null without the permission
  const isDraft = publish && !publish.hidden;

  function tell(message, alarm = false) {
    status.textContent = message;
    status.classList.toggle("wb-alarm", alarm);
  }

  // What a key did, beside the results: the line of status may be out of sight.
  const toast = document.getElementById("wb-toast");
  function confirmed(message) {
    tell(message);
    toast.textContent = message;
    toast.hidden = false;
    later("toast", () => { toast.hidden = true; }, TOAST_MS);
  }

  const waiting = {};
  // The answer to a question, or null where a newer one of its kind was sent meanwhile.
  async function ask(kind, body) {
    waiting[kind]?.abort();
    const mine = (waiting[kind] = new AbortController());
    try {
      const response = await fetch(root.dataset[kind], {
        method: "POST",
        headers: { "Content-Type": "application/json", "X-CSRFToken": token },
        body: JSON.stringify(body),
        signal: mine.signal,
      });
      if (response.redirected || response.status === 403) {
        tell("You are signed out, or may not do this. Load the page again.", true);
        return null;
      }
      const answer = await response.json().catch(() => ({ error: "The server could not answer. Try again." }));
      if (mine.signal.aborted) return null;
      if (response.status === 422) return problems(answer.problems);
      if (answer.error) { tell(answer.error, true); return null; }
      if (!response.ok) { tell("The server could not answer. Try again.", true); return null; }
      return answer;
    } catch (error) {
      if (error.name !== "AbortError") tell("The server does not answer. Your changes are still here.", true);
      return null;
    }
  }

  function problems(errors) {
    let rest = [];
    all(".wb-problem").forEach((note) => { note.hidden = true; });
    Object.entries(errors).forEach(([name, texts]) => {
      const note = form.querySelector(`[data-field="${CSS.escape(name)}"] .wb-problem`);
      if (note) { note.textContent = texts.join(" "); note.hidden = false; note.closest("details").open = true; } else rest = rest.concat(texts);
    });
    tell(rest.join(" ") || "One of the settings is not valid: see beside it.", true);
    return null;
  }

  // --- both rankings -------------------------------------------------------------------------
  const key = (hit) => `${hit.closest(".wb-column-draft") ? "draft" : "active"}:${hit.dataset.document}`;

  function replaceRankings(html) {
    const before = new Map();
    all(".wb-hit", rankings).forEach((hit) => before.set(key(hit), hit.getBoundingClientRect().top));
    const open = new Set(all(".wb-why[open]", rankings).map((why) => key(why.closest(".wb-hit"))));
    const focused = rankings.contains(document.activeElement) && document.activeElement.closest(".wb-hit");
    const focus = focused ? key(focused) : null;
    rankings.innerHTML = html;
    all(".wb-hit", rankings).forEach((hit) => {
      const name = key(hit);
      if (open.has(name)) hit.querySelector(".wb-why").open = true;
      if (name === focus) hit.focus({ preventScroll: true });
      const moved = before.has(name) ? before.get(name) - hit.getBoundingClientRect().top : 0;
      if (moved && !calm.matches && hit.animate) {
        hit.animate([{ transform: `translateY(${moved}px)` }, { transform: "none" }], { duration: 220, easing: "ease-out" });
      }
    });
  }

  async function preview() {
    const query = text.value.trim();
    if (!query) { rankings.replaceChildren(); return; }
    rankings.classList.add("wb-waiting");
    rankings.setAttribute("aria-busy", "true");
    const answer = await ask("preview", { ...state(), text: query, collections: collections() });
    if (!answer) { rankings.classList.remove("wb-waiting"); return; }
    rankings.classList.remove("wb-waiting");
    rankings.setAttribute("aria-busy", "false");
    replaceRankings(answer.html);
    all(".wb-problem").forEach((note) => { note.hidden = true; });
    tell(`${dirty() ? "Not saved. " : ""}Ranked in ${Math.round(answer.milliseconds)} ms.`);
    markClass(answer.class);
  }

  // --- the measures ------------------------------------------------------------------------
  const slow = document.getElementById("wb-slow");
  let measuring = 0;

  async function measure() {
    const mine = (measuring += 1);
    measures.setAttribute("aria-busy", "true");
    later("slow", () => { slow.hidden = false; }, SLOW_MS);
    const answer = await ask("measures", state());
    if (mine !== measuring) return; // a newer one is on its way
    clearTimeout(timers.slow);
    slow.hidden = true;
    if (!answer) return;
    measures.innerHTML = answer.html;
    measures.setAttribute("aria-busy", "false");
    document.getElementById("wb-summary").innerHTML = answer.summary;
    moved = new Map(answer.moved.map((each) => [`${each.collections}\n${each.text}`, each.by]));
    markQuery();
    markMoved();
    if (answer.building !== null) later("measure", measure, POLL_MS);
  }

  // Beside each golden query, what the draft changes about it.
  let moved = new Map();
  function markMoved() {
    all("#wb-queries .wb-query").forEach((button) => {
      button.querySelector(".wb-delta")?.remove();
      const by = moved.get(`${button.dataset.collections}\n${button.dataset.text}`);
      if (by === undefined) return;
      const note = document.createElement("span");
      note.className = `wb-delta ${by > 0 ? "wb-better" : "wb-worse"}`;
      note.textContent = `${by > 0 ? "+" : "−"}${Math.abs(by).toFixed(3)}`;
      button.lastElementChild.before(note);
    });
  }

  const timers = {};
  function later(name, work, milliseconds) {
    clearTimeout(timers[name]);
    timers[name] = setTimeout(work, milliseconds);
  }
  const dirty = () => JSON.stringify(values()) !== saved;

  // A drag is one move of one control: what stood before its first change is what Undo returns to.
  const MOVE_MS = 600;
  const MOVES = 100;
  const moves = [];
  let before = values();
  let lastMove = 0;
  let lastMover = null;
  const undoButton = root.querySelector('[data-do="undo"]');

  function remember() {
    const now = values();
    if (JSON.stringify(now) === JSON.stringify(before)) return;
    const mover = document.activeElement;
    if (mover !== lastMover || Date.now() - lastMove > MOVE_MS) moves.push(before);
    lastMover = mover;
    if (moves.length > MOVES) moves.shift();
    lastMove = Date.now();
    before = now;
    undoButton.disabled = !moves.length;
  }

  function undo() {
    const last = moves.pop();
    if (!last) return;
    [...form.elements].filter((field) => field.name && field.type !== "hidden").forEach((field) => {
      if (field.type === "checkbox") field.checked = field.name in last;
      else if (field.name in last) field.value = last[field.name];
    });
    syncSliders();
    before = values();
    lastMove = 0;
    undoButton.disabled = !moves.length;
    changed();
    tell("The last move is undone.");
  }

  // The sliders and beams follow the figures that a script has set.
  function syncSliders() {
    all(".wb-class").forEach((fieldset) => fieldset.dispatchEvent(new Event("weights-set")));
    all("[data-for]", form).forEach((slider) => { slider.value = document.getElementById(slider.dataset.for).value; fill(slider); });
  }

  function changed() {
    remember();
    if (!byClass.checked && chosenClass() !== EVERY) select(classPill(EVERY)); // the others are out of sight
    const unsaved = dirty();
    all('[data-do="save"], [data-do="reset"]').forEach((button) => { button.disabled = !unsaved; });
    if (publish) publish.hidden = !isDraft && !unsaved;
    later("preview", preview, PREVIEW_MS);
    later("measure", measure, MEASURE_MS);
  }

  form.addEventListener("input", (event) => {
    const slider = event.target;
    if (slider.dataset.for) {
      document.getElementById(slider.dataset.for).value = slider.value;
      fill(slider);
    } else {
      const twin = form.querySelector(`[data-for="${CSS.escape(slider.id)}"]`);
      if (twin) { twin.value = slider.value; fill(twin); }
    }
    changed();
  });
  form.addEventListener("submit", (event) => event.preventDefault());

  function fill(slider) {
    const share = (slider.value - slider.min) / (slider.max - slider.min);
    slider.style.setProperty("--fill", `${share * 100}%`);
  }
  all("[data-for]", form).forEach(fill);

  // --- tabs: classes, and questions to pick ---------------------------------------------------
  const byClass = form.elements.by_class; // off: the general weights are those of every question
  const EVERY = "general";
  byClass.addEventListener("change", () => byClass.checked && select(root.querySelector(".wb-asked") ?? classPill(EVERY)));
  const classPill = (name) => root.querySelector(`.wb-pill[data-class="${CSS.escape(name)}"]`);

  function select(pill) {
    all('[role="tab"]', pill.parentElement).forEach((each) => {
      each.setAttribute("aria-selected", String(each === pill));
      each.tabIndex = each === pill ? 0 : -1;
    });
    if (pill.dataset.class) {
      all(".wb-class").forEach((fieldset) => { fieldset.hidden = fieldset.dataset.class !== pill.dataset.class; });
    } else {
      list(pill.dataset.tab);
    }
  }
  const chosenClass = () => root.querySelector('.wb-pill[data-class][aria-selected="true"]').dataset.class;

  function markClass(name) {
    all(".wb-pill[data-class]").forEach((pill) => {
      pill.classList.toggle("wb-asked", pill.dataset.class === name);
      pill.title = pill.dataset.class === name ? "The class of the question below" : "";
    });
    const pill = byClass.checked && classPill(name);
    if (pill && text.dataset.shown !== text.value) select(pill); // a new question shows its weights
    text.dataset.shown = text.value;
  }

  const chosenTab = () => root.querySelector('.wb-pill[data-tab][aria-selected="true"]').dataset.tab;

  let listed = null; // the markup of the list in sight
  async function list(tab) {
    const queries = document.getElementById("wb-queries");
    queries.setAttribute("aria-busy", "true");
    const response = await fetch(`${root.dataset.queries}?tab=${encodeURIComponent(tab)}`);
    const html = response.ok && !response.redirected ? await response.text() : listed;
    if (tab !== chosenTab()) return; // a later tab is on its way
    // A list that did not change stays: a click between two lists would be lost.
    if (html !== listed) {
      // Who has picked a question goes on from it with the arrow keys.
      const picked = document.activeElement.closest("#wb-queries .wb-query")?.dataset.text;
      queries.innerHTML = listed = html;
      if (picked !== undefined) all("#wb-queries .wb-query").find((each) => each.dataset.text === picked)?.focus();
    }
    queries.setAttribute("aria-busy", "false");
    markQuery();
    markMoved();
  }

  function markQuery() {
    all(".wb-query").forEach((button) => {
      button.setAttribute("aria-current", String(button.dataset.text === text.value.trim()));
    });
  }

  root.addEventListener("keydown", (event) => {
    const pill = event.target.closest('[role="tab"]');
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!pill || !step) return;
    const pills = all('[role="tab"]', pill.parentElement);
    const next = pills[(pills.indexOf(pill) + step + pills.length) % pills.length];
    event.preventDefault();
    next.focus();
    select(next);
  });

  // --- asking ---------------------------------------------------------------------------------
  function pick(question, within = "") {
    text.value = question;
    text.dataset.collections = within;
    markQuery();
    preview();
  }
  document.getElementById("wb-ask").addEventListener("submit", (event) => {
    event.preventDefault();
    markQuery();
    preview();
  });
  text.addEventListener("input", () => {
    text.dataset.collections = "";
    later("preview", preview, 350);
  });

  // --- judging ----------------------------------------------------------------------------------
  const undos = []; // the requests that take this person's steps on this page back
  async function judge(hit, action) {
    const mustBe = action === "f" ? (hit.dataset.first ? "not-first" : "first") : action;
    const answer = await ask("judge", {
      action: mustBe, text: text.value.trim(), collections: collections(), document: hit.dataset.document,
    });
    if (!answer) return;
    undos.push(answer.undo);
    await showJudgement(answer);
  }

  async function undoJudgement() {
    const last = undos.pop();
    if (!last) return confirmed("There is nothing to undo.");
    const answer = await ask("judge", { ...last, undoes: true });
    if (answer) await showJudgement(answer);
    else undos.push(last); // the server did not answer: nothing was taken back
  }

  async function showJudgement(answer) {
    await preview();
    confirmed(answer.said);
    list(chosenTab());
    later("measure", measure, MEASURE_MS);
  }

  function step(hit, way) {
    const column = hit.closest(".wb-column");
    const hits = all(".wb-hit", column);
    if (way === "ArrowDown" || way === "ArrowUp") {
      return hits[hits.indexOf(hit) + (way === "ArrowDown" ? 1 : -1)];
    }
    const other = all(".wb-column", rankings).find((each) => each !== column);
    return other && (all(".wb-hit", other).find((each) => each.dataset.document === hit.dataset.document)
      || all(".wb-hit", other)[Math.min(hits.indexOf(hit), all(".wb-hit", other).length - 1)]);
  }

  rankings.addEventListener("keydown", (event) => {
    const hit = event.target.closest(".wb-hit");
    if (!hit || event.ctrlKey || event.metaKey || event.altKey) return;
    const may = Boolean(hit.querySelector(".wb-grades"));
    if (may && /^[0-3]$/.test(event.key)) judge(hit, event.key);
    else if (may && event.key === "x") judge(hit, "clear");
    else if (may && event.key === "f") judge(hit, "f");
    else if (may && event.key === "z") undoJudgement();
    else if (event.key === "Enter" && event.target === hit) hit.querySelector(".wb-why").toggleAttribute("open");
    else if (/^Arrow/.test(event.key) && event.target === hit) step(hit, event.key)?.focus();
    else return;
    event.preventDefault();
  });
  // The same document in the other column is easier seen than looked for.
  const twins = (event) => {
    const hit = event.target.closest(".wb-hit");
    all(".wb-hit", rankings).forEach((each) => each.classList.toggle("wb-twin", Boolean(hit) && each.dataset.document === hit.dataset.document));
  };
  rankings.addEventListener("focusin", twins);
  rankings.addEventListener("pointerover", twins);

  // A text field has an undo of its own.
  document.addEventListener("keydown", (event) => {
    if (event.key !== "z" || !(event.ctrlKey || event.metaKey) || event.shiftKey) return;
    if (event.target.closest("textarea, input:not([type=range], [type=checkbox])")) return;
    event.preventDefault();
    undo();
  });

  // The questions to pick stand between the field and the results: many for the Tab key.
  document.addEventListener("keydown", (event) => {
    const first = event.key === "ArrowDown" && rankings.querySelector(".wb-hit");
    if (!first || (event.target !== text && !event.target.closest(".wb-query"))) return;
    event.preventDefault();
    first.focus();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target.closest("input, textarea, select")) return;
    event.preventDefault();
    text.focus();
    text.select();
  });

  // --- saving -------------------------------------------------------------------------------------
  async function save() {
    const answer = await ask("save", state());
    if (!answer) return false;
    if (String(answer.profile) !== root.dataset.profile) {
      // Another row now: what is edited next is that draft.
      location.assign(address(answer.profile));
      return true;
    }
    delete waiting.save; // what changes from here on is unsaved again
    form.elements.stamp.value = answer.stamp;
    form.elements.reason.value = ""; // it is in the audit; the next change has a reason of its own
    saved = JSON.stringify(values());
    changed();
    tell(answer.changes ? `${answer.name} is saved.` : "Nothing was changed, so nothing was saved.");
    return true;
  }

  // Publishing begins with what is on the page: changes are saved as a draft first.
  publish?.addEventListener("click", async (event) => {
    if (!dirty()) return;
    event.preventDefault();
    const answer = await ask("save", state());
    if (!answer) return;
    saved = JSON.stringify(values());
    location.assign(answer.publish);
  });

  function reset() {
    form.reset();
    syncSliders();
    lastMove = 0;
    changed();
  }

  root.addEventListener("click", (event) => {
    const target = event.target.closest("button");
    if (!target) return;
    if (target.getAttribute("role") === "tab") select(target);
    else if (target.classList.contains("wb-query")) {
      pick(target.dataset.text, target.dataset.collections);
      if (measures.contains(target)) document.querySelector(".wb-ask").scrollIntoView({ behavior: calm.matches ? "auto" : "smooth" });
    } else if (target.classList.contains("wb-grade")) {
      const hit = target.closest(".wb-hit");
      judge(hit, target.getAttribute("aria-pressed") === "true" ? "clear" : target.dataset.action);
    } else if (target.dataset.do === "save") save();
    else if (target.dataset.do === "reset") reset();
    else if (target.dataset.do === "undo") undo();
    else if (target.dataset.do === "pools") ask("pools", state()).then((answer) => answer && measure());
  });
  document.getElementById("wb-profile").addEventListener("change", (event) => {
    location.assign(address(event.target.value));
  });
  window.addEventListener("beforeunload", (event) => { if (dirty() && !waiting.save) event.preventDefault(); });

  list("golden").then(() => {
    const first = root.querySelector("#wb-queries [data-opens]");
    if (!text.value && first) pick(first.dataset.text, first.dataset.collections);
    else { markQuery(); preview(); }
  });
  measure();
})();

// Asks for answers and shows them as they come. Without this file every form still gives the
// whole answer. The text of a running answer is Markdown of elements made here, without attributes of
// its own; its end is HTML of the server.
(() => {
  "use strict";
  const template = document.getElementById("answer-running");
  const status = document.getElementById("answer-status");
  if (!template) return;
  const words = template.dataset;
  const running = new Map(); // article -> its AbortController

  const say = (text) => {
    status.textContent = text;
  };

  // --- the stream ----------------------------------------------------------------------------
  async function* eventsOf(response) {
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let waiting = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (waiting + value.replaceAll("\r\n", "\n")).split("\n\n");
      waiting = blocks.pop();
      for (const block of blocks) {
        let name = "message";
        let data = "";
        for (const line of block.split("\n")) {
          if (line.startsWith("event: ")) name = line.slice(7);
          else if (line.startsWith("data: ")) data += line.slice(6);
        }
        if (data) yield [name, JSON.parse(data)];
      }
    }
  }

  // --- a running answer ----------------------------------------------------------------------
  // The page's quote stands in it until the first words come.
  const begin = (question, isNamed, quote) => {
    const article = template.content.firstElementChild.cloneNode(true);
    article.question = isNamed && question;
    if (isNamed) article.querySelector("h2").textContent = question;
    article.querySelector(".doing").textContent = words.searching;
    if (quote) {
      article.quote = quote;
      article.classList.add("quoting");
      article.querySelector("h2").textContent = quote.querySelector("h2").textContent;
      const place = article.querySelector(".answer-text");
      place.append(...quote.querySelector(".answer-text").cloneNode(true).childNodes);
      place.setAttribute("aria-busy", "false");
    }
    return article;
  };

  // --- Markdown as it comes, in the elements of the server's rendering -------------------------
  const made = (name, text = "") => Object.assign(document.createElement(name), { textContent: text });
  // Code, strong, emphasis, an escape, a marker. What is still open at the end is closed there.
  const INLINE = /(`+)(.+?)(?:\1(?!`)|$)|\*\*(?=\S)(.+?)(?:\*\*|$)|(?<![\w*])\*(?=[^\s*])([^*]+)(?:\*|$)|\\([!-/:-@[-`{-~])|\[(\d+)\]/gs;
  const inline = (place, text, known) => {
    let last = 0;
    for (const match of text.matchAll(INLINE)) {
      const [all, , code, strong, soft, escaped, number] = match;
      if (number && !known.has(Number(number))) continue;
      place.append(text.slice(last, match.index));
      last = match.index + all.length;
      if (code) place.append(made("code", code));
      else if (strong || soft) place.append(inline(made(strong ? "strong" : "em"), strong || soft, known));
      else if (escaped) place.append(escaped);
      else place.append(Object.assign(made("span", number), { className: "cite" }));
    }
    place.append(text.slice(last));
    return place;
  };

  const ITEM = /^( *)([-*+]|\d{1,9}[.)])( +)(?=\S)/;
  const FENCE = /^ {0,3}(`{3,}|~{3,})/;
  const ROW = /^ *\|/;
  const cells = (row) => row.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());
  // The blocks of the lines: [number of their first line, element].
  const blocksOf = (lines, known) => {
    const blocks = [];
    let at = 0;
    const run = (belongs) => {
      const first = at;
      while (++at < lines.length && belongs(lines[at], at - first));
      return lines.slice(first, at);
    };
    while (at < lines.length) {
      const [first, line] = [at, lines[at]];
      const fence = FENCE.exec(line)?.[1];
      const head = /^ {0,3}#{1,6} +(.*?)[ #]*$/.exec(line);
      const item = ITEM.exec(line);
      let element = null;
      if (!line.trim()) at++;
      else if (fence) {
        const code = run((each) => !each.trim().startsWith(fence)).slice(1);
        at++;
        element = made("pre");
        element.append(made("code", code.join("\n") + "\n"));
      } else if (head) {
        at++;
        element = inline(made("h3"), head[1], known);
      } else if (item) {
        const isNumber = (mark) => /\d/.test(mark);
        const own = (each) => { const it = ITEM.exec(each); return it && it[1].length <= item[1].length + 1 ? it : null; };
        const rows = run((each) => (own(each) ? isNumber(own(each)[2]) === isNumber(item[2]) : !each.trim() || /^ /.test(each)));
        element = made(isNumber(item[2]) ? "ol" : "ul");
        if (isNumber(item[2])) element.start = parseInt(item[2], 10);
        const items = [];
        for (const each of rows) {
          const it = own(each);
          if (it) items.push([each.slice(it[0].length)]);
          else items.at(-1).push(each.replace(new RegExp(`^ {0,${item[0].length}}`), ""));
        }
        const isLoose = items.some((each) => each.join("\n").trim().includes("\n\n"))
          || items.slice(0, -1).some((each) => !each.at(-1).trim());
        for (const each of items) {
          const entry = made("li");
          for (const [, block] of blocksOf(each, known)) {
            entry.append(...(block.tagName === "P" && !isLoose ? block.childNodes : [block]));
          }
          element.append(entry);
        }
      } else if (/^ {0,3}>/.test(line)) {
        const quoted = run((each) => /^ {0,3}>/.test(each)).map((each) => each.replace(/^ {0,3}> ?/, ""));
        element = made("blockquote");
        element.append(...blocksOf(quoted, known).map(([, block]) => block));
      } else if (ROW.test(line)) {
        const rows = run((each) => ROW.test(each));
        if (/^[\s|:-]+$/.test(rows[1] ?? "")) {
          element = made("table");
          for (const [number, row] of rows.entries()) {
            if (number === 1) continue;
            const place = made("tr");
            place.append(...cells(row).map((cell) => inline(made(number ? "td" : "th"), cell, known)));
            element.append(place);
          }
        } else if (rows.length > 1 || at < lines.length) element = inline(made("p"), rows.join("\n"), known);
      } else {
        const ends = (each) => !each.trim() || FENCE.test(each) || /^ {0,3}(>|#{1,6} |\||[-*+] |1[.)] )/.test(each);
        element = inline(made("p"), run((each) => !ends(each)).join("\n"), known);
      }
      if (element) blocks.push([first, element]);
    }
    return blocks;
  };

  // Appends text; only the last block is made anew, so that nothing above it moves.
  const writer = (place, known) => {
    let [source, last] = ["", []];
    return (text) => {
      source += text;
      const lines = source.split("\n");
      const complete = [...lines];
      const isCode = lines.filter((line) => FENCE.test(line)).length % 2;
      // What may still become another thing: half a mark, the beginning of a list or a fence.
      if (/^ *([-*+]|\d{1,9}[.)]?|#{1,6}|>|~{1,2}) *$/.test(complete.at(-1)) && !isCode) complete.pop();
      else if (!isCode) complete[complete.length - 1] = complete.at(-1).replace(/(?:\*+|`+|\[\d*|\\)$/, "");
      else if (/^ *[`~]{1,2}$/.test(complete.at(-1))) complete.pop();
      const blocks = blocksOf(complete, known);
      for (const each of last) each.remove();
      place.append(...blocks.map(([, block]) => block));
      const from = blocks.at(-1)?.[0] ?? 0;
      source = lines.slice(from).join("\n");
      last = blocks.slice(-1).map(([, block]) => block);
    };
  };

  const end = (article, text, isProblem) => {
    if (article.quote) {
      article.quote.classList.toggle("folded", isProblem && article.classList.contains("folded"));
      article.quote.querySelector("h2").after(Object.assign(made("span", text), { className: "fine doing" }));
      article.replaceWith(article.quote);
      say(text);
      return;
    }
    article.querySelector("[data-stop]")?.remove();
    article.querySelector(".answer-text").setAttribute("aria-busy", "false");
    article.querySelector(".doing").textContent = "";
    article.classList.remove("running", "folded");
    const paragraph = document.createElement("p");
    paragraph.className = isProblem ? "notice" : "fine";
    paragraph.textContent = text;
    article.append(paragraph);
    const again = article.form?.cloneNode(true);
    if (again) {
      again.hidden = false;
      again.removeAttribute("data-auto");
      again.dataset.ask = "replace";
      const tools = document.createElement("div");
      tools.className = "tools";
      tools.append(again);
      article.append(tools);
    }
    say(text);
  };

  const finish = (article, data) => {
    const isHeld = article.contains(document.activeElement);
    const holder = document.createElement("template");
    holder.innerHTML = data.html; // rendered and sanitised by the server
    const ready = holder.content.querySelector("article");
    if (article.question && !ready.classList.contains("refused")) ready.querySelector("h2").textContent = article.question;
    const hasForm = article.parentElement.querySelector(":scope > .follow-up");
    if (hasForm) for (const each of ready.querySelectorAll(".follow-up, .in-thread")) each.remove();
    ready.classList.toggle("folded", article.classList.contains("folded"));
    article.replaceWith(ready);
    dress(ready);
    if (isHeld) ready.focus({ preventScroll: true });
    say(words.ready);
    return ready;
  };

  async function run(article, body) {
    const controller = new AbortController();
    running.set(article, controller);
    const place = article.querySelector(".answer-text");
    const doing = article.querySelector(".doing");
    const known = new Set();
    let append = writer(place, known);
    let ready = null;
    say(words.searching);
    try {
      const response = await fetch(words.stream, { method: "POST", body, signal: controller.signal });
      if (!response.ok) {
        const isText = response.headers.get("Content-Type")?.startsWith("text/plain");
        end(article, isText ? await response.text() : words.failed, true);
        return;
      }
      for await (const [name, data] of eventsOf(response)) {
        if (name === "step") doing.textContent = data.label || words.searching;
        else if (name === "sources") {
          if (!article.quote) place.textContent = "";
          known.clear();
          append = writer(place, known);
          for (const source of data.sources) known.add(source.number);
          doing.textContent = words.reading;
        } else if (name === "token") {
          if (article.quote) {
            article.quote = null;
            article.classList.remove("quoting");
            article.querySelector("h2").textContent = words.answer;
            place.textContent = "";
            place.setAttribute("aria-busy", "true");
          }
          doing.textContent = words.writing;
          append(data.text);
        } else if (name === "done") {
          ready = finish(article, data);
        } else if (name === "error") {
          end(article, data.message, true);
          return;
        }
      }
      if (!ready) end(article, words.failed, true);
    } catch (error) {
      if (error.name === "AbortError") {
        if (article.isConnected) end(article, words.stopped, false);
      } else end(article, words.unreachable, true);
    } finally {
      running.delete(article);
    }
  }

  // --- asking --------------------------------------------------------------------------------
  const ask = (form, submitter) => {
    const body = new FormData(form, submitter);
    const quote = form.matches("[data-auto]") ? form.previousElementSibling : null;
    const old = quote ?? form.closest("article");
    const isAfter = form.dataset.ask === "after";
    const named = isAfter || Boolean(old?.querySelector("input[name=thread]"));
    const article = begin(body.get("q"), named, quote);
    article.form = form.cloneNode(true);
    // Above results it has one height from its beginning on, so that they stay where they are.
    article.classList.toggle("folded", Boolean(form.closest("#found")) && !submitter);
    if (isAfter && old) {
      old.after(article);
      for (const each of old.querySelectorAll("form[data-ask=after]")) each.remove();
      old.querySelector(".in-thread")?.remove();
    } else if (isAfter) {
      form.before(article);
      form.reset();
    } else (old ?? form).replaceWith(article);
    if (quote) form.remove();
    if (submitter) article.focus({ preventScroll: true });
    if (isAfter) article.scrollIntoView({ block: "nearest" });
    run(article, new URLSearchParams(body));
  };

  document.addEventListener("submit", (event) => {
    const form = event.target.closest?.("form[data-ask]");
    if (!form) return;
    event.preventDefault();
    ask(form, event.submitter);
  });

  // A question is answered once it was submitted, never while its words are being typed: the server
  // quotes, a model is asked from here.
  const search = document.getElementById("search");
  const formQuery = () => new URLSearchParams(new FormData(search)).toString();
  let submitted = search && formQuery(); // null once something else was searched for
  const start = () => {
    const form = submitted !== null && document.querySelector("form[data-auto]");
    if (form) ask(form, null);
  };
  search?.addEventListener("submit", () => {
    submitted = formQuery();
  }, true);
  document.body.addEventListener("htmx:confirm", (event) => {
    if (event.target !== search || event.detail.triggeringEvent?.type === "submit") return;
    // Of the words that were typed just before Enter: the same search once more.
    if (formQuery() === submitted) event.preventDefault();
    else submitted = null;
  });
  document.body.addEventListener("htmx:configRequest", ({ detail }) => {
    if (detail.elt === search && detail.triggeringEvent?.type === "submit") detail.headers["X-Submitted"] = "1";
  });
  document.body.addEventListener("htmx:afterSettle", () => {
    for (const [article, controller] of running) if (!article.isConnected) controller.abort();
    dress(document);
    start();
  });

  // --- a finished answer ---------------------------------------------------------------------
  const dress = (place) => {
    if (!navigator.clipboard) return;
    for (const button of place.querySelectorAll("[data-copy]")) button.hidden = false;
  };

  // A source is read below its line.
  document.addEventListener("toggle", ({ target }) => {
    if (target.matches(".source[open]")) target.closest("article").classList.remove("folded");
  }, true);

  const open = (chip) => {
    const article = chip.closest("article");
    article.classList.remove("folded");
    const source = article.querySelector(`details.source[data-source="${CSS.escape(chip.dataset.source)}"]`);
    if (!source) return;
    source.closest(".read-too")?.setAttribute("open", "");
    source.open = true;
    for (const mark of article.querySelectorAll("mark.current")) mark.classList.remove("current");
    const [from, to] = [Number(chip.dataset.start), Number(chip.dataset.end)];
    const marks = [...source.querySelectorAll("mark.quoted")].filter(
      (mark) => from < Number(mark.dataset.end) && to > Number(mark.dataset.start),
    );
    for (const mark of marks) mark.classList.add("current");
    const text = source.querySelector(".source-text");
    if (marks.length) text.scrollTop = marks[0].offsetTop - text.offsetTop - text.clientHeight / 3;
    text.chip = chip;
    text.focus({ preventScroll: true });
    source.scrollIntoView({ block: "nearest" });
  };

  document.addEventListener("click", (event) => {
    const target = event.target;
    const chip = target.closest?.("a.cite");
    if (chip) {
      event.preventDefault();
      open(chip);
      return;
    }
    const article = target.closest?.("article.answer");
    if (target.closest?.("[data-stop]")) running.get(article)?.abort();
    if (target.closest?.("[data-unfold]")) {
      article.classList.remove("folded");
      article.focus({ preventScroll: true });
    }
    if (target.closest?.("[data-copy]")) {
      const note = article.querySelector(".said");
      navigator.clipboard.writeText(article.querySelector("[data-markdown]").value).then(
        () => { note.textContent = words.copied; },
        () => { note.textContent = words.uncopied; },
      );
    }
  });

  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    const text = event.target.closest?.(".source-text");
    if (text?.chip?.isConnected) {
      text.closest("details").open = false;
      text.chip.focus();
    }
    const stop = event.target.closest?.("article.running")?.querySelector("[data-stop]");
    stop?.click();
  });

  document.addEventListener("submit", (event) => {
    const form = event.target.closest?.("form[data-feedback], form[data-why]");
    const article = form?.closest("article.answer");
    if (!article) return;
    event.preventDefault();
    const button = event.submitter;
    const body = new URLSearchParams(new FormData(form, button));
    body.set("quietly", "1");
    const note = article.querySelector(".said");
    fetch(form.action, { method: "POST", body, keepalive: true })
      .then((response) => {
        if (!response.ok) throw new Error(response.status);
        note.textContent = words.noted;
        const why = article.querySelector("[data-why]");
        if (!form.hasAttribute("data-feedback")) {
          why.hidden = true;
          return;
        }
        for (const each of form.querySelectorAll("[aria-pressed]")) {
          each.setAttribute("aria-pressed", String(each === button));
        }
        why.hidden = button.value !== "0";
      })
      .catch(() => { note.textContent = words.unsent; });
  });

  addEventListener("pagehide", () => {
    for (const controller of running.values()) controller.abort();
  });
  dress(document);
  start();
})();

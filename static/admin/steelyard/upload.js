// Lets files be dropped, says before the upload what was chosen and what the server would refuse, and
// sends them without leaving the page: if the server does not answer, the chosen files stay. The sum of
// the results follows progress.js. Without this script the form is sent, and the page comes anew.
(() => {
  "use strict";

  const size = (bytes) => {
    const [number, unit] = bytes < 1048576 ? [Math.ceil(bytes / 1024), "kilobyte"] : [bytes / 1048576, "megabyte"];
    return number.toLocaleString(document.documentElement.lang, { style: "unit", unit, maximumFractionDigits: 1 });
  };

  function line(text, problem) {
    const item = document.createElement("li");
    item.textContent = text;
    if (problem) {
      const note = document.createElement("span");
      note.className = "sy-error";
      note.textContent = ` ${problem}`;
      item.append(note);
    }
    return item;
  }

  class Upload {
    constructor(form) {
      this.form = form;
      this.words = form.dataset;
      this.input = form.querySelector("input[type=file]");
      this.chosen = form.querySelector("#chosen");
      this.button = form.querySelector("button[type=submit]");
      this.problem = form.querySelector("#unsent");
      this.maxBytes = Number(this.words.maxMegabytes) * 1024 * 1024;
      this.input.addEventListener("change", () => this.describe());
      form.addEventListener("submit", (event) => { event.preventDefault(); this.send(); });
      this.acceptDrops(form.querySelector(".sy-drop"));
      // The browser asks for the name of a new collection before the files are sent.
      const { collection, new_collection: name } = form.elements;
      if (name) collection.addEventListener("change", () => { name.required = collection.value === "new"; });
      if (this.input.files.length) this.describe(); // chosen before this script ran, or kept
    }

    fits(file) { return file.size <= this.maxBytes; }

    keep(files) {
      const kept = new DataTransfer();
      for (const file of files) kept.items.add(file);
      this.input.files = kept.files;
    }

    describe() {
      const files = [...this.input.files];
      this.chosen.replaceChildren(
        ...files.slice(0, 50).map((file) => {
          const problem = file.size === 0 ? this.words.empty : this.fits(file) ? "" : this.words.tooLarge;
          return line(`${file.name}, ${size(file.size)}`, problem);
        }),
      );
      if (files.length > 50) this.chosen.append(line(this.words.more.replace("{n}", files.length - 50)));
      const tooMany = files.length > Number(this.words.maxFiles);
      if (tooMany) this.chosen.prepend(line("", this.words.tooMany.replace("{n}", files.length)));
      this.button.disabled = tooMany || (files.length > 0 && !files.some((file) => this.fits(file)));
    }

    acceptDrops(drop) {
      for (const name of ["dragenter", "dragover"]) {
        drop.addEventListener(name, (event) => {
          event.preventDefault();
          drop.classList.add("sy-drop-over");
        });
      }
      drop.addEventListener("dragleave", () => drop.classList.remove("sy-drop-over"));
      drop.addEventListener("drop", (event) => {
        event.preventDefault();
        drop.classList.remove("sy-drop-over");
        // What was chosen before stays: people drop from several folders.
        this.keep([...this.input.files, ...event.dataTransfer.files]);
        this.describe();
      });
    }

    async send() {
      const label = this.button.lastChild.textContent;
      this.keep([...this.input.files].filter((file) => this.fits(file)));
      this.button.disabled = true;
      this.button.lastChild.textContent = ` ${this.words.uploading}`;
      this.problem.textContent = "";
      try {
        const response = await fetch(window.location.href, { method: "POST", body: new FormData(this.form) });
        if (response.ok && !response.redirected) {
          this.show(new DOMParser().parseFromString(await response.text(), "text/html"));
          return;
        }
        this.problem.textContent = this.words.refused.replace("{status}", response.redirected ? 403 : response.status);
      } catch {
        this.problem.textContent = this.words.unanswered;
      }
      this.button.lastChild.textContent = label;
      this.button.disabled = false;
      this.button.focus();
    }

    // The results of the files and the form anew; the form with errors and the same files.
    show(page) {
      const form = page.querySelector(".sy-upload");
      const results = page.querySelector("#outcomes");
      if (results) {
        document.querySelector("#outcomes")?.remove();
        this.form.before(results);
      } else {
        form.querySelector("[type=file]").replaceWith(this.input);
        form.querySelector("#unkept")?.remove();
      }
      this.form.replaceWith(form);
      new Upload(form);
      (results?.querySelector("h2") ?? form.querySelector("[aria-invalid=true]") ?? form.querySelector("select")).focus();
      document.dispatchEvent(new Event("live-begun"));
      count();
    }
  }

  const rows = () => [...document.querySelectorAll(".sy-outcome-queued")];
  const isOpen = (row) => Boolean(row.querySelector("[data-unfinished]"));
  const hasFailed = (row) => !isOpen(row) && Boolean(row.querySelector('[data-cell="links"] .sy-error'));

  // "12 of 32 ready, 1 failed", and once what the scans among them need.
  function count() {
    const tally = document.querySelector(".sy-tally");
    if (!tally) return;
    const all = rows();
    const failed = all.filter(hasFailed);
    const ready = all.filter((row) => !isOpen(row)).length - failed.length;
    const words = tally.dataset;
    const scans = failed.flatMap((row) => [...row.querySelectorAll("[data-install]")]);
    const text = [
      words.ready.replace("{n}", ready).replace("{all}", all.length),
      ...(failed.length ? [words.failed.replace("{n}", failed.length)] : []),
    ].join(", ");
    const said = tally.querySelector("[role=status]");
    if (said.textContent !== text) said.textContent = text;
    tally.querySelector(".sy-progress > span").style.width = `${(100 * (ready + failed.length)) / all.length}%`;
    const needs = tally.querySelector(".sy-needs-ocr");
    needs.hidden = !scans.length;
    if (scans.length) {
      needs.querySelector("span").textContent = words.ocr.replace("{n}", scans.length);
      needs.querySelector("code").textContent = scans[0].dataset.install;
    }
    const retry = tally.querySelector("[data-retry]");
    if (retry) retry.hidden = !failed.length;
  }

  async function retry(button) {
    const failed = rows().filter(hasFailed).map((row) => row.querySelector('[data-cell="state"]'));
    const body = new FormData();
    body.set("action", "retry_selected");
    body.set("csrfmiddlewaretoken", document.querySelector(".sy-upload [name=csrfmiddlewaretoken]").value);
    for (const cell of failed) body.append("_selected_action", cell.dataset.row);
    button.disabled = true;
    try {
      const response = await fetch(button.dataset.retry, { method: "POST", body });
      if (!response.ok) throw new Error(response.statusText);
      for (const cell of failed) cell.dataset.unfinished = "";
      document.dispatchEvent(new Event("live-begun"));
    } catch {
      document.querySelector("#unsent").textContent = button.dataset.failed;
    }
    button.disabled = false;
    count();
  }

  document.addEventListener("live-shown", count);
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-retry]");
    if (button) retry(button);
  });
  new Upload(document.querySelector(".sy-upload"));
  count();
})();

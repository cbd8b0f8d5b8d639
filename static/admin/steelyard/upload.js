// Lets files be dropped, and says before the upload what was chosen and what the server would refuse.
(() => {
  "use strict";
  const form = document.querySelector(".sy-upload");
  const input = form.querySelector("input[type=file]");
  const drop = form.querySelector(".sy-drop");
  const chosen = form.querySelector("#chosen");
  const button = form.querySelector("button[type=submit]");
  const words = form.dataset;
  const upload = button.lastChild.textContent;
  const maxFiles = Number(form.dataset.maxFiles);
  const maxBytes = Number(form.dataset.maxMegabytes) * 1024 * 1024;

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

  const fits = (file) => file.size <= maxBytes;

  function keep(files) {
    const kept = new DataTransfer();
    for (const file of files) kept.items.add(file);
    input.files = kept.files;
  }

  function describe() {
    const files = [...input.files];
    chosen.replaceChildren(
      ...files.slice(0, 50).map((file) => {
        const problem = file.size === 0 ? words.empty : fits(file) ? "" : words.tooLarge;
        return line(`${file.name}, ${size(file.size)}`, problem);
      }),
    );
    if (files.length > 50) chosen.append(line(words.more.replace("{n}", files.length - 50)));
    const tooMany = files.length > maxFiles;
    if (tooMany) chosen.prepend(line("", words.tooMany.replace("{n}", files.length)));
    button.disabled = tooMany || (files.length > 0 && !files.some(fits));
  }

  input.addEventListener("change", describe);
  if (input.files.length) describe(); // chosen before this script ran, or kept by the browser
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
    keep([...input.files, ...event.dataTransfer.files]);
    describe();
  });
  form.addEventListener("submit", () => {
    keep([...input.files].filter(fits));
    button.disabled = true;
    button.lastChild.textContent = ` ${words.uploading}`;
  });
  // Back from the next page, the browser shows this one as it was left.
  window.addEventListener("pageshow", () => { button.disabled = false; button.lastChild.textContent = upload; });
})();

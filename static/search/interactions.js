// Tells the server what was opened, how long it was read, and whether it helped. Links stay
// links, and the thumbs are forms that work without this file.
(() => {
  "use strict";
  const KEY = "steelyard-reading";

  // A beacon outlives the page that sends it.
  const report = (address, fields) => {
    const body = new URLSearchParams(fields);
    if (!navigator.sendBeacon(address, body)) {
      fetch(address, { method: "POST", body, keepalive: true }).catch(() => {});
    }
  };

  const remember = (reading) => {
    try {
      sessionStorage.setItem(KEY, JSON.stringify(reading));
    } catch {
      // Private windows may refuse: then nobody knows how long it was read.
    }
  };

  const recall = () => {
    try {
      return JSON.parse(sessionStorage.getItem(KEY));
    } catch {
      return null;
    }
  };

  // --- the results ---------------------------------------------------------------------------
  const opened = (event) => {
    const link = event.target.closest?.("a[href]");
    const result = link?.closest("[data-document]");
    const address = result?.closest("[data-report]")?.dataset.report;
    if (!address || (event.type === "auxclick" && event.button !== 1)) return;
    const { document: id } = result.dataset;
    report(address, { kind: "click", document: id });
    remember({ address, document: id, path: new URL(link.href).pathname });
  };
  document.addEventListener("click", opened);
  document.addEventListener("auxclick", opened);

  document.addEventListener("submit", (event) => {
    const form = event.target.closest?.("form[data-opinion]");
    const button = event.submitter;
    if (!form || !button) return;
    event.preventDefault();
    const undo = button.getAttribute("aria-pressed") === "true";
    const fields = new FormData(form);
    fields.delete("back");
    fields.set("kind", button.value);
    if (undo) fields.set("undo", "1");
    for (const each of form.querySelectorAll("button")) {
      each.setAttribute("aria-pressed", String(each === button && !undo));
    }
    const status = form.querySelector("[role=status]");
    fetch(form.action, { method: "POST", body: fields, keepalive: true })
      .then((response) => {
        if (!response.ok) throw new Error(response.status);
        if (status) status.textContent = undo ? status.dataset.withdrawn : status.dataset.noted;
      })
      .catch(() => {
        button.setAttribute("aria-pressed", String(undo));
        if (status) status.textContent = status.dataset.failed;
      });
  });

  // A star: the same form without leaving the results. Its answer, a way back to them, is not followed.
  document.addEventListener("submit", (event) => {
    const form = event.target.closest?.("form[data-star]");
    if (!form) return;
    event.preventDefault();
    const show = (isOn) => {
      // Of a document with several rows, all.
      const alike = document.querySelectorAll(`form[data-star][action="${CSS.escape(form.getAttribute("action"))}"]`);
      for (const each of alike) {
        each.elements.on.value = isOn ? "0" : "1";
        each.querySelector("button").setAttribute("aria-pressed", String(isOn));
      }
    };
    const turnOn = form.elements.on.value === "1";
    const body = new FormData(form);
    show(turnOn);
    fetch(form.action, { method: "POST", body, keepalive: true, redirect: "manual" })
      .then((response) => {
        if (response.type !== "opaqueredirect") throw new Error(response.status);
      })
      .catch(() => {
        // Sent as a form it says what is wrong, such as the limit of favourites.
        show(!turnOn);
        form.submit();
      });
  });

  // --- a document ----------------------------------------------------------------------------
  const reading = recall();
  if (!reading || reading.path !== location.pathname) return;
  let since = document.visibilityState === "visible" ? performance.now() : null;
  let read = 0;
  const pause = () => {
    if (since === null) return;
    read += (performance.now() - since) / 1000;
    since = null;
    const { address, document: id } = reading;
    report(address, { kind: "dwell", document: id, seconds: read.toFixed(1) });
  };
  const resume = () => {
    since ??= performance.now();
  };
  document.addEventListener("visibilitychange", () =>
    document.visibilityState === "visible" ? resume() : pause(),
  );
  addEventListener("pagehide", pause);
  addEventListener("pageshow", (event) => event.persisted && resume());
})();

// Links the weights of a class: they always sum to 1. Without this script the figures are
// typed and the server checks the sum.
(() => {
  "use strict";
  const UNITS = 10000; // what the database keeps of a weight: four decimals
  const STEP = 100; // a slider moves by hundredths

  const figure = (units) => String(units / UNITS);

  // `rest` in as many parts as there are shares and in their proportion, each a multiple of
  // `grain` but the last that counts; all of it to the first where every share is 0.
  function split(rest, shares, grain) {
    const total = shares.reduce((sum, share) => sum + share, 0);
    const parts = shares.map((share) => (total ? Math.floor((rest * share) / total / grain) * grain : 0));
    const left = rest - parts.reduce((sum, part) => sum + part, 0);
    const largest = shares.indexOf(Math.max(...shares));
    parts[largest] += left;
    return parts;
  }

  class LinkedWeights {
    constructor(fieldset) {
      this.segments = [...fieldset.querySelectorAll(".sy-beam-large > span")];
      this.note = fieldset.querySelector(".sy-sum");
      this.short = fieldset.querySelector(".sy-short");
      this.lean = document.querySelector("input[name=short_lean]");
      // A frame later, when the page has copied its slider's value to the figure.
      this.lean?.form.addEventListener("input", () => requestAnimationFrame(() => this.drawShort(this.read())));
      const shares = [...fieldset.querySelectorAll(".sy-share")];
      this.inputs = shares.map((share) => share.querySelector("input"));
      if (this.inputs.some((input) => !input)) return; // for reading only
      this.sliders = shares.map((share, index) => this.slider(share, index, fieldset));
      this.typed = null; // the figure typed last stands while another is typed
      this.mixed = this.read(); // the last weights of which more than one counted
      this.base = this.read();
      this.drawn = this.base; // the last valid weights
      this.inputs.forEach((input, index) => {
        input.addEventListener("change", () => this.type(index));
      });
      // Whoever sets the figures by script says so (the workbench: back to the saved ones).
      fieldset.addEventListener("weights-set", () => {
        this.typed = null;
        this.base = this.read();
        this.draw();
      });
      this.draw();
    }

    slider(share, index, fieldset) {
      const slider = document.createElement("input");
      slider.type = "range";
      slider.min = 0;
      slider.max = UNITS;
      slider.step = STEP;
      const signal = share.querySelector("label").textContent.trim();
      slider.setAttribute("aria-label", `${signal}, ${fieldset.querySelector("legend strong").textContent}`);
      slider.className = `sy-range sy-${share.dataset.signal}`;
      // The proportion of the others is that at the start of the move; where they all stand at 0,
      // the last one they had: pushing one to the end and back, later too, gives what they had.
      const remember = () => {
        const now = this.read();
        const others = now.reduce((sum, value, place) => sum + (place === index ? 0 : value), 0);
        this.base = others ? now : this.mixed;
      };
      slider.addEventListener("pointerdown", remember);
      slider.addEventListener("focus", remember);
      slider.addEventListener("input", () => this.slide(index, Number(slider.value)));
      share.querySelector(".sy-slider").append(slider);
      return slider;
    }

    read() {
      return this.inputs.map((input) => {
        const value = Math.round(Number(input.value) * UNITS);
        return Number.isFinite(value) ? value : 0;
      });
    }

    // `values` with what is left beside the fixed ones shared among the others as in `base`.
    share(values, fixed, base, grain) {
      const others = values.map((_, index) => index).filter((index) => !fixed.includes(index));
      const rest = UNITS - fixed.reduce((sum, index) => sum + values[index], 0);
      split(rest, others.map((index) => base[index]), grain).forEach((part, place) => {
        values[others[place]] = part;
      });
      return values;
    }

    slide(index, value) {
      const values = this.inputs.map(() => 0);
      values[index] = value;
      this.typed = null;
      this.write(this.share(values, [index], this.base, STEP));
    }

    type(index) {
      const asked = this.inputs[index].value;
      if (!(Number(asked) >= 0 && Number(asked) <= 1)) {
        this.write(this.drawn);
        this.note.hidden = false;
        this.note.textContent = `${asked} is not from 0 to 1: nothing was changed.`;
        return;
      }
      const values = this.read();
      const fixed = [index];
      if (this.typed !== null && this.typed !== index) {
        values[this.typed] = Math.min(values[this.typed], UNITS - values[index]);
        fixed.push(this.typed);
      }
      this.share(values, fixed, values.slice(), 1);
      this.typed = index;
      this.write(values);
      this.base = values;
    }

    write(values) {
      this.inputs.forEach((input, index) => {
        if (input.value !== figure(values[index])) {
          input.value = figure(values[index]);
          input.dispatchEvent(new Event("input", { bubbles: true }));
        }
      });
      this.draw();
    }

    draw() {
      const values = this.read();
      if (values.filter(Boolean).length > 1) this.mixed = values;
      const total = values.reduce((sum, value) => sum + value, 0);
      if (total === UNITS) this.drawn = values;
      values.forEach((value, index) => {
        this.segments[index].style.width = `${value / (UNITS / 100)}%`;
        this.sliders[index].value = value;
        this.sliders[index].style.setProperty("--fill", `${value / (UNITS / 100)}%`);
        this.sliders[index].setAttribute("aria-valuetext", `${value / (UNITS / 100)} percent`);
      });
      this.drawShort(values);
      this.note.hidden = total === UNITS;
      this.note.textContent = total === UNITS ? "" : `These sum to ${figure(total)}, not 1.`;
    }

    // The weights' other end: those of a short question whose nearest passage is ahead (ADR 113).
    drawShort(values) {
      if (!this.short || !this.lean) return;
      const names = this.inputs.map((input) => input.closest(".sy-share").dataset.signal);
      const [vector, keyword] = ["vector", "keyword"].map((name) => names.indexOf(name));
      const share = Math.max(0, Math.min(1, Number(this.lean.value) || 0));
      const moved = values[vector] && values[keyword] ? values[keyword] * share : 0;
      const leant = values.slice();
      leant[vector] += moved;
      leant[keyword] -= moved;
      this.short.hidden = !moved;
      [...this.short.querySelectorAll(".sy-beam > span")].forEach((segment, index) => {
        segment.style.width = `${leant[index] / (UNITS / 100)}%`;
      });
      const labels = this.inputs.map((input) => input.closest(".sy-share").querySelector("label").textContent.trim());
      this.short.querySelector(".sy-short-said").textContent = [vector, keyword]
        .map((index) => `${labels[index]} ${Math.round(leant[index] / (UNITS / 100))}%`).join(", ");
    }
  }

  document.querySelectorAll(".sy-class").forEach((fieldset) => new LinkedWeights(fieldset));
})();

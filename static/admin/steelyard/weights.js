// Links the three weights of a class: they always sum to 1. Without this script the figures are
// typed and the server checks the sum.
(() => {
  "use strict";
  const UNITS = 10000; // what the database keeps of a weight: four decimals
  const STEP = 100; // a slider moves by hundredths

  const figure = (units) => String(units / UNITS);

  // `rest` in two parts, in proportion to `first` and `second`; half and half where both are 0.
  function split(rest, first, second, grain) {
    const share = first + second ? first / (first + second) : 0.5;
    const part = Math.min(rest, Math.round((rest * share) / grain) * grain);
    return [part, rest - part];
  }

  class LinkedWeights {
    constructor(fieldset) {
      this.segments = [...fieldset.querySelectorAll(".sy-beam-large > span")];
      this.note = fieldset.querySelector(".sy-sum");
      const shares = [...fieldset.querySelectorAll(".sy-share")];
      this.inputs = shares.map((share) => share.querySelector("input"));
      if (this.inputs.some((input) => !input)) return; // for reading only
      this.sliders = shares.map((share, index) => this.slider(share, index, fieldset));
      this.typed = null; // the figure typed last stands while another is typed
      this.base = this.read();
      this.inputs.forEach((input, index) => {
        input.addEventListener("change", () => this.type(index));
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
      // The proportion of the others is that at the start of the move: pushing one to the end and
      // back gives the others what they had.
      const remember = () => { this.base = this.read(); };
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

    others(index) {
      return [0, 1, 2].filter((other) => other !== index);
    }

    slide(index, value) {
      const [first, second] = this.others(index);
      const values = [0, 0, 0];
      values[index] = value;
      [values[first], values[second]] = split(UNITS - value, this.base[first], this.base[second], STEP);
      this.typed = null;
      this.write(values);
    }

    type(index) {
      const values = this.read();
      values[index] = Math.max(0, Math.min(UNITS, values[index]));
      const rest = UNITS - values[index];
      const [first, second] = this.others(index);
      if (this.typed !== null && this.typed !== index) {
        const third = 3 - index - this.typed;
        values[this.typed] = Math.min(values[this.typed], rest);
        values[third] = rest - values[this.typed];
      } else {
        [values[first], values[second]] = split(rest, values[first], values[second], 1);
      }
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
      const total = values.reduce((sum, value) => sum + value, 0);
      values.forEach((value, index) => {
        this.segments[index].style.width = `${value / (UNITS / 100)}%`;
        this.sliders[index].value = value;
        this.sliders[index].style.setProperty("--fill", `${value / (UNITS / 100)}%`);
        this.sliders[index].setAttribute("aria-valuetext", `${value / (UNITS / 100)} percent`);
      });
      this.note.hidden = total === UNITS;
      this.note.textContent = total === UNITS ? "" : `These sum to ${figure(total)}, not 1.`;
    }
  }

  document.querySelectorAll(".sy-class").forEach((fieldset) => new LinkedWeights(fieldset));
})();

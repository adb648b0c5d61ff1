// The data of the page, and numbers as people read them.

const data = JSON.parse(document.getElementById("data").textContent);
const NONE = 0xffffffff;
const COMPUTE = 0, TRANSFER = 1, WAIT = 2;
const STATES = ["computing", "moving messages", "waiting"];

/** The arrays, by name. Their text is let go once decoded. */
const arrays = {};
for (const element of document.querySelectorAll("script.blob")) {
  const text = atob(element.textContent);
  const bytes = new Uint8Array(text.length);
  for (let index = 0; index < text.length; index++) bytes[index] = text.charCodeAt(index);
  arrays[element.dataset.name] = new globalThis[element.dataset.kind](bytes.buffer);
  element.remove();
}

const byId = (id) => document.getElementById(id);

/** Three digits and a unit, as in the text report. */
function scaled(value, units) {
  const [scale, unit] = units.find(([scale]) => value >= scale) ?? units[units.length - 1];
  const number = value / scale;
  const decimals = number === 0 || number >= 99.95 ? 0 : number >= 9.995 ? 1 : 2;
  return `${number.toFixed(decimals)} ${unit}`;
}
const seconds = (value) => scaled(value, [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]]);
const bytesText = (value) => value < 1024 ? `${value} B` : scaled(value, [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [1024, "KiB"]]);
const countText = (value) => value.toLocaleString("en-US");
const percent = (part, whole) => {
  const value = whole > 0 ? part / whole * 100 : 0;
  if (value > 0 && value < 0.05) return "under 0.1 %";
  return value >= 0.05 && value < 9.95 ? `${value.toFixed(1)} %` : `${value.toFixed(0)} %`;
};
/** A duration in units of the page's clock. */
const unitsText = (units) => seconds(units * data.secondsPerUnit);

/** The first index in low..high whose value is greater. */
function after(array, value, low, high) {
  while (low < high) {
    const middle = (low + high) >> 1;
    if (array[middle] <= value) low = middle + 1; else high = middle;
  }
  return low;
}

/** An element with text (never markup: names come from the trace). */
function element(tag, text, className) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

/** Colours of the current theme, for canvases. */
const colours = {};
const themed = [];
function readColours() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["compute", "transfer", "wait", "path", "arrow", "card", "ink", "soft", "line", "track", "cold", "hot0", "hot1", "hot2", "focus",
    "p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8"]) {
    colours[name] = style.getPropertyValue(`--${name}`).trim();
  }
}
const rgb = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
const mix = (from, to, share) => rgb(from).map((part, index) => Math.round(part + (rgb(to)[index] - part) * share));

/** A canvas fitted to its place and to the screen's pixels; its context, width and height. */
function fitted(canvas, height) {
  const ratio = window.devicePixelRatio || 1;
  const width = Math.max(50, canvas.clientWidth);
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width, height };
}

/** The theme: that of the system until the reader chooses. */
const systemDark = matchMedia("(prefers-color-scheme: dark)");
const themes = ["system", "light", "dark"];
let theme = 0;
function applyTheme() {
  document.documentElement.classList.toggle("dark", theme === 2 || (theme === 0 && systemDark.matches));
  byId("theme").textContent = `theme: ${themes[theme]}`;
  readColours();
  for (const draw of themed) draw();
}
byId("theme").addEventListener("click", () => { theme = (theme + 1) % 3; applyTheme(); });
systemDark.addEventListener("change", applyTheme);

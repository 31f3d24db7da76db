"use strict";
/* What all parts of the page share. Names come from other people's data: they are put on the page as text only. */
const page = { data: JSON.parse(document.getElementById("data").textContent), themed: [], waiting: new Set(), charts: [], printing: false };
addEventListener("beforeprint", () => { page.printing = true; document.querySelectorAll("details").forEach((each) => { each.open = true; }); });
addEventListener("afterprint", () => { page.printing = false; });

document.documentElement.dataset.kind = page.data.kind ?? "train";

/* An element with attributes and children; strings become text. */
page.el = function (tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
};
page.svg = function (tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
};

/* Numbers that were packed as 16-bit codes; the highest code means not known. */
page.unpack = function (packed) {
  const bytes = atob(packed.codes), size = bytes.length / 2, values = new Float64Array(size);
  for (let i = 0; i < size; i++) {
    const code = bytes.charCodeAt(2 * i) | (bytes.charCodeAt(2 * i + 1) << 8);
    values[i] = code === 65535 ? NaN : packed.low + code * packed.step;
  }
  return values;
};

page.known = (value) => value !== null && value !== undefined && !Number.isNaN(value);
page.number = function (value, digits = 3) {
  if (!page.known(value)) return "–";
  const size = Math.abs(value), least = 10 ** -digits;
  if (size < least && size >= least / 20) return value.toFixed(digits + 1).replace("-", "−"); /* not 0 */
  return (size < least ? 0 : value).toFixed(digits).replace("-", "−");
};
page.count = (value) => (page.known(value) ? value.toLocaleString("en") : "–");
page.several = (word) => (!/^[a-z]+$/i.test(word) ? word : /[^aeiou]y$/i.test(word) ? `${word.slice(0, -1)}ies` : /(s|x|z|ch|sh)$/i.test(word) ? (/s$/i.test(word) ? word : `${word}es`) : `${word}s`);
page.plural = (count, one, many = `${one}s`) => `${page.count(count)} ${count === 1 ? one : many}`;
page.probability = function (value) {
  if (!page.known(value)) return "–";
  if (value > 0.9995 && value < 1) return "> 0.999";
  return value !== 0 && value < 0.001 ? value.toExponential(1).replace("-", "−") : value.toFixed(3);
};

/* Names: cut where there is little room, whole in titles up to a limit. */
page.short = function (name, most = 28) {
  const signs = Array.from(String(name).slice(0, 4 * most));
  return signs.length > most ? `${signs.slice(0, most - 1).join("")}…` : signs.join("");
};
page.layer = (index) => page.data.layers[index];
page.name = (text) => page.el("bdi", { class: /[\s\-_/.]/.test(text) ? "name" : "name id", title: page.short(text, 300) },
  page.short(text, 120).split(/(?<=_)/).flatMap((part, i) => (i ? [page.el("wbr"), part] : [part]))); /* a_name may be broken after _ */
page.layerName = (index) => page.name(page.layer(index));
page.list = function (indices, most = 8) {
  const parts = [];
  const whole = (index) => page.el("bdi", { class: "whole" }, page.short(page.layer(index), 60));
  indices.slice(0, most).forEach((index, place) => parts.push(place ? ", " : "", whole(index)));
  if (indices.length > most) parts.push(` and ${page.count(indices.length - most)} more`);
  return parts;
};

/* Colours of the present theme. */
page.colours = new Map();
page.colour = function (name) {
  if (!page.colours.has(name)) page.colours.set(name, getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim());
  return page.colours.get(name);
};
page.series = (number) => page.colour(`series-${(number % 6) + 1}`);
page.rgb = (name) => [1, 3, 5].map((at) => parseInt(page.colour(name).slice(at, at + 2), 16));
page.mix = (from, to, share) => from.map((value, i) => Math.round(value + (to[i] - value) * share));
page.onTheme = (element, draw) => page.themed.push([element, draw]);

page.setTheme = function (theme) {
  document.documentElement.dataset.theme = theme;
  page.colours.clear();
  document.getElementById("theme").textContent = theme === "dark" ? "Light" : "Dark";
  const later = page.themed.filter(([element, draw]) => (page.inView(element) ? draw() : true));
  later.forEach(([, draw], place) => setTimeout(draw, 40 * (place + 1)));
};
/* Draw something when it comes near the screen, or is printed. */
page.lazy = function (element, draw) {
  const now = () => { watch.disconnect(); removeEventListener("beforeprint", now); draw(); };
  const watch = new IntersectionObserver((entries) => {
    if (entries.some((entry) => entry.isIntersecting)) now();
  }, { rootMargin: "500px" });
  watch.observe(element);
  addEventListener("beforeprint", now);
};

/* Draw something again: at once if it is on the screen, else when it comes near. */
page.inView = function (element) {
  const box = element.getBoundingClientRect();
  return box.bottom > -100 && box.top < innerHeight + 100;
};
page.redraw = function (element, draw) {
  if (page.inView(element)) { draw(); return; }
  if (page.waiting.has(element)) return;
  page.waiting.add(element);
  page.lazy(element, () => { page.waiting.delete(element); draw(); });
};

/* The one tooltip of the page: a title, and lines of a label and a number. */
page.lines = (title, rows) => [page.el("b", { dir: "auto" }, title), ...rows.map(([label, value]) =>
  page.el("div", {}, page.el("span", { dir: "auto" }, label), page.el("span", {}, value)))];
page.showTip = function (x, y, title, rows) {
  const tip = document.getElementById("tip");
  tip.replaceChildren(...page.lines(title, rows));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(6, x + 16 + box.width > innerWidth ? x - box.width - 12 : x + 16)}px`;
  tip.style.top = `${Math.max(6, Math.min(y + 14, innerHeight - box.height - 6))}px`;
};
page.hideTip = () => { document.getElementById("tip").hidden = true; };
page.say = (text) => { document.getElementById("live").textContent = text; };

/* Controls. */
page.choose = function (label, options, onChange) {
  const select = page.el("select", {}, options.map(([value, text]) => page.el("option", { value }, page.short(text, 60))));
  select.addEventListener("change", () => onChange(select.value));
  return page.el("label", {}, label, select);
};
page.switch = function (label, options, onChange) {
  const buttons = options.map(([value, text], place) => page.el("button", { type: "button", "aria-pressed": place === 0,
    onclick() { buttons.forEach((each, i) => each.setAttribute("aria-pressed", options[i][0] === value)); onChange(value); } }, text));
  buttons.forEach((button, place) => button.setAttribute("aria-pressed", place === 0));
  return page.el("div", { class: "switch", role: "group", "aria-label": label }, buttons);
};
page.search = function (label, onInput) {
  const input = page.el("input", { type: "search", placeholder: label, "aria-label": label, autocomplete: "off", spellcheck: "false" });
  input.addEventListener("input", () => onInput(input.value.trim().toLowerCase()));
  return page.el("label", { class: "grow" }, input);
};

/* A table that is sorted by a click on a heading, and shows some rows at first.
   columns: {title, cell(row) -> text or element, by(row) -> sort key, number, class}; options: text(row) to search in,
   shown, detail(row) -> element below a row, scroll. */
page.table = function (columns, rows, options = {}) {
  const state = { rows, order: null, down: false, asked: "", shown: options.shown ?? 12 };
  const body = page.el("tbody"), more = page.el("div", { class: "more" });
  const heads = columns.map((column) => {
    const head = page.el("th", { scope: "col", class: `${column.number ? "number" : ""} ${column.class ?? ""}` });
    if (!column.by) { head.append(column.title); return head; }
    head.append(page.el("button", { type: "button", onclick() {
      state.down = state.order === column ? !state.down : Boolean(column.number);
      state.order = column;
      heads.forEach((each) => each.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", state.down ? "descending" : "ascending");
      draw();
    } }, ...[column.title].flat()));
    return head;
  });
  const compare = (a, b) => {
    const [first, second] = [state.order.by(a), state.order.by(b)];
    const [one, two] = [page.known(first), page.known(second)];
    if (!one || !two) return two - one;
    const sign = typeof first === "string" ? first.localeCompare(second) : first - second;
    return state.down ? -sign : sign;
  };
  function draw() {
    let found = state.asked ? state.rows.filter((row) => options.text(row).toLowerCase().includes(state.asked)) : state.rows;
    if (state.order) found = [...found].sort(compare);
    body.replaceChildren(...found.slice(0, state.shown).map((row) => page.el("tr", {}, columns.map((column) =>
      page.el("td", { class: `${column.number ? "number" : ""} ${column.class ?? ""}` }, column.cell(row))))));
    if (!found.length) body.append(page.el("tr", {}, page.el("td", { colspan: columns.length, class: "muted" }, options.empty ?? "Nothing found.")));
    const rest = found.length - state.shown;
    more.replaceChildren(...(rest > 0 ? [
      page.el("button", { type: "button", onclick() { state.shown += Math.max(50, state.shown); draw(); } }, "Show more"),
      `${page.count(state.shown)} of ${page.count(found.length)}`] : []));
    more.hidden = rest <= 0;
  }
  draw();
  const table = page.el("table", {}, page.el("caption", { class: "hidden" }, options.label ?? ""), page.el("thead", {}, page.el("tr", {}, heads)), body);
  const wrap = page.el("div", { class: `table ${options.scroll ? "scroll" : ""}`, tabindex: options.scroll ? 0 : null }, table);
  return {
    element: page.el("div", {}, wrap, more),
    filter(asked) { state.asked = asked; draw(); },
    replace(next) { state.rows = next; state.shown = options.shown ?? 12; draw(); },
  };
};

/* On a phone, one cell has what else are several, each with its label. */
page.together = (lines) => page.el("div", { class: "together" }, lines.flatMap(([label, value]) => [page.el("span", { class: "label" }, label), page.el("span", {}, value)]));

/* A table for spreadsheets. Cells that a spreadsheet could take for a formula get a leading apostrophe. */
page.csv = function (heads, rows) {
  const cell = (value) => {
    const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value ?? "");
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [heads, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
};
page.download = function (name, text, type = "text/csv") {
  const link = page.el("a", { href: URL.createObjectURL(new Blob(type === "text/csv" ? ["\ufeff", text] : [text], { type })), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
};

/* An interval around a number on a scale that all rows share; the origin has a line. */
page.interval = function (value, low, high, scale, helps, origin = 0) {
  const at = (x) => `${(100 * (x - scale[0])) / (scale[1] - scale[0])}%`;
  const group = page.svg("g", { class: helps ? "helps" : "" },
    page.svg("line", { class: "whisker", x1: at(low), x2: at(high), y1: 10, y2: 10 }),
    page.svg("circle", { class: "point", cx: at(value), cy: 10, r: 4 }));
  const zero = scale[0] <= origin && scale[1] >= origin ? [page.svg("line", { class: "axis", x1: at(origin), x2: at(origin), y1: 0, y2: 20 })] : [];
  return page.svg("svg", { class: "interval", role: "img", "aria-label": `${page.number(value)}, from ${page.number(low)} to ${page.number(high)}` }, ...zero, group);
};

{
  const dark = matchMedia("(prefers-color-scheme: dark)");
  page.setTheme(dark.matches ? "dark" : "light");
  dark.addEventListener("change", () => page.setTheme(dark.matches ? "dark" : "light"));
  document.getElementById("theme").addEventListener("click", () =>
    page.setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
}

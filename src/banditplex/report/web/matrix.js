"use strict";
/* Heat maps on canvas: any number of cells, hover, arrow keys, zoom, an order of rows and columns.
   spec: rows, columns (layers in the order shown), grid (numbers, row by row, of the layers gridRows x gridColumns),
   frame(target, layer), dot(target, layer), title(target, layer), describe(target, layer, number) -> [label, number] lines,
   diverging, high, hue (the colour of high numbers), label. */
page.matrix = function (host, spec, controls) {
  const GAP = 8, FONT = "12px ui-sans-serif, system-ui, sans-serif", READABLE = 11, LARGE = 44, TALL = 860;
  const canvas = page.el("canvas", { tabindex: 0, role: "img", "aria-label": spec.label });
  const room = page.el("div", { class: "room" });
  const box = page.el("div", { class: "matrix" }, canvas, room);
  const bar = page.el("canvas", { width: 120, height: 1 });
  const legend = page.el("div", { class: "legend" });
  const zoomer = page.el("span", { class: "zoom" });
  controls.append(zoomer);
  host.append(box, legend);
  const context = canvas.getContext("2d"), image = document.createElement("canvas");
  let rowPlaces = [], columnPlaces = [];
  const value = (i, j) => spec.grid[rowPlaces[i] * spec.gridColumns.length + columnPlaces[j]];
  function arrange() {
    const places = (list, base) => { const at = new Map(base.map((index, place) => [index, place])); return Int32Array.from(list, (index) => at.get(index)); };
    rowPlaces = places(spec.rows, spec.gridRows);
    columnPlaces = places(spec.columns, spec.gridColumns);
  }
  let cell = 10, fit = 10, zoom = 0, left = 80, top = 80, cursor = null, view = {};

  function colourOf(value, ends) {
    const share = Math.max(-1, Math.min(1, value / (spec.high || 1)));
    return share < 0 ? page.mix(ends.low, ends.negative, -share) : page.mix(ends.low, ends.high, share);
  }
  const ends = () => ({ low: page.rgb("low"), high: page.rgb(spec.hue ?? "high"), negative: page.rgb("negative") });

  function paint() { /* one pixel per cell */
    const width = spec.columns.length, height = spec.rows.length, colours = ends(), blank = page.mix(page.rgb("ground"), page.rgb("low"), 0.3);
    image.width = Math.max(1, width);
    image.height = Math.max(1, height);
    const pixels = new ImageData(image.width, image.height), steps = 512, ramp = new Uint32Array(2 * steps + 2);
    const words = new Uint32Array(pixels.data.buffer), word = ([r, g, b]) => new Uint32Array(new Uint8Array([r, g, b, 255]).buffer)[0];
    for (let i = -steps; i <= steps; i++) ramp[steps + i] = word(colourOf((i / steps) * (spec.high || 1), colours));
    const none = word(blank), scale = steps / (spec.high || 1), across = spec.gridColumns.length, grid = spec.grid;
    for (let i = 0, at = 0; i < height; i++) {
      const start = rowPlaces[i] * across;
      for (let j = 0; j < width; j++, at++) {
        const number = grid[start + columnPlaces[j]];
        words[at] = number !== number ? none : ramp[steps + Math.max(-steps, Math.min(steps, Math.round(number * scale)))];
      }
    }
    image.getContext("2d").putImageData(pixels, 0, 0);
    const stripe = new ImageData(120, 1);
    for (let x = 0; x < 120; x++) {
      const share = spec.diverging ? x / 59.5 - 1 : x / 119;
      stripe.data.set([...colourOf(share * (spec.high || 1), colours), 255], 4 * x);
    }
    bar.getContext("2d").putImageData(stripe, 0, 0);
  }

  function measure() {
    const width = host.clientWidth;
    if (!width) return;
    context.font = FONT;
    const longest = (list) => list.slice(0, 1500).reduce((most, index) => Math.max(most, context.measureText(page.short(page.layer(index), 22)).width), 0);
    const most = Math.max(60, Math.min(150, width * 0.3));
    left = Math.min(most, longest(spec.rows)) + GAP;
    top = Math.min(130, longest(spec.columns)) + GAP;
    fit = Math.min(LARGE, (width - left - 2) / Math.max(1, spec.columns.length));
    if (fit >= READABLE) fit = Math.floor(Math.max(READABLE, Math.min(fit, (TALL - top - 2) / Math.max(1, spec.rows.length))));
    if (!zoom) zoom = fit < READABLE ? (READABLE + 5) / fit : 1; /* names first; one can zoom out */
    cell = Math.max(fit, Math.min(LARGE, fit * zoom));
    if (cell < READABLE) {
      [top, left] = [2, 2];
      if (zoom === 1) cell = (width - left - 2) / Math.max(1, spec.columns.length);
    }
    const inside = [left + cell * spec.columns.length + 2, top + cell * spec.rows.length + 2];
    view = { width: Math.min(width, inside[0]), height: Math.min(fit < READABLE ? 620 : TALL, inside[1]) };
    room.style.width = `${inside[0]}px`;
    room.style.height = `${inside[1]}px`;
    box.style.height = `${view.height}px`;
    const density = devicePixelRatio || 1;
    canvas.width = Math.round(view.width * density);
    canvas.height = Math.round(view.height * density);
    canvas.style.width = `${view.width}px`;
    canvas.style.height = `${view.height}px`;
  }

  function range(offset, room_, count) {
    return [Math.max(0, Math.floor(offset / cell)), Math.min(count, Math.ceil((offset + room_) / cell))];
  }

  function draw() {
    if (!view.width) return;
    const density = devicePixelRatio || 1, [dx, dy] = [box.scrollLeft, box.scrollTop];
    context.setTransform(density, 0, 0, density, 0, 0);
    context.fillStyle = page.colour("ground");
    context.fillRect(0, 0, view.width, view.height);
    const [width, height] = [view.width - left, view.height - top];
    const [c0, c1] = range(dx, width, spec.columns.length), [r0, r1] = range(dy, height, spec.rows.length);
    context.save();
    context.beginPath();
    context.rect(left, top, width, height);
    context.clip();
    context.imageSmoothingEnabled = cell < 1;
    context.drawImage(image, c0, r0, c1 - c0, r1 - r0, left + c0 * cell - dx, top + r0 * cell - dy, (c1 - c0) * cell, (r1 - r0) * cell);
    if (cell >= 5) {
      context.strokeStyle = page.colour("ground");
      context.lineWidth = cell >= READABLE ? 2 : 1;
      context.beginPath();
      for (let j = c0; j <= c1; j++) { const x = left + j * cell - dx; context.moveTo(x, top); context.lineTo(x, view.height); }
      for (let i = r0; i <= r1; i++) { const y = top + i * cell - dy; context.moveTo(left, y); context.lineTo(view.width, y); }
      context.stroke();
      if (spec.frame || spec.dot) marks(c0, c1, r0, r1, dx, dy);
    }
    if (cursor) {
      context.strokeStyle = page.colour("orange");
      context.lineWidth = 2;
      context.strokeRect(left + cursor[1] * cell - dx, top + cursor[0] * cell - dy, Math.max(3, cell), Math.max(3, cell));
    }
    context.restore();
    if (cell >= READABLE) names(c0, c1, r0, r1, dx, dy);
  }

  function marks(c0, c1, r0, r1, dx, dy) {
    context.strokeStyle = page.colour("mark");
    context.lineWidth = cell >= READABLE ? 2 : 1;
    const colours = ends();
    for (let i = r0; i < r1; i++) {
      for (let j = c0; j < c1; j++) {
        const [x, y] = [left + j * cell - dx, top + i * cell - dy];
        if (spec.frame && spec.frame(spec.rows[i], spec.columns[j])) context.strokeRect(x + 1, y + 1, cell - 2, cell - 2);
        if (spec.dot && spec.dot(spec.rows[i], spec.columns[j])) {
          const [r, g, b] = colourOf(value(i, j), colours);
          context.fillStyle = 0.3 * r + 0.59 * g + 0.11 * b > 140 ? "#111418" : "#ffffff";
          context.beginPath();
          context.arc(x + cell / 2, y + cell / 2, Math.max(1.5, Math.min(3, cell / 7)), 0, 7);
          context.fill();
        }
      }
    }
  }

  function names(c0, c1, r0, r1, dx, dy) {
    context.font = FONT;
    context.textBaseline = "middle";
    const fitted = (index, most) => {
      let text = page.short(page.layer(index), 22);
      while (text.length > 2 && context.measureText(text).width > most) text = `${text.slice(0, -2)}…`;
      return text;
    };
    context.save();
    context.beginPath();
    context.rect(0, top, left, view.height - top);
    context.clip();
    context.textAlign = "right";
    for (let i = r0; i < r1; i++) {
      context.fillStyle = page.colour(cursor && cursor[0] === i ? "ink" : "soft");
      context.fillText(fitted(spec.rows[i], left - GAP), left - GAP, top + (i + 0.5) * cell - dy);
    }
    context.restore();
    context.save();
    context.beginPath();
    context.rect(left, 0, view.width - left, top);
    context.clip();
    context.textAlign = "left";
    for (let j = c0; j < c1; j++) {
      context.fillStyle = page.colour(cursor && cursor[1] === j ? "ink" : "soft");
      context.save();
      context.translate(left + (j + 0.5) * cell - dx, top - GAP);
      context.rotate(-Math.PI / 2);
      context.fillText(fitted(spec.columns[j], top - GAP), 0, 0);
      context.restore();
    }
    context.restore();
  }

  function at(event) {
    const bounds = canvas.getBoundingClientRect();
    const j = Math.floor((event.clientX - bounds.left - left + box.scrollLeft) / cell);
    const i = Math.floor((event.clientY - bounds.top - top + box.scrollTop) / cell);
    const inside = event.clientX - bounds.left >= left && event.clientY - bounds.top >= top;
    return inside && i >= 0 && j >= 0 && i < spec.rows.length && j < spec.columns.length ? [i, j] : null;
  }
  function tell(x, y) {
    const asked = [spec.rows[cursor[0]], spec.columns[cursor[1]], value(...cursor)], lines = spec.describe(...asked);
    page.showTip(x, y, spec.title(...asked), lines);
    page.say(`${spec.title(...asked)}: ${lines.map((line) => line.join(" ")).join(", ")}`);
  }
  canvas.addEventListener("pointermove", (event) => {
    cursor = at(event);
    draw();
    if (cursor) tell(event.clientX, event.clientY); else page.hideTip();
  });
  const leave = () => { cursor = null; page.hideTip(); draw(); };
  canvas.addEventListener("pointerleave", leave);
  canvas.addEventListener("blur", leave);
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (event.key === "Escape") leave();
    if (!step || !spec.rows.length || !spec.columns.length) return;
    event.preventDefault();
    cursor = cursor ? [cursor[0] + step[0], cursor[1] + step[1]] : [0, 0];
    cursor = [Math.max(0, Math.min(spec.rows.length - 1, cursor[0])), Math.max(0, Math.min(spec.columns.length - 1, cursor[1]))];
    const [x, y] = [cursor[1] * cell, cursor[0] * cell];
    if (x < box.scrollLeft || x + cell > box.scrollLeft + view.width - left) box.scrollLeft = x - (view.width - left) / 2;
    if (y < box.scrollTop || y + cell > box.scrollTop + view.height - top) box.scrollTop = y - (view.height - top) / 2;
    draw();
    const bounds = canvas.getBoundingClientRect();
    tell(bounds.left + left + x + cell - box.scrollLeft, bounds.top + top + y + cell - box.scrollTop);
  });
  box.addEventListener("scroll", draw, { passive: true });

  function tools() {
    zoomer.replaceChildren();
    zoomer.hidden = fit >= READABLE;
    if (zoomer.hidden) return;
    const most = 24 / fit;
    const set = (factor) => { zoom = factor ? Math.min(most, zoom * factor) : 1; measure(); draw(); tools(); };
    zoomer.append(
      page.el("button", { type: "button", onclick: () => set(cell < READABLE ? 16 / cell : 1.5), disabled: zoom >= most }, "Zoom in"),
      page.el("button", { type: "button", onclick: () => set(0), disabled: zoom <= 1 }, "Show all"),
      page.el("span", { class: "muted" }, cell < READABLE ? "Point at a cell for its numbers; zoom in for names." : "Scroll for more."));
  }
  function explain() {
    const text = spec.format ?? ((value) => page.number(value, 2));
    legend.replaceChildren(page.el("span", {}, text(spec.diverging ? -spec.high : 0), bar, text(spec.high)), ...(spec.legend ? spec.legend() : []));
  }
  function refresh() { arrange(); paint(); measure(); draw(); tools(); explain(); }
  new ResizeObserver(() => { measure(); draw(); tools(); }).observe(host);
  page.onTheme(host, () => { paint(); draw(); });
  refresh();
  return {
    canvas,
    update(changes) { Object.assign(spec, changes); cursor = null; refresh(); },
    repaint() { page.redraw(host, () => { paint(); draw(); }); },
    place: (i, j) => ({ x: left + (j + 0.5) * cell, y: top + (i + 0.5) * cell }), /* of the middle of a cell */
  };
};

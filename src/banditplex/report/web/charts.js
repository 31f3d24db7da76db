"use strict";
/* Charts by Apache ECharts, in the colours of the page. Tooltips are elements, so that names stay text. */
page.chart = function (element, option, label, { keys = true, redraw = false } = {}) {
  const chart = echarts.init(element, null, { renderer: "canvas" });
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const draw = () => {
    chart.setOption({ animation: !still && !page.printing, animationDuration: 300, aria: { enabled: false }, ...option() }, { notMerge: true });
    if (page.printing) chart.getZr().flush();
  };
  draw();
  page.onTheme(element, draw);
  let width = element.clientWidth;
  new ResizeObserver(() => { chart.resize(); if (redraw && element.clientWidth !== width) { width = element.clientWidth; draw(); } }).observe(element);
  element.setAttribute("tabindex", "0");
  element.setAttribute("role", "img");
  element.setAttribute("aria-label", label);
  if (keys) {
    let at = -1;
    element.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key], series = chart.getOption().series;
      const size = Math.max(0, ...series.map((each) => (each.data ?? []).length));
      if (!step || !size) return;
      event.preventDefault();
      at = Math.max(0, Math.min(size - 1, at + step));
      const which = Math.max(0, series.findIndex((each) => (each.data ?? []).length === size && !each.silent));
      chart.dispatchAction({ type: "showTip", seriesIndex: which, dataIndex: at });
    });
    element.addEventListener("blur", () => { at = -1; chart.dispatchAction({ type: "hideTip" }); });
  }
  page.charts.push(chart);
  return { chart, draw: () => page.redraw(element, draw) };
};

page.tip = (title, rows) => page.el("div", { class: "tip" }, page.lines(title, rows));
page.frame = function () {
  return {
    textStyle: { fontFamily: "ui-sans-serif, system-ui, sans-serif", color: page.colour("soft") },
    grid: { left: 8, right: 18, top: 22, bottom: 8, containLabel: true },
    tooltip: {
      trigger: "axis", confine: true, backgroundColor: page.colour("surface"), borderColor: page.colour("strong-line"),
      textStyle: { color: page.colour("ink"), fontSize: 13 }, extraCssText: "box-shadow:0 6px 24px rgb(0 0 0 / .13);border-radius:8px",
      axisPointer: { type: "line", lineStyle: { color: page.colour("faint"), type: "solid", width: 1 } },
    },
  };
};
page.axis = function (more = {}) {
  const line = { lineStyle: { color: page.colour("strong-line") } };
  return {
    axisLine: line, axisTick: { show: false }, splitLine: { lineStyle: { color: page.colour("line") } },
    axisLabel: { color: page.colour("soft"), hideOverlap: true }, nameTextStyle: { color: page.colour("soft") }, nameLocation: "middle", ...more,
  };
};

/* Lines by epoch. lines: {name, values, band}, where a band is a deviation to both sides. */
page.lineChart = function (element, spec, label) {
  const option = () => {
    const lines = spec.lines(), series = [];
    lines.forEach((line, number) => {
      const colour = line.colour ? page.colour(line.colour) : page.series(number);
      if (line.band) {
        const low = line.values.map((value, i) => (page.known(value) ? value - line.band[i] : null));
        const hidden = { type: "line", stack: `band ${number}`, stackStrategy: "all", symbol: "none", silent: true, lineStyle: { opacity: 0 }, tooltip: { show: false } };
        series.push({ ...hidden, data: low }, { ...hidden, data: line.band.map((value) => 2 * value), areaStyle: { color: colour, opacity: 0.14 } });
      }
      series.push({
        id: `line ${number}`, name: String(number), type: "line", data: line.values.map((value) => (page.known(value) ? value : null)),
        symbol: line.values.length > 40 ? "none" : "circle", symbolSize: 5, showSymbol: line.values.length <= 40, connectNulls: false,
        lineStyle: { width: 2 }, color: colour, emphasis: { disabled: true },
      });
    });
    if (spec.marks) {
      series.push({ id: "marks", type: "line", data: [], silent: true, markLine: { symbol: "none", animation: false, silent: true, data: spec.marks().map((mark) => ({
        xAxis: mark.at, lineStyle: { color: page.colour(mark.strong ? "orange" : "faint"), type: mark.strong ? "solid" : "dashed", width: mark.strong ? 2 : 1 },
        label: { show: Boolean(mark.text), formatter: () => mark.text, color: page.colour("soft"), position: "end", rotate: 0, distance: 2, fontSize: 11 } })) } });
    }
    const frame = page.frame();
    return {
      ...frame, series,
      tooltip: { ...frame.tooltip, formatter: (points) => {
        const at = points[0].dataIndex;
        return page.tip(`epoch ${spec.epochs[at]}`, lines.map((line) => [line.name,
          page.number(line.values[at]) + (line.band ? ` ± ${page.number(line.band[at])}` : "")]));
      } },
      grid: { ...frame.grid, bottom: 26 },
      xAxis: page.axis({ type: "category", data: spec.epochs.map(String), name: "epoch", nameGap: 28, boundaryGap: spec.epochs.length === 1, splitLine: { show: false } }),
      yAxis: page.axis({ type: "value", scale: true, splitNumber: 4, min: spec.min, max: spec.max, axisLine: { show: false } }),
    };
  };
  return page.chart(element, option, label);
};
page.key = function (lines) {
  return page.el("div", { class: "legend" }, lines.map((line, number) => page.el("span", {},
    page.el("i", { class: `swatch s${line.series ?? (number % 6) + 1}` }), page.el("bdi", {}, page.short(line.name, 30)))));
};

"use strict";
/* The leaderboard: every method on the same splits. `block` and `lede` are those of sections.js. */
page.leaderboard = function (block, lede) {
  const { el } = page, board = page.data.leaderboard, { methods, columns } = board;
  const named = (line) => (line.ours ? el("b", {}, page.name(line.method), " ", el("span", { class: "chip" }, "ours")) : page.name(line.method));
  const best = new Map(columns.map(({ name }) => [name, Math.max(...methods.map((line) => line[name] ?? -Infinity))]));
  const shown = (value, name) => (page.known(value) && value.toFixed(3) === best.get(name).toFixed(3) ? el("b", {}, page.number(value)) : page.number(value));
  const signed = (value) => (page.known(value) ? (value > 0 ? "+" : "") + page.number(value) : "–");
  const chance = (p) => (page.known(p) ? (p < 0.001 ? "< 0.001" : page.number(p)) : "");
  const rows = methods.map((line, place) => ({ ...line, place }));
  const finished = rows.filter((line) => line.seeds > 0);

  /* One metric, as points with whiskers, and the differences to the reference. */
  const host = el("div");
  function show(metric) {
    const ends = finished.flatMap((line) => [-1, 1].map((sign) => line[metric] + sign * (line[`${metric}_deviation`] ?? 0))).filter(page.known);
    const room = Math.max(0.01, Math.max(...ends) - Math.min(...ends)) * 0.06, scale = [Math.min(...ends) - room, Math.max(...ends) + room];
    const compared = board.reference && finished.some((line) => page.known(line[`${metric}_difference`]));
    const sorted = [...finished].sort((a, b) => (b[metric] ?? -1) - (a[metric] ?? -1));
    const table = page.table([
      { title: "Method", cell: named, by: (line) => line.method },
      { title: "Mean", cell: (line) => shown(line[metric], metric), by: (line) => line[metric], number: true },
      { title: el("span", { class: "hidden" }, "Mean with its deviation"), cell: (line) => { const spread = line[`${metric}_deviation`] ?? 0, value = line[metric]; return page.known(value) ? page.interval(value, value - spread, value + spread, scale, line.ours) : ""; }, class: "graphic" },
      ...(compared ? [{ title: `Difference to ${board.reference}`, cell: (line) => (line.method === board.reference ? el("span", { class: "muted" }, "reference") : signed(line[`${metric}_difference`]) + (page.known(line[`${metric}_error`]) ? ` ± ${page.number(line[`${metric}_error`])}` : "")), by: (line) => line[`${metric}_difference`], number: true },
        { title: "p", cell: (line) => chance(line[`${metric}_p`]), by: (line) => line[`${metric}_p`], number: true, class: "wide" }] : []),
    ], sorted, { label: "Methods by one metric", text: (line) => line.method, shown: 15 });
    host.replaceChildren(el("div", { class: "controls" }, page.choose("Metric", [[metric, columns.find((each) => each.name === metric).title], ...columns.filter((each) => each.name !== metric).map((each) => [each.name, each.title])], show), page.search("Search methods", table.filter)), table.element);
  }
  if (finished.length) show(columns[0].name);

  /* Everything. */
  const tuned = (line) => line.seeds > 0 && line.settings !== "defaults";
  const size = (bytes) => (page.known(bytes) ? page.count(Math.round(bytes / 1e6)) : "–");
  const all = page.table([
    { title: "Method", cell: named, by: (line) => line.method },
    ...columns.map(({ name, title }) => ({ title, cell: (line) => shown(line[name], name), by: (line) => line[name], number: true })),
    { title: "Seconds", cell: (line) => (page.known(line.fit_seconds) ? line.fit_seconds.toFixed(1) : "–"), by: (line) => line.fit_seconds, number: true },
    { title: "MB", cell: (line) => size(line.memory_bytes), by: (line) => line.memory_bytes, number: true },
    { title: "Parameters", cell: (line) => page.count(line.parameters), by: (line) => line.parameters, number: true },
    ...(rows.some(tuned) ? [{ title: "Chosen settings", cell: (line) => el("span", { class: "muted" }, tuned(line) ? page.short(line.settings, 300) : "") }] : []),
    ...(rows.some((line) => line.note) ? [{ title: "Note", cell: (line) => el("span", { class: "muted" }, page.short(line.note, 200)) }] : []),
  ], rows, { label: "All methods", scroll: true, shown: 60 });
  const failed = rows.length - finished.length;
  const save = () => page.download("leaderboard.csv", page.csv(["method", ...columns.flatMap(({ name }) => [name, `${name}_deviation`]), "seconds", "memory_bytes", "parameters", "settings", "note"],
    rows.map((line) => [line.method, ...columns.flatMap(({ name }) => [line[name], line[`${name}_deviation`]]), line.fit_seconds, line.memory_bytes, line.parameters, line.settings, line.note])));

  return ["Leaderboard", lede([...board.facts_text, ...board.conditions].join(" ")),
    block("Methods side by side", "Points are means over layers and seeds; lines show one standard deviation over seeds. Our learner and its variants are in bold.", host),
    block("All numbers", `Sorted by a click on a heading; the best of a column is in bold.${failed ? ` ${page.plural(failed, "method")} without a result: the last column says why.` : ""} ${board.legend.join(" ")}`,
      el("div", { class: "controls" }, el("button", { type: "button", class: "push", onclick: save }, "Download CSV")), all.element),
    board.by_layer ? page.leaderboardLayers(block) : null];
};

/* Each layer: ours beside the best other method; and all methods in one layer. */
page.leaderboardLayers = function (block) {
  const { el } = page, { by_layer: part, columns, methods, reference } = page.data.leaderboard;
  const values = page.unpack(part.values), [, numLayers, numMethods] = part.values.shape;
  const at = (k, layer, method) => values[(k * numLayers + layer) * numMethods + method];
  const ours = new Set(methods.filter((line) => line.ours).map((line) => line.method));
  const titles = part.metrics.map((name) => columns.find((each) => each.name === name)?.title ?? name);
  const own = part.methods.indexOf(reference), rivals = part.methods.map((_, m) => m).filter((m) => !ours.has(part.methods[m]));
  const summary = el("div"), detail = el("div");
  const signed = (value) => (page.known(value) && value > 0 ? "+" : "") + page.number(value);
  function show(k) {
    const rows = part.layers.map((name, layer) => {
      const known = rivals.filter((m) => page.known(at(k, layer, m)));
      const top = known.length ? known.reduce((a, b) => (at(k, layer, b) > at(k, layer, a) ? b : a)) : null;
      return { name, ours: own < 0 ? NaN : at(k, layer, own), top, rival: top === null ? NaN : at(k, layer, top) };
    });
    const table = page.table([
      { title: "Layer", cell: (row) => page.name(row.name), by: (row) => row.name },
      { title: reference ?? "", cell: (row) => page.number(row.ours), by: (row) => row.ours, number: true },
      { title: "Best other", cell: (row) => (row.top === null ? "–" : page.name(part.methods[row.top])), by: (row) => (row.top === null ? "" : part.methods[row.top]) },
      { title: "Its value", cell: (row) => page.number(row.rival), by: (row) => row.rival, number: true },
      { title: "Difference", cell: (row) => signed(row.ours - row.rival), by: (row) => row.ours - row.rival, number: true, class: "wide" },
    ], rows, { text: (row) => row.name, label: "Each layer" });
    summary.replaceChildren(el("div", { class: "controls" }, page.choose("Metric", [[k, titles[k]], ...titles.map((title, i) => [i, title]).filter(([i]) => i !== k)], (value) => show(Number(value))), numMethods && part.layers.length > 12 ? page.search("Search layers", table.filter) : ""), table.element);
  }
  function open(layer) {
    const rows = part.methods.map((name, m) => ({ name, m })).filter(({ m }) => page.known(at(0, layer, m))).sort((a, b) => at(0, layer, b.m) - at(0, layer, a.m));
    const table = page.table([{ title: "Method", cell: (row) => (ours.has(row.name) ? el("b", {}, page.name(row.name)) : page.name(row.name)), by: (row) => row.name },
      ...titles.map((title, k) => ({ title, cell: (row) => page.number(at(k, layer, row.m)), by: (row) => at(k, layer, row.m), number: true }))], rows, { label: "One layer", scroll: true });
    detail.replaceChildren(table.element);
  }
  show(0);
  open(0);
  return el("div", {}, block("Each layer", `${reference ?? "Our learner"} beside the best method that is not ours, means over seeds. The best of many is a little too good: it is chosen after the fact.`, summary),
    block("One layer", "All methods, means over seeds.", el("div", { class: "controls" }, page.choose("Layer", part.layers.map((name, i) => [i, name]), (value) => open(Number(value)))), detail));
};

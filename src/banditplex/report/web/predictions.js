"use strict";
/* Quality on held-out edges, and predicted links. `block` and `lede` are those of sections.js. */

/* The quality of each target, by its layer: {index, edges, auc, low, high, clear}; empty if nothing is known of it. */
page.qualities = (() => {
  const held = page.data.held_out, history = page.data.history, found = new Map();
  if (held && history) history.targets.forEach((index, t) => { const { edges, roc_auc: auc, low, high, clear } = held.targets[t]; found.set(index, { index, edges, auc, low, high, clear }); });
  return found;
})();
/* Whether held-out edges show that a target is predicted better than by chance. */
page.shown = (row) => Boolean(row && row.clear);
page.tooFew = (row) => !row || !page.known(row.auc) || (!page.shown(row) && row.low > 0.5);
page.ranged = (row) => `${page.number(row.auc)}, 99 % limits ${page.number(row.low)} to ${page.number(row.high)}`;

page.quality = function (block, lede) {
  const { el, data } = page, layers = data.layers, bins = data.held_out.bins, h = data.history, host = el("div", { class: "chart tall square" });
  const mean = (values) => { const known = values.filter(page.known); return known.length ? known.reduce((a, b) => a + b, 0) / known.length : NaN; };
  const kept = (h.kept_epochs.length ? h.kept_epochs : [h.epochs.at(-1)]).map((epoch) => h.epochs.indexOf(epoch)), count = h.epochs.length;
  const [loss, right] = ["validation_loss", "validation_accuracy"].map((name) => page.unpack(h[name]));
  const rows = h.targets.map((index, t) => ({ ...page.qualities.get(index), loss: mean(kept.map((at) => loss[t * count + at])), right: mean(kept.map((at) => right[t * count + at])) }));
  const scale = [Math.min(0.45, ...rows.map((row) => row.low ?? 0.5)), 1];
  const clear = rows.filter(page.shown).length;
  const table = page.table([
    { title: "Target", cell: (row) => page.layerName(row.index), by: (row) => layers[row.index] },
    { title: "Held-out edges", cell: (row) => page.count(row.edges), by: (row) => row.edges, number: true, class: "wide" },
    { title: "ROC-AUC", cell: (row) => page.number(row.auc), by: (row) => row.auc, number: true },
    { title: "99 % limits", cell: (row) => (page.known(row.low) ? `${page.number(row.low)} to ${page.number(row.high)}` : "–"), by: (row) => row.low, number: true, class: "wide" },
    { title: el("span", { class: "unseen" }, "ROC-AUC with its limits"), cell: (row) => (page.known(row.low) ? page.interval(row.auc, row.low, row.high, scale, page.shown(row), 0.5) : ""), class: "graphic" },
    { title: "Accuracy", cell: (row) => page.number(row.right), by: (row) => row.right, number: true, class: "wide" },
    { title: "Log loss", cell: (row) => page.number(row.loss), by: (row) => row.loss, number: true, class: "wide" },
  ], rows, { text: (row) => layers[row.index], label: "Quality by target", shown: 12 });
  const enough = 10, solid = (bin) => bin.links >= enough, few = !bins.every(solid);
  const limit = Math.min(1, Math.max(0.1, Math.ceil(10 * Math.max(...bins.map((bin) => Math.max(bin.probability, bin.share)))) / 10));
  page.lazy(host, () => page.chart(host, () => {
    const frame = page.frame(), colour = page.colour("series-1");
    const point = (bin) => ({ value: [bin.probability, bin.share], itemStyle: solid(bin) ? { color: colour } : { color: page.colour("ground"), borderColor: colour, borderWidth: 1.5, opacity: 0.7 } });
    return { ...frame, grid: { ...frame.grid, bottom: 30, left: 30 },
      tooltip: { ...frame.tooltip, trigger: "item", formatter: ({ dataIndex }) => { const bin = bins[dataIndex]; return page.tip(`stated probability ${page.number(bin.probability)}`, [["links among these pairs", page.number(bin.share)], ["95 % limits", `${page.number(bin.low)} to ${page.number(bin.high)}`], ["held-out edges", page.count(bin.links)]]); } },
      xAxis: page.axis({ type: "value", min: 0, max: limit, name: "stated probability", nameGap: 30 }), yAxis: page.axis({ type: "value", min: 0, max: limit, name: "share of links", nameGap: 40 }),
      series: [{ type: "line", data: [[0, 0], [limit, limit]], symbol: "none", silent: true, lineStyle: { type: "dashed", color: page.colour("faint"), width: 1 }, tooltip: { show: false } },
        { type: "custom", silent: true, z: 1, data: bins.map((bin) => [bin.probability, bin.low, bin.high, solid(bin) ? 0.5 : 0.22]), renderItem: (_, api) => { const [x, y0] = api.coord([api.value(0), Math.min(limit, api.value(1))]), [, y1] = api.coord([api.value(0), Math.min(limit, api.value(2))]); return { type: "line", shape: { x1: x, x2: x, y1: y0, y2: y1 }, style: { stroke: colour, lineWidth: 2, opacity: api.value(3) } }; } },
        { type: "scatter", data: bins.map(point), symbolSize: 10, z: 3 }] };
  }, "Reliability diagram: share of links against stated probability"));
  const why = (which) => ` predicted clearly better than by chance: the limits of ${which} include 0.5, or there are too few held-out edges.`;
  const said = clear === rows.length ? "" : rows.length === 1 ? " This target is not predicted clearly better than by chance." : clear ? ` ${clear} of ${rows.length} targets ${clear === 1 ? "is" : "are"}${why("the others")}` : ` No target is${why("all")}`;
  return ["Quality on held-out edges", lede(`ROC-AUC is the probability that a held-out edge gets a higher score than a pair without an edge: 0.5 is chance, 1 is perfect.${said} These are validation edges: they were not trained on, but chose when to stop. `,
    "For a test on edges that had no part in training at all, use ", el("code", {}, "banditplex evaluate"), "."),
    block("Each target", `${rows.length > 1 ? "The 99 % limits hold for all targets together. " : ""}Accuracy and log loss are those on as many held-out edges as pairs without an edge.`, rows.length > 12 ? el("div", { class: "controls" }, page.search("Search targets", table.filter)) : null, table.element),
    block("Do the probabilities hold?", `Reliability diagram: pairs in ten groups by their stated probability. On the dashed line, probabilities are right. Lines show 95 % limits${few ? `; hollow points rest on fewer than ${enough} held-out edges` : ""}. Each half of the pairs is judged by a calibration fitted to the other half. Unknown pairs count as no links, so points may lie somewhat low.`, bins.length ? host : el("p", { class: "muted" }, "There are no held-out edges."))];
};

page.links = function (lede) {
  const { el, data } = page, layers = data.layers, l = data.links, mx = data.multiplex, host = el("div"), caution = el("div"), below = el("div", { class: "below" });
  if (!l.targets.length) return null;
  const paths = l.near === "paths", counted = paths ? "Paths of 3 steps" : "Common neighbours";
  const setting = (name) => data.about?.settings?.find((each) => each.name === name)?.value;
  const seesAll = setting("evidence") !== "drawn"; /* else terms of drawn layers include their links */
  /* All links of targets that are predicted better than by chance, the most probable first. */
  const clear = l.targets.filter((part) => page.shown(page.qualities.get(part.target))), all = clear.length > 1;
  const rowsOf = (parts) => parts.flatMap((part) => part.source.map((_, i) => ({ part, i })));
  const merit = (each) => { const row = page.qualities.get(each.target); return row && page.known(row.low) ? row.low - !page.shown(row) : -2; };
  const best = l.targets.reduce((most, each, i) => (merit(each) > merit(l.targets[most]) ? i : most), 0);
  let parts = [], rows = [], table = null, asked = "", supposed = null;

  const known = (part) => part.possible - part.unknown;
  const chance = ({ part, i }) => (part.supposed.find(({ per }) => per === supposed) ?? part).probability[i];
  const score = ({ part, i }) => part.base + part.own[i] + part.by_layer[i].reduce((sum, [, value]) => sum + value, 0) + part.rest[i][1];
  const title = (type) => type.charAt(0).toUpperCase() + type.slice(1);
  const ends = () => { const types = new Set(parts.map((part) => JSON.stringify(part.types))), [first] = types; return types.size === 1 && first !== "null" ? JSON.parse(first).map(title) : mx.directed ? ["From", "To"] : null; };
  const chips = (indices, most = 4) => (indices.length ? indices.slice(0, most).map((index) => el("bdi", { class: "chip", title: page.short(layers[index], 300) }, page.short(layers[index], 40))).concat(indices.length > most ? [`+${indices.length - most}`] : []) : el("span", { class: "muted" }, "no layer"));

  function evidence(row) {
    const { part, i } = row, has = part.has[i], [further, sum] = part.rest[i];
    const terms = [{ label: [page.layerName(part.target), el("span", { class: "muted" }, layers.length > 1 && seesAll ? ": neighbourhood there, and in all layers together" : ": neighbourhood there")], value: part.own[i] },
      ...part.by_layer[i].map(([layer, value, kinds]) => ({ label: [page.layerName(layer), el("span", { class: "muted" }, `: ${[[1, "linked there"], [2, "linked there the other way round"], [4, "neighbourhood there"]].filter(([kind]) => kinds & kind || (kind === 1 && !seesAll && has.includes(layer))).map(([, words]) => words).join(", ")}`)], value })),
      ...(further ? [{ label: [el("span", { class: "muted" }, `${page.plural(further, "further layer")}`)], value: sum }] : [])];
    const most = Math.max(1e-9, ...terms.map((term) => Math.abs(term.value)));
    const bars = terms.flatMap(({ label, value }) => {
      const width = 50 * Math.abs(value) / most;
      return [el("span", {}, label),
        page.svg("svg", { "aria-hidden": "true" }, page.svg("line", { class: "axis", x1: "50%", x2: "50%", y1: 0, y2: 12 }), page.svg("rect", { class: value < 0 ? "minus" : "plus", x: `${value < 0 ? 50 - width : 50}%`, width: `${width}%`, y: 2, height: 8, rx: 2 })),
        el("span", { class: "number" }, `${value > 0 ? "+" : ""}${page.number(value, 2)}`)];
    });
    const between = part.near_any?.some((each) => each > 0) ? [el("dt", {}, counted), el("dd", {}, ...part.layers.flatMap((layer, m) => [m ? ", " : "", `${page.count(part.near[m]?.[i])} in `, page.layerName(layer)]), layers.length > 1 ? `; ${page.count(part.near_any?.[i])} in all layers together` : "")] : [];
    const pair = [part.source[i], part.destination[i]], long = pair.some((name) => String(name).length > 24);
    return el("dl", {}, ...(long ? [el("dt", {}, "Pair"), el("dd", {}, pair.flatMap((name, side) => [side ? (mx.directed ? " → " : " – ") : "", el("bdi", { class: "whole" }, page.short(name, 120))]))] : []), ...(layers.length > 1 ? [el("dt", {}, "Linked in"), el("dd", {}, has.length ? page.list(has, 30) : "no layer")] : []), ...between,
      el("dt", {}, "For and against"), el("dd", { class: "terms" }, bars),
      el("dt", {}, "Score"), el("dd", {}, `${page.number(score(row), 2)}: a typical pair has ${page.number(part.base, 2)}, and the terms above add up to the rest. Probabilities grow with the score.`));
  }
  function open(button, row) {
    const line = button.closest("tr"), is = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!is));
    button.textContent = is ? "Why" : "Hide";
    if (is) line.nextElementSibling.remove();
    else line.after(el("tr", { class: "evidence" }, el("td", { colspan: line.children.length }, evidence(row))));
  }
  function together(row, heads) {
    const { part, i } = row, [first, second] = heads ?? ["Between", "and"];
    const lines = [[first, page.name(part.source[i])], [second, page.name(part.destination[i])], ...(parts.length > 1 ? [["Layer", page.layerName(part.target)]] : []), ...(layers.length > 1 ? [["Linked in", chips(part.has[i], 2)]] : [])];
    return page.together(lines);
  }
  function list() {
    const heads = ends(), [source, destination] = heads ?? ["Node", "Node"];
    table = page.table([
      { title: "Pair", cell: (row) => together(row, heads), class: "narrow" },
      { title: source, cell: ({ part, i }) => page.name(part.source[i]), by: ({ part, i }) => String(part.source[i]), class: "end wide" },
      { title: destination, cell: ({ part, i }) => page.name(part.destination[i]), by: ({ part, i }) => String(part.destination[i]), class: "end wide" },
      ...(parts.length > 1 ? [{ title: "Layer", cell: ({ part }) => page.layerName(part.target), by: ({ part }) => layers[part.target], class: "wide" }] : []),
      { title: "Probability", cell: (row) => page.probability(chance(row)), by: chance, number: true },
      ...(layers.length > 1 ? [{ title: "Linked in", cell: ({ part, i }) => chips(part.has[i]), by: ({ part, i }) => part.has[i].length, class: "wide" }] : []),
      ...(parts.some((part) => part.near_any?.some((each) => each > 0)) ? [{ title: counted, cell: ({ part, i }) => page.count(part.near_any?.[i]), by: ({ part, i }) => part.near_any?.[i], number: true, class: "wide" }] : []),
      { title: el("span", { class: "hidden" }, "Reasons"), cell: (row) => el("button", { type: "button", class: "quiet", "aria-expanded": "false", "aria-label": `Why ${page.short(row.part.source[row.i], 40)} and ${page.short(row.part.destination[row.i], 40)}`, onclick(event) { open(event.currentTarget, row); } }, "Why"), number: true },
    ], rows, { text: ({ part, i }) => `${part.source[i]}\n${part.destination[i]}\n${part.has[i].map((index) => layers[index]).join("\n")}`, label: "Predicted links", shown: parts.length > 1 ? 5 : 15, empty: "No link found." });
    host.replaceChildren(table.element);
    if (asked) table.filter(asked);
  }
  /* Which pairs were ranked, and what the probabilities rest on; more or fewer unknown links can be supposed. */
  function explain() {
    const [part] = parts, one = parts.length === 1, usual = (each) => each.prior * each.unknown;
    const [from, to] = part.types ?? [], meaning = paths && from ? ` A path of 3 steps leads from a ${from} over a ${to} and another ${from} to a ${to}.` : "";
    const ranked = !one ? "Known edges are left out, and so are layers that are not predicted clearly better than by chance."
      : part.ranked < part.possible ? `${page.count(part.ranked)} of ${page.plural(part.possible, "pair")} of nodes were ranked (${part.chosen}); known edges are left out.`
        : `All ${page.plural(part.ranked, "pair")} of nodes that the layer may link were ranked; known edges are left out.`;
    const words = (per, links) => `${one ? `${page.count(Math.round(links))}, ` : ""}1 for ${page.count(Math.round(1 / per))} known`;
    const choices = [[null, words(usual(part) / known(part), usual(part))], ...[...new Set(parts.flatMap((each) => each.supposed.map(({ per }) => per)))].sort((a, b) => b - a).map((per) => [per, words(per, per * known(part))])];
    const select = page.choose("New links supposed", choices.map(([, text], i) => [String(i), text]), (value) => { supposed = choices[Number(value)][0]; list(); });
    const means = one ? `, which means about ${page.plural(Math.round(usual(part)), "new link")} beside ${page.count(known(part))} known` : "";
    below.replaceChildren(el("p", { class: "caption" }, `${ranked}${meaning} Probabilities suppose that every tenth link is unknown${means}. If fewer links are missing from your data, they are too high, if more, too low; the order of the links of a layer stays the same.`),
      el("div", { class: "controls" }, select));
  }
  function warn() {
    const row = page.qualities.get(parts[0].target);
    const text = parts.length > 1 ? null : !page.qualities.size ? "It is not known how good these links are: this run has no results on held-out edges."
      : page.tooFew(row) ? `Caution: it is not known how good these links are. This target has ${page.plural(row?.edges ?? 0, "held-out edge")}, too few to tell.`
        : page.shown(row) ? null : `Caution: on ${page.plural(row.edges, "held-out edge")}, this target is not predicted clearly better than by chance (ROC-AUC ${page.ranged(row)}). The links below may be no better than guesses.`;
    caution.replaceChildren(...(text ? [el("p", { class: "note caution", role: "note" }, text)] : []));
  }
  function show(place) {
    [parts, supposed] = [place < 0 ? clear : [l.targets[place]], null];
    rows = rowsOf(parts).sort((a, b) => b.part.probability[b.i] - a.part.probability[a.i]);
    warn();
    explain();
    list();
  }
  page.linkTable = (some) => [["layer", "source", "destination", "probability", "score", "linked_in", paths ? "paths_of_3_steps" : "common_neighbours"],
    some.map((row) => [layers[row.part.target], row.part.source[row.i], row.part.destination[row.i], chance(row), Number(score(row).toFixed(4)), row.part.has[row.i].map((index) => layers[index]).join("; "), row.part.near_any?.[row.i]])];
  page.allLinks = () => page.linkTable(rowsOf(l.targets));
  const save = () => page.download(parts.length > 1 ? "links.csv" : `links-${layers[parts[0].target].replace(/[^\p{L}\p{N}]+/gu, "-").slice(0, 40) || "layer"}.csv`, page.csv(...page.linkTable(rows)));
  const chooser = page.choose("Layer", [...(all ? [["-1", `the ${clear.length} that are predicted best`]] : []), ...l.targets.map((each, i) => [String(i), layers[each.target]])], (value) => show(Number(value)));
  const start = all ? -1 : best;
  chooser.querySelector("select").value = String(start);
  show(start);
  const more = l.targets.length < l.all_targets ? [` Listed are ${l.targets.length} of ${page.count(l.all_targets)} targets; `, el("code", {}, "banditplex report RUN --layer NAME"), " lists others."] : [];
  const nothing = page.qualities.size && !clear.length && l.targets.length > 1 ? " No target is predicted clearly better than by chance: take none of these links as a finding." : "";
  return ["Predicted links", lede(`Pairs that are not known to be linked, the most probable first. Why says what speaks for a link and what against it.${nothing}`, ...more),
    el("div", { class: "controls" }, chooser, page.search("Search nodes or layers", (text) => { asked = text; table.filter(text); }), el("button", { type: "button", class: "push", onclick: save }, "Download CSV")), caution, host, below];
};

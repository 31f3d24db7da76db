"use strict";
/* Quality on held-out edges, and predicted links. `block` and `lede` are those of sections.js. */

/* The quality of each target, by its layer: {index, edges, auc, low, high, clear}; empty if nothing is known of it. */
page.qualities = (() => {
  const held = page.data.held_out, history = page.data.history, found = new Map();
  if (held && history) history.targets.forEach((index, t) => { const { edges, roc_auc: auc, low, high, clear } = held.targets[t]; found.set(index, { index, edges, auc, low, high, clear }); });
  return found;
})();
/* Whether held-out edges show that a target is predicted better than by chance; runs of before have no limits. */
page.shown = (row) => Boolean(row) && (row.clear ?? page.known(row.auc));
page.tooFew = (row) => !row || !page.known(row.auc) || (!page.shown(row) && row.low > 0.5);
page.ranged = (row) => `${page.number(row.auc)}, 99 % limits ${page.number(row.low)} to ${page.number(row.high)}`;

/* The mean ROC-AUC, and over what it ranges. */
page.qualityFact = function () {
  const rows = [...page.qualities.values()].filter((row) => page.known(row.auc)).sort((a, b) => a.auc - b.auc);
  if (!rows.length) return null;
  const mean = rows.reduce((sum, row) => sum + row.auc, 0) / rows.length, clear = rows.filter(page.shown).length;
  const label = ["ROC-AUC on held-out edges"];
  if (rows.length > 1) label.push(`, the mean of ${rows.length} targets: lowest ${page.number(rows[0].auc)} in `, page.layerName(rows[0].index), `, highest ${page.number(rows.at(-1).auc)} in `, page.layerName(rows.at(-1).index));
  if (clear < rows.length) label.push(rows.length === 1 ? "; not clearly better than chance" : `; ${clear || "none"} of them ${clear > 1 ? "are" : "is"} clearly better than chance`);
  return [page.number(mean), label];
};

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
    { title: el("span", { class: "wide" }, "ROC-AUC with its limits"), cell: (row) => (page.known(row.low) ? page.interval(row.auc, row.low, row.high, scale, page.shown(row), 0.5) : ""), class: "graphic" },
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
  const { el, data } = page, layers = data.layers, l = data.links, mx = data.multiplex, host = el("div"), ranked = el("p", { class: "caption" }), caution = el("div"), chances = el("div");
  if (!l.targets.length) return null;
  const paths = l.near === "paths", counted = paths ? "Paths of 3 steps" : "Common neighbours";
  const setting = (name) => data.about?.settings?.find((each) => each.name === name)?.value;
  const seesAll = setting("evidence") !== "drawn"; /* else terms of drawn layers include their links */
  const title = (type) => type.charAt(0).toUpperCase() + type.slice(1);
  /* It opens with the target whose quality is the best that has been shown. */
  const merit = (each) => { const row = page.qualities.get(each.target); return row && page.known(row.low) ? row.low - !page.shown(row) : -2; };
  const start = l.targets.reduce((best, each, i) => (merit(each) > merit(l.targets[best]) ? i : best), 0);
  let part = null, table = null, asked = "", prior = null;
  const layerList = (indices) => (indices.length ? indices.slice(0, 4).map((index) => el("bdi", { class: "chip", title: page.short(layers[index], 300) }, page.short(layers[index], 40))).concat(indices.length > 4 ? [`+${indices.length - 4}`] : []) : el("span", { class: "muted" }, "none"));
  const odds = (p) => Math.log(p / (1 - p));
  const chance = (i) => (prior === part.prior ? part.probability[i] : 1 / (1 + Math.exp(odds(part.prior) - odds(part.probability[i]) - odds(prior))));
  const score = (i) => part.base + part.own[i] + part.by_layer[i].reduce((sum, [, value]) => sum + value, 0) + part.rest[i][1];

  function evidence(i) {
    const has = part.has[i], [further, sum] = part.rest[i];
    const terms = [{ label: [page.layerName(part.target), el("span", { class: "muted" }, layers.length > 1 && seesAll ? ": neighbourhood there, and in all layers together" : ": neighbourhood there")], value: part.own[i] },
      ...part.by_layer[i].map(([layer, value, kinds]) => ({ label: [page.layerName(layer), el("span", { class: "muted" }, `: ${[[1, "linked there"], [2, "linked there the other way round"], [4, "neighbourhood there"]].filter(([kind]) => kinds & kind || (kind === 1 && !seesAll && has.includes(layer))).map(([, words]) => words).join(", ")}`)], value })),
      ...(further ? [{ label: [el("span", { class: "muted" }, `${page.plural(further, "further layer")}`)], value: sum }] : [])];
    const most = Math.max(1e-9, ...terms.map((term) => Math.abs(term.value)));
    const signed = (value) => `${value > 0 ? "+" : ""}${page.number(value, 2)}`;
    const bars = terms.flatMap(({ label, value }) => {
      const width = 50 * Math.abs(value) / most;
      return [el("span", {}, label),
        page.svg("svg", { role: "img", "aria-hidden": "true" }, page.svg("line", { class: "axis", x1: "50%", x2: "50%", y1: 0, y2: 12 }), page.svg("rect", { class: value < 0 ? "minus" : "plus", x: `${value < 0 ? 50 - width : 50}%`, width: `${width}%`, y: 2, height: 8, rx: 2 })),
        el("span", { class: "number" }, signed(value))];
    });
    const between = part.near_any?.some((each) => each > 0) ? [el("dt", {}, counted), el("dd", {}, ...part.layers.flatMap((layer, m) => [m ? ", " : "", `${page.count(part.near[m]?.[i])} in `, page.layerName(layer)]), layers.length > 1 ? `; ${page.count(part.near_any?.[i])} in all layers together` : "")] : [];
    const ends = [part.source[i], part.destination[i]], long = ends.some((name) => String(name).length > 24);
    return el("dl", {}, ...(long ? [el("dt", {}, "Pair"), el("dd", {}, ends.flatMap((name, side) => [side ? (mx.directed ? " → " : " – ") : "", el("bdi", { class: "whole" }, page.short(name, 120))]))] : []), ...(layers.length > 1 ? [el("dt", {}, "Linked in"), el("dd", {}, has.length ? page.list(has, 30) : "no layer")] : []), ...between,
      el("dt", {}, "For and against"), el("dd", { class: "terms" }, bars),
      el("dt", {}, "Score"), el("dd", {}, `${page.number(score(i), 2)}: a typical pair has ${page.number(part.base, 2)}, and the terms above add up to the rest. Probabilities grow with the score.`));
  }
  function open(button, i) {
    const row = button.closest("tr"), is = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!is));
    button.textContent = is ? "Why" : "Hide";
    if (is) row.nextElementSibling.remove();
    else row.after(el("tr", { class: "evidence" }, el("td", { colspan: row.children.length }, evidence(i))));
  }
  /* What the probabilities rest on; fewer unknown links can be supposed. */
  function suppose() {
    const share = setting("unknown_share"), known = part.possible - part.unknown, usual = part.prior * part.unknown;
    const choices = [[usual, `${page.count(Math.round(usual))}, as frequent as in the layer`], ...[0.25, 0.05, 0.01].map((per) => [per * known, `${page.count(Math.round(per * known))}, ${{ 0.25: "1 for 4", 0.05: "1 for 20", 0.01: "1 for 100" }[per]} known`])]
      .filter(([number], place) => !place || (number >= 1 && number < usual));
    const select = page.choose("New links supposed", choices.map(([, text], i) => [String(i), text]), (value) => { prior = Number(value) ? choices[Number(value)][0] / part.unknown : part.prior; list(); });
    chances.replaceChildren(el("p", { class: "caption" }, `Probabilities suppose that links are as frequent among unknown pairs as in the whole layer, which means about ${page.plural(Math.round(usual), "new link")} beside ${page.count(known)} known${share === undefined || !page.qualities.size ? "" : `, and that ${Math.round(100 * share)} % of all links were unknown when they were calibrated`}. If fewer links are missing from your data, they are too high; the order of the links stays the same.`),
      el("div", { class: "controls" }, select));
  }
  function warn() {
    const row = page.qualities.get(part.target);
    const text = !page.qualities.size ? "It is not known how good these links are: this run has no results on held-out edges."
      : page.tooFew(row) ? `Caution: it is not known how good these links are. This target has ${page.plural(row?.edges ?? 0, "held-out edge")}, too few to tell.`
        : page.shown(row) ? null : `Caution: on ${page.plural(row.edges, "held-out edge")}, this target is not predicted clearly better than by chance (ROC-AUC ${page.ranged(row)}). The links below may be no better than guesses.`;
    caution.replaceChildren(...(text ? [el("p", { class: "note caution", role: "note" }, text)] : []));
  }
  function list() {
    const now = part, [source, destination] = now.types ? now.types.map(title) : mx.directed ? ["From", "To"] : ["Node", "Node"];
    const counts = now.near_any?.some((each) => each > 0);
    table = page.table([
      { title: "#", cell: (i) => String(i + 1), by: (i) => i, number: true, class: "wide" },
      { title: [source, el("span", { class: "narrow" }, ` ${mx.directed ? "→" : "–"} ${destination}`)], cell: (i) => [page.name(now.source[i]), el("div", { class: "narrow" }, page.name(now.destination[i]))], by: (i) => String(now.source[i]), class: "end" },
      { title: destination, cell: (i) => page.name(now.destination[i]), by: (i) => String(now.destination[i]), class: "end wide" },
      { title: "Probability", cell: (i) => page.probability(chance(i)), by: (i) => now.probability[i], number: true },
      ...(layers.length > 1 ? [{ title: "Linked in", cell: (i) => layerList(now.has[i]), by: (i) => now.has[i].length, class: "wide" }] : []),
      ...(counts ? [{ title: counted, cell: (i) => page.count(now.near_any[i]), by: (i) => now.near_any[i], number: true, class: "wide" }] : []),
      { title: "", cell: (i) => el("button", { type: "button", class: "quiet", "aria-expanded": "false", onclick(event) { open(event.currentTarget, i); } }, "Why"), number: true },
    ], now.source.map((_, i) => i), { text: (i) => `${now.source[i]}\n${now.destination[i]}\n${now.has[i].map((index) => layers[index]).join("\n")}`, label: "Predicted links", shown: 15, empty: "No link found." });
    host.replaceChildren(table.element);
    if (asked) table.filter(asked);
  }
  function show(place) {
    part = l.targets[place];
    prior = part.prior;
    const [one, other] = part.types ?? [];
    const meaning = paths && one ? ` A path of 3 steps leads from a ${one} over a ${other} and another ${one} to a ${other}.` : "";
    ranked.textContent = part.ranked < part.possible ? `${page.count(part.ranked)} of ${page.plural(part.possible, "pair")} of nodes were ranked (${part.chosen}); known edges are left out.${meaning}`
      : `All ${page.plural(part.ranked, "pair")} of nodes that the layer may link were ranked; known edges are left out.${meaning}`;
    warn();
    suppose();
    list();
  }
  function save() {
    const heads = ["layer", "source", "destination", "probability", "score", "linked_in", paths ? "paths_of_3_steps" : "common_neighbours"];
    const rows = part.source.map((source, i) => [layers[part.target], source, part.destination[i], chance(i), score(i).toFixed(4), part.has[i].map((index) => layers[index]).join("; "), part.near_any?.[i]]);
    page.download(`links-${layers[part.target].replace(/[^\p{L}\p{N}]+/gu, "-").slice(0, 40) || "layer"}.csv`, page.csv(heads, rows));
  }
  const chooser = page.choose("Target", l.targets.map((each, i) => [String(i), layers[each.target]]), (value) => show(Number(value)));
  chooser.querySelector("select").value = String(start);
  show(start);
  const more = l.targets.length < l.all_targets ? ` Listed are ${l.targets.length} of ${page.count(l.all_targets)} targets; ` : "";
  const command = more ? [more, el("code", {}, "banditplex report RUN --layer NAME"), " lists others."] : [];
  const clear = l.targets.some((each) => page.shown(page.qualities.get(each.target)));
  const best = !page.qualities.size ? "" : clear ? (l.targets.length > 1 ? " The list opens with the target that is predicted best." : "") : l.targets.length > 1 ? " No target is predicted clearly better than by chance: take none of these links as a finding." : "";
  return ["Predicted links", lede(`The most likely new links of each target, by the model's scores, and why.${best}`, ...command),
    el("div", { class: "controls" }, chooser, page.search("Search nodes or layers", (text) => { asked = text; table.filter(text); }), el("button", { type: "button", class: "push", onclick: save }, "Download CSV")), caution, ranked, chances, host];
};

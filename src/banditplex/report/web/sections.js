"use strict";
{
  const { el, data } = { el: page.el, data: page.data };
  const layers = data.layers, all = layers.map((_, index) => index);
  const mx = data.multiplex, about = data.about ?? {};
  const block = (title, caption, ...children) => el("figure", { class: "block" }, title ? el("h3", {}, title) : null,
    caption ? el("p", { class: "caption" }, caption) : null, ...children);
  const lede = (...children) => el("p", { class: "lede" }, ...children);
  const small = layers.length <= 16; /* a heat map leaves room for something beside it */
  const many = layers.length > 60; /* one sees a part of a heat map at first: the important one */
  const large = (options, first) => (many ? [options[first], ...options.filter((_, place) => place !== first)] : options);
  const beside = (...blocks) => (small ? el("div", { class: "pair" }, blocks) : el("div", {}, blocks));
  const mean = (values) => { const known = values.filter(page.known); return known.length ? known.reduce((a, b) => a + b, 0) / known.length : NaN; };
  /* The nodes in words: by type, if they have types. */
  const nodes = mx && (mx.types?.length ? mx.types.map(([type, count]) => page.plural(count, page.short(type, 40), page.several(page.short(type, 40)))).join(" + ") : page.plural(mx.nodes, "node"));
  const truth = data.truth ? new Set(data.truth.map(([target, layer]) => `${target} ${layer}`)) : null;
  const isTrue = (target, layer) => truth !== null && truth.has(`${target} ${layer}`);

  /* Gains, one object per row. */
  const gains = (() => {
    const table = data.gains;
    if (!table) return [];
    const [gain, low, high, weight] = ["gain", "low", "high", "weight"].map((name) => page.unpack(table[name]));
    return table.target.map((target, i) => ({ target, layer: table.layer[i], gain: gain[i], low: low[i], high: high[i], weight: weight[i], helps: table.helps[i] === 1 }));
  })();
  const byTarget = new Map();
  gains.forEach((row) => byTarget.set(row.target, [...(byTarget.get(row.target) ?? []), row]));
  const helped = [...byTarget].filter(([, rows]) => rows.some((row) => row.helps)).map(([target]) => target);
  const unknown = [...byTarget].filter(([, rows]) => !rows.some((row) => page.known(row.gain))).map(([target]) => target);
  const alone = [...byTarget.keys()].filter((target) => !helped.includes(target) && !unknown.includes(target)).sort((a, b) => a - b);

  function orders(rows, columns) {
    const best = (pick) => { const most = new Map(); gains.forEach((row) => most.set(row[pick], Math.max(most.get(row[pick]) ?? -Infinity, row.gain))); return (index) => -(most.get(index) ?? -Infinity); };
    const sorted = (list, by) => [...list].sort((a, b) => { const [x, y] = [by(a), by(b)]; return typeof x === "string" ? x.localeCompare(y) : x - y || a - b; });
    return {
      given: () => [rows, columns],
      name: () => [rows, columns].map((list) => sorted(list, (index) => layers[index])),
      size: () => [rows, columns].map((list) => sorted(list, (index) => -mx.columns.edges[index])),
      gain: () => [sorted(rows, best("target")), sorted(columns, best("layer"))],
    };
  }

  /* The multiplex */
  function multiplex() {
    const c = mx.columns;
    const table = page.table([
      { title: "Layer", cell: page.layerName, by: (i) => layers[i] },
      { title: "Edges", cell: (i) => page.count(c.edges[i]), by: (i) => c.edges[i], number: true },
    ].concat(c.density ? [
      { title: "Nodes with an edge", cell: (i) => page.count(c.active_nodes[i]), by: (i) => c.active_nodes[i], number: true, class: "wide" },
      { title: "Density", cell: (i) => page.probability(c.density[i]), by: (i) => c.density[i], number: true },
      { title: "Most similar layer", cell: (i) => (page.known(c.most_similar[i]) ? page.layerName(c.most_similar[i]) : "–"), by: (i) => layers[c.most_similar[i]] ?? "", class: "wide" },
      { title: "Overlap", cell: (i) => page.number(c.jaccard[i]), by: (i) => c.jaccard[i], number: true },
    ] : []), all, { text: (i) => layers[i], label: "Layers", shown: 8 });
    const perPair = el("div", { class: "chart low" }), overlap = el("div");
    const pairs = mx.layers_per_pair ?? [], total = pairs.reduce((a, b) => a + b, 0);
    page.lazy(perPair, () => page.chart(perPair, () => {
      const frame = page.frame();
      return { ...frame, grid: { ...frame.grid, bottom: 26 },
        tooltip: { ...frame.tooltip, axisPointer: { type: "shadow", shadowStyle: { color: page.colour("line"), opacity: 0.5 } },
          formatter: ([point]) => page.tip(page.plural(point.dataIndex + 1, "layer"), [["pairs", page.count(point.value)], ["share", `${(100 * point.value / total).toFixed(1)} %`]]) },
        xAxis: page.axis({ type: "category", data: pairs.map((_, i) => String(i + 1)), name: "layers that link a pair", nameGap: 28, splitLine: { show: false } }),
        yAxis: page.axis({ type: "value", axisLine: { show: false }, axisLabel: { color: page.colour("soft"), formatter: (value) => page.count(value) } }),
        series: [{ type: "bar", data: pairs, color: page.colour("series-1"), barMaxWidth: 44, itemStyle: { borderRadius: [3, 3, 0, 0] } }] };
    }, "Number of linked pairs by the number of layers that link them"));
    const n = mx.shown.length;
    const order = orders(mx.shown, mx.shown), controls = el("div", { class: "controls" });
    let heat = null;
    const sorter = page.choose("Order", large([["given", "as in the data"], ["size", "most edges first"], ["name", "by name"]], 1), (how) => { const [rows, columns] = order[how](); heat?.update({ rows, columns }); });
    page.lazy(overlap, () => {
      const values = page.unpack(mx.overlap);
      const grid = new Float32Array(n * n).fill(NaN);
      for (let i = 0, at = 0; i < n; i++) for (let j = i + 1; j < n; j++, at++) grid[i * n + j] = grid[j * n + i] = values[at];
      const [rows, columns] = order[many ? "size" : "given"]();
      heat = page.matrix(overlap, { rows, columns, grid, gridRows: mx.shown, gridColumns: mx.shown, high: 1, label: "Overlap of layers: Jaccard index of their edges; arrow keys move from cell to cell",
        title: (a, b) => `${page.short(layers[a], 60)} and ${page.short(layers[b], 60)}`,
        describe: (a, b, value) => [["overlap (Jaccard)", a === b ? "same layer" : page.number(value)]] }, controls);
    });
    controls.append(sorter);
    const some = n < layers.length ? ` The ${page.count(n)} layers with the most edges are shown.` : "";
    return ["The multiplex", lede(`Each layer is one kind of link among the same ${mx.types?.length ? `nodes: ${nodes}` : nodes}. ${mx.directed ? "Links have a direction." : mx.types?.length ? "" : "Links have no direction: from A to B is the same as from B to A."}`),
      block("Layers", c.density ? "The overlap is that with the most similar other layer. Click a heading to sort." : "Click a heading to sort.", layers.length > 8 ? el("div", { class: "controls" }, page.search("Search layers", table.filter)) : null, table.element),
      !c.density ? null : beside(n > 1 ? block("Overlap of layers", `The share of pairs that two layers have in common: pairs in both, divided by pairs in either (Jaccard index).${some}`, controls, overlap) : null,
        block("Layers per pair", `How many layers link the same two nodes, for all ${page.plural(total, "linked pair")}.`, perPair))];
  }

  /* Which layers help */
  function truthNote() {
    if (!truth) return null;
    const found = new Set(gains.filter((row) => row.helps).map((row) => `${row.target} ${row.layer}`));
    const right = [...byTarget.keys()].filter((target) => byTarget.get(target).every((row) => row.helps === isTrue(row.target, row.layer)));
    const wrong = [...found].filter((key) => !truth.has(key)).length;
    return el("p", { class: "note" }, `This data was made with known relevant layers. The gains agree with the truth for ${right.length} of ${page.plural(byTarget.size, "target")}`
      + `${wrong ? `; ${page.plural(wrong, "layer")} would not have been needed` : ""}.`);
  }
  function help() {
    if (!gains.length) return null;
    const known = gains.filter((row) => page.known(row.gain)), helping = known.filter((row) => row.helps);
    const start = helping.length ? helping : known;
    const scaleOf = (rows) => rows.reduce(([low, high], row) => [Math.min(low, row.low), Math.max(high, row.high)], [0, 1e-9]);
    let scale = scaleOf(start);
    const table = page.table([
      { title: "Target", cell: (row) => page.layerName(row.target), by: (row) => layers[row.target] },
      { title: "Layer", cell: (row) => page.layerName(row.layer), by: (row) => layers[row.layer] },
      { title: "Gain", cell: (row) => page.number(row.gain), by: (row) => row.gain, number: true },
      { title: "95 % limits", cell: (row) => `${page.number(row.low)} to ${page.number(row.high)}`, by: (row) => row.low, number: true, class: "wide" },
      { title: el("span", { class: "unseen" }, "Gain with its limits"), cell: (row) => page.interval(row.gain, row.low, row.high, scale, row.helps), class: "graphic" },
      { title: el("span", { class: "hidden" }, "Verdict"), cell: (row) => el("span", { class: row.helps ? "yes" : "muted" }, row.helps ? "helps" : "no clear help"), class: "wide" },
      ...(truth ? [{ title: "Truth", cell: (row) => (isTrue(row.target, row.layer) ? "relevant" : el("span", { class: "muted" }, "not relevant")), by: (row) => Number(isTrue(row.target, row.layer)), class: "wide" }] : []),
    ], start, { text: (row) => `${layers[row.target]}\n${layers[row.layer]}`, label: "Gains", shown: 12 });
    const which = page.switch("Rows", [["helping", `Layers that help (${page.count(helping.length)})`], ["all", `All compared (${page.count(known.length)})`]], (value) => { const rows = value === "all" ? known : helping; scale = scaleOf(rows); table.replace(rows); });
    const none = helping.length ? "" : " None does here.";
    return ["Which layers help", lede(`A layer helps if the log loss falls when it is added to a model of the target layer alone: if the 95 % limits of this gain, which hold for all rows together, are above 0.${none}`),
      unknown.length ? el("p", { class: "caption" }, "Not known, because there are too few edges: ", ...page.list(unknown), ".") : null,
      truthNote(), panel(), block("Gains", "Measured on pairs that the model was not fitted to. A model that knows nothing has a log loss of 0.693.", el("div", { class: "controls" }, helping.length ? which : null, known.length > 12 ? page.search("Search target or layer", table.filter) : null), table.element),
      beside(heatMap(), layerGraph(helping))];
  }
  /* What a policy looked at, what predictions use, and what is proven: three different things. */
  function panel() {
    if (!data.panel || !data.probabilities) return null;
    const { targets, layers: columns } = data.probabilities, values = page.unpack(data.probabilities.values), width = columns.length;
    const used = new Map();
    data.panel.forEach(([target, layer, weight]) => used.set(target, [...(used.get(target) ?? []), [layer, weight]]));
    const rows = targets.map((target, i) => {
      const chances = values.subarray(i * width, (i + 1) * width), even = mean(chances), looked = [];
      chances.forEach((value, j) => { if (value > 2 * even) looked.push([columns[j], value]); });
      return { target, looked: looked.sort((a, b) => b[1] - a[1]).slice(0, 3), even: page.known(even), used: used.get(target) ?? [], proven: (byTarget.get(target) ?? []).filter((row) => row.helps).map((row) => [row.layer, row.gain]) };
    });
    const chips = (list, kind, nothing) => (list.length ? [...list.slice(0, 5).map(([layer, value]) => el("bdi", { class: `chip ${kind}`, title: page.short(layers[layer], 300) }, page.short(layers[layer], 40), page.known(value) ? el("small", {}, ` ${page.number(value, 2)}`) : null)), list.length > 5 ? ` +${list.length - 5}` : ""] : el("span", { class: "muted" }, nothing));
    const kinds = [{ title: "Looked at", cell: (row) => chips(row.looked, "drawn", row.even ? "all alike" : "none"), by: (row) => row.looked[0]?.[1] ?? 0, class: "wide" },
      { title: "Used", cell: (row) => chips(row.used, "", "none"), by: (row) => row.used.length, class: "wide" },
      { title: "Proven", cell: (row) => chips(row.proven, "proven", unknown.includes(row.target) ? "not known" : "none"), by: (row) => row.proven[0]?.[1] ?? 0, class: "wide" }];
    const table = page.table([{ title: "Target", cell: (row) => page.layerName(row.target), by: (row) => layers[row.target] },
      { title: "Other layers", cell: (row) => page.together(kinds.map(({ title, cell }) => [title, cell(row)])), class: "narrow" }, ...kinds,
    ], [...rows].sort((a, b) => (b.proven[0]?.[1] ?? -1) - (a.proven[0]?.[1] ?? -1)), { text: (row) => [row.target, ...[row.looked, row.used, row.proven].flat().map(([layer]) => layer)].map((index) => layers[index]).join("\n"), label: "Looked at, used, proven", shown: 8 });
    return block("Looked at, used, proven", ["Three different things. ", el("b", {}, "Looked at"), ": what the policy drew most often while networks that already see the used layers were trained, with the probability of being drawn. ", el("b", {}, "Used"), ": what predictions look at in detail, beside the target and the union of all layers. ", el("b", {}, "Proven"), ": layers that help, with their gain."],
      rows.length > 12 ? el("div", { class: "controls" }, page.search("Search layers", table.filter)) : null, table.element);
  }
  function heatMap() {
    const shown = new Set(mx.shown), count = layers.length, cell = new Map(gains.map((row) => [row.target * count + row.layer, row]));
    const drawing = data.probabilities?.targets ?? [], targets = [...new Set([...drawing, ...byTarget.keys()])].sort((a, b) => a - b).filter((index) => shown.has(index));
    const likely = Boolean(data.probabilities), columns = mx.shown, width = columns.length;
    const rowAt = new Map(targets.map((index, i) => [index, i])), columnAt = new Map(columns.map((index, j) => [index, j]));
    const gainGrid = new Float32Array(targets.length * width).fill(NaN), chanceGrid = gainGrid.slice();
    gains.forEach((row) => { if (rowAt.has(row.target) && columnAt.has(row.layer)) gainGrid[rowAt.get(row.target) * width + columnAt.get(row.layer)] = row.gain; });
    const probability = (target, layer) => chanceGrid[rowAt.get(target) * width + columnAt.get(layer)];
    const highest = gains.reduce((most, row) => (page.known(row.gain) ? Math.max(most, Math.abs(row.gain)) : most), 0.1); /* noise is pale */
    const host = el("div"), order = orders(targets, columns), controls = el("div", { class: "controls" });
    let heat = null, measure = "gain";
    const [firstRows, firstColumns] = order[many ? "gain" : "given"]();
    const spec = { rows: firstRows, columns: firstColumns, grid: gainGrid, gridRows: targets, gridColumns: columns, high: highest, diverging: true, label: "Heat map of targets and layers; arrow keys move from cell to cell",
      frame: truth ? isTrue : null,
      dot: (target, layer) => cell.get(target * count + layer)?.helps ?? false,
      title: (target, layer) => `${page.short(layers[layer], 60)} for target ${page.short(layers[target], 60)}`,
      describe: (target, layer) => {
        const row = cell.get(target * count + layer);
        if (target === layer) return [["the target itself", ""]];
        return [["gain", row ? page.number(row.gain) : "not compared"], ...(row ? [["95 % limits", `${page.number(row.low)} to ${page.number(row.high)}`], ["verdict", row.helps ? "helps" : "no clear help"]] : []),
          ...(likely ? [["drawn with probability", page.probability(probability(target, layer))]] : []), ...(truth ? [["truth", isTrue(target, layer) ? "relevant" : "not relevant"]] : [])];
      },
      legend: () => [el("span", {}, measure === "gain" ? "gain in log loss" : "probability of being drawn"), el("span", {}, el("i", { class: "dot" }), "helps"), truth ? el("span", {}, el("i", { class: "frame" }), "truly relevant") : null].filter(Boolean) };
    page.lazy(host, () => {
      if (likely) { const values = page.unpack(data.probabilities.values); drawing.forEach((index, i) => chanceGrid.set(values.subarray(i * width, (i + 1) * width), rowAt.get(index) * width)); }
      heat = page.matrix(host, spec, controls);
    });
    const measures = page.switch("Colour shows", [["gain", "Gain"], ["probability", "Probability of being drawn"]], (value) => {
      measure = value;
      heat?.update({ grid: value === "gain" ? gainGrid : chanceGrid, diverging: value === "gain", hue: value === "gain" ? "high" : "drawn", high: value === "gain" ? highest : 1 });
    });
    const sorter = page.choose("Order", large([["given", "as in the data"], ["gain", "largest gain first"], ["size", "most edges first"], ["name", "by name"]], 1), (how) => { const [rows, cols] = order[how](); heat?.update({ rows, columns: cols }); });
    controls.append(...(likely ? [measures] : []), sorter);
    const part = gains.length < targets.length * (width - 1) ? " Gains were measured for the most promising layers of each target; other cells are empty." : "";
    return block("Targets and layers", `A row is a target, a column a layer that may help it.${likely ? " Probabilities have another colour: a layer that is drawn often need not help." : ""}${part}`,
      controls, host);
  }
  function layerGraph(helping) {
    const wanted = helping.slice(0, layers.length > 40 ? 24 : 150), involved = new Set(wanted.flatMap((row) => [row.target, row.layer]));
    if (!helping.length) return block("As a graph", null, el("p", { class: "muted" }, "There is no arrow to draw: no other layer helps."));
    const missed = truth && layers.length <= 60 ? data.truth.filter(([target, layer]) => byTarget.has(target) && !helping.some((row) => row.target === target && row.layer === layer)) : [];
    const nodes = layers.length <= 40 ? all : [...involved], host = el("div", { class: "chart tall" });
    const named = nodes.length <= 50, angle = (place) => (2 * Math.PI * place) / nodes.length - Math.PI / 2;
    const side = (place) => { const [x, y] = [Math.cos(angle(place)), Math.sin(angle(place))]; return Math.abs(x) > 0.35 ? (x > 0 ? "right" : "left") : y > 0 ? "bottom" : "top"; };
    const most = Math.max(...wanted.map((row) => row.gain)), size = Math.max(...nodes.map((index) => mx.columns.edges[index]), 1);
    page.lazy(host, () => page.chart(host, () => {
      const frame = page.frame(), [width, height] = [host.clientWidth, host.clientHeight];
      const places = nodes.map((_, place) => [width * (0.5 + 0.26 * Math.cos(angle(place))), height * (0.5 + 0.41 * Math.sin(angle(place)))]);
      const span = [0, 1].map((axis) => { const list = places.map((place) => place[axis]); return [Math.min(...list), Math.max(1, Math.max(...list) - Math.min(...list))]; });
      return { tooltip: { ...frame.tooltip, trigger: "item", formatter: (point) => {
          if (point.dataType === "node") { const index = Number(point.data.id); return page.tip(page.short(layers[index], 80), [["edges", page.count(mx.columns.edges[index])]]); }
          const row = point.data.row;
          return page.tip(`${page.short(layers[row.layer], 50)} helps ${page.short(layers[row.target], 50)}`, [["gain", page.number(row.gain)], ["95 % limits", `${page.number(row.low)} to ${page.number(row.high)}`]]);
        } },
        textStyle: frame.textStyle,
        series: [{ type: "graph", layout: "none",
          left: span[0][0], width: span[0][1], top: span[1][0], height: span[1][1], edgeSymbol: ["none", "arrow"], edgeSymbolSize: [0, 9], emphasis: { focus: "adjacency", label: { show: true } },
          labelLayout: { hideOverlap: true }, label: { show: named, color: page.colour("ink"), fontSize: 12, width: width * 0.22, overflow: "truncate", formatter: (point) => page.short(layers[Number(point.data.id)], 20) },
          data: nodes.map((index, place) => ({ x: places[place][0], y: places[place][1], label: { position: side(place) }, id: String(index), name: String(index), symbolSize: (named ? 8 : 4) + (named ? 16 : 8) * Math.sqrt(mx.columns.edges[index] / size),
            itemStyle: { color: page.colour(involved.has(index) ? "series-1" : "strong-line") } })),
          links: [...wanted.map((row) => ({ source: String(row.layer), target: String(row.target), row,
            lineStyle: { width: 1 + 4 * row.gain / most, curveness: 0.16, opacity: 0.75, color: page.colour(truth && !isTrue(row.target, row.layer) ? "series-2" : "series-1") } })),
            ...missed.map(([target, layer]) => ({ source: String(layer), target: String(target), row: { target, layer, gain: NaN, low: NaN, high: NaN },
              lineStyle: { width: 1.5, type: "dashed", curveness: 0.16, color: page.colour("faint") } }))] }] };
    }, "Graph of layers: an arrow from a layer to a target that it helps", { keys: false, redraw: true }));
    const many = helping.length > wanted.length ? ` The ${wanted.length} largest gains are shown.` : "";
    const key = truth ? el("div", { class: "legend" }, el("span", {}, el("i", { class: "line" }), "helps, and is truly relevant"), 
      wanted.some((row) => !isTrue(row.target, row.layer)) ? el("span", {}, el("i", { class: "line two" }), "helps, not relevant by construction") : null, missed.length ? el("span", {}, el("i", { class: "line three" }), "relevant, not found") : null) : null;
    return block("As a graph", `An arrow leads from a layer to a target that it helps; the thicker, the larger the gain. Larger dots have more edges.${many}${named ? "" : " Point at a dot for its name."}`, host, key);
  }

  /* Training: every chart and the slider count the epochs of one network; several networks have a mean. */
  function training() {
    const h = data.history, epochs = h.epochs, count = epochs.length, targets = h.targets;
    const curve = Object.fromEntries(["train_loss", "validation_loss", "validation_accuracy", "regret"].map((name) => [name, page.unpack(h[name])]));
    const chances = page.unpack(h.probability), losses = page.unpack(h.layer_loss), followed = h.followed[0]?.length ?? 0;
    let chosen = -1, timer = null, moved = false;
    const row = (values, t) => Array.from(values.subarray(t * count, (t + 1) * count));
    const of = (name) => (chosen >= 0 ? row(curve[name], chosen) : epochs.map((_, e) => mean(targets.map((_, t) => curve[name][t * count + e]))));
    const drawn = (values, t, m) => Array.from(values.subarray((t * followed + m) * count, (t * followed + m + 1) * count));
    const apart = (all, room) => { // words that would stand on each other are left out
      let last = -Infinity;
      return [...all].sort((a, b) => a.at - b.at).map((mark) => {
        if (mark.text && mark.at - last < 0.09 * room) return { ...mark, text: "" };
        if (mark.text) last = mark.at;
        return mark;
      });
    };
    const [lossHost, regretHost, chanceHost, layerHost] = [0, 1, 2, 3].map(() => el("div", { class: "chart low" }));
    const charts = [], matrixHost = el("div"), keyHost = el("div");
    const networks = [...new Set(h.network)].map((number) => epochs.map((_, e) => e).filter((e) => h.network[e] === number)); // places of each network's epochs
    const within = new Map(networks.flatMap((places) => places.map((place, e) => [place, e])));
    const longest = Math.max(...networks.map((places) => places.length)), ownEpochs = Array.from({ length: longest }, (_, e) => e + 1), several = networks.length > 1;
    let at = longest - 1;
    const folded = (name, all) => { // the mean of networks in each of their epochs; one that has stopped keeps its last value
      if (!several) return { name, values: all };
      const each = ownEpochs.map((_, e) => networks.map((places) => all[places[Math.min(e, places.length - 1)]]).filter(page.known));
      const values = each.map(mean);
      return { name, values, band: each.map((some, e) => (some.length ? Math.sqrt(mean(some.map((value) => (value - values[e]) ** 2))) : 0)) };
    };
    const lossLines = () => [folded("training", of("train_loss")), folded("validation", of("validation_loss"))];
    const marks = () => apart([...h.kept_epochs.map((epoch) => ({ at: within.get(epochs.indexOf(epoch)), text: "kept" })), ...(moved ? [{ at, strong: true }] : [])], longest);
    page.lazy(lossHost, () => charts.push(page.lineChart(lossHost, { epochs: ownEpochs, marks, lines: lossLines }, "Training and validation loss by epoch")));
    page.lazy(regretHost, () => charts.push(page.lineChart(regretHost, { epochs: ownEpochs, marks, lines: () => [folded("regret", of("regret"))] }, "Regret by epoch")));
    const policy = () => Math.max(0, chosen), top = Math.min(5, followed);
    const likely = (values) => Array.from({ length: top }, (_, m) => folded(page.short(layers[h.followed[policy()][m]], 30), drawn(values, policy(), m)));
    page.lazy(chanceHost, () => charts.push(page.lineChart(chanceHost, { epochs: ownEpochs, marks, min: 0, lines: () => likely(chances) }, "Probability of being drawn by epoch")));
    page.lazy(layerHost, () => charts.push(page.lineChart(layerHost, { epochs: ownEpochs, marks, lines: () => likely(losses) }, "Layer loss by epoch")));

    const shown = new Set(mx.shown), rows = targets.filter((index) => shown.has(index)), columns = mx.shown, width = columns.length;
    const columnAt = new Map(columns.map((index, j) => [index, j])), targetAt = new Map(targets.map((index, t) => [index, t]));
    const frames = new Float32Array(rows.length * width);
    function fill() {
      frames.fill(NaN);
      rows.forEach((index, i) => { const t = targetAt.get(index); h.followed[t].forEach((layer, m) => { const j = columnAt.get(layer); if (j !== undefined) frames[i * width + j] = mean(networks.map((places) => chances[(t * followed + m) * count + places[Math.min(at, places.length - 1)]])); }); });
    }
    let heat = null;
    const controls = el("div", { class: "controls" });
    page.lazy(matrixHost, () => {
      fill();
      const weight = new Map();
      h.followed.forEach((list, t) => list.forEach((layer, m) => weight.set(layer, (weight.get(layer) ?? 0) + (chances[(t * followed + m + 1) * count - 1] || 0))));
      const often = many ? [...columns].sort((a, b) => (weight.get(b) ?? 0) - (weight.get(a) ?? 0)) : columns;
      const spec = { rows: orders(rows, columns)[many ? "gain" : "given"]()[0], columns: often, grid: frames, gridRows: rows, gridColumns: columns, high: 1, hue: "drawn", label: "Probability of being drawn in this epoch, targets by layers; arrow keys move from cell to cell",
        frame: truth ? isTrue : null,
        title: (target, layer) => `${page.short(layers[layer], 60)} for target ${page.short(layers[target], 60)}`,
        describe: (target, layer, value) => [[`epoch ${at + 1}`, target === layer ? "the target itself" : page.known(value) ? page.probability(value) : "not drawn"]],
        legend: () => [el("span", {}, "probability of being drawn"), truth ? el("span", {}, el("i", { class: "frame" }), "truly relevant") : null].filter(Boolean) };
      heat = page.matrix(matrixHost, spec, controls);
    });
    const slider = el("input", { type: "range", min: 0, max: longest - 1, value: longest - 1, step: 1, "aria-label": "Epoch" }), label = el("output");
    const play = el("button", { type: "button" }, "Play");
    function show(place) {
      at = place;
      moved = true;
      slider.value = String(place);
      label.textContent = `epoch ${place + 1} of ${longest}`;
      if (heat) { fill(); heat.repaint(); }
      charts.forEach(({ draw }) => draw());
    }
    function stop() { clearInterval(timer); timer = null; play.textContent = "Play"; }
    play.addEventListener("click", () => {
      if (timer) { stop(); return; }
      play.textContent = "Pause";
      if (at === longest - 1) show(0);
      timer = setInterval(() => { if (at >= longest - 1) stop(); else show(at + 1); }, Math.max(120, Math.min(600, 9000 / longest)));
    });
    slider.addEventListener("input", () => { stop(); show(Number(slider.value)); });
    const names = () => { keyHost.replaceChildren(page.key(likely(chances))); title.replaceChildren("Policy of target ", page.layerName(targets[policy()])); };
    const title = el("h3");
    const select = page.choose("Target", [["-1", `mean of ${page.plural(targets.length, "target")}`], ...targets.map((index, t) => [String(t), layers[index]])], (value) => { chosen = Number(value); names(); charts.forEach(({ draw }) => draw()); });
    label.textContent = `epoch ${longest} of ${longest}`;
    if (followed) names();
    const how = several ? `Curves are means of ${networks.length} networks, trained one after the other for at most ${page.plural(longest, "epoch")} each; the band is one standard deviation to each side, and a network that stopped early keeps its last value.` : `The network was trained for ${page.plural(longest, "epoch")}.`;
    const kept = h.kept_epochs.length ? ` Predictions use the weights of the epochs marked as kept.` : "";
    const few = followed < layers.length - 1 ? ` Each target shows its ${followed} most probable layers.` : "";
    return ["Training", lede(`${how}${kept} In each round, the policy of a target draws the layers to look at, and learns from their layer losses.`),
      el("div", { class: "controls" }, select, play, slider, label),
      el("div", { class: "pair" }, block("Loss", "Log loss per pair.", lossHost, page.key(lossLines())),
        block("Regret", `Layer losses of all draws so far, less those of the best fixed layers; an estimate. A flat line means that the policy has stopped losing.`, regretHost)),
      followed ? beside(block("All policies, epoch by epoch", `Press Play above to see the policies learn. Empty cells were not drawn in that epoch.${few}`, controls, matrixHost), el("div", {}, el("div", { class: "block" }, title, el("p", { class: "caption" }, `The ${top === 1 ? "most probable layer" : `${top} most probable layers`} at the end: the probability of being drawn, and the layer loss (small = relevant). Both are means over the rounds of an epoch in which the layer was drawn.`), keyHost),
        el("div", { class: small ? "" : "pair" }, block("Probability of being drawn", null, chanceHost), block("Layer loss", null, layerHost)))) : null];
  }

  /* Policies side by side */
  function comparison() {
    const c = data.comparison, host = el("div"), layerHost = el("div");
    const fixed = (value, digits = 3) => (page.known(value) ? (value > 0 ? "+" : "") + page.number(value, digits) : "–");
    function show(metric) {
      const lines = c.lines.filter((line) => line.metric === metric);
      const ends = lines.flatMap((line) => [line.low ?? line.mean, line.high ?? line.mean]).filter(page.known);
      const room = Math.max(0.01, Math.max(...ends) - Math.min(...ends)) * 0.06, scale = [Math.min(...ends) - room, Math.max(...ends) + room];
      const table = page.table([
        { title: "Policy", cell: (line) => page.name(line.method), by: (line) => line.method },
        { title: "Mean", cell: (line) => page.number(line.mean), by: (line) => line.mean, number: true },
        { title: el("span", { class: "hidden" }, "Mean with its interval"), cell: (line) => (page.known(line.mean) ? page.interval(line.mean, line.low ?? line.mean, line.high ?? line.mean, scale, true) : ""), class: "graphic" },
        { title: ["Difference", el("span", { class: "wide" }, ` to ${c.reference}`)], cell: (line) => (line.method === c.reference ? el("span", { class: "muted" }, "reference") : fixed(line.difference)), by: (line) => line.difference, number: true },
        ...(lines.some((line) => page.known(line.p)) ? [{ title: "p", cell: (line) => (page.known(line.p) ? (line.p < 0.001 ? "< 0.001" : page.number(line.p)) : ""), by: (line) => line.p, number: true, class: "wide" }] : []),
      ], lines, { label: "Policies" });
      host.replaceChildren(table.element);
      const place = c.metrics.findIndex((each) => each.name === metric);
      if (c.by_layer.length) {
        const rows = page.table([{ title: "Target", cell: (row) => page.name(row.layer), by: (row) => row.layer },
          ...c.methods.map((method, m) => ({ title: method, cell: (row) => page.number(row.values[m][place]), by: (row) => row.values[m][place], number: true }))], c.by_layer, { text: (row) => row.layer, label: "Means of each target" });
        layerHost.replaceChildren(c.by_layer.length > 12 ? el("div", { class: "controls" }, page.search("Search targets", rows.filter)) : "", rows.element);
      }
    }
    const start = c.metrics.find((each) => each.name === "roc_auc") ?? c.metrics[0];
    const sorted = [start, ...c.metrics.filter((each) => each !== start)];
    show(start.name);
    return ["Policies side by side", lede(c.text), block("Test results", `Points are means over targets and runs; lines show ${c.spread}.`, el("div", { class: "controls" }, page.choose("Metric", sorted.map((each) => [each.name, each.title]), show)), host),
      c.by_layer.length > 1 ? block("Each target", "Means over runs.", layerHost) : null];
  }

  /* About */
  function aboutRun() {
    const settings = about.settings ?? [], changed = settings.filter((each) => each.value !== each.default);
    const table = page.table([{ title: "Setting", cell: (row) => el("code", {}, row.name), by: (row) => row.name }, { title: "Value", cell: (row) => page.name(row.value), by: (row) => row.value },
      { title: "Default", cell: (row) => el("span", { class: "muted" }, page.short(row.default, 30)) }, { title: "Meaning", cell: (row) => el("span", { class: "muted" }, row.text), class: "wide" }],
      [...changed, ...settings.filter((each) => !changed.includes(each))], { label: "Settings", shown: Math.max(changed.length, 5), text: (row) => row.name });
    const copy = el("button", { type: "button", class: "quiet", onclick: async () => { try { await navigator.clipboard.writeText(about.command); copy.textContent = "Copied"; } catch { copy.textContent = "Select the text to copy it"; } } }, "Copy");
    const facts = [["Data", about.data], ["Date", about.date], ["Seed", settings.find((each) => each.name === "seed")?.value ?? about.seed], ["Layer gains took", page.known(about.gains_seconds) ? `${about.gains_seconds.toFixed(1)} s` : null], ...Object.entries(about.versions ?? {})].filter(([, value]) => page.known(value));
    const notes = about.notes ?? [];
    return ["About this run", notes.length ? block("How the data was read", null, el("ul", { class: "notes" }, notes.map((note) => el("li", { dir: "auto" }, page.short(note, 1000))))) : null, about.command ? block("Command", null, el("div", { class: "command" }, el("pre", { dir: "auto", tabindex: 0 }, about.command), copy)) : null,
      el("div", { class: "third" }, settings.length ? block("Settings", changed.length ? "Settings that differ from their defaults come first." : "All settings have their defaults.", table.element) : null,
        block("Made with", null, el("dl", { class: "list" }, facts.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, page.name(value)))))))];
  }

  /* The page */
  function intro() {
    const said = (part) => (typeof part === "number" ? el("b", {}, el("bdi", { class: "whole" }, page.short(layers[part], 40))) : part);
    const save = (text, onclick) => el("button", { type: "button", class: "quiet", onclick }, text);
    const name = data.title.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 40).toLowerCase() || "results";
    document.getElementById("intro").append(el("h1", { dir: "auto" }, page.short(data.title, 400)),
      el("p", { class: "sub" }, mx ? [nodes, page.plural(layers.length, "layer"), page.plural(mx.edges, "edge"), mx.directed ? "directed" : "undirected"].join(" · ") : ""),
      el("ul", { class: "findings" }, (data.findings ?? []).filter((each) => each.length).map((each) => el("li", {}, each.map(said)))),
      el("p", { class: "save" }, save("Save results as JSON", () => page.download(`${name}.json`, JSON.stringify(results(), null, 1), "application/json")),
        gains.length ? save("Gains as CSV", () => page.download(`${name}-gains.csv`, page.csv(["target", "layer", "gain", "low", "high", "weight", "helps"], gains.map((row) => [layers[row.target], layers[row.layer], row.gain, row.low, row.high, row.weight, row.helps])))) : null,
        data.links?.targets.length ? save("Links as CSV", () => page.download(`${name}-links.csv`, page.csv(...page.allLinks()))) : null));
    document.getElementById("foot").textContent = `Made by banditplex ${data.version}. This page loads nothing from elsewhere. Charts: Apache ECharts ${echarts.version}.`;
  }
  /* What can be saved: names instead of numbers of layers, rounded as packed. */
  function results() {
    const round = (value) => (page.known(value) ? Number(value.toPrecision(5)) : null), table = ([heads, rows]) => rows.map((row) => Object.fromEntries(heads.map((head, i) => [head, row[i] ?? null])));
    const found = { title: data.title, findings: (data.findings ?? []).map((each) => each.map((part) => (typeof part === "number" ? layers[part] : part)).join("")).filter(Boolean),
      gains: gains.map((row) => ({ target: layers[row.target], layer: layers[row.layer], gain: round(row.gain), low: round(row.low), high: round(row.high), weight: row.weight, helps: row.helps })) };
    if (data.panel) found.used = data.panel.map(([target, layer, weight]) => ({ target: layers[target], layer: layers[layer], weight }));
    if (page.qualities.size) found.quality = [...page.qualities.values()].map(({ index, ...row }) => ({ target: layers[index], ...row }));
    if (data.links?.targets.length) found.links = table(page.allLinks());
    if (data.comparison) found.policies = data.comparison.lines;
    if (data.leaderboard) found.methods = data.leaderboard.methods;
    const { settings, ...how } = about;
    return { ...found, about: { ...how, settings: Object.fromEntries((settings ?? []).map((each) => [each.name, each.value])) } };
  }
  const compared = ["policies", "Policies", comparison, data.comparison], first = data.kind === "evaluate";
  const wanted = [["leaderboard", "Leaderboard", () => page.leaderboard(block, lede), data.leaderboard], first ? compared : null, ["links", "Predicted links", () => page.links(lede), data.links], ["layers", "Which layers help", help, data.gains], first ? null : compared,
    ["quality", "Quality", () => page.quality(block, lede), data.held_out && data.history], ["multiplex", "Multiplex", multiplex, mx], ["about", "About", aboutRun, data.about], ["training", "Training", training, data.history, "How losses, regret and policies went, epoch by epoch."]].filter((each) => each?.[3]);
  const nav = document.getElementById("contents"), home = document.getElementById("sections"), anchors = new Map();
  intro();
  for (const [id, text, build, , folded] of wanted) {
    const parts = build();
    if (!parts) continue;
    const [title, ...children] = parts, heading = el("h2", { id: `${id}-title` }, title), fold = folded ? el("details", {}, el("summary", {}, heading, el("span", { class: "caption" }, folded)), ...children) : null;
    const link = el("a", { href: `#${id}`, onclick() { if (fold) fold.open = true; } }, text);
    const section = el("section", { id, "aria-labelledby": `${id}-title` }, ...(fold ? [fold] : [heading, ...children]));
    nav.append(link);
    home.append(section);
    anchors.set(section, link);
  }
  const seen = new IntersectionObserver((entries) => entries.forEach((entry) => {
    if (entry.isIntersecting) anchors.get(entry.target).setAttribute("aria-current", "true");
    else anchors.get(entry.target).removeAttribute("aria-current");
  }), { rootMargin: "-20% 0px -70% 0px" });
  anchors.forEach((_, section) => seen.observe(section));
  document.documentElement.dataset.ready = "true";
}

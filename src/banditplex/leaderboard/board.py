"""A leaderboard: data, conditions and what was found, in words and in files: CSV, Markdown, data of the page."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from banditplex.baselines import BASELINES
from banditplex.evaluation.protocol import copy_scorer, score_split, testable
from banditplex.evaluation.split import Split
from banditplex.leaderboard.compare import EARLY, OURS_EARLY
from banditplex.leaderboard.lines import (
    HEADS,
    METRICS,
    PLANNED,
    Line,
    Table,
    difference,
    difference_table,
    headline,
    main_table,
    p_value,
    shown_columns,
)
from banditplex.leaderboard.methods import OURS
from banditplex.leaderboard.plan import RANKED, SHARE, Plan, on_cuda
from banditplex.markdown import markdown_table, number
from banditplex.multiplex import Multiplex, Name
from banditplex.pairs.known import pair_keys
from banditplex.storage.files import replace_file
from banditplex.storage.rows import Row

UNTRAINED = {"overlap": "overlap", "preferential-attachment": "degree"}
"""Heuristics that need no training, and what they look at."""
TOO_EASY = 0.95


@dataclass(frozen=True)
class Facts:
    """Sizes of a multiplex, and ROC-AUC of heuristics on the first split (means over layers)."""

    title: str
    linked_pairs: int  # pairs of nodes that are linked in some layer, in either direction
    layers_per_pair: float  # mean number of layers in which they are linked
    several: float  # share of them that are linked in two or more layers
    density: tuple[float, float, float]  # of a layer: least, median, largest
    untrained: dict[str, float]

    @property
    def sentences(self) -> list[str]:
        """What to say about the data."""
        low, middle, high = (f"{100 * value:.2g} %" for value in self.density)
        spread = f"{middle} (from {low} to {high})" if low != high else middle
        scores = ", ".join(f"{UNTRAINED[name]} {number(value)}" for name, value in self.untrained.items())
        return [
            f"Layers per linked pair: {self.layers_per_pair:.2f}; {100 * self.several:.0f} % of the "
            f"{self.linked_pairs:,} linked pairs are in two or more layers. Density of a layer: {spread}.",
            f"Without training, ROC-AUC on the first split: {scores}.",
        ]

    @property
    def warning(self) -> str | None:
        """What to beware of: a heuristic that needs no training solves the task."""
        easy = [name for name, value in self.untrained.items() if value > TOO_EASY]
        if not easy:
            return None
        scores = " and ".join(f"{UNTRAINED[name]} alone ({number(self.untrained[name])})" for name in easy)
        advice = " Hide held-out pairs in every layer instead." if "overlap" in easy else " Hard negatives tell more."
        return f"This split proves nothing: {scores} exceeds .95 without any training.{advice}"


def describe(mx: Multiplex, data: Split, targets: tuple[Name, ...] | None = None) -> Facts:
    """Return the facts of a multiplex; `data` is the split of the first seed."""
    no_loop = mx.edge_index[0] != mx.edge_index[1]
    keys = pair_keys(mx.edge_layer[no_loop], mx.edge_index[:, no_loop].T, mx.num_nodes, ordered=False)
    in_layer = np.unique(keys) % max(mx.num_nodes, 1) ** 2  # both directions count once
    count = np.unique(in_layer, return_counts=True)[1]
    density = mx.summary().layers["density"].to_numpy()
    low, middle, high = (float(value) for value in np.quantile(density, (0.0, 0.5, 1.0)))
    names, untrained = testable(data, targets or data.train.layer_names), {}
    for name in UNTRAINED:
        scorer = copy_scorer(BASELINES[name](), 0, data.hide).fit(data.train, names)
        untrained[name] = float(score_split(scorer, data, names, metrics=["roc_auc"])[-1]["roc_auc"])
    return Facts(
        mx.title, len(count), float(count.mean()) if len(count) else 0.0,
        float((count > 1).mean()) if len(count) else 0.0, (low, middle, high), untrained,
    )  # fmt: skip


FIXED = {
    "drop": "without pairs that leak: that are training edges in either direction, or are listed twice",
    "keep": "with all its pairs, also those that leak, as in print",
    "triples": "as in print: single edges are held out, and their reverse edges may be seen (hide=edge)",
}


@dataclass(frozen=True)
class Leaderboard:
    """All that there is to show: the data, the conditions, lines per method, per layer and method, and per seed."""

    name: str
    facts: Facts
    plan: Plan
    lines: Sequence[Line] = ()
    layers: Mapping[Name, Sequence[Line]] = field(default_factory=dict)
    tests: Sequence[Row] = ()  # means over layers, of each method with each seed
    fixed: str | None = None  # of a split that came with the data, what became of leaks, "drop" or "keep"; or "triples"
    device: str = "cpu"  # in words

    @property
    def conditions(self) -> list[str]:
        """How methods were fitted and tested, in sentences."""
        plan, hidden = self.plan, {"layer": "its own layer", "pair": "every layer"}[self.plan.hide]
        where = f"A held-out pair is hidden in {hidden} (hide={plan.hide})."
        if self.fixed == "keep":
            where = "Reverse edges of test pairs may be seen, as in print (hide=edge in a directed graph)."
        share, seeds = f"{100 * SHARE:.0f} %", "1 seed" if self.plan.seeds == 1 else f"{self.plan.seeds} seeds"
        split = f"{seeds}, each with its own split: {share} of the edges are held out, beside as many random pairs."
        tuning = "Methods have their default settings, without tuning."
        if plan.trials > 1:
            edges = "validation edges" if self.fixed else f"validation edges ({share} of the training edges)"
            by = "filtered MRR" if self.fixed == "triples" else "ROC-AUC"
            tries = f"{plan.trials} settings per seed, its defaults first"
            tuning = f"Each method may try {tries}; {by} on {edges} decides."
        on_gpu = on_cuda(plan.device)
        time, memory = "wall-clock" if on_gpu else "processor", " of main and GPU memory together" if on_gpu else ""
        limits = [f"Methods that can use a GPU run on {self.device}."] if on_gpu else []
        limits += [
            f"A fit may take {plan.budget:g} s of {time} time and {plan.memory:g} GB{memory}; methods that learn in "
            f"epochs stop after {100 * EARLY:.0f} % of this time (ours: {100 * OURS_EARLY:.0f} %), with what they have "
            "learnt."
        ]
        if plan.seeds > 1:
            limits += ["A method that exceeds a limit with the first seed is not tried with the others."]
        return [
            f"{seeds}, on the split that comes with the data, {FIXED[self.fixed]}." if self.fixed else split,
            *([where] if self.fixed != "triples" else []),
            tuning,
            *limits,
        ]

    @property
    def legend(self) -> list[str]:
        """What the columns mean, in sentences."""
        text = ["Means over layers, then over seeds, ± the standard deviation over seeds."]
        text += [f"Methods are sorted by {HEADS[headline(self.lines)]}."]
        saturated = saturation(self.lines)
        text += [saturated] if saturated else []
        names = "Accuracy and F1" if self.fixed else "Accuracy"
        text += [f"{names}: in each layer as many pairs are predicted edges as are edges, or more if scores are tied."]
        if self.fixed:
            text += ["AP@50: average precision of the 50 pairs with the highest scores. Medians are over layers."]
        if any("random_mrr" in line.mean for line in self.lines):
            text += [
                f"MRR and Hits@10: at most about {RANKED} held-out edges are ranked, each among up to 100 pairs, at "
                "random or hard ones, which look like links."
            ]
        if any("filtered_mrr" in line.mean for line in self.lines):
            text += [
                "Filtered MRR and Hits: both ends of every test edge are ranked among all nodes, without those that "
                "make another known edge; means over edges, as in print."
            ]
        time = "wall-clock" if on_cuda(self.plan.device) else "processor"
        text += [f"Seconds: {time} time of training, MB: peak memory beyond that of an idle process; medians."]
        references = {each.to for line in self.lines for each in line.difference.values()}
        if references:
            text += [
                f"Differences to {references.pop()} on the same splits, ± the standard error of Nadeau and Bengio, "
                f"which allows for training sets that overlap; p is that of their t-test over seeds. p of {PLANNED}, "
                "the one planned comparison, stands alone; the others are adjusted for their number (Holm)."
            ]
        return text


LEVEL = 0.05
CEILING, CLOSE, MANY = 0.995, 0.002, 3
"""ROC-AUC is saturated from the first value on, or if so many methods are within the second of the best."""


def verdict(lines: Sequence[Line]) -> str | None:
    """Return the answer, from lines whose reference is our default; None if it has not been compared.

    A difference is clear if p < .05; differences, errors and p-values are those of the table.
    """
    by_name = {line.method: line for line in lines if line.seeds}
    alone, rivals = by_name.get(PLANNED), [line for line in by_name.values() if not line.ours]
    if OURS not in by_name or not (alone or rivals):
        return None
    metric = headline(lines)
    ours = number(by_name[OURS].mean[metric])
    parts, helps, tied, unclear = [], True, False, alone is not None
    if alone is not None:
        clear = _clear(alone, metric)
        before, helps, unclear = number(alone.mean[metric]), clear > 0, clear == 0
        change = {1: f"rises from {before} to {ours}", -1: f"falls from {before} to {ours}"}
        found = change.get(clear, f"is {ours}, and {before} without them")
        parts.append(f"with the other layers, {HEADS[metric]} {found}{_show(alone, metric, ' ({})', -1)}")
    if rivals:
        best = max(rivals, key=lambda line: line.mean[metric])
        clear = _clear(best, metric)
        helps, unclear = helps and clear >= 0, unclear and clear >= 0
        many = f"the best of {len(rivals)} other methods" if len(rivals) > 1 else "the other method"
        theirs = number(best.mean[metric])
        tied = clear == 0 and best.mean[metric] > by_name[OURS].mean[metric]
        near = "is as good" if theirs == ours else f"is {'higher' if tied else 'lower'}, but not clearly"
        judged = {1: "is clearly worse", -1: "is clearly better"}.get(clear, near)
        start = "" if parts else f"{HEADS[metric]} is {ours}; "
        parts.append(f"{start}{many}, {best.method} ({theirs}{_show(best, metric, ', {}')}), {judged}")
    answer = f"{'It is not clear whether banditplex helps' if unclear else 'banditplex does not help'} here"
    if helps:
        answer = f"banditplex helps here{', but another method does as well' * tied}"
        if alone is None and clear == 0:  # neither comparison shows it
            answer = "It is not clear whether banditplex helps here"
    if by_name[OURS].seeds == 1:
        answer = "One seed cannot tell whether banditplex helps here"
    return f"{answer}: {'; '.join(parts)}."


def saturation(lines: Sequence[Line]) -> str | None:
    """Return a sentence if ROC-AUC hardly tells methods apart; of our own variants, the best one counts."""
    found = sorted((line.mean["roc_auc"], line.ours) for line in lines if line.seeds)[::-1]
    ours = [value for value, own in found if own][:1]
    values = sorted([*ours, *(value for value, own in found if not own)])[::-1]
    near = sum(value >= values[0] - CLOSE for value in values) if values else 0
    if len(values) < 2 or (values[0] < CEILING and near < MANY):
        return None
    why = f"the best method has {number(values[0])}" if values[0] >= CEILING else f"{near} methods are within {CLOSE:g}"
    return f"ROC-AUC is saturated here and hardly tells methods apart ({why.replace(' 0.', ' .')}): look at rankings."


def _clear(other: Line, metric: str) -> int:
    """Return 1 if ours is clearly better than another method, -1 if it is clearly worse, else 0."""
    found = other.difference.get(metric)
    if found is None or math.isnan(found.p) or found.p >= LEVEL:
        return 0
    return -1 if found.mean > 0 else 1


def _show(other: Line, metric: str, form: str, sign: int = 1) -> str:
    """Return the difference of another method to ours (sign -1: of ours to it), with its error and p-value."""
    found = other.difference.get(metric)
    if found is None or math.isnan(found.p):
        return ""
    text = p_value(found.p)
    gap = difference(replace(found, mean=sign * found.mean))
    return form.format(f"{gap}, p {text if text.startswith('<') else f'= {text}'}")


CSV, LAYERS, SEEDS, MARKDOWN = "leaderboard.csv", "layers.csv", "seeds.csv", "leaderboard.md"


def write(board: Leaderboard, folder: Path) -> list[Path]:
    """Write all files into a folder, and return their paths."""
    texts = {
        CSV: line_frame(board.lines).to_csv(index=False),
        LAYERS: layer_frame(board.layers).to_csv(index=False),
        SEEDS: seed_frame(board.tests).to_csv(index=False),
        MARKDOWN: "\n".join(_markdown(board)),
    }
    for name, text in texts.items():
        replace_file(folder / name, text.encode())
    return [folder / name for name in texts]


def line_frame(lines: Sequence[Line]) -> pd.DataFrame:
    """Return a table with a row per method and all numbers."""
    rows = []
    for line in lines:
        row: dict[str, Any] = {"method": line.method, "ours": line.ours, "seeds": line.seeds, "note": line.note}
        for name in METRICS:
            row |= {name: line.mean.get(name), f"{name}_deviation": line.deviation.get(name)}
            found = line.difference.get(name)
            row |= {f"{name}_difference": found and found.mean, f"{name}_error": found and found.error}
            row |= {f"{name}_p": found and found.p, f"{name}_p_wilcoxon": found and found.p_wilcoxon}
        row |= {"fit_seconds": line.seconds, "memory_bytes": line.memory, "parameters": line.parameters}
        rows.append(row | {"settings": line.chosen})
    return pd.DataFrame(rows).astype({"parameters": "Int64"})


def layer_frame(layers: Mapping[Name, Sequence[Line]]) -> pd.DataFrame:
    """Return a table with a row per layer and method."""
    return pd.DataFrame([
        {"layer": layer, "method": line.method, "seeds": line.seeds, "test_edges": line.test_edges}
        | line.mean
        | {f"{name}_deviation": value for name, value in line.deviation.items()}
        for layer, lines in layers.items()
        for line in lines
    ])  # fmt: skip


def seed_frame(tests: Sequence[Row]) -> pd.DataFrame:
    """Return a table with a row per method and seed."""
    told = (*METRICS, "fit_seconds", "score_seconds", "memory", "parameters", "settings")
    rows = [{"method": row["method"], "seed": row["trial"]} | {name: row.get(name) for name in told} for row in tests]
    return pd.DataFrame(rows, columns=["method", "seed", *told]).sort_values(["method", "seed"])


def _markdown(board: Leaderboard) -> Iterator[str]:
    yield f"# Leaderboard: {board.name}\n"
    yield f"{board.facts.title}. {' '.join(board.facts.sentences)}\n"
    if board.facts.warning:
        yield f"**Warning.** {board.facts.warning}\n"
    yield f"{' '.join(board.conditions)}\n"
    if answer := verdict(board.lines):
        yield f"**{answer}**\n"
    yield _markdown_table(main_table(board.lines))
    yield f"Ours: →. The best of a column is in bold. {' '.join(board.legend)}\n"
    differences = difference_table(board.lines)
    if differences is not None:
        yield "## Differences\n"
        yield _markdown_table(differences)


def _markdown_table(table: Table) -> str:
    rows = []
    for line, cells in table.rows:
        first, *others = (f"**{text}**" if best else text.replace("|", "\\|") for text, best in cells)
        rows.append([f"→ {first}" if line.ours else first, *others])
    return markdown_table(table.heads, rows)


def as_json(board: Leaderboard) -> dict[str, Any]:
    """Return everything as plain values; None where there is no number."""
    frames: list[Any] = [each.astype(object) for each in (line_frame(board.lines), layer_frame(board.layers))]
    lines, layers = (frame.where(frame.notna(), None).to_dict("records") for frame in frames)
    facts = {"title": board.facts.title, "layers_per_pair": board.facts.layers_per_pair}
    facts |= {"linked_pairs": board.facts.linked_pairs, "in_several_layers": board.facts.several}
    facts |= {"density": list(board.facts.density), "untrained_roc_auc": board.facts.untrained}
    return {
        "data": board.name, "facts": facts, "warning": board.facts.warning, "conditions": board.conditions,
        "verdict": verdict(board.lines), "methods": lines, "layers": layers,
    }  # fmt: skip


def for_page(board: Leaderboard) -> dict[str, Any]:
    """Return what the report page shows: everything, the columns of its table, and the means of each layer."""
    numbers = [name for name in shown_columns(board.lines) if any(name in line.mean for line in board.lines)]
    references = {each.to for line in board.lines for each in line.difference.values()}
    return as_json(board) | {
        "columns": [{"name": name, "title": HEADS[name]} for name in numbers],
        "legend": board.legend,
        "facts_text": board.facts.sentences,
        "reference": next(iter(references), None),
        "seeds": board.plan.seeds,
        "seeds_text": f"0 to {board.plan.seeds - 1}",
        "layers": [],
        "by_layer": _layer_values(board, numbers),
    }


def _layer_values(board: Leaderboard, metrics: Sequence[str]) -> dict[str, Any] | None:
    """Return the means of each metric, layer and method: values (metrics, layers, methods), NaN where there is none."""
    if not board.layers:
        return None
    every = [line for lines in board.layers.values() for line in lines]
    methods = list(dict.fromkeys(line.method for line in every))
    shown = [name for name in metrics if any(name in line.mean for line in every)]
    values = np.full((len(shown), len(board.layers), len(methods)), np.nan)
    for place, lines in enumerate(board.layers.values()):
        for line in lines:
            values[:, place, methods.index(line.method)] = [line.mean.get(name, np.nan) for name in shown]
    return {"layers": [str(name) for name in board.layers], "methods": methods, "metrics": shown, "values": values}

"""From the rows of fits to one line per method, with paired tests against ours, and to tables of them as text."""

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from banditplex.errors import InputError
from banditplex.evaluation.metrics import FILTERED
from banditplex.evaluation.statistics import holm, summary
from banditplex.leaderboard.compare import MEDIANS, RANKING, TOLD_APART
from banditplex.leaderboard.methods import OURS, VARIANTS
from banditplex.markdown import number, plus_minus
from banditplex.multiplex import Name
from banditplex.storage.rows import Row

METRICS = (
    *TOLD_APART, *(f"median_{name}" for name in MEDIANS),
    *(f"{kind}_{metric}" for kind in ("random", "hard") for metric in RANKING), *FILTERED,
)  # fmt: skip
HEADLINE = ("filtered_mrr", "hard_mrr", "roc_auc")
"""Methods are sorted and judged by the first of these that all of them have: users look at the top of a ranking."""
PLANNED = "none"
"""Our learner on the target layer alone: the one comparison with ours that is planned, not chosen after the fact."""


@dataclass(frozen=True)
class Difference:
    """A mean difference to the reference on the same splits."""

    to: str
    mean: float
    error: float  # standard error, corrected for training sets that overlap (Nadeau and Bengio)
    p: float  # corrected t-test over seeds, adjusted for the number of methods (Holm) unless `PLANNED`
    p_wilcoxon: float  # signed-rank test, adjusted in the same way


@dataclass(frozen=True)
class Line:
    """What is known of a method, over the seeds that it has finished."""

    method: str
    ours: bool
    seeds: int  # finished ones
    errors: tuple[str, ...]  # one per failed seed
    mean: dict[str, float] = field(default_factory=dict)
    deviation: dict[str, float] = field(default_factory=dict)
    difference: dict[str, Difference] = field(default_factory=dict)
    seconds: float = math.nan  # median of the fits
    memory: float = math.nan  # bytes at the peak, median of the fits
    parameters: int | None = None
    settings: tuple[tuple[str, int], ...] = ()  # chosen settings, and for how many seeds
    test_edges: int | None = None  # of the line of a layer

    @property
    def note(self) -> str:
        """Why seeds are missing; empty if none is."""
        if not self.errors:
            return ""
        total = self.seeds + len(self.errors)
        most, _ = Counter(self.errors).most_common(1)[0]
        return most if not self.seeds else f"{len(self.errors)} of {total} seeds failed: {most}"

    @property
    def chosen(self) -> str:
        """The settings that tuning chose, and for how many seeds if they differ."""
        if len(self.settings) == 1:
            return self.settings[0][0]
        return "; ".join(f"{text} ({count} of {self.seeds})" for text, count in self.settings)


def make_lines(rows: Iterable[Row]) -> list[Line]:
    """Return a line per method, the best first; differences are to our default or, without it, to the first method."""
    by_method: dict[str, list[Row]] = {}
    for row in rows:
        if row["scope"] in ("mean", "none"):
            by_method.setdefault(row["method"], []).append(row)
    finished = {name: [row for row in found if not row.get("error")] for name, found in by_method.items()}
    done = [name for name, found in finished.items() if found]
    tests = _paired_tests(finished, OURS if OURS in done or not done else done[0])
    return in_order([_line(name, found, finished[name], tests) for name, found in by_method.items()])


def headline(lines: Iterable[Line]) -> str:
    """Return the metric that methods are sorted and judged by."""
    means = [line.mean for line in lines if line.seeds]
    return next((name for name in HEADLINE if all(name in each for each in means)), HEADLINE[-1])


def in_order(lines: Sequence[Line]) -> list[Line]:
    """Return lines, the best of the headline metric first."""
    by = headline(lines)
    return sorted(lines, key=lambda line: -line.mean.get(by, -math.inf))


def finished(rows: Iterable[Row]) -> list[Row]:
    """Return the means over layers of all tests that were finished."""
    return [row for row in rows if row["scope"] == "mean" and not row.get("error")]


def layer_lines(rows: Iterable[Row]) -> dict[Name, list[Line]]:
    """Return the lines of each layer: means and deviations of all metrics over seeds, the best first."""
    found: dict[Name, dict[str, list[Row]]] = {}
    for row in rows:
        if row["scope"] == "layer":
            found.setdefault(row["layer"], {}).setdefault(row["method"], []).append(row)
    lines = {
        layer: [
            Line(name, name in VARIANTS, len(runs), (), *_moments(runs), test_edges=runs[0]["test_edges"])
            for name, runs in methods.items()
        ]
        for layer, methods in found.items()
    }
    return {layer: in_order(each) for layer, each in lines.items()}


def _line(name: str, rows: list[Row], finished: list[Row], tests: Mapping[str, Any]) -> Line:
    errors, ours = tuple(row["error"] for row in rows if row.get("error")), name in VARIANTS
    if not finished:
        return Line(name, ours, 0, errors)
    means, deviations = _moments(finished)
    chosen = [", ".join(f"{name}={value}" for name, value in json.loads(row["settings"]).items()) for row in finished]
    settings = Counter(each or "defaults" for each in chosen).most_common()
    counts = [row["parameters"] for row in finished if row["parameters"] is not None]
    return Line(
        name, ours, len(finished), errors, means, deviations, tests.get(name, {}),
        seconds=float(np.median([row["fit_seconds"] for row in finished])),
        memory=float(np.median([row["memory"] for row in finished])), parameters=max(counts, default=None),
        settings=tuple(settings),
    )  # fmt: skip


def _moments(rows: Sequence[Row]) -> tuple[dict[str, float], dict[str, float]]:
    """Return mean and standard deviation of every metric that all rows have; a single row has no deviation."""
    names = [name for name in METRICS if all(name in row for row in rows)]
    values = {name: [row[name] for row in rows] for name in names}
    deviation = {name: float(np.std(each, ddof=1)) if len(each) > 1 else math.nan for name, each in values.items()}
    return {name: float(np.mean(each)) for name, each in values.items()}, deviation


def _paired_tests(finished: Mapping[str, list[Row]], reference: str) -> dict[str, dict[str, Difference]]:
    """Return the differences of every method to the reference, by metric, over the seeds that both have finished."""
    found: dict[str, Any] = {}
    for name, rows in finished.items():
        both = [*finished.get(reference, ()), *rows]
        metrics = [metric for metric in METRICS if both and all(metric in row for row in both)]
        if name != reference and metrics:
            try:
                table: Any = summary(both, methods=[reference, name], metrics=metrics, reference=reference)
            except InputError:  # no seed that both have finished
                continue
            found[name] = table[table["method"] == name].set_index("metric")
    tests: dict[str, dict[str, Difference]] = {name: {} for name in found}
    for metric in METRICS:
        tested = {name: table.loc[metric] for name, table in found.items() if metric in table.index}
        families = [[name for name in tested if (name == PLANNED) == planned] for planned in (True, False)]
        for names in families:
            p_values = zip(*(holm([tested[name][each] for name in names]) for each in ("p", "p_wilcoxon")), strict=True)
            for name, each in zip(names, p_values, strict=True):
                gap = tested[name][["difference", "difference_error"]]
                tests[name][metric] = Difference(reference, *map(float, (*gap, *each)))
    return tests


HEADS = {
    "filtered_mrr": "filtered MRR", "filtered_hits_at_1": "filtered Hits@1", "filtered_hits_at_3": "filtered Hits@3",
    "filtered_hits_at_10": "filtered Hits@10", "hard_mrr": "hard MRR", "hard_hits_at_10": "hard Hits@10",
    "roc_auc": "ROC-AUC", "average_precision": "AP", "accuracy": "accuracy", "f1": "F1", "ap_at_50": "AP@50",
    "median_roc_auc": "median ROC-AUC", "median_average_precision": "median AP", "median_ap_at_50": "median AP@50",
    "random_mrr": "MRR", "random_hits_at_10": "Hits@10", "seconds": "seconds", "memory": "MB",
    "parameters": "parameters", "settings": "chosen settings", "note": "note",
}  # fmt: skip
"""Columns of the main table, rankings first. MRR and Hits are against all nodes (filtered), hard or random pairs."""
TELLING, COST = ("roc_auc", "average_precision", "accuracy", "f1"), ("seconds", "memory", "parameters")
RANKINGS = (*FILTERED, "hard_mrr", "hard_hits_at_10", "random_mrr", "random_hits_at_10")
INSTEAD = ("ap_at_50", "median_roc_auc", "median_average_precision", "median_ap_at_50")
UNRANKED = ("f1", *INSTEAD)
"""Shown where there are no rankings: splits that come with the data have no negatives to rank against."""


class Table(NamedTuple):
    """Heads, and for each line its cells: a text, and whether it is the best of its column."""

    heads: tuple[str, ...]
    rows: list[tuple[Line, list[tuple[str, bool]]]]


def main_table(lines: Sequence[Line], columns: Sequence[str] = tuple(HEADS)) -> Table:
    """Return a row per method; columns that are empty for all methods are left out, such as settings if not tuned."""
    shown = shown_columns(lines, columns)
    best = {name: _best(lines, name) for name in shown}
    rows = [
        (line, [(line.method, False), *((_cell(line, name), line.method in best[name]) for name in shown)])
        for line in lines
    ]
    return Table(("method", *(HEADS[name] for name in shown)), rows)


def shown_columns(lines: Sequence[Line], columns: Sequence[str] = tuple(HEADS)) -> list[str]:
    """Return the columns that say something about any of the methods."""
    hidden = UNRANKED if any(name in line.mean for line in lines for name in RANKINGS) else ()
    wanted = [name for name in columns if name not in hidden]
    return [name for name in wanted if any(_cell(line, name) not in ("", "-") for line in lines)]


def difference_table(lines: Sequence[Line]) -> Table | None:
    """Return the differences to the reference with corrected errors and p-values; None if there are none."""
    shown = [name for name in HEADLINE if any(name in line.difference for line in lines)]
    if not shown:
        return None
    rows = []
    for line in lines:
        found = [line.difference.get(name) for name in shown]
        texts = [text for each in found for text in ((difference(each), p_value(each.p)) if each else ("", ""))]
        rows.append((line, [(text, False) for text in (line.method, *texts)]))
    return Table(("method", *(head for name in shown for head in (f"{HEADS[name]} difference", "p"))), rows)


def difference(found: Difference) -> str:
    """Return a difference with its sign and corrected error; one seed has no error."""
    return "+" * (found.mean >= 0) + plus_minus(found.mean, found.error)


def p_value(p: float) -> str:
    """Return a p-value in two digits."""
    return "< .001" if p < 0.001 else number(p)


def _cell(line: Line, name: str) -> str:
    if name == "note":
        return line.note
    if name == "settings":
        return "" if line.chosen == "defaults" else line.chosen
    if not line.seeds:
        return "-"
    if name == "seconds":
        return f"{line.seconds:.1f}"
    if name == "memory":
        return f"{line.memory / 1e6:,.0f}"
    if name == "parameters":
        return "-" if line.parameters is None else f"{line.parameters:,}"
    return plus_minus(line.mean[name], line.deviation[name]) if name in line.mean else "-"


def _best(lines: Sequence[Line], name: str) -> set[str]:
    """Return the methods with the highest mean of a metric, to the digits shown."""
    means: dict[str, Any] = {line.method: number(line.mean[name]) for line in lines if name in line.mean}
    values = {method: float(text) for method, text in means.items() if text != "-"}
    return {method for method, value in values.items() if value == max(values.values())}

"""`banditplex evaluate`."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

import numpy as np

from banditplex.cli import options
from banditplex.cli.data import Data, Reading, begin, find_targets, load, published_split, reading_notes, reads_data
from banditplex.cli.gains import gains_on, print_gains
from banditplex.cli.options import option, options_by_policy
from banditplex.cli.output import Json, print_json, print_lines, print_table, records, wrapped
from banditplex.cli.report import last_line, page_beside, try_page
from banditplex.cli.resuming import check_file, say_new, telling
from banditplex.errors import InputError
from banditplex.jobs.engine import check_engine
from banditplex.pairs.visibility import check_hide
from banditplex.registry import check_choice
from banditplex.terminal import Estimate, bars, say
from banditplex.training.config import SETTINGS

COLUMNS = ["metric", "policy", "mean ± deviation", "95 % interval", "difference", "p (t)", "p (W)"]
USUAL_TRIALS, USUAL_FOLDS = 10, 5
SHOWN = ("accuracy", "roc_auc", "mrr")
RANKED = ("filtered_mrr", "filtered_hits_at_1", "filtered_hits_at_10", "roc_auc")
"""Metrics that are shown, and those of a split of triples."""


@reads_data
@options.with_settings("policy", "hide", "seed")
def evaluate(
    data: Data,
    reading: Reading,
    hide: Annotated[
        str,
        option(
            "Hide held-out pairs in their own layer or in every layer; models are trained with the same `hide`. "
            "edge: one direction in its layer, with --split fixed.",
            "layer|pair|edge",
        ),
    ],
    settings: dict[str, Any],
    policy: Annotated[
        str, option(f"Policies to compare: {', '.join(SETTINGS['policy'].choices)}.", "A,B,..")
    ] = "uniform,default",
    policy_option: options.PolicyOption = None,
    trials: Annotated[
        int | None, option("Number of trials; each assigns edges to folds at random.", shown=str(USUAL_TRIALS), min=1)
    ] = None,
    folds: Annotated[int | None, option("Folds of each trial.", shown=str(USUAL_FOLDS), min=2)] = None,
    quick: Annotated[bool, option("--quick", "A first look: 1 trial of 2 folds, 20 epochs, unless given.")] = False,
    after: Annotated[
        str | None, option("Train on edges up to this time or date, test on later ones; no folds.", "TIME")
    ] = None,
    split: Annotated[
        str, option("fixed: the split that comes with DATA; triples are ranked among all nodes.", "random|fixed")
    ] = "random",
    seed: Annotated[int, option("Seed of every random stream.")] = 0,
    metric: Annotated[str | None, option("Metrics to show.", "A,B,..", shown=",".join(SHOWN))] = None,
    negatives: Annotated[str, option("How test negatives are chosen.", "uniform|degree|hard")] = "uniform",
    target: options.Target = None,
    engine: Annotated[str, option("Where runs are executed; ray is an extra.", "processes|serial|ray")] = "processes",
    jobs: Annotated[int | None, option("Number of parallel runs.", shown="one per processor")] = None,
    out: Annotated[Path | None, option("-o", "--out", "Write all rows to FILE (JSON Lines).", "FILE")] = None,
    resume: Annotated[bool, option("--resume", "Continue the evaluation in FILE.")] = False,
    quiet: Annotated[bool, option("--quiet", "Show no progress.")] = False,
    as_json: Json = False,
) -> None:
    """Say which layers help, and compare policies by cross validation, on the same splits, with paired tests."""
    usual = (1, 2) if quick else (USUAL_TRIALS, USUAL_FOLDS)
    trials, folds = usual[0] if trials is None else trials, usual[1] if folds is None else folds
    cut = None if after is None else _time(after, reading.get("date_format"))
    check_choice("--split", split, ("random", "fixed"))
    check_hide(hide, "--hide", fixed=split == "fixed")
    check_choice("--negatives", negatives, ("uniform", "degree", "hard"))
    check_engine(engine, jobs)
    folds = folds if after is None and split == "random" else 1
    if quick:
        settings.setdefault("epochs", 20)
    check_file(out, resume=resume)
    given, policies = options.plain(settings), options_by_policy(policy.split(","), policy_option)
    for name in policies:
        options.check_settings({"policy": name, "seed": seed} | given)
    place = out.with_suffix(".html") if out is not None else None if as_json else page_beside(data, "evaluation")
    everything = trials * folds
    fits = len(policies) * everything
    runs = f"{'up to ' * resume}{fits} fit{'s' * (fits > 1)}: {' and '.join(policies)}"
    parts = f"{trials} trial{'s' * (trials > 1)}{f' of {folds} folds' * (folds > 1)}"
    title = begin(data, f"{runs}, {parts}", quiet=quiet)
    fixed = published_split(data, leaks="drop") if split == "fixed" else None
    mx = load(data, reading, quiet=quiet) if fixed is None else fixed.test.train
    targets = find_targets(mx, target)
    metrics = _metrics(metric, triples=fixed is not None and fixed.of_triples)
    from banditplex.evaluation import evaluate as rows_of
    from banditplex.evaluation import summary
    from banditplex.predictor import LinkPredictor
    from banditplex.report.collect import collect_evaluation, held_out_edges

    methods = {name: LinkPredictor(policy=name, policy_options=own or None, **given) for name, own in policies.items()}
    rows: list[dict[str, Any]] = []

    def done() -> str:
        return f" after {sum(row['scope'] == 'mean' for row in rows)} of {len(methods) * everything} runs"

    with telling(out, done, quiet=quiet):
        with _progress(list(methods), metrics, everything, quiet, quick) as on_progress:
            results = rows_of(
                methods, fixed or mx, hide=hide, trials=trials, folds=folds, seed=seed, negatives=negatives,
                targets=targets, after=cut, engine=engine,
                jobs=jobs, out=out, resume=resume, on_progress=on_progress,
            )  # fmt: skip
            if resume and out is not None and not out.exists() and not quiet:
                say_new(out)
            if mx.num_layers == 1 and len(methods) > 1 and not quiet:
                say(f"{title} has a single layer: there is no other to look at, and policies cannot differ.")
            rows.extend(results)
        gains = gains_on(LinkPredictor(hide=hide, seed=seed, **given), mx, targets)
    page, asked = None, {"hide": hide, "trials": trials, "folds": folds, "seed": seed, "negatives": negatives}
    asked |= {"after": after} if after is not None else {"split": split} if fixed else {}
    asked |= held_out_edges(rows)
    if place is not None:
        found = collect_evaluation(title, mx, gains, rows, list(methods), asked)
        page = try_page(place, found, asked=out is not None)
    lines = records(summary(rows, methods=list(methods), metrics=metrics))
    if as_json:
        asked = {"data": title} | asked
        print_json(
            asked
            | {"out": out and str(out), "report": page and str(page), "gains": records(gains), "summary": lines}
            | {"notes": reading_notes(mx)}
        )
        return
    print_lines(f"{title}: {mx}\n")
    print_gains(gains, "Measured once, on the whole graph.")
    print()
    print_table(COLUMNS, [_cells(line) for line in lines])
    print(f"\n{_explain(lines, asked)}")
    for name in dict.fromkeys(line["metric"] for line in lines if line["mean"] is None):
        print(wrapped(_unknown(name, negatives)))
    print_lines(last_line([f"Rows: {out}."] * (out is not None), page))


def _time(text: str, date_format: str | None = None) -> int | float | np.datetime64:
    """Return a time as a number or a date, in ISO form or as in the data."""
    from banditplex.multiplex.numbers import date_of

    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    with suppress(ValueError):
        return np.datetime64(text, "ns")
    with suppress(InputError):
        return date_of(text, date_format)
    raise InputError(f"Expected --after with a number or a date such as 2024-05-01, got {text!r}.")


def _metrics(text: str | None, *, triples: bool) -> list[str]:
    from banditplex.evaluation.metrics import FILTERED
    from banditplex.evaluation.protocol import METRICS

    known = METRICS + (FILTERED if triples else ())
    names = text.split(",") if text is not None else list(RANKED if triples else SHOWN)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise InputError(f"Expected metrics among {', '.join(known)}, got {unknown[0]!r}.")
    return names


def _explain(lines: list[dict[str, Any]], asked: dict[str, Any]) -> str:
    """Say in words what the table shows."""
    from banditplex.report.collect import HIDDEN, say_held_out

    reference = next(line["method"] for line in lines if line["difference"] is None)
    others = len({line["method"] for line in lines}) - 1
    runs = lines[0]["runs"]
    text = f"Means over layers, in {runs} run{'s' * (runs != 1)}; a held-out pair is hidden in {HIDDEN[asked['hide']]}."
    if any(line["metric"].startswith("filtered_") for line in lines):
        text += " Filtered: both ends of each test edge ranked among all nodes; means over edges, as in print."
    text += f" {say_held_out(asked)}"
    if asked["folds"] == 2:
        text += " --folds 5 is closer to a model that has all edges."
    if others:
        text += f" Differences to {reference}, on the same splits: Nadeau and Bengio's t-test over runs"
        text += " (its interval, too), Wilcoxon's test over trial means"
        text += f"; p-values adjusted for {others} comparisons (Holm)." if others > 1 else "."
    if any(line["method"] == "uniform" for line in lines):
        text += " uniform prefers no layer: those that it predicts with are random."
    if runs < 5:
        text += f" {'One run is' if runs == 1 else 'These are'} too few{' runs' * (runs > 1)} to draw conclusions."
    return wrapped(text)


def _unknown(metric: str, negatives: str) -> str:
    """Say why a metric of ranks has no mean."""
    text = f"{metric} is undefined (?) in layers where held-out edges are ranked among fewer than "
    text += f"{metric.removeprefix('hits_at_')} pairs: every edge would be a hit."
    return text if negatives == "hard" else f"{text} --negatives hard ranks each among 100 of its own."


def _cells(line: dict[str, Any]) -> list[str]:
    """Return a line of the table; the reference has no difference, and a single run no deviation."""

    def number(name: str, form: str = ".3f") -> str:
        return "" if line[name] is None else format(line[name], form)

    def bound(name: str) -> str:
        return format(min(max(line[name], 0.0), 1.0), ".3f")  # where all metrics live

    mean = " ± ".join(filter(None, (number("mean"), number("deviation")))) or "?"
    interval = f"{bound('low')} .. {bound('high')}" if line["low"] is not None else ""
    tests = number("difference", "+.3f"), number("p", ".2g"), number("p_wilcoxon", ".2g")
    return [line["metric"], line["method"], mean, interval, *tests]


@contextmanager
def _progress(
    names: list[str], metrics: list[str], total: int, quiet: bool, quick: bool
) -> "Iterator[Callable[[int, int, list[dict[str, Any]]], None] | None]":
    """Yield a callback that shows runs on stderr as they finish: a bar per policy, or lines if it is no terminal."""
    clock = Estimate("runs", "" if quick else "--quick for a first look")
    with bars(names, total, quiet=quiet) as show:
        values: dict[str, list[float]] = {name: [] for name in names}

        def tell(done: int, all_runs: int, rows: list[dict[str, Any]]) -> None:
            clock.tell(done, all_runs)
            row = rows[-1]
            mine = values[row["method"]]
            mine.append(row[metrics[0]])
            if show is not None:
                show(row["method"], f"{metrics[0]} {fmean(mine):.4f}")
                return
            numbers = "  ".join(f"{name} {row[name]:.4f}" for name in metrics)
            where = f"trial {row['trial']}, fold {row['fold']}, {row['method']}"
            print(f"{done}/{all_runs}  {where}: {numbers}", file=sys.stderr, flush=True)

        yield None if quiet else tell

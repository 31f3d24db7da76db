"""Real fits in real child processes, on tiny data."""

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import banditplex as bx
from banditplex.evaluation import FixedSplit, Split, roc_auc
from banditplex.jobs.limits import stop_child
from banditplex.leaderboard import Method, Plan, compare
from banditplex.leaderboard.board import describe
from banditplex.leaderboard.compare import Bench, Fit, Job, Runner, _fit_all, as_text, limit, measure, rank_split
from banditplex.leaderboard.lines import make_lines
from banditplex.leaderboard.plan import LEAST_RANKED, Parts
from banditplex.storage.rows import read_results
from tests.leaderboard.scorers import DEGREES, METHODS, Degrees, Epochs, Half
from tests.refusals import refuses

PLAN = Plan(seeds=2, trials=3, budget=1.0, memory=0.2)
NUMBERS = {"settings": "{}", "parameters": None, "fit_seconds": 1.0, "memory": 1.0}
NOISE = ("fit_seconds", "score_seconds", "memory")


def multiplex():
    return bx.planted(3, 1, 0.8, num_nodes=30, edges_per_layer=40, communities=3, within=0.9, seed=1)


class Interrupted(Exception):
    pass


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """Compare two methods with two seeds, of which one works; interrupt it after the first fit, and resume it."""
    folder, told = tmp_path_factory.mktemp("compare") / "out", []
    options = {"plan": PLAN, "engine": "serial", "folder": folder}

    def stop(*_):
        raise Interrupted

    with pytest.raises(Interrupted):
        compare(multiplex(), [DEGREES], **options, on_progress=stop)
    rows = compare(multiplex(), METHODS[:2], **options, resume=True, on_progress=lambda *now: told.append(now[:2]))
    return SimpleNamespace(folder=folder, rows=rows, told=told)


def test_a_method_that_fails_is_a_row_that_says_so(found):
    notes = {line.method: line.note for line in make_lines(found.rows)}
    assert notes == {"degrees": "", "fails": "ZeroDivisionError: no luck today"}


@pytest.mark.slow
def test_a_method_that_takes_too_much_is_a_row_that_says_so():
    """It is not tried with the other seed."""
    told = []
    rows = compare(multiplex(), METHODS, plan=PLAN, engine="serial", on_progress=lambda *now: told.append(now[:2]))
    assert {line.method: line.note for line in make_lines(rows)} == {
        "degrees": "",
        "fails": "ZeroDivisionError: no luck today",
        "large": "out of memory (0.2 GB), tried with 1 of 2 seeds",
        "slow": "out of time (1 s), tried with 1 of 2 seeds",
    }
    assert told == [*((done, 12) for done in range(1, 7)), *((done, 10) for done in range(7, 11))]


def test_metrics_are_those_of_the_method_on_the_split(found):
    """The same numbers from a plain loop over pairs and layers."""
    rows = [row for row in found.rows if row["method"] == "degrees" and row["trial"] == 0]
    (mean,) = (row for row in rows if row["scope"] == "mean")
    part = Parts(multiplex(), "layer").for_test(0)
    scorer, names = Degrees(**json.loads(mean["settings"])).fit(part.test.train), part.test.train.layer_names
    aucs, reciprocal = [], {"random": [], "hard": []}
    for layer in names:
        pairs, label = part.test.test(layer)
        aucs.append(roc_auc(label, scorer.score_pairs(pairs, layer)))
        for kind, ranked in part.ranked.items():
            edges, negatives = ranked.ranking(layer)
            values = []
            for edge, others in zip(edges, negatives, strict=True):
                score = scorer.score_pairs([edge], layer)[0]
                other = scorer.score_pairs(others, layer)
                values.append(1 / (1 + sum(other > score) + sum(other == score) / 2))
            reciprocal[kind].append(np.mean(values))
    assert mean["roc_auc"] == pytest.approx(np.mean(aucs))
    assert mean["median_roc_auc"] == pytest.approx(np.median(aucs))
    assert mean["random_mrr"] == pytest.approx(np.mean(reciprocal["random"]))
    assert mean["hard_mrr"] == pytest.approx(np.mean(reciprocal["hard"]))
    assert {row["layer"] for row in rows if row["scope"] == "layer"} == set(names)


def test_tuning_looks_at_validation_edges_and_chooses_the_better_setting(found):
    about, stored = read_results(found.folder / "rows.jsonl")
    assert about["trials"] == 3
    part = Parts(multiplex(), "layer").for_tuning(0)
    scorer, aucs = Degrees().fit(part.test.train), []
    for layer in part.test.train.layer_names:
        pairs, label = part.test.test(layer)
        aucs.append(roc_auc(label, scorer.score_pairs(pairs, layer)))
    first, second = (next(row for row in stored if is_trial(row, text)) for text in ("{}", '{"power": -1.0}'))
    assert first["roc_auc"] == pytest.approx(np.mean(aucs))
    assert second["roc_auc"] == pytest.approx(1 - np.mean(aucs))  # every pair the other way round
    best = max(first, second, key=lambda row: row["roc_auc"])
    chosen = {row["settings"] for row in found.rows if row["method"] == "degrees" and row["trial"] == 0}
    assert chosen == {best["settings"]}


def is_trial(row, settings):
    return row["tuning"] and row["scope"] == "mean" and row["settings"] == settings and row["trial"] == 0


def test_a_comparison_is_resumed_and_refuses_other_conditions(found):
    """With each of two seeds, two settings of one method, and two tests. The first fit is kept."""
    assert found.told == [(done, 8) for done in range(1, 9)]
    lines = (found.folder / "rows.jsonl").read_text().splitlines()
    assert len(lines) == 1 + 8
    with refuses("seeds", 2, 3):
        compare(multiplex(), [DEGREES], plan=replace(PLAN, seeds=3), folder=found.folder, resume=True)


class Outcomes:
    """The outcomes of fits without fitting anything: a ROC-AUC, or an error."""

    plan = Plan(seeds=3)

    def __init__(self, methods, errors):
        self.methods, self._errors, self.fits = dict.fromkeys(methods, DEGREES), errors, []

    def __call__(self, fit):
        self.fits.append((fit.method, fit.seed, fit.settings, fit.tuning))
        row = {"method": fit.method, "trial": fit.seed, "scope": "mean", "tuning": fit.tuning, "roc_auc": 0.5}
        error = self._errors.get((fit.method, fit.settings))
        return [row | {"error": error}] if error else [row]


def test_what_exceeds_a_limit_with_the_first_seed_is_not_tried_with_others():
    """Of three settings "a" cannot finish the second and "b" any; "c" fails, and none of its settings is left out.

    Seed 0: 3 + 1 fits of a, 2 of b and 2 of c, which are given up after two; others: 2 + 1 of a, 2 of c.
    """
    trials = {name: [{}, {"x": 1}, {"x": 2}] for name in "abc"}
    late, large, bad = "out of time (1 s)", "out of memory (1 GB)", "ValueError: out of luck"
    errors = {("a", '{"x": 1}'): late, ("b", "{}"): large, ("b", '{"x": 1}'): late, ("c", "{}"): bad}
    bench, totals = Outcomes(trials, errors | {("c", '{"x": 1}'): bad}), []
    run = Runner(bench, None, "serial", None, lambda done, total, rows: totals.append(total), 3 * 3 * 4)
    rows = _fit_all(trials, 3, run)
    counts = {(name, seed): sum(fit[:2] == (name, seed) for fit in bench.fits) for name in "abc" for seed in range(3)}
    assert counts == {("a", 0): 4, ("b", 0): 2, ("c", 0): 2} | {
        place: count for seed in (1, 2) for place, count in ((("a", seed), 3), (("b", seed), 0), (("c", seed), 2))
    }
    assert totals[0] == 36
    assert totals[8] == 8 + 2 * (2 + 1) + 2 * (3 + 1)  # with seed 0 done, two settings of a and three of c are left
    assert totals[-1] == len(bench.fits) == 18
    lines = {line.method: line for line in make_lines([row | NUMBERS for row in rows])}
    assert (lines["a"].seeds, lines["a"].note) == (3, "")
    assert lines["b"].errors == ("out of memory (1 GB), tried with 1 of 3 seeds",)
    assert lines["c"].errors == (bad,) * 3


def test_the_only_setting_that_finishes_is_tested_without_tuning():
    bench = Outcomes("a", {("a", "{}"): "out of time (1 s)"})
    rows = _fit_all({"a": [{}, {"x": 1}]}, 2, Runner(bench, None, "serial", None, None, 6))
    assert bench.fits[:2] == [("a", 0, "{}", True), ("a", 0, '{"x": 1}', True)]
    assert bench.fits[2:] == [("a", 0, '{"x": 1}', False), ("a", 1, '{"x": 1}', False)]
    assert [row.get("error") for row in rows] == [None, None]


def test_settings_in_any_order_are_the_same():
    assert as_text({"b": 1, "a": [2]}) == as_text({"a": [2], "b": 1}) == '{"a": [2], "b": 1}'


def test_the_last_split_does_not_travel_to_other_processes():
    bench = Bench({"degrees": DEGREES}, Parts(multiplex(), "layer"), PLAN)
    bench._part(Fit("degrees", 0, "{}", True))
    assert bench._last is not None
    there = pickle.loads(pickle.dumps(bench))
    assert there._last is None
    assert there.plan == PLAN


def without_noise(rows):
    return [{name: value for name, value in row.items() if name not in NOISE} for row in rows]


@pytest.mark.slow
def test_a_killed_comparison_is_resumed_and_gives_the_same_tables(tmp_path):
    bx.write(multiplex(), tmp_path / "data.csv")
    words = [
        sys.executable,
        "-m",
        "banditplex",
        "compare",
        "data.csv",
        "--methods",
        "svd,overlap,jaccard",
        "--seeds",
        "2",
    ]

    def run(folder, *more):
        return subprocess.Popen([*words, "-o", folder, *more], cwd=tmp_path, stderr=subprocess.DEVNULL)

    assert run("whole").wait() == 0
    killed = run("killed")
    while not (tmp_path / "killed" / "rows.jsonl").exists():
        time.sleep(0.05)
    os.kill(killed.pid, signal.SIGKILL)
    assert killed.wait() == -signal.SIGKILL
    assert len((tmp_path / "killed" / "rows.jsonl").read_text().splitlines()) < 13  # 2 x (4 + 2) fits, and the head
    assert run("killed", "--resume").wait() == 0
    whole, resumed = (read_results(tmp_path / folder / "rows.jsonl")[1] for folder in ("whole", "killed"))
    assert without_noise(resumed) == without_noise(whole)
    layers = [(tmp_path / folder / "layers.csv").read_bytes() for folder in ("whole", "killed")]
    assert layers[0] == layers[1]


def test_the_documentation_tells_the_limits():
    text = (Path(__file__).parents[2] / "docs" / "compare.md").read_text(encoding="utf-8")
    assert f"may try {Plan().trials} settings" in text
    assert f"may take {Plan().budget:.0f} s of processor time" in text
    assert f"at least {LEAST_RANKED} of each layer" in text


def test_parts_are_the_same_for_all_and_tuning_has_no_test_pairs():
    parts = Parts(multiplex(), "pair")
    test, tuning = parts.for_test(3), parts.for_tuning(3)
    again = Parts(multiplex(), "pair").for_test(3)
    assert np.array_equal(test.test.pairs, again.test.pairs)
    for kind in ("random", "hard"):
        assert np.array_equal(test.ranked[kind].negatives, again.ranked[kind].negatives)
        test.ranked[kind].check(multiplex())
    held_out = {(layer, *sorted(pair)) for layer, pair in zip(test.test.layer, test.test.pairs.tolist(), strict=True)}
    edges = tuning.test.label == 1
    tuned = zip(tuning.test.layer[edges], tuning.test.pairs[edges].tolist(), strict=True)
    assert not held_out & {(layer, *sorted(pair)) for layer, pair in tuned}
    assert tuning.test.train.num_edges < test.test.train.num_edges


def test_methods_may_see_the_reverse_edges_that_a_fixed_split_leaves(tmp_path):
    """Training edge 0 -> 1 and test pair (1, 0): as in print it is kept, and may be seen."""
    train = bx.Multiplex.from_edges([0, 1, 2], [1, 2, 3], "1", num_nodes=6, directed=True)
    pairs, label = np.array([[1, 0], [3, 4], [5, 1]]), np.array([1, 1, 0])
    labelled = Split(train, "layer", np.zeros(3, np.int64), pairs, label)
    kept = FixedSplit(labelled, labelled)
    clean = FixedSplit(*(replace(labelled, layer=np.zeros(2, np.int64), pairs=pairs[1:], label=label[1:]),) * 2)
    for fixed, hide in ((kept, "edge"), (clean, "layer")):
        parts = Parts(train, "layer", fixed)
        assert {parts.for_test(0).test.hide, parts.for_tuning(0).test.hide, parts.split(0).hide} == {hide}


def test_facts_are_counted_and_heuristics_measured():
    """Two layers with the same ring, one of them with one edge more; a test pair's overlap is 0 or 1."""
    ring = np.arange(40)
    ends = np.concatenate([ring, ring, [0]]), np.concatenate([(ring + 1) % 40, (ring + 1) % 40, [2]])
    mx = bx.Multiplex.from_edges(*ends, ["a"] * 40 + ["b"] * 41, num_nodes=40)
    data = Parts(mx, "layer").split(0)
    facts = describe(mx, data)
    assert (facts.linked_pairs, facts.layers_per_pair, facts.several) == (41, 81 / 41, 40 / 41)
    assert facts.density == pytest.approx((40 / 780, 40.5 / 780, 41 / 780))
    overlap, degree = [], []
    for layer, other in ("ab", "ba"):
        pairs, label = data.test(layer)
        known = {tuple(sorted(pair)) for pair in data.train.edges(other).T.tolist()}
        degrees = np.bincount(data.train.edges(layer).ravel(), minlength=40)
        overlap.append(roc_auc(label, [tuple(sorted(pair)) in known for pair in pairs.tolist()]))
        degree.append(roc_auc(label, degrees[pairs].prod(axis=1)))
    assert facts.untrained == pytest.approx({"overlap": np.mean(overlap), "preferential-attachment": np.mean(degree)})
    both = describe(mx.to_directed(), data)
    assert (both.linked_pairs, both.layers_per_pair) == (facts.linked_pairs, facts.layers_per_pair)


def test_a_warning_names_the_heuristic_that_is_good_enough():
    mx = multiplex()
    facts = describe(mx, Parts(mx, "layer").split(0))
    assert facts.warning is None
    warning = replace(facts, untrained={"overlap": 0.97, "preferential-attachment": 0.5}).warning
    assert "overlap alone (.970)" in warning
    assert "degree" not in warning


def test_ranks_are_among_a_positives_own_negatives():
    """A line 0-1-2-3: degrees 1, 2, 2, 1. The edge (1, 2) scores 4 and its negatives 3 and 4: rank 1.5."""
    mx = bx.Multiplex.from_edges([0, 1, 2], [1, 2, 3], "a", num_nodes=4)
    own = np.array([[[0, 2], [2, 1]]])
    part = Split(mx, "layer", np.zeros(1, np.int64), np.array([[1, 2]]), np.ones(1, np.int64), own)
    found = rank_split(Degrees().fit(mx), part, ["a"])["a"]
    assert found["mrr"] == pytest.approx(1 / 1.5)
    assert found["hits_at_1"] == 0.0
    assert np.isnan(found["hits_at_10"])  # there are only two
    ten = np.tile(np.array([[[0, 2]]]), (1, 10, 1))  # each scores 3: rank 1 among exactly ten
    part = Split(mx, "layer", np.zeros(1, np.int64), np.array([[1, 2]]), np.ones(1, np.int64), ten)
    assert rank_split(Degrees().fit(mx), part, ["a"])["a"]["hits_at_10"] == 1.0


def test_a_method_that_can_stop_in_time_is_told_when():
    class Timed(BaseEstimator):
        def __init__(self, time_limit=None):
            self.time_limit = time_limit

    assert limit(Timed(), "cpu", 10).time_limit == 8
    assert limit(Timed(3), "cpu", 10).time_limit == 3
    assert vars(limit(Degrees(), "cpu", 10)) == {"power": 1.0}


@pytest.mark.slow
@pytest.mark.parametrize(("ours", "share"), [(True, 0.6), (False, 0.8)])
def test_training_in_epochs_ends_before_its_time_is_up(ours, share):
    """Epochs of .1 s, and .6 of 1 s: six of them, or seven, since the time is up only after the sixth; rivals: .8."""
    part = Parts(multiplex(), "layer").for_test(0)
    plan = Plan(budget=1.0, memory=1.0, device="cpu")
    rows = measure(Job("epochs", Method("epochs", Epochs, ours=ours), {}, 0, part, plan))
    assert rows[-1]["parameters"] in (round(10 * share), round(10 * share) + 1)
    assert share < rows[-1]["fit_seconds"] < 1.0


@pytest.mark.slow
def test_long_fits_come_first(tmp_path):
    """Once methods have been fitted, those that took longest start first."""
    told = []
    fits = [Fit(name, seed, "{}", True) for seed in (0, 1) for name in ("degrees", "half")]
    methods = {"degrees": DEGREES, "half": Method("half", Half)}
    run = Runner(
        Bench(methods, Parts(multiplex(), "layer"), Plan(seeds=2, trials=1, budget=2, memory=1)), None, "serial",
        None, lambda done, total, rows: told.append((rows[0]["method"], rows[0]["trial"])), 4,
    )  # fmt: skip
    try:
        assert list(run(fits[:2])) == fits[:2]
        assert list(run(fits[2:])) == fits[2:]  # rows are in the order that was asked for
    finally:
        stop_child()
    assert told == [("degrees", 0), ("half", 0), ("half", 1), ("degrees", 1)]


@pytest.mark.parametrize(
    ("plan", "values"),
    [
        (Plan(hide="edge"), ("edge",)),
        (Plan(seeds=0), ("seeds", 0)),
        (Plan(trials=0), ("trials", 0)),
        (Plan(budget=0), ("budget", 0)),
        (Plan(memory=-1), ("memory", -1)),
        (Plan(targets=("z",)), ("z",)),
    ],
)
def test_conditions_that_make_no_sense_are_refused(plan, values):
    with refuses(*values):
        compare(multiplex(), [DEGREES], plan=plan)

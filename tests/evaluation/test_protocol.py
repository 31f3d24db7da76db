"""`evaluate`: the same splits for all methods, the same rows on every engine; `fit` sees only the training graph."""

import importlib.util
import inspect
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import sklearn.metrics

import banditplex as bx
from banditplex.errors import InputError
from banditplex.evaluation import k_fold, read_results
from banditplex.jobs.task import TaskError
from banditplex.rng import stream
from tests.evaluation import scorers
from tests.evaluation.scorers import Asked, Degrees, Guess, Spy
from tests.refusals import refuses

QUICK = {"hide": "layer", "trials": 2, "folds": 3, "engine": "serial"}


@pytest.fixture(scope="module")
def mx():
    return bx.planted(4, 1, 0.8, num_nodes=40, edges_per_layer=60, communities=4, within=0.9, seed=1)


def timeless(rows):
    """Sort rows and remove their timings."""
    untimed = [{key: value for key, value in row.items() if not key.endswith("_seconds")} for row in rows]
    return sorted(untimed, key=lambda row: [str(row[key]) for key in ("trial", "fold", "method", "scope", "layer")])


def test_rows_are_consistent(mx):
    rows = list(bx.evaluate({"degrees": Degrees(), "guess": Guess()}, mx, **QUICK))
    assert len(rows) == 2 * 2 * 3 * (4 + 2)
    first = rows[0]
    assert list(first)[:5] == ["method", "trial", "fold", "scope", "layer"]
    assert {"accuracy", "roc_auc", "average_precision", "f1", "mrr", "hits_at_1", "hits_at_10"} < first.keys()
    assert (first["train_edges"], first["test_edges"]) == (40, 20)
    assert first["fit_seconds"] >= 0
    by_layer = [row for row in rows if row["scope"] == "layer"]
    for row in rows:
        if row["scope"] == "mean":
            same = [r["roc_auc"] for r in by_layer if all(r[key] == row[key] for key in ("method", "trial", "fold"))]
            assert row["roc_auc"] == pytest.approx(np.mean(same))
            assert (row["layer"], len(same), row["test_edges"]) == (None, 4, 80)


@pytest.mark.parametrize("hide", ["layer", "pair"])
def test_fit_is_given_the_training_graph_alone(mx, hide):
    scorers.SEEN.clear()
    list(bx.evaluate({"spy": Spy()}, mx, **QUICK | {"hide": hide}))
    assert len(scorers.SEEN) == 6
    for trial in (0, 1):
        graphs = [graph for graph, _, _ in scorers.SEEN[3 * trial : 3 * trial + 3]]
        for layer in mx.layer_names:
            whole = set(map(tuple, mx.edges(layer).T.tolist()))
            held = [whole - set(map(tuple, graph.edges(layer).T.tolist())) for graph in graphs]
            assert sum(map(len, held)) == len(whole)
            assert set.union(*held) == whole  # every edge is held out once
    assert len({seed for *_, seed in scorers.SEEN}) == 6
    assert scorers.SEEN[0][0] != scorers.SEEN[3][0]  # trials differ


def test_numbers_are_those_of_a_plain_loop(mx):
    """Repeat the splits of a trial, and compute their metrics with scikit-learn."""
    scorers.SEEN.clear()
    rows = list(bx.evaluate({"spy": Spy(), "degrees": Degrees()}, mx, **QUICK))
    by_run = {(row["trial"], row["fold"], row["layer"]): row for row in rows if row["method"] == "degrees"}
    seed = int(stream(0, "trial", 1).integers(2**31))
    for fold, split in enumerate(k_fold(mx, hide="layer", folds=3, seed=seed)):
        assert split.train == scorers.SEEN[3 + fold][0]
        for layer in mx.layer_names:
            pairs, label = split.test(layer)
            score = Degrees().fit(split.train, [layer]).score_pairs(mx.node_names[pairs], layer)
            expected = sklearn.metrics.roc_auc_score(label, score)
            assert by_run[1, fold, layer]["roc_auc"] == pytest.approx(expected)


def test_rows_do_not_depend_on_the_other_methods(mx):
    alone = list(bx.evaluate({"guess": Guess()}, mx, **QUICK))
    beside = [
        row for row in bx.evaluate({"a": Degrees(), "guess": Guess(seed=9)}, mx, **QUICK) if row["method"] == "guess"
    ]
    assert timeless(alone) == timeless(beside)
    assert timeless(alone) != timeless(bx.evaluate({"guess": Guess()}, mx, **QUICK | {"seed": 1}))


@pytest.mark.parametrize(
    "engine",
    [
        pytest.param("processes", marks=pytest.mark.slow),
        pytest.param(
            "ray",
            marks=pytest.mark.skipif(
                importlib.util.find_spec("ray") is None, reason="Ray is not installed (extra `ray`)"
            ),
        ),
    ],
)
def test_engines_give_the_same_rows_to_the_bit(mx, engine):
    model = bx.LinkPredictor(epochs=2, warmup=0, width=4)
    options = {"hide": "layer", "trials": 1, "folds": 2, "targets": list(mx.layer_names[:2])}
    here = list(bx.evaluate(model, mx, engine="serial", **options))
    assert {row["method"] for row in here} == {"LinkPredictor"}
    assert timeless(bx.evaluate(model, mx, engine=engine, jobs=1, **options)) == timeless(here)
    cheap = {"degrees": Degrees(), "guess": Guess()}
    assert timeless(bx.evaluate(cheap, mx, engine=engine, jobs=2, **options)) == timeless(
        bx.evaluate(cheap, mx, engine="serial", **options)
    )


def test_ranking_among_own_negatives(mx):
    rows = list(bx.evaluate(Degrees(), mx, metrics=["mrr", "hits_at_10"], each=15, negatives="degree", **QUICK))
    assert {"mrr", "hits_at_10"} < rows[0].keys()
    assert "roc_auc" not in rows[0]
    assert all(1 / 16 <= row["mrr"] <= 1 for row in rows)


def test_only_pairs_that_a_layer_may_link_are_tested():
    """Users 0 to 11 buy items 12 to 31, and the first six know each other."""
    rng = np.random.default_rng(0)
    bought = np.stack([rng.integers(0, 12, 90), rng.integers(12, 30, 90)])
    known = np.array([(u, v) for u in range(6) for v in range(u) if (u + v) % 3]).T
    layer = ["buys"] * 90 + ["knows"] * known.shape[1]
    types = ["user"] * 12 + ["item"] * 20
    shop = bx.Multiplex.from_edges(*np.append(bought, known, axis=1), layer, num_nodes=32, node_types=types)
    scorers.ASKED.clear()
    rows = list(bx.evaluate(Asked(), shop, each=2, **QUICK))
    assert {row["layer"] for row in rows} == {"buys", "knows", None}
    busy = {"buys": (12, 32), "knows": (12, 12)}
    for name, pairs in scorers.ASKED:
        low, high = np.sort(pairs, axis=1).T
        assert high.max() < busy[name][1]
        assert low.max() < busy[name][0]
        assert name == "knows" or high.min() >= 12


def test_node_names_that_are_integers_in_another_order():
    """Names 39..0: an index taken for a name would score other pairs."""
    ends = np.random.default_rng(0).integers(0, 40, (2, 200))
    names = np.arange(40)[::-1] + 100
    given = {"layer": np.repeat(["a", "b"], 100), "num_nodes": 40, "self_loops": "drop"}
    plain = bx.Multiplex.from_edges(*ends, **given, node_names=[f"n{i}" for i in range(40)])
    named = bx.Multiplex.from_edges(*ends, **given, node_names=names)
    assert timeless(bx.evaluate(Degrees(), plain, **QUICK)) == timeless(bx.evaluate(Degrees(), named, **QUICK))


# Files


def test_rows_are_stored_and_resumed(mx, tmp_path):
    out = tmp_path / "rows.jsonl"
    rows = bx.evaluate({"guess": Guess()}, mx, out=out, **QUICK)
    for _ in range(8):  # into the second run
        next(rows)
    rows.close()
    scorers.SEEN.clear()
    progress = []
    again = list(
        bx.evaluate(
            {"guess": Guess()}, mx, out=out, resume=True, on_progress=lambda *news: progress.append(news), **QUICK
        )
    )
    assert [(done, total) for done, total, _ in progress] == [(n, 6) for n in range(1, 7)]
    assert [row for *_, rows in progress for row in rows] == again
    assert timeless(again) == timeless(bx.evaluate({"guess": Guess()}, mx, **QUICK))
    about, stored = read_results(out)
    assert timeless(stored) == timeless(again)
    assert (about["seed"], about["hide"], about["data"]["edges"]) == (0, "layer", mx.num_edges)
    assert about["methods"] == {"guess": {"class": "Guess", "fail_at": None}}


def test_resuming_with_other_settings_is_refused(mx, tmp_path):
    out = tmp_path / "rows.jsonl"
    list(bx.evaluate({"guess": Guess()}, mx, out=out, **QUICK))
    with refuses(out, "resume=True"):
        bx.evaluate({"guess": Guess()}, mx, out=out, **QUICK)
    with refuses("seed was 0, now 4", "methods guess fail_at was None, now 3"):
        bx.evaluate({"guess": Guess(fail_at=3)}, mx, out=out, resume=True, **QUICK | {"seed": 4})
    other = bx.Multiplex.from_pandas(mx.to_pandas().iloc[1:])
    with refuses("data edges was 240, now 239"):
        bx.evaluate({"guess": Guess()}, other, out=out, resume=True, **QUICK)


SCRIPT = """
import sys
import time
import banditplex as bx
from tests.evaluation.scorers import Guess

class Slow(Guess):
    def fit(self, mx, targets=None, on_epoch=None):
        time.sleep(0.3)
        return super().fit(mx, targets)

mx = bx.planted(4, 1, 0.8, num_nodes=40, edges_per_layer=60, communities=4, within=0.9, seed=1)
list(bx.evaluate({"slow": Slow()}, mx, hide="pair", trials=3, folds=3, jobs=2, out=sys.argv[1]))
"""


class Slow(Guess):
    """Has the name of the class in the script, so that its run can be resumed."""


@pytest.mark.slow
def test_a_killed_script_can_be_resumed(mx, tmp_path):
    """The script has no main guard and defines its own class. Killed and resumed, it has the rows of a complete run."""
    script, out = tmp_path / "script.py", tmp_path / "rows.jsonl"
    script.write_text(SCRIPT)
    paths = os.pathsep.join([str(Path(__file__).parents[2]), *filter(None, sys.path)])
    child = subprocess.Popen([sys.executable, script, out], env=os.environ | {"PYTHONPATH": paths})
    deadline = time.monotonic() + 60
    while not out.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    child.kill()
    child.wait()
    assert 0 < len(read_results(out)[1]) < 9 * 6
    options = QUICK | {"hide": "pair", "trials": 3}
    list(bx.evaluate({"slow": Slow()}, mx, out=out, resume=True, **options))
    assert timeless(read_results(out)[1]) == timeless(bx.evaluate({"slow": Slow()}, mx, **options))


# Errors


@pytest.mark.parametrize(
    ("options", "values"),
    [
        ({"hide": "edge"}, ["hide", "layer, pair", "'edge'"]),
        ({"negatives": "easy"}, ["negatives", "uniform, degree, hard", "'easy'"]),
        ({"each": -1}, ["each", -1]),
        ({"trials": 0}, ["trials", "got 0"]),
        ({"folds": 1}, ["folds", "got 1"]),
        ({"metrics": ["auc"]}, ["metrics", "roc_auc", "got auc"]),
        ({"metrics": []}, ["metrics", "roc_auc", "none"]),
        ({"engine": "threads"}, ["engine", "'threads'"]),
        ({"jobs": 0}, ["jobs", "got 0"]),
        ({"targets": ["nowhere"]}, ["'nowhere'"]),
        ({"targets": "nowhere"}, ["list", "targets", "'nowhere'"]),
        ({"targets": []}, ["target", "none"]),
        ({"folds": 61}, ["61 edges", "61 folds", "got 60"]),
    ],
    ids=str,
)
def test_bad_input(mx, options, values, tmp_path):
    out = tmp_path / "rows.jsonl"
    with refuses(*values):
        bx.evaluate(Guess(), mx, out=out, **QUICK | options)
    assert not out.exists()


def test_hide_must_be_chosen(mx):
    with refuses("hide", error=TypeError):
        bx.evaluate(Guess(), mx)


def test_only_scorers_are_accepted(mx):
    with refuses("fit", "score_pairs", "str", "'a'"):
        bx.evaluate({"a": "exp3+"}, mx, **QUICK)
    with refuses("class Guess", "Guess()"):
        bx.evaluate(Guess, mx, **QUICK)
    with refuses("scorer", "none"):
        bx.evaluate({}, mx, **QUICK)
    with refuses("scorer", "list"):
        bx.evaluate([Guess()], mx, **QUICK)


def test_wrong_settings_are_refused_before_any_run(mx, tmp_path):
    """`check_settings` sees the full multiplex, on a copy that is not used in the runs."""

    class Careful(Spy):
        def check_settings(self, mx, targets):
            self.seen_ = mx, targets
            if self.seed == 1 and (mx.num_edges, targets) == (240, ("g1-base",)):
                raise InputError("Expected another seed.")

        def fit(self, mx, targets=None, on_epoch=None):
            assert not hasattr(self, "seen_")
            return super().fit(mx, targets)

    options = QUICK | {"out": tmp_path / "rows.jsonl", "targets": ["g1-base"]}
    with refuses("another seed"):
        bx.evaluate({"guess": Guess(), "careful": Careful(seed=1)}, mx, **options, seed=1)
    assert not (tmp_path / "rows.jsonl").exists()
    assert len(list(bx.evaluate(Careful(), mx, **options))) == 2 * 3 * 3
    with refuses("k", "1 to 3", 9):
        bx.evaluate(bx.LinkPredictor(k=9), mx, **QUICK)


def test_a_small_layer_is_left_out_with_a_warning_or_refused_by_name(mx):
    table = mx.to_pandas()
    first = mx.layer_names[0]
    small = bx.Multiplex.from_pandas(table[(table["layer"] != first) | (table.groupby("layer").cumcount() < 6)])
    with pytest.warns(UserWarning, match=repr(first)) as warned:  # the linter wants a pattern
        rows = list(bx.evaluate(Guess(), small, **QUICK))
    assert {row["layer"] for row in rows} == {*mx.layer_names[1:], None}
    assert all(value in str(warned[0].message) for value in ("8 edges", "3 folds"))
    with refuses("8 edges", "3 folds", repr(first), "got 6"):
        bx.evaluate(Guess(), small, targets=[first], **QUICK)


def test_a_failing_fit_names_trial_and_fold(mx, tmp_path):
    with refuses("trial 0, fold 0, guess", "ZeroDivisionError", "too few edges", error=TaskError):
        list(bx.evaluate({"guess": Guess(fail_at=200)}, mx, out=tmp_path / "rows.jsonl", **QUICK))
    assert not list(tmp_path.iterdir())

    class Careless(Guess):
        def fit(self, mx, targets=None, on_epoch=None):
            raise InputError("Expected more.")

    with refuses("trial 0, fold 0, Careless", "Expected more."):
        list(bx.evaluate(Careless(), mx, **QUICK))


def test_five_training_edges_are_enough():
    """Two folds of ten edges leave five for training; of nine edges, one fold leaves four."""
    source = np.arange(10)
    mx = bx.Multiplex.from_edges(source, source + 1, "a", num_nodes=12)
    rows = list(bx.evaluate(Degrees(), mx, hide="layer", trials=1, folds=2, engine="serial"))
    assert [row["train_edges"] for row in rows if row["scope"] == "layer"] == [5, 5]
    short = bx.Multiplex.from_edges(source[:9], source[:9] + 1, "a", num_nodes=12)
    with refuses(10, "'a'", 9):
        list(bx.evaluate(Degrees(), short, hide="layer", trials=1, folds=2, engine="serial"))


def test_the_protocol_of_the_paper_is_the_default():
    """Ten trials of five folds."""
    defaults = {name: each.default for name, each in inspect.signature(bx.evaluate).parameters.items()}
    assert (defaults["trials"], defaults["folds"], defaults["seed"]) == (10, 5, 0)

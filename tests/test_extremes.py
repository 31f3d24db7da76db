"""Layers with no edge, one edge or all edges: results are finite, or the error is one line."""

import time
from itertools import combinations

import numpy as np
import pytest

import banditplex as bx
from banditplex.report.collect import collect_run
from banditplex.report.page import write_page
from tests.refusals import refuses

NODES = 12
PAIRS = list(combinations(range(NODES), 2))
SOME = [PAIRS[place] for place in np.random.default_rng(0).choice(len(PAIRS), 25, replace=False)]
pytestmark = pytest.mark.filterwarnings("ignore:Layers with .* not used as targets")
KINDS = {"empty": [], "one edge": [(0, 1)], "some": SOME, "complete": PAIRS}


def multiplex(*kinds):
    rows = [(u, v, place) for place, kind in enumerate(kinds) for u, v in KINDS[kind]]
    source, destination, place = np.array(rows, np.int64).reshape(-1, 3).T
    names = np.array([f"{kind} {number}" for number, kind in enumerate(kinds)])
    return bx.Multiplex.from_edges(source, destination, names[place], num_nodes=NODES, layer_names=names.tolist())


def learner():
    return bx.LinkPredictor(epochs=2, width=0, batch_size=64)


@pytest.mark.parametrize(
    ("kinds", "targets"),
    [
        (("one edge", "one edge"), [0, 1]),
        (("one edge", "some"), [0, 1]),
        (("complete", "some"), [1]),  # no pair to tell from edges
        (("empty", "some"), [1]),
        (("empty", "one edge", "complete", "some"), [1, 3]),
    ],
)
def test_scores_are_finite(kinds, targets):
    mx = multiplex(*kinds)
    model = learner().fit(mx)
    for place, layer in enumerate(mx.layer_names):
        if place not in targets:
            with refuses(repr(layer)):
                model.score_pairs([[0, 1]], layer)
            continue
        scores, chances = model.score_pairs(PAIRS, layer), model.predict_proba(PAIRS, layer)
        assert scores.shape == chances.shape == (66,)
        assert np.isfinite(scores).all()
        assert ((chances >= 0) & (chances <= 1)).all()
        known = {frozenset(pair) for pair in KINDS[kinds[place]]}
        found = model.recommend(layer=layer, top=100)
        unknown = {frozenset(pair) for pair in zip(found["source"], found["destination"], strict=True)}
        assert unknown == {frozenset(pair) for pair in PAIRS} - known


@pytest.mark.parametrize("kind", ["empty", "complete"])
def test_nothing_to_learn_from(kind):
    with refuses("layer"):
        learner().fit(multiplex(kind, kind))


@pytest.mark.slow
def test_ten_thousand_empty_layers(tmp_path):
    """Files, fit, model folder and page take seconds, and no layer without edges becomes a target."""
    begin = time.process_time()
    rng, names = np.random.default_rng(0), [f"l{place}" for place in range(10_000)]
    source, destination = rng.integers(0, 50, (2, 600))
    mx = bx.Multiplex.from_edges(
        source, destination, rng.choice(names[1:4], 600), layer_names=names, num_nodes=50, self_loops="drop"
    )
    for name in ("a.csv", "a.parquet", "a.bx"):
        bx.write(mx, tmp_path / name)
        assert bx.read(tmp_path / name) == mx
    learner().fit(mx).save(tmp_path / "run")
    model = bx.LinkPredictor.load(tmp_path / "run")
    assert model.layer_probabilities_.index.tolist() == ["l1", "l2", "l3"]
    assert np.isfinite(model.score_pairs([[0, 1], [2, 3]], "l1")).all()
    write_page(tmp_path / "page.html", collect_run(tmp_path / "run", model))
    assert (tmp_path / "page.html").stat().st_size < 10_000_000
    assert time.process_time() - begin < 60

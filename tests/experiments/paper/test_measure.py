"""One run: layers are drawn as they should be, and what layers are worth agrees with a slow loop."""

import numpy as np
import pytest

from banditplex.bandits.rounding import invert
from banditplex.datasets import planted
from banditplex.evaluation import k_fold
from banditplex.experiments.paper import reproduce as measure
from banditplex.experiments.paper.reproduce import Judge, PaperRun, folds_of, make_model
from banditplex.experiments.paper.settings import METHODS


@pytest.fixture
def small(monkeypatch):
    """Every data set is a small planted one."""
    mx = planted(4, 1, 0.9, num_nodes=40, edges_per_layer=80, communities=4, seed=0)
    monkeypatch.setattr(measure, "multiplex_of", lambda dataset: mx)
    folds_of.cache_clear()
    yield mx
    folds_of.cache_clear()


class Answers:
    """A model whose scores are given: right for pairs in the layers of `good`, wrong otherwise."""

    def __init__(self, part, good, likely):
        self.part, self.good, self.likely = part, np.array(good), likely

    @property
    def layer_probabilities_(self):
        import pandas as pd

        return pd.DataFrame(self.likely)

    def score_by_layer(self, pairs, layer, others):
        assert (self.part.train.node_names[self.part.pairs] == pairs).all()
        sign = np.where(self.part.label == 1, 1, -1)[:, None]
        return sign * np.where(self.good[layer[:, None], others], 1, -1)


def test_draws_follow_the_probabilities():
    likely = np.tile([0.0, 0.7, 0.0, 0.3], (20_000, 1))
    count = np.bincount(invert(likely, np.random.default_rng(0)), minlength=4)
    assert count[[0, 2]].tolist() == [0, 0]
    assert count[1] / 20_000 == pytest.approx(0.7, abs=4 * np.sqrt(0.21 / 20_000))


def test_what_layers_are_worth(small):
    part = next(k_fold(small, hide="layer", seed=0))
    good = np.zeros((4, 4), bool)
    good[[0, 1, 2, 3], [1, 2, 3, 0]] = True  # one other layer of three is always right, the others always wrong
    likely = np.where(good, 0.8, 0.1) * (1 - np.eye(4))
    judge = Judge(part, np.random.default_rng(0))
    worth = judge.worth(Answers(part, good, likely))
    assert worth == pytest.approx({"headroom": 1 - 1 / 3, "gain": 0.8 - 1 / 3, "mass": 0.8})
    judge(Answers(part, good, likely), {"train_accuracy": 0.9})
    assert (judge.curves["favourite"], judge.curves["train"]) == ([1.0], [0.9])
    assert judge.curves["test"][0] == pytest.approx(0.8, abs=4 * np.sqrt(0.16 / len(part.label)))
    assert len(judge.curves["partnered"]) == 1


def test_accuracy_is_a_mean_over_layers_of_a_slow_loop(small):
    part = next(k_fold(small, hide="layer", seed=0))
    right = np.random.default_rng(1).random((len(part.label), 2)) < 0.6
    slow = [[right[part.layer == layer, column].mean() for column in range(2)] for layer in range(4)]
    assert Judge(part, np.random.default_rng(0)).accuracy(right) == pytest.approx(np.array(slow))


def test_policies_learn_from_drawn_layers_alone(small):
    for name in METHODS:
        trainer = make_model(PaperRun("ckm", name, 0, 0, 2, 0)).make_trainer(small)
        assert not trainer.relevance.is_free
        assert trainer.steps_per_epoch == 4
        assert len(trainer.data.validation_edges) == 0
        assert not trainer.in_warmup


def test_a_run_has_one_row_and_is_the_same_twice(small):
    task = PaperRun("ckm", "exp3+ cosine", 1, 2, 3, 0)
    (row,) = measure.measure(task)
    assert row == measure.measure(task)[0]
    assert [len(row[name]) for name in ("train", "test", "favourite", "partnered")] == [3] * 4
    assert {name: row[name] for name in ("dataset", "method", "trial", "fold")} == {
        "dataset": "ckm", "method": "exp3+ cosine", "trial": 1, "fold": 2,
    }  # fmt: skip
    assert row["test"] != measure.measure(task._replace(seed=1))[0]["test"]


def test_methods_share_splits(small):
    assert folds_of("ckm", 0, 0) is folds_of("ckm", 0, 0)
    pairs = [fold.pairs[fold.label == 1] for trial in range(2) for fold in folds_of("ckm", trial, 0)]
    assert sum(map(len, pairs[:5])) == small.num_edges
    assert not np.array_equal(pairs[0], pairs[5])

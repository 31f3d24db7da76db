"""Cheap scorers that worker processes can import."""

import numpy as np
from sklearn.base import BaseEstimator

SEEN = []
"""The arguments of `Spy.fit` in this process."""
ASKED = []
"""The arguments of `Asked.score_pairs` in this process."""


class Degrees:
    """Scores a pair by the product of the degrees of its nodes in the layer."""

    def __init__(self, power=1.0):
        self.power = power

    def fit(self, mx, targets=None, on_epoch=None):
        self.mx, self.targets = mx, targets
        return self

    def score_pairs(self, pairs, layer):
        assert layer in self.targets
        ends = self.mx.node_index(np.asarray(pairs))
        degree = np.bincount(self.mx.edges(layer).ravel(), minlength=self.mx.num_nodes)
        return (degree[ends].prod(axis=1) ** self.power).astype(float)


class Guess(BaseEstimator):
    """Scores at random; depends on the seed only."""

    def __init__(self, *, seed=0, fail_at=None):
        self.seed = seed
        self.fail_at = fail_at

    def fit(self, mx, targets=None, on_epoch=None):
        if self.fail_at is not None and mx.num_edges <= self.fail_at:
            raise ZeroDivisionError("too few edges")
        self.rng_ = np.random.default_rng(self.seed)
        return self

    def score_pairs(self, pairs, layer):
        return self.rng_.normal(size=len(pairs))


class Asked(Guess):
    """Records the layer and the pairs of each call of `score_pairs`."""

    def score_pairs(self, pairs, layer):
        ASKED.append((layer, np.asarray(pairs)))
        return super().score_pairs(pairs, layer)


class Spy(Guess):
    """Records the arguments of `fit`."""

    def fit(self, mx, targets=None, on_epoch=None):
        SEEN.append((mx, targets, self.seed))
        return super().fit(mx, targets)

"""Methods that worker processes can import: one works, one fails, one is too slow, one too large."""

import numpy as np

from banditplex.leaderboard import Method


class Degrees:
    """Scores a pair by the sum of the degrees of its nodes in the layer, to some power."""

    def __init__(self, power=1.0):
        self.power = power

    def fit(self, mx, targets=None, on_epoch=None):
        self.mx = mx
        return self

    def score_pairs(self, pairs, layer):
        degree = np.bincount(self.mx.edges(layer).ravel(), minlength=self.mx.num_nodes)
        return self.power * degree[self.mx.node_index(np.asarray(pairs))].sum(axis=1).astype(float)


class Fails(Degrees):
    def fit(self, mx, targets=None, on_epoch=None):
        raise ZeroDivisionError("no luck\ntoday")


class Slow(Degrees):
    def fit(self, mx, targets=None, on_epoch=None):
        while True:
            pass


class Large(Degrees):
    def fit(self, mx, targets=None, on_epoch=None):
        self.hoard = []
        while True:
            self.hoard.append(np.ones(10**6))


# Tuning chooses the first: the second ranks pairs the other way round. With its only setting, Fails is not tuned.
DEGREES = Method("degrees", Degrees, {"power": (1.0, -1.0)})
METHODS = (DEGREES, Method("fails", Fails), Method("large", Large), Method("slow", Slow))

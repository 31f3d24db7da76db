"""Methods that worker processes can import: one works, one fails, one is too slow, one too large."""

from time import process_time

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


class Epochs(Degrees):
    """Learns for ever, in epochs of a tenth of a second, unless it is told to stop."""

    def fit(self, mx, targets=None, on_epoch=None):
        self.num_parameters_ = 0
        while True:
            began = process_time()
            while process_time() - began < 0.1:
                pass
            self.num_parameters_ += 1
            if on_epoch is not None and on_epoch(self, {}) is True:
                return super().fit(mx)


class Half(Degrees):
    """Takes half a second."""

    def fit(self, mx, targets=None, on_epoch=None):
        began = process_time()
        while process_time() - began < 0.5:
            pass
        return super().fit(mx)


class Large(Degrees):
    def fit(self, mx, targets=None, on_epoch=None):
        self.hoard = []
        while True:
            self.hoard.append(np.ones(10**6))


# Tuning chooses the first: the second ranks pairs the other way round. With its only setting, Fails is not tuned.
DEGREES = Method("degrees", Degrees, {"power": (1.0, -1.0)})
METHODS = (DEGREES, Method("fails", Fails), Method("large", Large), Method("slow", Slow))

"""Compiled loops over pairs, as those of `term_loops`, for small heads: with one layer of few hidden units.

They look at one row after the other. So they are short, and take a tenth of the time to be compiled.
"""

import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from banditplex.backend.compiling import compile_loop
from banditplex.backend.term_loops import add_listed, differentiate_listed


class SmallHeads(NamedTuple):
    """Runs the loops below, and keeps what the gradient needs: x, share and hidden of each head."""

    kept: tuple[Any, ...]
    block: int = 1

    @staticmethod
    def suit(weights: Any) -> bool:
        """Say whether heads are small."""
        return not any(len(second) for _, _, _, _, second, *_ in weights[:2])

    @classmethod
    def of(cls, asked: Any, weights: Any, *, keep: bool) -> "SmallHeads":
        """Make room for what the gradient needs, if it is to be kept."""
        return cls(_room(asked, weights) if keep else ())

    def score(self, low: int, high: int, asked: Any, weights: Any, into: Any) -> None:
        """Compute the terms of pairs low to high."""
        heads = zip(asked[:2], weights[:2], self.kept or _room(asked, weights, 1), into, strict=True)
        for rows, (linear, bias, first, first_bias, _, _, *others), kept, terms in heads:
            slots = rows[-1]
            score_small(low * slots, high * slots, *rows, linear, bias, first, first_bias, *others, *kept, terms)
        if len(weights[2][0]):
            add_listed(low, high, asked[0][4], asked[2], weights[2], into[0])

    def differentiate(self, low: int, high: int, gradient: Any, asked: Any, weights: Any, found: Any) -> None:
        """Add the gradient of pairs low to high to that of the weights."""
        heads = zip(asked[:2], weights[:2], self.kept, gradient, found, strict=False)
        for (*_, layer, target, slots), (*_, last, _, of_layer, of_target), kept, given, into in heads:
            fixed = given, layer, target, slots, last, of_layer, of_target, *kept
            differentiate_small(low * slots, high * slots, *fixed, *into[:4], *into[6:])
        if len(weights[2][0]):
            differentiate_listed(low, high, gradient[0], asked[0][4], asked[2], weights[2], found[2])


def _room(asked: Any, weights: Any, rows: int | None = None) -> tuple[Any, ...]:
    """Return room for what is kept of so many rows of each head; None: of all."""
    room = []
    for (values, *_), (_, _, first, *_) in zip(asked[:2], weights[:2], strict=True):
        size, (units, columns) = len(values) if rows is None else rows, first.shape
        room.append(tuple(np.empty((size, width), np.float32) for width in (columns, units, units)))
    return tuple(room)


@partial(compile_loop, reorder=True)
def score_small(
    low: Any, high: Any, values: Any, mean: Any, scale: Any, layer: Any, target: Any, slots: Any, linear: Any,
    bias: Any, first: Any, first_bias: Any, last: Any, last_bias: Any, of_layer: Any, of_target: Any, x: Any,
    share: Any, hidden: Any, result: Any,
) -> None:  # fmt: skip
    """Compute the terms of rows low to high.

    For the gradient are kept: normalised values `x` (n, F), the units `hidden` (n, H) and the logistic functions
    `share` (n, H) of what goes into them; with one row each, nothing is kept.
    """
    (units, columns), one = first.shape, np.float32(1)
    for row in range(low, high):
        at, t, place = min(row, len(x) - 1), target[row // slots], layer[row]
        total = bias[0] + last_bias[0]
        for c in range(columns):
            x[at, c] = (values[row, c] - mean[c]) / scale[c]
            total += x[at, c] * linear[0, c]
        for r in range(of_layer.shape[1]):
            inner = of_layer[place, r, columns]
            for c in range(columns):
                inner += x[at, c] * of_layer[place, r, c]
            total += inner * of_target[t, r] if len(of_target) else inner
        for j in range(units):
            z = first_bias[j]
            for c in range(columns):
                z += x[at, c] * first[j, c]
            share[at, j] = one / (one + math.exp(-z))
            hidden[at, j] = z * share[at, j]
            total += hidden[at, j] * last[0, j]
        result[row] = total


@partial(compile_loop, reorder=True)
def differentiate_small(
    low: Any, high: Any, gradient: Any, layer: Any, target: Any, slots: Any, last: Any, of_layer: Any, of_target: Any,
    x: Any, share: Any, hidden: Any, d_linear: Any, d_bias: Any, d_first: Any, d_first_bias: Any, d_last: Any,
    d_last_bias: Any, d_of_layer: Any, d_of_target: Any,
) -> None:  # fmt: skip
    """Add the gradient of rows low to high to that of the weights."""
    (units, columns), one = d_first.shape, np.float32(1)
    for row in range(low, high):
        g, t, place = gradient[row], target[row // slots], layer[row]
        d_bias[0] += g
        d_last_bias[0] += g
        for c in range(columns):
            d_linear[0, c] += g * x[row, c]
        for r in range(of_layer.shape[1]):
            factor = g * of_target[t, r] if len(of_target) else g
            inner = of_layer[place, r, columns]
            for c in range(columns):
                inner += x[row, c] * of_layer[place, r, c]
                d_of_layer[place, r, c] += factor * x[row, c]
            d_of_layer[place, r, columns] += factor
            if len(of_target):
                d_of_target[t, r] += g * inner
        for j in range(units):
            d_last[0, j] += g * hidden[row, j]
            d = g * last[0, j] * (share[row, j] + hidden[row, j] * (one - share[row, j]))
            d_first_bias[j] += d
            for c in range(columns):
                d_first[j, c] += d * x[row, c]

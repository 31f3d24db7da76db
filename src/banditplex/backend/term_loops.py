"""Compiled loops over pairs: the terms of their logits, and the gradient of weights, as `terms` uses them.

Rows are looked at in blocks that stay in the fastest cache. They are sorted by target, so what depends on target and
layer alone is computed when these change. Matrix products are those of BLAS. Arguments: `asked` are the arrays of
`Asked`, `weights` those of `Weights`, `found` the gradient, in the same order.
"""

import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from banditplex.backend.compiling import compile_loop

BLOCK = 1 << 12  # hidden units, of several rows, that are looked at while they are in the fastest cache
SILU_BLOCK = 1 << 10  # numbers that are looked at twice while they are in the fastest cache


class Heads(NamedTuple):
    """Runs the loops below, and keeps what the gradient needs."""

    blocks: tuple[int, ...]  # rows of each head that are looked at at once, powers of 2
    kept: tuple[Any, ...]

    @classmethod
    def of(cls, asked: Any, weights: Any, *, keep: bool) -> "Heads":
        """Make room for what the gradient needs, in whole blocks, if it is to be kept."""
        units = [len(first) for _, _, first, *_ in weights[:2]]
        blocks = tuple(max(1, BLOCK >> (each - 1).bit_length()) for each in units)
        kept = []
        for (values, *_), head, block in zip(asked[:2], weights[:2], blocks, strict=True):
            rows = -(-keep * len(values) // block) * block
            kept.append(np.empty((4 if len(head[4]) else 2, rows, len(head[2])), np.float32))
        return cls(blocks, tuple(kept))

    @property
    def block(self) -> int:
        """Pairs that one thread has to look at."""
        return max(self.blocks)

    def score(self, low: int, high: int, asked: Any, weights: Any, into: Any) -> None:
        """Compute the terms of pairs low to high."""
        score_terms(low, high, self.blocks, asked, weights, self.kept, into)

    def differentiate(self, low: int, high: int, gradient: Any, asked: Any, weights: Any, found: Any) -> None:
        """Add the gradient of pairs low to high to that of the weights."""
        differentiate_terms(low, high, self.blocks, gradient, asked, weights, self.kept, found)


@compile_loop
def compute_silu(x: Any, h: Any, slope: Any) -> None:
    """Compute silu(x) = x / (1 + exp(-x)) as h, and its slope.

    exp(-x) = 2^k 2^f with |f| <= 1/2, the latter by its series: such loops become vector instructions.
    """
    bits = np.empty(SILU_BLOCK, np.int32)
    power = bits.view(np.float32)
    for low in range(0, len(x), SILU_BLOCK):
        high = min(low + SILU_BLOCK, len(x))
        _split(x[low:high], h[low:high], bits)
        _join(x[low:high], h[low:high], slope[low:high], power)


@compile_loop
def _split(x: Any, rest: Any, bits: Any) -> None:
    """Divide the exponent -x / log 2 into k, as the bits of the number 2^k, and a rest from -1/2 to 1/2."""
    most, half, shift = np.float32(126), np.float32(1000.5), np.float32(1000)  # casts round down what is positive
    for i in range(len(x)):
        t = x[i] * np.float32(-1.4426950408889634)
        t = most if t > most else t
        t = -most if t < -most else t
        k = np.float32(np.int32(t + half)) - shift
        bits[i] = np.int32((k + np.float32(127)) * np.float32(8388608))
        rest[i] = t - k


@compile_loop
def _join(x: Any, h: Any, slope: Any, power: Any) -> None:
    """Replace the rests in h by silu(x), given the powers 2^k; the coefficients are (log 2)^n / n!."""
    for i in range(len(x)):
        f = h[i]
        series = np.float32(1.5403530393381608e-4)
        series = series * f + np.float32(1.3333558146428443e-3)
        series = series * f + np.float32(9.618129107628477e-3)
        series = series * f + np.float32(5.550410866482158e-2)
        series = series * f + np.float32(0.2402265069591007)
        series = series * f + np.float32(0.6931471805599453)
        series = series * f + np.float32(1)
        s = np.float32(1) / (np.float32(1) + series * power[i])
        y = x[i] * s
        h[i] = y
        slope[i] = s + y * (np.float32(1) - s)


@compile_loop
def loss_gradient(own: Any, other: Any, label: Any, share: Any, of_own: Any, of_other: Any) -> None:
    """Compute the gradient of share * (log(1 + exp(x)) - label x), x = own + other, for own (n,) and other (n * k,)."""
    k, one = len(other) // max(1, len(own)), np.float32(1)
    for i in range(len(own)):
        logit = own[i]
        for j in range(k):
            logit += other[i * k + j]
        of_own[i] = share * (one / (one + np.exp(-logit)) - label[i])
        for j in range(k):
            of_other[i * k + j] = of_own[i]


@compile_loop
def score_terms(low: Any, high: Any, blocks: Any, asked: Any, weights: Any, kept: Any, into: Any) -> None:
    """Compute the terms of pairs low to high."""
    slots = asked[1][5]
    _score_rows(low, high, blocks[0], asked[0], weights[0], kept[0], into[0])
    _score_rows(low * slots, high * slots, blocks[1], asked[1], weights[1], kept[1], into[1])
    add_listed(low, high, asked[0][4], asked[2], weights[2], into[0])


@compile_loop
def differentiate_terms(
    low: Any, high: Any, blocks: Any, gradient: Any, asked: Any, weights: Any, kept: Any, found: Any
) -> None:
    """Add the gradient of pairs low to high to that of the weights."""
    slots = asked[1][5]
    _differentiate_rows(low, high, blocks[0], gradient[0], asked[0], weights[0], kept[0], found[0])
    _differentiate_rows(low * slots, high * slots, blocks[1], gradient[1], asked[1], weights[1], kept[1], found[1])
    differentiate_listed(low, high, gradient[0], asked[0][4], asked[2], weights[2], found[2])


@compile_loop
def add_listed(low: Any, high: Any, target: Any, lists: Any, weights: Any, result: Any) -> None:
    """Add the term of listed layers; the weight of a layer is computed once for successive pairs of a target."""
    start, places = lists
    of_layer, of_target = weights
    if not len(of_layer):
        return
    weight, since, first = np.empty(len(of_layer), np.float32), np.full(len(of_layer), -1), low
    for i in range(low, high):
        first = first if target[i] == target[first] else i
        total = np.float32(0)
        for at in range(start[i], start[i + 1]):
            place = places[at]
            if since[place] != first:
                since[place], weight[place] = first, _inner(of_layer, place, of_target, target[i])
            total += weight[place]
        result[i] += total / np.float32(math.sqrt(start[i + 1] - start[i] + 1))


@compile_loop
def differentiate_listed(low: Any, high: Any, gradient: Any, target: Any, lists: Any, weights: Any, found: Any) -> None:
    """Add the gradient of the term of listed layers; that of a layer is summed over successive pairs of a target."""
    start, places = lists
    of_layer = weights[0]
    if not len(of_layer):
        return
    total, since, first = np.empty(len(of_layer), np.float32), np.full(len(of_layer), -1), low
    listed, size = np.empty(len(of_layer), np.int64), 0
    for i in range(low, high):
        if target[i] != target[first]:
            _pass_on_listed(listed[:size], total, target[first], weights, found)
            first, size = i, 0
        d = gradient[i] / np.float32(math.sqrt(start[i + 1] - start[i] + 1))
        for at in range(start[i], start[i + 1]):
            place = places[at]
            if since[place] != first:
                since[place], total[place], listed[size] = first, 0, place
                size += 1
            total[place] += d
    if high > low:
        _pass_on_listed(listed[:size], total, target[first], weights, found)


@compile_loop
def _pass_on_listed(listed: Any, total: Any, target: Any, weights: Any, found: Any) -> None:
    of_layer, of_target = weights
    d_of_layer, d_of_target = found
    for place in listed:
        for r in range(of_layer.shape[1]):
            d_of_layer[place, r] += total[place] * of_target[target, r]
            d_of_target[target, r] += total[place] * of_layer[place, r]


@compile_loop
def _normalise(values: Any, mean: Any, scale: Any, x: Any) -> None:
    for i in range(len(values)):
        for column in range(values.shape[1]):
            x[i, column] = (values[i, column] - mean[column]) / scale[column]


@partial(compile_loop, reorder=True)
def _inner(a: Any, i: Any, b: Any, j: Any) -> Any:
    """Return the inner product of rows a[i] and b[j]; b may have more columns."""
    total = np.float32(0)
    for column in range(a.shape[1]):
        total += a[i, column] * b[j, column]
    return total


@compile_loop
def _direct(target: Any, layer: Any, linear: Any, bias: Any, of_layer: Any, of_target: Any, result: Any) -> None:
    """Compute the weights of the inputs, then the bias, of a target and a layer, the network aside."""
    for column in range(len(result)):
        result[column] = linear[0, column] if column < linear.shape[1] else bias
    for r in range(of_layer.shape[1]):
        factor = of_target[target, r] if len(of_target) else np.float32(1)
        for column in range(len(result)):
            result[column] += factor * of_layer[layer, r, column]


@compile_loop
def _shift(values: Any, by: Any) -> None:
    for i in range(len(values)):
        for j in range(values.shape[1]):
            values[i, j] += by[j]


@compile_loop
def _add(values: Any, total: Any) -> None:
    for i in range(len(values)):
        for j in range(values.shape[1]):
            total[i, j] += values[i, j]


@compile_loop
def _add_rows(values: Any, total: Any) -> None:
    for i in range(len(values)):
        for j in range(values.shape[1]):
            total[j] += values[i, j]


@compile_loop
def _score_rows(low: Any, high: Any, block: Any, rows: Any, weights: Any, kept: Any, result: Any) -> None:
    """Compute the terms of rows low to high; keep what the gradient needs of them, if there is room for it.

    `kept` (4, n, H) are the units of the first layer and their slopes, then the last units and slopes of the second
    layer; without a second layer (2, n, H); with n = 0 nothing is kept. Products are those of whole blocks, so that a
    row is scored the same at every place; what comes after the last row is not used.
    """
    values, mean, scale, layer, target, slots = rows
    linear, bias, first, first_bias, second, second_bias, last, last_bias, of_layer, of_target = weights
    units, columns = first.shape
    keeps = kept.shape[1] > 0
    room = kept if keeps else np.empty((4, block, units), np.float32)
    x, z, terms = (
        np.zeros((block, columns), np.float32),
        np.empty((block, units), np.float32),
        np.empty(block, np.float32),
    )
    direct, seen = np.empty((slots, columns + 1), np.float32), np.full((slots, 2), -1)
    into_first, into_second = np.ascontiguousarray(first.T), np.ascontiguousarray(second.T)
    for begin in range(low, high, block):
        size, at = min(block, high - begin), begin if keeps else 0
        hidden, slope = room[0][at : at + block], room[1][at : at + block]
        _normalise(values[begin : begin + size], mean, scale, x)
        np.dot(x, into_first, z)
        _shift(z, first_bias)
        compute_silu(z.reshape(-1), hidden.reshape(-1), slope.reshape(-1))
        if len(second):
            np.dot(hidden, into_second, z)
            _shift(z, second_bias)
            hidden_last = room[2][at : at + block]
            compute_silu(z.reshape(-1), hidden_last.reshape(-1), room[3][at : at + block].reshape(-1))
            _add(hidden, hidden_last)
            hidden = hidden_last
        np.dot(hidden, last[0], terms)
        for i in range(size):
            row, pair = begin + i, (begin + i) // slots
            slot = row - pair * slots
            if seen[slot, 0] != target[pair] or seen[slot, 1] != layer[row]:
                seen[slot, 0], seen[slot, 1] = target[pair], layer[row]
                _direct(target[pair], layer[row], linear, bias[0] + last_bias[0], of_layer, of_target, direct[slot])
            result[row] = terms[i] + direct[slot, columns] + _inner(x, i, direct, slot)


@compile_loop
def _differentiate_rows(
    low: Any, high: Any, block: Any, gradient: Any, rows: Any, weights: Any, kept: Any, found: Any
) -> None:
    """Add the gradients of rows low to high to those of the weights."""
    values, mean, scale, layer, target, slots = rows
    (_, _, first, _, second, _, last, _, of_layer, of_target) = weights
    d_linear, d_bias, d_first, d_first_bias, d_second, d_second_bias = found[:6]
    d_last, d_last_bias, d_of_layer, d_of_target = found[6:]
    units, columns = first.shape
    x = np.empty((block, columns), np.float32)
    d, d_h = np.empty((block, units), np.float32), np.empty((block, units), np.float32)
    of_first, of_second, d_direct = np.empty_like(first), np.empty_like(second), np.zeros(columns + 1, np.float32)
    direct, seen = np.zeros((slots, columns + 1), np.float32), np.full((slots, 2), -1)
    for begin in range(low, high, block):
        size = min(block, high - begin)
        inputs, d_sums, d_hidden, g = x[:size], d[:size], d_h[:size], gradient[begin : begin + size]
        hidden, slope = kept[0][begin : begin + size], kept[1][begin : begin + size]
        _normalise(values[begin : begin + size], mean, scale, inputs)
        for i in range(size):
            row, pair = begin + i, (begin + i) // slots
            slot = row - pair * slots
            if seen[slot, 0] != target[pair] or seen[slot, 1] != layer[row]:
                _pass_on(seen[slot], of_layer, of_target, direct[slot], d_direct, d_of_layer, d_of_target)
                seen[slot, 0], seen[slot, 1] = target[pair], layer[row]
            for column in range(columns):
                direct[slot, column] += g[i] * x[i, column]
            direct[slot, columns] += g[i]
        if len(second):
            hidden_last, slope_last = kept[2][begin : begin + size], kept[3][begin : begin + size]
            _last(g, hidden_last, slope_last, last[0], d_last[0], d_sums)
            np.dot(d_sums.T, hidden, of_second)
            _add(of_second, d_second)
            _add_rows(d_sums, d_second_bias)
            np.dot(d_sums, second, d_hidden)
            _through(g, last[0], slope, d_hidden)
        else:
            _last(g, hidden, slope, last[0], d_last[0], d_hidden)
        np.dot(d_hidden.T, inputs, of_first)
        _add(of_first, d_first)
        _add_rows(d_hidden, d_first_bias)
    for slot in range(slots):
        _pass_on(seen[slot], of_layer, of_target, direct[slot], d_direct, d_of_layer, d_of_target)
    for column in range(columns):
        d_linear[0, column] += d_direct[column]
    d_bias[0] += d_direct[columns]
    d_last_bias[0] += d_direct[columns]


@compile_loop
def _last(gradient: Any, units: Any, slope: Any, last: Any, d_last: Any, d: Any) -> None:
    """Add to the gradient of the last weights; compute that of what the last units are made of."""
    for i in range(len(units)):
        for j in range(units.shape[1]):
            d_last[j] += gradient[i] * units[i, j]
            d[i, j] = gradient[i] * last[j] * slope[i, j]


@compile_loop
def _through(gradient: Any, last: Any, slope: Any, d: Any) -> None:
    """Add what comes from the last weights to the gradient of hidden units; go on to what these are made of."""
    for i in range(len(d)):
        for j in range(d.shape[1]):
            d[i, j] = (d[i, j] + gradient[i] * last[j]) * slope[i, j]


@compile_loop
def _pass_on(
    key: Any, of_layer: Any, of_target: Any, total: Any, d_direct: Any, d_of_layer: Any, d_of_target: Any
) -> None:
    """Add a sum over rows of one target and layer to the gradients of the weights that `_direct` adds up; empty it."""
    target, layer = key[0], key[1]
    if target < 0:
        return
    for r in range(of_layer.shape[1]):
        factor, inner = of_target[target, r] if len(of_target) else np.float32(1), np.float32(0)
        for column in range(len(total)):
            d_of_layer[layer, r, column] += factor * total[column]
            inner += of_layer[layer, r, column] * total[column]
        if len(of_target):
            d_of_target[target, r] += inner
    for column in range(len(total)):
        d_direct[column] += total[column]
        total[column] = 0

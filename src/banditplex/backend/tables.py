"""Rows of tables: taken, added up, adapted; and products of rows with the matrices of their layers."""

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from banditplex.backend.choice import offer, on_cpu
from banditplex.backend.compiling import compile_loop, in_parts

EPS = 1e-5
MULTIPLIED_AT_ONCE, GPU_MULTIPLIED_AT_ONCE = 1 << 11, 1 << 15
"""Rows multiplied at once with the small matrices of their layers, on a CPU and on a GPU."""


@offer
def take(table: Tensor, index: Tensor) -> Tensor:
    """Return table[index]."""
    return table.index_select(0, index)


@offer
def add_up(
    x: Tensor, source: Tensor, weight: Tensor | None, start: Tensor, count: Tensor, share: Tensor | None = None
) -> Tensor:
    """Return, for each i, the sum of weight * x[source] over the arcs from start[i] on, count[i] (n,) of them.

    With a share (n, 1), the sum is multiplied by it.
    """
    total = F.embedding_bag(source, x, start, mode="sum", per_sample_weights=weight)
    return total if share is None else total.mul_(share)


@offer
def add_up_back(
    x: Tensor, source: Tensor, weight: Tensor | None, start: Tensor, count: Tensor, share: Tensor | None = None,
    into: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return, for each j, the sum of weight * share[i] * x[i] over the arcs of i whose source is j, added `into`."""
    messages = torch.repeat_interleave(x if share is None else x * share, count, 0, output_size=len(source))
    into = torch.zeros_like(x) if into is None else into
    return into.index_add_(0, source, messages if weight is None else messages * weight.unsqueeze(1))


@offer
def add_listed(table: Tensor, index: Tensor, start: Tensor) -> Tensor:
    """Return the sums of the rows index[start[i] : start[i + 1]] of a table, one for each of the n lists."""
    return F.embedding_bag(index[start[0] : start[-1]], table, start[:-1] - start[0], mode="sum")


@offer
def take_layers(values: Tensor, target: Tensor, layers: Tensor) -> Tensor:
    """Return the rows (n * k, G) of layers (n, k) among those (n, L - 1, G) of all layers but targets (n,)."""
    place = layers - (layers > target.unsqueeze(1)).long()
    first = torch.arange(len(layers), device=layers.device).unsqueeze(1) * values.shape[1]
    return values.flatten(0, 1).index_select(0, (place + first).flatten())


@offer
def add_silu(x: Tensor, y: Tensor) -> Tensor:
    """Return x + silu(y), without a gradient."""
    return x + F.silu(y)


@offer
def adapt(x: Tensor, table: Tensor, index: Tensor) -> Tensor:
    """Return x (n, width), less the mean of its row and divided by its deviation, * (1 + scale) + shift.

    Row i has scale and shift table[index[i]], (2, width).
    """
    scale, shift = take(table, index).unbind(1)
    return torch.addcmul(shift, F.layer_norm(x, x.shape[1:], eps=EPS), 1 + scale)


@offer
def choose(size: Tensor, chance: Tensor) -> Tensor:
    """Return as many different numbers below each of size (n,) as there are columns of chance (n, count).

    Chances are random numbers from 0 up, below 1. By Floyd's algorithm: for top = size - count, ..., size - 1, take a
    random number up to top, or top itself where that number was taken before (Bentley and Floyd, Communications of the
    ACM, 1987).
    """
    chosen = size.new_empty(chance.shape)
    for i in range(chance.shape[1]):
        top = size - chance.shape[1] + i
        number = (chance[:, i] * (top + 1)).long()
        taken = (chosen[:, :i] == number.unsqueeze(1)).any(1)
        chosen[:, i] = torch.where(taken, top, number)
    return chosen


def at_once(values: Tensor) -> int:
    """Return how many rows are multiplied at once where some values are."""
    return MULTIPLIED_AT_ONCE if values.device.type == "cpu" else GPU_MULTIPLIED_AT_ONCE


@offer
def gram(one: Tensor, other: Tensor, layer: Tensor, num_layers: int) -> Tensor:
    """Return the products (L, m, m) of the columns of two (R, m) matrices within each layer, in double precision."""
    result = torch.zeros(num_layers, *[one.shape[1]] * 2, dtype=torch.float64, device=one.device)
    for a, b, at in zip(*(torch.split(each, at_once(one)) for each in (one, other, layer)), strict=True):
        result.index_add_(0, at, (a.unsqueeze(2) * b.unsqueeze(1)).double())
    return result


@offer
def multiply(rows: Tensor, matrices: Tensor, layer: Tensor) -> Tensor:
    """Multiply each row (R, m) by the matrix (L, m, r) of its layer."""
    result = rows.new_empty(len(rows), matrices.shape[2])
    parts = zip(*(torch.split(each, at_once(rows)) for each in (rows, layer, result)), strict=True)
    for part, at, there in parts:
        torch.bmm(part.unsqueeze(1), matrices[at], out=there.unsqueeze(1))
    return result


# Compiled loops


@take_layers.faster(on_cpu)
def _take_layers(values: Tensor, target: Tensor, layers: Tensor) -> Tensor:
    found = np.empty((layers.numel(), values.shape[2]), np.float32)
    _take_layers_loop(values.numpy(), target.contiguous().numpy(), layers.contiguous().numpy(), found)
    return torch.from_numpy(found)


@gram.faster(on_cpu)
def _gram(one: Tensor, other: Tensor, layer: Tensor, num_layers: int) -> Tensor:
    result = torch.zeros(num_layers, *[one.shape[1]] * 2, dtype=torch.float64)
    arrays = one.numpy(), other.numpy(), layer.numpy(), result.numpy()
    in_parts(one.shape[1], lambda part: _gram_loop(part.start, part.stop, *arrays), few=1)
    return result


@multiply.faster(on_cpu)
def _multiply(rows: Tensor, matrices: Tensor, layer: Tensor) -> Tensor:
    result = torch.empty(len(rows), matrices.shape[2])
    arrays = rows.contiguous().numpy(), matrices.contiguous().numpy(), layer.numpy(), result.numpy()
    in_parts(len(rows), lambda part: _multiply_loop(part.start, part.stop, *arrays))
    return result


@compile_loop
def _take_layers_loop(values: Any, target: Any, layers: Any, found: Any) -> None:
    for i in range(len(layers)):
        for j in range(layers.shape[1]):
            row, into = values[i, layers[i, j] - (layers[i, j] > target[i])], found[i * layers.shape[1] + j]
            for c in range(len(row)):  # assigning all at once would take 3 s to compile
                into[c] = row[c]


@compile_loop
def _gram_loop(low: Any, high: Any, one: Any, other: Any, layer: Any, result: Any) -> None:
    for i in range(len(one)):
        row, total = other[i], result[layer[i]]
        for j in range(low, high):
            factor, into = float(one[i, j]), total[j]
            for k in range(len(row)):
                into[k] += factor * row[k]


@compile_loop
def _multiply_loop(low: Any, high: Any, rows: Any, matrices: Any, layer: Any, result: Any) -> None:
    for i in range(low, high):
        total, matrix = result[i], matrices[layer[i]]
        total[:] = 0
        for j in range(rows.shape[1]):
            factor, row = rows[i, j], matrix[j]
            for k in range(len(total)):
                total[k] += factor * row[k]

"""Walks and paths of length 3 in compiled loops: what `Paths` does in torch, on all cores."""

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from banditplex.nn.compiled import TURNS, compile_loop, find_place, in_parts


def tables(
    first: Tensor, size: Tensor, start: Tensor, indptr: Tensor, arc_row: Tensor, share: Tensor, count: Tensor,
    weight: Tensor,
) -> None:  # fmt: skip
    """Write, for some layers, how many walks of length 3 there are between any two rows, and their weight.

    A layer has rows `first` (m,) to first + `size` (m,); its tables begin at `start` (m,) of `count` and `weight`. The
    weight of a walk is the product of `share` (R + 1,) of the two rows between its ends.
    """
    arrays = [each.numpy() for each in (first, size, start, indptr, arc_row, share, count, weight)]
    before = np.concatenate([[0], np.cumsum(arrays[1])])
    in_parts(int(before[-1]), lambda part: _walks(part.start, part.stop, before, *arrays), few=64, turns=TURNS)


@compile_loop
def _walks(
    low: Any, high: Any, before: Any, first: Any, size: Any, start: Any, indptr: Any, arc_row: Any, share: Any,
    count: Any, weight: Any,
) -> None:  # fmt: skip
    widest = size.max()
    near, near_weight, far, far_weight = np.zeros(widest), np.zeros(widest), np.zeros(widest), np.zeros(widest)
    seen, place = np.empty(widest, np.int64), 0
    for number in range(low, high):
        while before[place + 1] <= number:
            place += 1
        origin, n, found = first[place], size[place], 0
        row = origin + number - before[place]
        for arc in range(indptr[row], indptr[row + 1]):  # walks of length 2 ...
            middle = arc_row[arc]
            for other in range(indptr[middle], indptr[middle + 1]):
                end = arc_row[other] - origin
                if near[end] == 0:
                    seen[found] = end
                    found += 1
                near[end] += 1
                near_weight[end] += share[middle]
        for i in range(found):  # ... and one step more
            middle = seen[i] + origin
            walks, heavy = near[seen[i]], near_weight[seen[i]] * share[middle]
            near[seen[i]] = near_weight[seen[i]] = 0
            for arc in range(indptr[middle], indptr[middle + 1]):
                far[arc_row[arc] - origin] += walks
                far_weight[arc_row[arc] - origin] += heavy
        at = start[place] + (row - origin) * n
        for end in range(n):
            count[at + end], weight[at + end] = far[end], far_weight[end]
            far[end] = far_weight[end] = 0


def paths(
    ends: Tensor, nodes: Tensor, indptr: Tensor, neighbour: Tensor, arc_row: Tensor, arc_degree: Tensor, *, cap: int
) -> Tensor:
    """Return number and weight (n, 2) of the paths between rows ends (2, n) of nodes (2, n), as `Paths` does."""
    result = np.zeros((ends.shape[1], 2), np.float32)
    asked = ends.numpy(), nodes.numpy()
    lists = [each.numpy() for each in (indptr, neighbour, arc_row, arc_degree)]
    in_parts(
        len(result), lambda part: _paths(*(each[:, part] for each in asked), *lists, cap, result[part]), turns=TURNS
    )
    return torch.from_numpy(result)


@compile_loop
def _has(node: Any, row: Any, indptr: Any, neighbour: Any) -> Any:
    """Say whether a row has a neighbour."""
    at = find_place(node, indptr[row], indptr[row + 1], neighbour)
    return at < indptr[row + 1] and neighbour[at] == node


@compile_loop
def _paths(
    ends: Any, nodes: Any, indptr: Any, neighbour: Any, arc_row: Any, arc_degree: Any, cap: Any, result: Any
) -> None:
    for i in range(len(result)):
        near, far, near_node, far_node = ends[0, i], ends[1, i], nodes[0, i], nodes[1, i]
        gap = find_place(far_node, indptr[near], indptr[near + 1], neighbour)
        joined = gap < indptr[near + 1] and neighbour[gap] == far_node
        degree = indptr[near + 1] - indptr[near] - joined
        taken, count, weight = min(degree, cap), 0.0, 0.0
        for step in range(taken):
            arc = indptr[near] + step * degree // taken
            arc += joined and arc >= gap
            short, long = arc_row[arc], far
            if indptr[short + 1] - indptr[short] - 1 > indptr[far + 1] - indptr[far] - joined:
                short, long = long, short
            hole = find_place(near_node, indptr[short], indptr[short + 1], neighbour)
            skip = hole < indptr[short + 1] and neighbour[hole] == near_node
            others = indptr[short + 1] - indptr[short] - skip
            visited, sum_count, sum_weight = min(others, cap), 0.0, 0.0
            for turn in range(visited):
                other = indptr[short] + turn * others // visited
                other += skip and other >= hole
                if _has(neighbour[other], long, indptr, neighbour):
                    sum_count += 1.0
                    sum_weight += 1.0 / math.sqrt(arc_degree[other])
            stands = degree / taken * others / max(visited, 1)
            count += stands * sum_count
            weight += stands * sum_weight / math.sqrt(arc_degree[arc])
        result[i, 0], result[i, 1] = count, weight

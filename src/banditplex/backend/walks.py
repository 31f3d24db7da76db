"""Walks and paths of length 3: tables of all pairs of rows, and paths that are enumerated."""

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from banditplex.backend.choice import offer, on_cpu
from banditplex.backend.compiling import TURNS, compile_loop, find_place, in_parts
from banditplex.backend.lists import Neighbours, ranges

GROUP_ENTRIES = 1 << 24  # entries of the matrices that are multiplied at once
ENUMERATED_AT_ONCE = 1 << 9  # pairs whose paths torch enumerates at once: up to CAP * CAP paths each
DENSE = 0.25  # arcs per pair of rows from which on matrices are multiplied; below, compiled loops follow walks
LONG = 32  # a list that is so many times as long as the nodes looked for is searched, not walked along
CAP = 32  # neighbours of a node that an enumeration visits; where a node has more, some stand for all


@offer
def fill_tables(
    lists: Neighbours, first: Tensor, size: Tensor, start: Tensor, share: Tensor, count: Tensor, weight: Tensor
) -> None:
    """Write, for some layers, how many walks of length 3 there are between any two rows, and their weight.

    A layer has rows `first` (m,) to first + `size` (m,); its tables begin at `start` (m,) of `count` and `weight`. The
    weight of a walk is the product of `share` (R + 1,) of the two rows between its ends.
    """
    order = torch.argsort(size, stable=True)
    for group in _groups(order, size):
        _multiply(lists, first[group], size[group], start[group], share, count, weight)


def _groups(layers: Tensor, size: Tensor) -> list[Tensor]:
    """Divide layers, sorted by size, into groups whose padded matrices have about `GROUP_ENTRIES` entries.

    The sizes within a group differ by a factor of 2 at most.
    """
    power = torch.ceil(torch.log2(size[layers].clamp(min=1).double())).long()
    number = torch.cumsum(4**power, 0) // GROUP_ENTRIES
    _, count = torch.unique_consecutive(torch.stack([power, number]), dim=1, return_counts=True)
    return list(torch.split(layers, count.tolist()))


def _multiply(
    lists: Neighbours, first: Tensor, size: Tensor, start: Tensor, share: Tensor, count: Tensor, weight: Tensor
) -> None:
    """Write the tables of some layers: A A A, and A S A S A with S the diagonal matrix of shares."""
    last, width = first + size, int(size.max())
    slot, row = ranges(first, size)
    arc_slot, arc = ranges(lists.indptr[first], lists.indptr[last] - lists.indptr[first])
    source = torch.repeat_interleave(lists.row_degree[row])
    matrix = torch.zeros(len(first), width, width, device=lists.device)
    matrix[arc_slot, (row - first[slot])[source], lists.arc_row[arc] - first[arc_slot]] = 1
    scale = torch.zeros(len(first), width, device=lists.device)
    scale[slot, row - first[slot]] = share[row]
    across, cell = ranges(torch.zeros_like(size), size * size)
    cell_row, cell_column = cell // size[across], cell % size[across]
    at = start[across] + cell
    count[at] = (matrix @ (matrix @ matrix))[across, cell_row, cell_column]
    halved = matrix * scale.unsqueeze(1)
    weight[at] = (halved @ (halved @ matrix))[across, cell_row, cell_column]


@offer
def enumerate_paths(lists: Neighbours, ends: Tensor, nodes: Tensor) -> Tensor:
    """Return number and weight (n, 2) of the paths between rows ends (2, n) of nodes (2, n).

    A path goes from the first node to one of its neighbours, w, and on to one that w shares with the second node.
    """
    parts = zip(*(torch.split(each, ENUMERATED_AT_ONCE, 1) for each in (ends, nodes)), strict=True)
    return torch.cat([_enumerate(lists, *part) for part in parts])


def _enumerate(lists: Neighbours, ends: Tensor, nodes: Tensor) -> Tensor:
    (near, far), (near_node, far_node) = ends, nodes
    which, arc, stands = _some_arcs(lists, near, far_node)
    middle, end = lists.arc_row[arc], far[which]
    joined = lists.find(far, near_node)[0][which]
    longer = lists.row_degree[middle] - 1 > lists.row_degree[end] - joined.long()
    short, long = torch.where(longer, end, middle), torch.where(longer, middle, end)
    step, other_arc, stands_too = _some_arcs(lists, short, near_node[which])
    stands_too = stands_too * lists.find(long[step], lists.neighbour[other_arc])[0]
    columns = torch.stack([stands_too, stands_too * lists.arc_degree[other_arc].rsqrt()], 1)
    sums = torch.zeros(len(which), 2, device=near.device).index_add_(0, step, columns)
    factor = torch.stack([stands, stands * lists.arc_degree[arc].rsqrt()], 1)
    return torch.zeros(len(near), 2, device=near.device).index_add_(0, which, sums * factor)


def _some_arcs(lists: Neighbours, row: Tensor, but: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return up to `CAP` arcs of each row (n,), evenly spaced, none of them to the nodes `but` (n,).

    Returned are positions, arcs, and how many arcs each stands for.
    """
    found, gap = lists.find(row, but)
    degree = lists.row_degree[row] - found.long()
    taken = degree.clamp(max=CAP)
    which, place = ranges(torch.zeros_like(taken), taken)
    arc = lists.indptr[row][which] + place * degree[which] // taken[which]
    arc = arc + (found[which] & (arc >= gap[which]))
    return which, arc, (degree / taken.clamp(min=1))[which]


# Compiled loops


@fill_tables.faster(on_cpu)
def _fill_tables(
    lists: Neighbours, first: Tensor, size: Tensor, start: Tensor, share: Tensor, count: Tensor, weight: Tensor
) -> None:
    mean_degree = (lists.indptr[first + size] - lists.indptr[first]) / size.clamp(min=1)
    sparse = mean_degree < DENSE * size
    dense = first[~sparse], size[~sparse], start[~sparse]
    fill_tables.reference(lists, *dense, share, count, weight)
    tensors = first[sparse], size[sparse], start[sparse], lists.indptr, lists.arc_row, share, count, weight
    arrays = [each.numpy() for each in tensors]
    before = np.concatenate([[0], np.cumsum(arrays[1])])
    in_parts(int(before[-1]), lambda part: _walks(part.start, part.stop, before, *arrays), few=64, turns=TURNS)


@enumerate_paths.faster(on_cpu)
def _enumerate_paths(lists: Neighbours, ends: Tensor, nodes: Tensor) -> Tensor:
    result = np.zeros((ends.shape[1], 2), np.float32)
    asked = ends.numpy(), nodes.numpy()
    arrays = [each.numpy() for each in (lists.indptr, lists.neighbour, lists.arc_row, lists.arc_degree)]
    more = CAP, lists.num_nodes
    in_parts(
        len(result), lambda part: _paths(*(each[:, part] for each in asked), *arrays, *more, result[part]), turns=TURNS
    )
    return torch.from_numpy(result)


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


@compile_loop
def _paths(
    ends: Any, nodes: Any, indptr: Any, neighbour: Any, arc_row: Any, arc_degree: Any, cap: Any, num_nodes: Any,
    result: Any,
) -> None:  # fmt: skip
    # For each node, the last pair whose far end is next to it, and the last one of which it is among the visited
    next_to, visits = np.full(num_nodes, -1, np.int32), np.full(num_nodes, -1, np.int32)
    share, chosen = np.empty(num_nodes), np.empty(cap, np.int64)
    for i in range(len(result)):
        near, far, near_node, far_node = ends[0, i], ends[1, i], nodes[0, i], nodes[1, i]
        gap = find_place(far_node, indptr[near], indptr[near + 1], neighbour)
        joined = gap < indptr[near + 1] and neighbour[gap] == far_node
        degree, others = indptr[near + 1] - indptr[near] - joined, indptr[far + 1] - indptr[far] - joined
        taken, visited, count, weight = min(degree, cap), min(others, cap), 0.0, 0.0
        for arc in range(indptr[far], indptr[far + 1]):
            next_to[neighbour[arc]] = i
        hole = find_place(near_node, indptr[far], indptr[far + 1], neighbour)
        for turn in range(visited):
            arc = indptr[far] + turn * others // visited
            arc += joined and arc >= hole
            node = chosen[turn] = neighbour[arc]
            visits[node], share[node] = i, 1.0 / math.sqrt(arc_degree[arc])
        for step in range(taken):
            arc = indptr[near] + step * degree // taken
            arc += joined and arc >= gap
            first, last, sum_count, sum_weight = indptr[arc_row[arc]], indptr[arc_row[arc] + 1], 0.0, 0.0
            size = last - first - 1  # without the near node, which is next to all its neighbours
            seen, stands = (visited, others) if size > others else (min(size, cap), size)
            if size <= others:
                hole = find_place(near_node, first, last, neighbour)
                for turn in range(seen):
                    other = first + turn * size // seen
                    other += other >= hole
                    if next_to[neighbour[other]] == i:
                        sum_count += 1.0
                        sum_weight += 1.0 / math.sqrt(arc_degree[other])
            elif size <= LONG * visited:
                for other in range(first, last):
                    if visits[neighbour[other]] == i:
                        sum_count += 1.0
                        sum_weight += share[neighbour[other]]
            else:
                for node in chosen[:visited]:
                    other = find_place(node, first, last, neighbour)
                    if other < last and neighbour[other] == node:
                        sum_count += 1.0
                        sum_weight += share[node]
            scale = degree / taken * stands / max(seen, 1)
            count += scale * sum_count
            weight += scale * sum_weight / math.sqrt(arc_degree[arc])
        result[i, 0], result[i, 1] = count, weight

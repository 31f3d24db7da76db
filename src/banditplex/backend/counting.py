"""Neighbour lists of undirected edges by counting, without a sort: what `pack_both` does in torch, in compiled loops.

Edges come by layer, smaller node and larger node. So if every edge in turn adds its nodes to each other's lists, a list
has smaller neighbours first, then larger ones, each in order. Threads take layers; each needs memory for all nodes.
"""

from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from banditplex.backend.compiling import compile_loop, num_threads, run_all
from banditplex.backend.lists import LAST, Neighbours

PARTS = 4  # ranges of layers per thread
RARE = 16  # if one in so many nodes has an edge in a layer, all are looked at; else those that have are sorted


def count_lists(
    num_nodes: int, num_layers: int, layer: Tensor, ends: tuple[Tensor, Tensor], weight: Tensor | None,
    copies: Tensor | None,
) -> Neighbours:  # fmt: skip
    """Return the lists of edges with sorted layers (E,) and ends (E,); `copies` (U,) are those of the last U edges."""
    size = len(layer)
    start = torch.searchsorted(layer, torch.arange(num_layers + 1)).numpy()
    source, destination = (each.numpy() for each in ends)
    rows = np.zeros(num_layers + 1, np.int64)
    parts = _parts(start, num_layers)
    run_all([partial(_count, *part, start, source, destination, num_nodes, rows) for part in parts])
    row_start = np.append(0, np.cumsum(rows[:-1]))
    num_rows = int(row_start[-1])
    row_key, indptr = np.empty(num_rows + 1, np.int64), np.empty(num_rows + 2, np.int64)
    neighbour, arc_key, arc_row = (np.empty(2 * size + 1, np.int64) for _ in range(3))
    arc_degree = np.empty(2 * size + 1, np.float32)
    of_edge = [np.empty(0) if weight is None else weight.numpy(), np.empty(0, np.int64)]
    of_arc = [np.empty(0 if weight is None else 2 * size + 1, np.float32), np.empty(0, np.int32)]
    if copies is not None:
        of_edge[1], of_arc[1] = copies.numpy(), np.empty(2 * size + 1, np.int32)
    for each in of_arc:
        each.fill(0)
    arrays = start, source, destination, num_nodes, row_start, row_key, indptr, neighbour, arc_key, arc_row, arc_degree
    run_all([partial(_fill, *part, *arrays, *of_edge, *of_arc) for part in parts])
    row_key[-1], indptr[-2:], neighbour[-1], arc_key[-1] = LAST, 2 * size, 0, LAST
    arc_row[-1], arc_degree[-1] = num_rows, 0
    fields = [torch.from_numpy(each) for each in (row_key, indptr, neighbour, arc_key, arc_row, arc_degree)]
    more = [torch.from_numpy(each) if len(each) else None for each in of_arc]
    return Neighbours(num_nodes, *fields, *more)


def _parts(start: Any, num_layers: int) -> list[tuple[int, int]]:
    """Return ranges of layers with about as many edges each, those with most edges first."""
    threads = num_threads()
    bounds = np.searchsorted(start, np.linspace(0, start[-1], threads * PARTS + 1)) if threads > 1 else np.empty(0, int)
    bounds = np.unique(np.concatenate([[0], bounds, [max(num_layers - 1, 0), num_layers]]).clip(max=num_layers))
    parts = list(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))
    return sorted(parts, key=lambda part: start[part[0]] - start[part[1]])


@compile_loop
def _count(low: Any, high: Any, start: Any, source: Any, destination: Any, num_nodes: Any, rows: Any) -> None:
    """Count the nodes that have an edge in each layer."""
    seen = np.full(num_nodes, -1)
    for layer in range(low, high):
        found = 0
        for edge in range(start[layer], start[layer + 1]):
            for node in (source[edge], destination[edge]):
                found += seen[node] != layer
                seen[node] = layer
        rows[layer] = found


@compile_loop
def _fill(
    low: Any, high: Any, start: Any, source: Any, destination: Any, num_nodes: Any, row_start: Any, row_key: Any,
    indptr: Any, neighbour: Any, arc_key: Any, arc_row: Any, arc_degree: Any, weight: Any, copies: Any,
    arc_weight: Any, arc_copies: Any,
) -> None:  # fmt: skip
    """Fill in the lists of some layers."""
    degree, place = np.zeros(num_nodes, np.int64), np.empty(num_nodes, np.int64)
    row, active = np.empty(num_nodes, np.int64), np.empty(num_nodes, np.int64)
    united = start[-1] - len(copies)  # the first edge of the union
    for layer in range(low, high):
        found, first, begin, end = 0, row_start[layer], start[layer], start[layer + 1]
        for edge in range(begin, end):
            for node in (source[edge], destination[edge]):
                if degree[node] == 0:
                    active[found] = node
                    found += 1
                degree[node] += 1
        if found * RARE < num_nodes:
            active[:found].sort()
        else:
            found = 0
            for node in range(num_nodes):
                if degree[node] > 0:
                    active[found] = node
                    found += 1
        arc = 2 * begin
        for i in range(found):
            node = active[i]
            row_key[first + i], indptr[first + i] = layer * num_nodes + node, arc
            row[node], place[node] = first + i, arc
            arc += degree[node]
        for edge in range(begin, end):
            u, v = source[edge], destination[edge]
            there, back = place[u], place[v]
            neighbour[there], neighbour[back] = v, u
            place[u], place[v] = there + 1, back + 1
            if len(weight) > 0:
                arc_weight[there] = arc_weight[back] = weight[edge]
            if edge >= united:
                arc_copies[there] = arc_copies[back] = copies[edge - united]
        for i in range(found):
            here = first + i
            for arc in range(indptr[here], place[active[i]]):
                node = neighbour[arc]
                arc_key[arc], arc_row[arc], arc_degree[arc] = here * num_nodes + node, row[node], degree[node]
        for i in range(found):
            degree[active[i]] = 0

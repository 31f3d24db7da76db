"""Positions of nodes in every layer: the leading eigenvectors of its normalised adjacency matrix, without the pair asked.

Communities and positions show here that common neighbours miss in sparse layers. All pairs of nodes are divided into
folds; the vectors of a fold come from a graph without the pairs of that fold, in any layer. So a pair is always judged
by vectors that have not seen it, be it an edge or not, in training and in prediction.

All layers are computed at once, by subspace iteration on one block-diagonal sparse matrix (Halko, Martinsson and Tropp,
SIAM Review, 2011). The matrix of a layer is D^(-1/2) A D^(-1/2), with D the degrees plus their mean (Qin and Rohe,
Regularized Spectral Clustering, 2013): without it, vectors of sparse layers settle on a few nodes.
"""  # noqa: E501

from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from banditplex.backend import at_once, gram, multiply, position_columns
from banditplex.backend.compiling import map_on_cpu
from banditplex.nn.graph import PackedGraph

SPECTRAL_FOLDS = 4
RANK = 16
EXTRA = 4  # further vectors of the iteration, so that the leading ones converge
ROUNDS = 6
NODES_PER_VECTOR = 16  # a layer with fewer nodes per vector has fewer vectors
NUM_COLUMNS = 5


@dataclass(frozen=True, eq=False)
class Spectral:
    """Leading eigenvalues and eigenvectors of every layer of a graph, for each fold."""

    num_nodes: int
    vectors: Tensor  # (SPECTRAL_FOLDS, R + 1, RANK)
    values: Tensor  # (SPECTRAL_FOLDS, L, RANK), the largest first, by size
    degree: Tensor  # (SPECTRAL_FOLDS, R + 1)
    size: Tensor  # (L,) float, nodes of each layer

    @classmethod
    def of(cls, graph: PackedGraph, *, whole: bool = False) -> "Spectral":
        """Compute the vectors of a graph; the start of the iteration is always the same.

        With `whole`, there is one fold, from which nothing is left out: positions that no pair is judged by.
        """
        lists, num_rows, device = graph.both, graph.both.missing, graph.device
        source, destination = torch.repeat_interleave(lists.row_degree), lists.arc_row[:-1]
        node = lists.row_key[:-1] % graph.num_nodes
        layer = lists.row_key[:-1] // graph.num_nodes
        size = torch.diff(graph.layer_rows)
        active, place = torch.unique(layer, return_inverse=True)  # layers with edges
        fold = fold_of(torch.stack([node[source], node[destination]], 1), graph.num_nodes)
        begin = torch.randn(graph.num_nodes, RANK + EXTRA, generator=torch.Generator().manual_seed(0)).to(device)[node]

        def of_fold(number: int) -> tuple[Tensor, Tensor, Tensor]:
            kept = torch.nonzero(fold != number).squeeze(1)
            arcs = torch.stack([source[kept], destination[kept]])
            degree = torch.bincount(arcs[0], minlength=num_rows).float()
            mean = torch.zeros(len(size), device=device).index_add_(0, layer, degree) / size.clamp(min=1)
            scale = (degree + mean[layer]).clamp(min=1e-6).rsqrt()
            matrix = Rows(arcs[1], torch.cumsum(degree.long(), 0) - degree.long(), scale[arcs[0]] * scale[arcs[1]])
            value = torch.zeros(len(size), RANK, device=device)
            value[active], vector = leading(matrix, begin, place, len(active))
            value[torch.arange(RANK, device=device) >= (size // NODES_PER_VECTOR).clamp(min=1).unsqueeze(1)] = 0
            return F.pad(vector, (0, 0, 0, 1)), value, F.pad(degree, (0, 1))

        found = map_on_cpu(of_fold, [-1] if whole else range(SPECTRAL_FOLDS), device)
        vectors, values, degrees = (torch.stack(each) for each in zip(*found, strict=True))
        return cls(graph.num_nodes, vectors, values, degrees, size.float())

    def columns(self, pairs: Tensor, layer: Tensor, row: Tensor, fold: Tensor | None = None) -> Tensor:
        """Return what the vectors say of pairs (n, 2), whose rows (2, n) in layers (n,) are known: (n, NUM_COLUMNS).

        Folds (n,) of the pairs may be known, too.
        """
        fold = fold_of(pairs, self.num_nodes) if fold is None else fold
        return position_columns(fold, layer, row, self.vectors, self.values, self.degree, self.size)


def fold_of(pairs: Tensor, num_nodes: int) -> Tensor:
    """Return the fold of each pair (n, 2), the same in both directions: a hash of its two nodes."""
    key = pairs.min(1).values * num_nodes + pairs.max(1).values
    for factor, shift in ((2654435761, 15), (2246822519, 13)):
        key = key * factor & 0xFFFFFFFF
        key = key ^ (key >> shift)
    return key % SPECTRAL_FOLDS


class Rows(NamedTuple):
    """A sparse matrix: the columns and values of its entries, row by row, and where each row starts."""

    column: Tensor
    start: Tensor
    value: Tensor

    def __matmul__(self, dense: Tensor) -> Tensor:
        """Return the product with a matrix, some rows at a time."""
        parts, result = torch.split(self.start, at_once(dense)), dense.new_empty(len(self.start), dense.shape[1])
        bounds = [*self.start[:: at_once(dense)].tolist(), len(self.column)]
        for start, low, high, rows in zip(parts, bounds, bounds[1:], torch.split(result, at_once(dense)), strict=False):
            column, value = self.column[low:high], self.value[low:high]
            rows.copy_(F.embedding_bag(column, dense, start - low, mode="sum", per_sample_weights=value))
        return result


def leading(matrix: Rows, vectors: Tensor, layer: Tensor, num_layers: int) -> tuple[Tensor, Tensor]:
    """Return the `RANK` eigenvalues (L, RANK) and eigenvectors (R, RANK) of largest size of each block of a matrix.

    `matrix` (R, R) is symmetric and block-diagonal, `layer` (R,) is the block of each row; `vectors` (R, m) start the
    iteration.
    """
    for _ in range(ROUNDS):
        vectors = orthonormal(matrix @ vectors, layer, num_layers)
    inside = gram(vectors, matrix @ vectors, layer, num_layers)
    value, turn = torch.linalg.eigh((inside + inside.transpose(1, 2)) / 2)
    order = value.abs().argsort(1, descending=True)[:, :RANK]
    turn = turn.gather(2, order.unsqueeze(1).expand(-1, turn.shape[1], -1))
    return value.gather(1, order).float(), multiply(vectors, turn.float(), layer)


def orthonormal(vectors: Tensor, layer: Tensor, num_layers: int) -> Tensor:
    """Return an orthonormal basis of the span of vectors (R, m) in each layer; missing directions are 0."""
    value, turn = torch.linalg.eigh(gram(vectors, vectors, layer, num_layers))
    found = value > 1e-9 * value[:, -1:].clamp(min=1e-30)
    scale = torch.where(found, value.clamp(min=1e-30).rsqrt(), 0)
    return multiply(vectors, (turn * scale.unsqueeze(1)).float(), layer)

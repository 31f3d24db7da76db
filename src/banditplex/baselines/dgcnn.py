"""DGCNN: a network of whole graphs, by convolutions, sorting of vertices, and convolutions along the sorted list."""

from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from banditplex.baselines.subgraphs import Subgraphs, enclosing_subgraphs
from banditplex.nn import PackedGraph

MAX_LABEL = 100
"""DRNL labels from here on are one."""
LEAST = 10
"""The fewest vertices that sorting keeps: shorter lists are too short for the convolutions that follow."""
KERNEL, CHANNELS, DENSE = 5, (16, 32), 128
SHARE = 0.6
"""Share of the subgraphs that have at most as many vertices as sorting keeps."""


class SubgraphEncoder(nn.Module):
    """Embeds enclosing subgraphs (Zhang et al., AAAI 2018: DGCNN, as SEAL uses it).

    Vertices start from a vector of their DRNL label, and of node features if there are any. Four convolutions
    H = tanh(D^-1 (A + I) H W) of widths 32, 32, 32, 1 follow; all four outputs are joined. The vertices of a subgraph
    are sorted by the last one, the first `keep` of them are kept, and two convolutions along this list with a maximum
    between them and a linear map give a vector of `DENSE` numbers.
    """

    features: Tensor | None

    def __init__(self, features: Tensor | None, keep: int, width: int = 32, depth: int = 3) -> None:
        super().__init__()
        self.keep = max(keep, LEAST)
        self.label = nn.Embedding(MAX_LABEL, width)
        self.register_buffer("features", features, persistent=False)
        first = width + (0 if features is None else features.shape[1])
        widths = [first, *[width] * depth, 1]
        self.linears = nn.ModuleList([nn.Linear(one, two) for one, two in pairwise(widths)])
        joined = sum(widths[1:])
        self.across = nn.Linear(joined, CHANNELS[0])  # a convolution whose kernel and stride are one vertex
        self.along = nn.Conv1d(*CHANNELS, KERNEL)
        self.dense = nn.Linear((self.keep // 2 - KERNEL + 1) * CHANNELS[1], DENSE)

    def forward(self, graphs: Subgraphs) -> Tensor:
        """Return the embeddings (P, DENSE) of subgraphs."""
        x = self.label(graphs.label.clamp(max=MAX_LABEL - 1))
        if self.features is not None:
            x = torch.cat([x, self.features[graphs.node].to(x.dtype)], 1)
        source, destination = graphs.edge_index
        share = 1 / (1 + torch.bincount(destination, minlength=len(x))).to(x.dtype).unsqueeze(1)
        parts = []
        for linear in self.linears:
            x = linear(x)
            x = torch.tanh(x.index_add(0, destination, x[source]) * share)
            parts.append(x)
        pooled = sort_pool(torch.cat(parts, 1), graphs.which, graphs.size, self.keep)
        lists = F.max_pool1d(F.relu(self.across(pooled)).transpose(1, 2), 2)
        return F.relu(self.dense(F.relu(self.along(lists)).flatten(1)))


def sort_pool(x: Tensor, which: Tensor, size: int, keep: int) -> Tensor:
    """Return the first `keep` rows of each group, sorted by the last column in descending order: (size, keep, width).

    `which` (V,), sorted, is the group of each row of x (V, width). Short groups are filled with zeros.

    >>> sort_pool(torch.tensor([[1.0], [3.0], [2.0], [5.0]]), torch.tensor([0, 0, 0, 1]), 2, 2).squeeze(2).tolist()
    [[3.0, 2.0], [5.0, 0.0]]
    """
    order = torch.argsort(x[:, -1], descending=True, stable=True)
    order = order[torch.argsort(which[order], stable=True)]
    count = torch.bincount(which, minlength=size)
    rank = torch.arange(len(x), device=x.device) - (torch.cumsum(count, 0) - count)[which]
    kept = rank < keep
    result = x.new_zeros(size, keep, x.shape[1])
    return result.index_put((which[kept], rank[kept]), x[order[kept]])


def choose_keep(graph: PackedGraph, pairs: Tensor, layer: Tensor, *, hops: int, max_nodes: int | None) -> int:
    """Return how many vertices sorting keeps: as many as a share of the subgraphs of some pairs have at most."""
    nothing = torch.zeros(len(pairs), dtype=torch.bool, device=pairs.device)
    graphs = enclosing_subgraphs(graph.both, pairs, layer, nothing, hops=hops, max_nodes=max_nodes)
    return int(torch.quantile(graphs.counts.double(), SHARE, interpolation="higher"))

"""DeePlex: subgraphs of a pair in every layer, and the nearest layers by a relaxed sort."""

import torch
from torch import Tensor, nn

from banditplex.bandits.arms import to_layer
from banditplex.baselines.base import BASELINES
from banditplex.baselines.convolution import perceptron
from banditplex.baselines.dgcnn import DENSE, SubgraphEncoder, choose_keep
from banditplex.baselines.neural import NetworkData, NeuralBaseline, PairNetwork
from banditplex.baselines.neural_sort import neural_sort
from banditplex.baselines.seen import visible_link
from banditplex.baselines.subgraphs import enclosing_subgraphs
from banditplex.nn import HiddenEdges, PackedGraph
from banditplex.rng import stream

SAMPLE = 500
"""Edges, and as many negatives, whose subgraphs say how many vertices sorting keeps."""


class DeePlex(NeuralBaseline):
    """k nearest layers by NeuralSort (Potluru et al., SIAM Workshop on Network Science, 2020).

    A SEAL-style encoder embeds the enclosing subgraph of the pair in every layer: e_l. The other layers are sorted by
    their distance ||e_t - e_l|| to the target layer t with NeuralSort, whose relaxed permutation matrix P is
    differentiable. The logit is MLP(e_t, rows 1 to k of P E), where the rows of E are the e_l. Encoder, sort and
    MLP are trained jointly.

    Differs from the original, of which there is no public code: one encoder for all layers, with a scale and a shift
    per layer, so that distances between layers mean something; early stopping.

    Parameters
    ----------
    k
        Number of nearest layers; fewer if there are not so many.
    temperature
        Of NeuralSort.
    hops, max_nodes
        Size of the subgraphs.
    epochs, patience, batch_size, learning_rate, device, hide, seed
        See `NeuralBaseline`. Only a pair's own edge is hidden from it, not those of its batch.
    """

    def __init__(
        self, *, k: int = 2, temperature: float = 1.0, hops: int = 1, max_nodes: int | None = 100, epochs: int = 50,
        patience: int = 10, batch_size: int = 64, learning_rate: float = 0.001, device: str = "auto",
        hide: str | None = None, seed: int = 0,
    ) -> None:  # fmt: skip
        self.k, self.temperature, self.hops, self.max_nodes = k, temperature, hops, max_nodes
        self.epochs, self.patience, self.batch_size = epochs, patience, batch_size
        self.learning_rate, self.device, self.hide, self.seed = learning_rate, device, hide, seed

    def _network(self, data: NetworkData) -> PairNetwork:
        return NearestLayersNetwork(data, self.k, self.temperature, self.hops, self.max_nodes)


class NearestLayersNetwork(PairNetwork):
    """The network of `DeePlex`."""

    sees = "all"
    exact = True

    def __init__(self, data: NetworkData, k: int, temperature: float, hops: int, max_nodes: int | None) -> None:
        super().__init__()
        num_layers, self.visibility = data.mx.num_layers, data.visibility
        self.k, self.temperature = min(k, num_layers - 1), temperature
        self.hops, self.max_nodes, self.chunk = hops, max_nodes, max(1, 1024 // num_layers)
        pairs, target = data.sample(SAMPLE, stream(data.seed, "subgraph sizes"))
        keep = choose_keep(data.train_graph("all"), pairs, target, hops=hops, max_nodes=max_nodes)
        self.encoder = SubgraphEncoder(data.features(), keep)
        self.adapt = nn.Parameter(torch.zeros(num_layers, 2, DENSE))
        self.last = perceptron((1 + self.k) * DENSE, DENSE, 1, dropout=0.5)

    def forward(self, graph: PackedGraph, pairs: Tensor, target: Tensor, hidden: HiddenEdges) -> Tensor:
        """Return the logits (P,) of pairs."""
        others = torch.arange(graph.num_layers - 1, device=pairs.device).expand(len(pairs), -1)
        table = torch.cat([target.unsqueeze(1), to_layer(target.unsqueeze(1), others)], 1)
        each, own = (part.repeat_interleave(graph.num_layers, 0) for part in (pairs, target))
        layer = table.reshape(-1)
        linked = visible_link(graph, each, own, layer, self.visibility)
        graphs = enclosing_subgraphs(graph.both, each, layer, linked, hops=self.hops, max_nodes=self.max_nodes)
        scale, shift = self.adapt[table].unbind(2)
        embedding = self.encoder(graphs).view(*table.shape, -1) * (1 + scale) + shift
        mine, rest = embedding[:, 0], embedding[:, 1:]
        parts = [mine, nearest(mine, rest, self.k, self.temperature).flatten(1)]
        return self.last(torch.cat(parts, 1)).squeeze(1)  # type: ignore[no-any-return]


def nearest(mine: Tensor, rest: Tensor, k: int, temperature: float) -> Tensor:
    """Return the k vectors of rest (P, n, width) that are nearest to mine (P, width), relaxed: (P, k, width)."""
    distance = ((rest - mine.unsqueeze(1)) ** 2).sum(2).clamp(min=1e-12).sqrt()
    return neural_sort(-distance, temperature)[:, :k] @ rest


BASELINES.add("deeplex", DeePlex)

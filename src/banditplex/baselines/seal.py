"""SEAL: a network of the subgraph around a pair."""

from functools import partial

from torch import Tensor, nn

from banditplex.baselines.base import BASELINES
from banditplex.baselines.dgcnn import DENSE, SubgraphEncoder, choose_keep
from banditplex.baselines.neural import NetworkData, OneGraphBaseline, PairNetwork
from banditplex.baselines.seen import visible_link
from banditplex.baselines.subgraphs import enclosing_subgraphs
from banditplex.nn import HiddenEdges, PackedGraph
from banditplex.pairs.visibility import Visibility
from banditplex.rng import stream

SAMPLE = 500
"""Edges, and as many negatives, whose subgraphs say how many vertices sorting keeps."""


class SEAL(OneGraphBaseline):
    """Learns from enclosing subgraphs (Zhang and Chen, NeurIPS 2018).

    The subgraph of a pair has all nodes within `hops` steps of either node, without the pair's own edge. A vertex at
    distances a, b from the two nodes, with d = a + b, has the DRNL label 1 + min(a, b) + (d // 2)(d // 2 + d % 2 - 1).
    DGCNN classifies the labelled subgraph (see `SubgraphEncoder`); dropout and a linear map give the logit.

    Differs from the original: `hops` is not chosen by comparing heuristics; a hop adds at most `max_nodes` nodes;
    negatives are drawn anew in each epoch; no node2vec embeddings; the learning rate is .001, not .0001, as layers
    have fewer edges; early stopping. In the union, the pair's own edge stays where another layer shows it.

    Parameters
    ----------
    hops, max_nodes
        Size of the subgraphs.
    width
        Width of the convolutions.
    graph
        "target" or "union".
    epochs, patience, batch_size, learning_rate, device, hide, seed
        See `NeuralBaseline`. Only a pair's own edge is hidden from it, not those of its batch.
    """

    def __init__(
        self, *, hops: int = 1, max_nodes: int | None = 100, width: int = 32, graph: str = "target", epochs: int = 50,
        patience: int = 10, batch_size: int = 64, learning_rate: float = 0.001, device: str = "auto",
        hide: str | None = None, seed: int = 0,
    ) -> None:  # fmt: skip
        self.hops, self.max_nodes, self.width, self.graph = hops, max_nodes, width, graph
        self.epochs, self.patience, self.batch_size = epochs, patience, batch_size
        self.learning_rate, self.device, self.hide, self.seed = learning_rate, device, hide, seed

    def _network(self, data: NetworkData) -> PairNetwork:
        return SubgraphNetwork(data, self._sees(), self.hops, self.max_nodes, self.width)


class SubgraphNetwork(PairNetwork):
    """The network of `SEAL`."""

    exact = True
    chunk = 512

    def __init__(self, data: NetworkData, sees: str, hops: int, max_nodes: int | None, width: int) -> None:
        super().__init__()
        self.sees, self.hops, self.max_nodes = sees, hops, max_nodes
        self.visibility: Visibility = data.visibility
        pairs, target = data.sample(SAMPLE, stream(data.seed, "subgraph sizes"))
        graph = data.train_graph(sees)
        keep = choose_keep(graph, pairs, self.layer(graph, target), hops=hops, max_nodes=max_nodes)
        self.encoder = SubgraphEncoder(data.features(), keep, width)
        self.last = nn.Sequential(nn.Dropout(0.5), nn.Linear(DENSE, 1))

    def forward(self, graph: PackedGraph, pairs: Tensor, target: Tensor, hidden: HiddenEdges) -> Tensor:
        """Return the logits (P,) of pairs."""
        layer = self.layer(graph, target)
        linked = visible_link(graph, pairs, target, layer, self.visibility)
        graphs = enclosing_subgraphs(graph.both, pairs, layer, linked, hops=self.hops, max_nodes=self.max_nodes)
        return self.last(self.encoder(graphs)).squeeze(1)  # type: ignore[no-any-return]


BASELINES.add("seal", SEAL)
BASELINES.add("seal-union", partial(SEAL, graph="union"))

"""NCN: embeddings of a pair's common neighbours."""

from functools import partial

from torch import Tensor

from banditplex.baselines.base import BASELINES
from banditplex.baselines.convolution import GCN, NodeInput, PairHead, Propagation, block_of
from banditplex.baselines.neural import NetworkData, OneGraphBaseline, PairNetwork
from banditplex.nn import Block, HiddenEdges, PackedGraph


class NCN(OneGraphBaseline):
    """Neural common neighbour (Wang, Yang and Zhang, ICLR 2024).

    With embeddings z from graph convolutions, the logit of a pair is
    MLP(z_u * z_v, sum over common neighbours w of z_w).

    Differs from the original: width 64, not 256, and weight decay, as layers are small; <w, z_u * z_v> is added to the
    logit (see `PairHead`); vectors of nodes are learnt where there are no node features; early stopping. As in the
    original, edges of a batch are hidden from the convolutions.

    Parameters
    ----------
    width, depth, dropout
        Of the convolutions.
    graph
        "target" or "union".
    epochs, patience, batch_size, learning_rate, device, hide, seed
        See `NeuralBaseline`.
    """

    weight_decay = 1.0

    def __init__(
        self, *, width: int = 64, depth: int = 2, dropout: float = 0.5, graph: str = "target", epochs: int = 100,
        patience: int = 50, batch_size: int = 256, learning_rate: float = 0.01, device: str = "auto",
        hide: str | None = None, seed: int = 0,
    ) -> None:  # fmt: skip
        self.width, self.depth, self.dropout, self.graph = width, depth, dropout, graph
        self.epochs, self.patience, self.batch_size = epochs, patience, batch_size
        self.learning_rate, self.device, self.hide, self.seed = learning_rate, device, hide, seed

    def _network(self, data: NetworkData) -> PairNetwork:
        return CommonNeighbourNetwork(data, self._sees(), self.width, self.depth, self.dropout)


class CommonNeighbourNetwork(PairNetwork):
    """The network of `NCN`."""

    def __init__(self, data: NetworkData, sees: str, width: int, depth: int, dropout: float) -> None:
        super().__init__()
        self.sees = sees
        self.input = NodeInput(data.full_graph(sees), data.features(), width, per_layer=sees == "target")
        self.encoder = GCN(width, depth, dropout)
        self.head = PairHead(width, width, dropout)

    def forward(self, graph: PackedGraph, pairs: Tensor, target: Tensor, hidden: HiddenEdges) -> Tensor:
        """Return the logits (P,) of pairs."""
        layer = self.layer(graph, target)
        block, u, v = block_of(graph, pairs, layer, hidden)
        x = self.input(block)
        z = self.encoder(x, Propagation.of(block, x.dtype))
        return self.head(z[u], z[v], common_sums(block, z, pairs, layer))  # type: ignore[no-any-return]


def common_sums(block: Block, x: Tensor, pairs: Tensor, layer: Tensor) -> Tensor:
    """Return the sums (P, width) of x (V, width) over the common neighbours of pairs (P, 2) in layers (P,).

    Neighbours are those in the graph of the block, hidden or not: no common neighbour needs the pair's own edge.
    """
    lists = block.graph.both
    which, arc, _ = lists.common(*lists.rows(layer.repeat(2), pairs.T.reshape(-1)).chunk(2))
    vertex = block.vertex(layer[which], lists.neighbour[arc], lists.arc_row[arc])
    return x.new_zeros(len(pairs), x.shape[1]).index_add(0, which, x[vertex])


BASELINES.add("ncn", NCN)
BASELINES.add("ncn-union", partial(NCN, graph="union"))

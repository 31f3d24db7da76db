"""VGAE: a variational graph auto-encoder."""

from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from banditplex.baselines.base import BASELINES
from banditplex.baselines.convolution import NodeInput, Propagation, block_of
from banditplex.baselines.neural import NetworkData, OneGraphBaseline, PairNetwork
from banditplex.nn import HiddenEdges, PackedGraph


class VGAE(OneGraphBaseline):
    """Variational graph auto-encoder (Kipf and Welling, NIPS workshop on Bayesian deep learning, 2016).

    P is the normalised adjacency matrix with self loops. H = relu(P X W), z ~ N(P H W_mean, exp(P H W_log_std)^2), and
    the logit of a pair is <z_u, z_v>. The loss is that of the pairs plus KL(q(z) || N(0, I)) / num_nodes, per node.
    Scores use the means.

    Differs from the original: pairs come in mini-batches of edges and as many negatives, not as a whole matrix with
    weights; a pair's own edge is hidden from the encoder (the original reconstructs the edges that it sees); early
    stopping.

    Parameters
    ----------
    width, latent
        Widths of H and z. As in the paper: 32 and 16, learning rate .01 and 200 epochs.
    graph
        "target" or "union".
    epochs, patience, batch_size, learning_rate, device, hide, seed
        See `NeuralBaseline`.
    """

    def __init__(
        self, *, width: int = 32, latent: int = 16, graph: str = "target", epochs: int = 200, patience: int = 50,
        batch_size: int = 512, learning_rate: float = 0.01, device: str = "auto", hide: str | None = None,
        seed: int = 0,
    ) -> None:  # fmt: skip
        self.width, self.latent, self.graph, self.epochs, self.patience = width, latent, graph, epochs, patience
        self.batch_size, self.learning_rate, self.device, self.hide = batch_size, learning_rate, device, hide
        self.seed = seed

    def _network(self, data: NetworkData) -> PairNetwork:
        return VariationalNetwork(data, self._sees(), self.width, self.latent)


class VariationalNetwork(PairNetwork):
    """The network of `VGAE`."""

    def __init__(self, data: NetworkData, sees: str, width: int, latent: int) -> None:
        super().__init__()
        self.sees = sees
        self.input = NodeInput(data.full_graph(sees), data.features(), width, per_layer=sees == "target")
        self.mean, self.log_std = nn.Linear(width, latent, bias=False), nn.Linear(width, latent, bias=False)

    def forward(self, graph: PackedGraph, pairs: Tensor, target: Tensor, hidden: HiddenEdges) -> Tensor:
        """Return the logits (P,) of pairs; in training, of embeddings drawn at random."""
        block, u, v = block_of(graph, pairs, self.layer(graph, target), hidden)
        x = self.input(block)
        propagate = Propagation.of(block, x.dtype)
        x = F.relu(propagate(x))
        z = propagate(self.mean(x))
        if self.training:
            log_std = propagate(self.log_std(x)).clamp(max=10)
            self._divergence = divergence(z, log_std) / len(z)
            z = z + torch.randn_like(z) * torch.exp(log_std)
        return (z[u] * z[v]).sum(1)

    def loss(self, logits: Tensor, label: Tensor) -> Tensor:
        """Return the loss of the pairs plus the divergence from the prior."""
        return super().loss(logits, label) + self._divergence


def divergence(mean: Tensor, log_std: Tensor) -> Tensor:
    """Return the mean over rows of KL(N(mean, exp(log_std)^2) || N(0, I)).

    >>> divergence(torch.tensor([[1.0, 2.0]]), torch.zeros(1, 2))
    tensor(2.5000)
    """
    return 0.5 * (mean**2 + torch.exp(2 * log_std) - 1 - 2 * log_std).sum(1).mean()


BASELINES.add("vgae", VGAE)
BASELINES.add("vgae-union", partial(VGAE, graph="union"))

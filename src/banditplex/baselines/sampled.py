"""GNN-BS and Thanos: graph convolutions that sample neighbours by bandits."""

from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from banditplex.baselines.base import add_one_graph, choice, parameters
from banditplex.baselines.graph_networks import DistMult, NodeInput, block_of
from banditplex.baselines.neural import NetworkData, NeuralBaseline, PairNetwork
from banditplex.nn import Block, HiddenEdges, PackedGraph


class SampledNetwork(PairNetwork):
    """The network of `SampledGCN`."""

    def __init__(self, data: NetworkData, method: "SampledGCN") -> None:
        super().__init__(data, method)
        horizon, width = data.num_steps(method.batch_size, method._step_targets()), method.width
        rounds = method.restart if method.kind == "thanos" else horizon
        how = method.kind, data.graph(self.sees), method.neighbours, method.exploration, rounds, method.rate
        self.samplers = [NeighbourSampler(*how) for _ in range(method.depth)]
        self.input = NodeInput(data, self.sees, width)
        self.linears = nn.ModuleList([nn.Linear(width, width) for _ in self.samplers[1:]])
        self.last = DistMult(data.mx.num_layers, width)

    def forward(self, graph: PackedGraph, pairs: Tensor, target: Tensor, hidden: HiddenEdges) -> Tensor:
        """Return the logits (P,) of pairs; in training, neighbours are sampled and the bandits learn."""
        block, u, v = block_of(graph, pairs, self.layer(graph, target), hidden)
        x = self.input(block)
        root = (block.degree.to(x.dtype) + 1).rsqrt()
        share = root[block.edge_index[0]] * root[block.edge_index[1]]
        for place, sampler in enumerate(self.samplers):
            x = self.linears[place - 1](F.relu(x)) if place else x
            source, destination, weight = *block.edge_index, share
            if self.training:
                arc, weight = sampler.sample(block, share, x.detach())
                source, destination = source[arc], destination[arc]
            sums = torch.zeros_like(x).index_add(0, destination, x[source] * weight.to(x.dtype).unsqueeze(1))
            x = sums + x * (root**2).unsqueeze(1)
        return self.last(x[u], x[v], target)


@parameters
class SampledGCN(NeuralBaseline):
    """Convolutions in which every node samples `neighbours` of its neighbours, by a bandit of its own.

    The convolution is x_i = W (sum over neighbours j of a_ij x_j + a_ii x_i), a_ij = 1 / sqrt((d_i + 1)(d_j + 1)).
    Nodes with more than k neighbours estimate the sum from k draws with replacement, with probabilities
    q_ij = (1 - eta) w_ij / (sum of w) + eta / n, n their number of neighbours. DistMult gives the logits of pairs.
    Scores use all neighbours.

    "gnn-bs" (Liu et al., NeurIPS 2020): the estimate is (1 / k) sum of a_ij x_j / q_ij, which is unbiased. The reward
    is r = a_ij^2 ||x_j||^2 / (k q_ij^2), and w_ij grows by the factor exp(delta r / (q_ij n)), with
    delta = sqrt((1 - eta) eta^4 k^5 ln(n / k) / (T n^4)) for T rounds.

    "thanos" (Zhang et al., NeurIPS 2021): the estimate is (n / k) sum of z_j, z_j = a_ij x_j, which is biased. The
    reward is r = 2 <z_j, m_i> - ||z_j||^2, where m_i, the mean of all messages, is estimated by that of the drawn ones;
    w_ij grows by the factor exp(rate r / (q_ij n)), and all w are set back to 1 after every `restart` rounds (Rexp3).

    Differs from the originals: links are predicted, not classes of nodes; each convolution has its own bandits; a draw
    is used in one step; hidden edges are never drawn. The published code of both clips a step of log w to 1, divides
    rates by n^2, and ignores negative rewards of Thanos; here, steps are those of the papers, and q never falls below
    eta / n. The variants with draws without replacement (.M) are left out.
    """

    network = SampledNetwork

    kind: str = choice("gnn-bs", "thanos", kw_only=False)
    graph: str = choice("target", "union")
    neighbours: int = 3  # draws per node, k
    exploration: float = 0.4  # eta; as published, .4 for GNN-BS and .2 for Thanos, which calls it gamma
    rate: float = 0.1  # of Thanos, as published
    restart: int = 2000  # rounds after which Thanos forgets, as published
    width: int = 64
    depth: int = 2
    batch_size: int = 256
    learning_rate: float = 0.003


class NeighbourSampler:
    """The bandits of one convolution; the weight of each arc of the graph is kept."""

    def __init__(
        self, kind: str, graph: PackedGraph, k: int, exploration: float, rounds: int, rate: float = 0.1
    ) -> None:
        self.kind, self.k, self.exploration, self.rounds, self.rate = kind, k, exploration, max(rounds, 1), rate
        self.log_weight = torch.zeros(len(graph.both.neighbour), dtype=torch.float64, device=graph.device)
        self.done = 0

    def sample(self, block: Block, share: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return drawn arcs and their weights in the estimated sums, and learn from them; `share` (A,) has all a_ij."""
        if self.kind == "thanos" and self.done and self.done % self.rounds == 0:
            self.log_weight.zero_()
        self.done += 1
        arms = Arms.of(block.edge_index[1], len(x))
        many = arms.count > self.k
        kept = torch.nonzero(~many[arms.bandit]).squeeze(1)
        lists, (source, destination) = block.graph.both, block.edge_index
        row = lists.rows(block.layer[destination], block.node[destination])
        place = lists.find(row, block.node[source])[1]  # of the arcs of the block in its graph
        probability = arms.probabilities(self.log_weight[place], self.exploration)
        bandits = torch.nonzero(many).squeeze(1)
        drawn = arms.draw(probability, bandits, self.k)
        q, n = probability[drawn], arms.count[bandits].unsqueeze(1).expand(-1, self.k)
        message = x[block.edge_index[0][drawn]] * share[drawn].unsqueeze(2)
        if self.kind == "thanos":
            weight = share[drawn] * n / self.k
            reward, rate = biased_reward(message, message.mean(1, keepdim=True)), self.rate / n.double()
        else:
            weight = share[drawn] / (self.k * q)
            reward = variance_reward(message.norm(dim=2), q, self.k)
            rate = variance_rate(n, self.k, self.exploration, self.rounds) / n
        flat, step = drawn.reshape(-1), (rate.reshape(-1) * reward.reshape(-1).double() / q.reshape(-1))
        self.log_weight = self.log_weight.index_add(0, place[flat], step.to(self.log_weight.dtype))  # Exp3
        return torch.cat([kept, flat]), torch.cat([share[kept].double(), weight.reshape(-1).double()])


@dataclass(frozen=True, eq=False)
class Arms:
    """The arms of V bandits, A in all, sorted by bandit."""

    bandit: Tensor  # (A,)
    start: Tensor  # (V,) the first arm of each bandit
    count: Tensor  # (V,)

    @classmethod
    def of(cls, bandit: Tensor, size: int) -> "Arms":
        """Return the arms of `size` bandits, given the bandit of each arm, sorted."""
        count = torch.bincount(bandit, minlength=size)
        return cls(bandit, torch.cumsum(count, 0) - count, count)

    def probabilities(self, log_weight: Tensor, exploration: float) -> Tensor:
        """Return q (A,): (1 - exploration) w / (sum of the w of the bandit) + exploration / n, n its number of arms."""
        highest = log_weight.new_full((len(self.count),), -torch.inf)
        highest = highest.scatter_reduce(0, self.bandit, log_weight, "amax")
        weight = torch.exp(log_weight - highest[self.bandit])
        total = weight.new_zeros(len(self.count)).index_add(0, self.bandit, weight)
        return (1 - exploration) * weight / total[self.bandit] + exploration / self.count[self.bandit]

    def draw(self, probability: Tensor, bandits: Tensor, k: int) -> Tensor:
        """Return k arms (m, k), with replacement, of each of some bandits (m,), drawn with q (A,)."""
        upto = torch.cumsum(probability.double(), 0)
        first, last = self.start[bandits], self.start[bandits] + self.count[bandits] - 1
        low = (upto[first] - probability[first]).unsqueeze(1)
        chance = torch.rand(len(bandits), k, dtype=torch.float64, device=upto.device)
        arm = torch.searchsorted(upto, low + chance * (upto[last].unsqueeze(1) - low), right=True)
        return arm.clamp(min=first.unsqueeze(1), max=last.unsqueeze(1))


def variance_reward(norm: Tensor, probability: Tensor, k: int) -> Tensor:
    """Return the reward of GNN-BS: ||z||^2 / (k q^2), how fast the variance of the estimate falls as q grows.

    The variance of (1 / k) sum over draws of z / q, z = a h, is at most the sum over neighbours of ||z||^2 / (k q).
    """
    return norm**2 / (k * probability**2)


def biased_reward(message: Tensor, mean: Tensor) -> Tensor:
    """Return the reward of Thanos: 2 <z, mean> - ||z||^2 = ||mean||^2 - ||z - mean||^2; z = a h is a message.

    It is large for messages near the mean of all messages, and never infinite: bias is traded for variance.
    """
    return 2 * (message * mean).sum(-1) - (message**2).sum(-1)


def variance_rate(count: Tensor, k: int, exploration: float, horizon: int) -> Tensor:
    """Return the learning rate of GNN-BS for bandits with n > k arms and T rounds; see `SampledGCN`."""
    n = count.double()
    return torch.sqrt((1 - exploration) * exploration**4 * k**5 * torch.log(n / k) / (horizon * n**4))


add_one_graph("gnn-bs", partial(SampledGCN, kind="gnn-bs"))
add_one_graph("thanos", partial(SampledGCN, kind="thanos", exploration=0.2))

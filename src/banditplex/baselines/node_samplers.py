"""Bandits that sample neighbours: one bandit per vertex, whose arms are its neighbours; all vertices at once.

The arms of all bandits stand in one list, sorted by bandit (`Arms`). Weights are kept as logarithms.
"""

from dataclasses import dataclass

import torch
from torch import Tensor


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


def variance_reward(share: Tensor, norm: Tensor, probability: Tensor, k: int) -> Tensor:
    """Return the reward of GNN-BS: a^2 ||h||^2 / (k q^2), how fast the variance of the estimate falls as q grows.

    The variance of (1 / k) sum over draws of a h / q is at most the sum over neighbours of a^2 ||h||^2 / (k q); the
    reward is minus its derivative. Parameters: a, ||h|| and q of drawn neighbours.
    """
    return share**2 * norm**2 / (k * probability**2)


def biased_reward(message: Tensor, mean: Tensor) -> Tensor:
    """Return the reward of Thanos: 2 <z, mean> - ||z||^2 = ||mean||^2 - ||z - mean||^2; z = a h is a message.

    It is large for messages near the mean of all messages, and never infinite: bias is traded for variance.
    """
    return 2 * (message * mean).sum(-1) - (message**2).sum(-1)


def exp3(log_weight: Tensor, arm: Tensor, reward: Tensor, probability: Tensor, rate: Tensor) -> Tensor:
    """Return log w + rate * reward / q for drawn arms (n,), and the others unchanged: the update of Exp3.

    `rate` (n,) is the learning rate divided by the number of arms.
    """
    return log_weight.index_add(0, arm, (rate * reward / probability).to(log_weight.dtype))


def variance_rate(count: Tensor, k: int, exploration: float, horizon: int) -> Tensor:
    """Return the learning rate of GNN-BS for bandits with n > k arms and T rounds.

    sqrt((1 - eta) eta^4 k^5 ln(n / k) / (T n^4)), eta being the exploration.
    """
    n = count.double()
    return torch.sqrt((1 - exploration) * exploration**4 * k**5 * torch.log(n / k) / (horizon * n**4))

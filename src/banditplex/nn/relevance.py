"""Layer losses: how little another layer has to say about a target layer, as a number >= 0 (small = relevant).

A relevance is a function from what a step has seen to one layer loss per (target, layer) that was compared.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from banditplex.errors import InputError
from banditplex.registry import Registry


@dataclass(frozen=True, eq=False)
class Seen:
    """What a step has seen of G comparisons of a target layer with another layer, as flat lists.

    Pairs of the batch: entry i belongs to comparison `pair_group[i]`. Nodes of the batch, each once per
    comparison: entry i belongs to comparison `node_group[i]`; the pairs' own edges are left out of both embeddings.
    """

    num_groups: int
    pair_group: Tensor  # (n,)
    label: Tensor  # (n,) 1 = edge, 0 = none
    own: Tensor  # (n,) logit of the target layer's term alone
    other: Tensor  # (n,) logit of the compared layer's term alone
    node_group: Tensor  # (m,)
    target_embedding: Tensor  # (m, width)
    layer_embedding: Tensor  # (m, width)

    def is_finite(self) -> bool:
        """Say whether all logits and embeddings are numbers."""
        parts = (self.own, self.other, self.target_embedding, self.layer_embedding)
        return all(bool(torch.isfinite(part).all()) for part in parts)

    def mean(self, values: Tensor, group: Tensor) -> Tensor:
        """Return the mean of `values` per comparison, (G,)."""
        total = values.new_zeros(self.num_groups).index_add_(0, group, values)
        count = values.new_zeros(self.num_groups).index_add_(0, group, torch.ones_like(values))
        return total / count.clamp(min=1)


DIVERGED = (
    "Expected finite losses, got a training that has diverged: try a smaller learning_rate, or node features and "
    "weights of a smaller scale."
)
Relevance = Callable[[Seen], Tensor]
RELEVANCES: Registry[Relevance] = Registry("relevance")


def euclidean(seen: Seen) -> Tensor:
    """Root mean square, over the nodes of the batch, of the distance of their embeddings in the two layers.

    >>> zero, ends = torch.zeros(2, dtype=torch.long), torch.tensor([[3.0, 4.0], [0.0, 0.0]])
    >>> none = torch.zeros(0)
    >>> euclidean(Seen(1, none.long(), none, none, none, zero, ends, torch.zeros(2, 2))).square()
    tensor([12.5000])
    """
    distance = (seen.target_embedding - seen.layer_embedding).square().sum(1)
    return seen.mean(distance, seen.node_group).sqrt()


def cosine(seen: Seen) -> Tensor:
    """Mean, over the nodes of the batch, of 1 - cos of their embeddings in the two layers; a zero vector gives 1."""
    a, b = seen.target_embedding, seen.layer_embedding
    size = a.norm(dim=1) * b.norm(dim=1)
    angle = torch.where(size > 0, (a * b).sum(1) / torch.where(size > 0, size, 1), 0)
    return seen.mean((1 - angle).clamp(0, 2), seen.node_group)


def predictive(seen: Seen) -> Tensor:
    """Link loss with the target's own term and the layer's term, divided by that of the own term alone.

    On the pairs of the batch, before the gradient step: below 1 if the layer helps.
    """
    alone = F.binary_cross_entropy_with_logits(seen.own, seen.label, reduction="none")
    with_layer = F.binary_cross_entropy_with_logits(seen.own + seen.other, seen.label, reduction="none")
    below = seen.mean(alone, seen.pair_group).clamp(min=1e-12)
    return seen.mean(with_layer, seen.pair_group) / below


RELEVANCES.add("predictive", predictive)
RELEVANCES.add("euclidean", euclidean)
RELEVANCES.add("cosine", cosine)


def get_relevance(relevance: str | Relevance) -> Relevance:
    """Return a relevance by name, or the given callable."""
    if callable(relevance):
        return relevance
    return RELEVANCES[relevance]


def compares_embeddings(relevance: Relevance) -> bool:
    """Say whether a relevance can be computed wherever two embeddings are: all but `predictive`, unless it says no.

    A callable of yours is asked for pairs that were drawn only, unless it has an attribute `compares_embeddings`.
    """
    return relevance in (euclidean, cosine) or bool(getattr(relevance, "compares_embeddings", False))


def is_symmetric(relevance: Relevance) -> bool:
    """Say whether a relevance of (target, layer) is also that of (layer, target)."""
    return relevance in (euclidean, cosine) or bool(getattr(relevance, "symmetric", False))


def layer_losses(relevance: Relevance, seen: Seen) -> Tensor:
    """Apply a relevance and refuse what is no layer loss, with the relevance's name."""
    with torch.no_grad():
        losses = relevance(seen)
    name = getattr(relevance, "__name__", type(relevance).__name__)
    if not isinstance(losses, Tensor) or losses.shape != (seen.num_groups,):
        got = tuple(losses.shape) if isinstance(losses, Tensor) else type(losses).__name__
        raise InputError(f"Expected relevance {name!r} to return a tensor of shape ({seen.num_groups},), got {got}.")
    losses = losses.detach().to("cpu", torch.float64)
    wrong = ~torch.isfinite(losses) | (losses < 0)
    if wrong.any() and not seen.is_finite():
        raise InputError(DIVERGED)
    if wrong.any():
        raise InputError(f"Expected finite layer losses >= 0 from relevance {name!r}, got {losses[wrong][0].item()}.")
    return losses

"""Layer losses: how little another layer says about a target layer, as a number >= 0 (small = relevant).

A relevance turns the logits and embeddings of a step into one layer loss per comparison of a target with a layer.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from banditplex import backend
from banditplex.bandits.values import LARGEST_LOSS
from banditplex.errors import InputError
from banditplex.registry import Registry


@dataclass(frozen=True, eq=False)
class RelevanceBatch:
    """The inputs of G comparisons of a target layer with another layer, as flat lists.

    Pairs of the batch: entry i belongs to comparison `pair_group[i]`. Nodes of the batch, each once per comparison:
    entry i belongs to comparison `node_group[i]`; both embeddings leave out the pairs' own edges. What the relevance
    does not need is empty.
    """

    num_groups: int
    pair_group: Tensor  # (n,)
    label: Tensor  # (n,) 1 = edge, 0 = no edge
    own: Tensor  # (n,) logit of the target layer's term alone
    other: Tensor  # (n,) logit of the compared layer's term alone
    node_group: Tensor  # (m,)
    target_embedding: Tensor  # (m, width)
    layer_embedding: Tensor  # (m, width)

    def is_finite(self) -> bool:
        """Say whether all logits and embeddings are finite."""
        parts = (self.own, self.other, self.target_embedding, self.layer_embedding)
        return all(bool(torch.isfinite(part).all()) for part in parts)

    def mean(self, values: Tensor, group: Tensor) -> Tensor:
        """Return the mean of `values` per comparison, (G,)."""
        total = values.new_zeros(self.num_groups).index_add_(0, group, values)
        count = values.new_zeros(self.num_groups).index_add_(0, group, torch.ones_like(values))
        return total / count.clamp(min=1)


class Diverged(InputError):
    """Losses or gradients that are not finite; `where` says in which epoch and layer, where it is known."""

    def __init__(self, where: str = "") -> None:
        super().__init__(
            f"Expected finite losses{where}, but training diverged: try a smaller learning_rate, or node features and "
            "weights of a smaller scale."
        )

    @classmethod
    def during(cls, epoch: int, layers: Sequence[Any]) -> "Diverged":
        """Return an error about the target layers of a step."""
        names = ", ".join(map(repr, layers[:3])) + ", ..." * (len(layers) > 3)
        return cls(f" in epoch {epoch} in target layer{'s' * (len(layers) > 1)} {names}")


LayerLoss = Callable[[RelevanceBatch], Tensor]
NEEDS = frozenset({"logits", "embeddings"})


@dataclass(frozen=True)
class Relevance:
    """A layer loss, with what it needs to be computed.

    Parameters
    ----------
    function
        Called with a `RelevanceBatch` of G comparisons; returns G layer losses >= 0.
    needs
        What it reads: "logits" (`label`, `own`, `other`), "embeddings" (`target_embedding`, `layer_embedding`), or
        both. A layer loss that needs embeddings alone gets free observations: it is computed for every pair of layers
        that a step has encoded anyway, drawn or not.
    symmetric
        Whether the loss of (target, layer) is also that of (layer, target).

    To change a layer loss and keep its needs, use `dataclasses.replace`:

    >>> from dataclasses import replace
    >>> squared = replace(euclidean, function=lambda batch: euclidean(batch).square())
    >>> sorted(squared.needs), squared.symmetric
    (['embeddings'], True)
    """

    function: LayerLoss
    needs: Collection[str] = NEEDS
    symmetric: bool = False

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InputError(f"Expected a function as relevance, got {self.function!r}.")
        if isinstance(self.needs, str) or not self.needs or not set(self.needs) <= NEEDS:
            raise InputError(f"Expected needs to be a set out of {sorted(NEEDS)}, got {self.needs!r}.")
        object.__setattr__(self, "needs", frozenset(self.needs))

    @property
    def name(self) -> str:
        """What the function is called, without leading underscores: the built-in ones are called as in `RELEVANCES`."""
        return str(getattr(self.function, "__name__", type(self.function).__name__)).lstrip("_")

    @property
    def is_free(self) -> bool:
        """Whether it can be computed wherever two layers have been encoded."""
        return self.needs == {"embeddings"}

    def __call__(self, batch: RelevanceBatch) -> Tensor:
        """Return the layer losses (G,) as the function computes them."""
        return self.function(batch)

    def losses(self, batch: RelevanceBatch) -> Tensor:
        """Return the layer losses (G,) on the CPU; refuse values that are not layer losses."""
        with torch.no_grad():
            losses = self.function(batch)
        if not isinstance(losses, Tensor) or losses.shape != (batch.num_groups,):
            got = tuple(losses.shape) if isinstance(losses, Tensor) else type(losses).__name__
            expected = f"a tensor of shape ({batch.num_groups},)"
            raise InputError(f"Expected relevance {self.name!r} to return {expected}, got {got}.")
        losses = losses.detach().to("cpu", torch.float64)
        values = losses.numpy()
        if values.min(initial=0.0) >= 0 and values.max(initial=0.0) <= LARGEST_LOSS:  # NaN is neither
            return losses
        if not batch.is_finite():
            raise Diverged
        wrong = values[~((values >= 0) & (values <= LARGEST_LOSS))]
        expected = f"layer losses from 0 to {LARGEST_LOSS:g} from relevance {self.name!r}"
        raise InputError(f"Expected finite {expected}, got {wrong[0]}.")


def _euclidean(batch: RelevanceBatch) -> Tensor:
    """Root mean square, over the nodes of the batch, of the distance of their embeddings in the two layers."""
    distance = (batch.target_embedding - batch.layer_embedding).square().sum(1)
    return batch.mean(distance, batch.node_group).sqrt()


def _cosine(batch: RelevanceBatch) -> Tensor:
    """Mean, over the nodes of the batch, of 1 - cos of their embeddings in the two layers; a zero vector gives 1."""
    a, b = batch.target_embedding, batch.layer_embedding
    size = a.norm(dim=1) * b.norm(dim=1)
    angle = torch.where(size > 0, (a * b).sum(1) / torch.where(size > 0, size, 1), 0)
    return batch.mean((1 - angle).clamp(0, 2), batch.node_group)


def _predictive(batch: RelevanceBatch) -> Tensor:
    """Link loss with the target's own term and the layer's term, divided by that of the own term alone.

    On the pairs of the batch, before the gradient step: below 1 if the layer helps.
    """
    return backend.loss_ratios(batch.own, batch.other, batch.label, batch.pair_group, batch.num_groups)


predictive = Relevance(_predictive, needs={"logits"})
euclidean = Relevance(_euclidean, needs={"embeddings"}, symmetric=True)
cosine = Relevance(_cosine, needs={"embeddings"}, symmetric=True)

RELEVANCES: Registry[Relevance] = Registry("relevance")
RELEVANCES.add("predictive", predictive)
RELEVANCES.add("euclidean", euclidean)
RELEVANCES.add("cosine", cosine)


def get_relevance(relevance: str | Relevance | LayerLoss) -> Relevance:
    """Return a relevance by name; a plain function needs logits and embeddings, and so gets no free observations."""
    if isinstance(relevance, Relevance):
        return relevance
    return Relevance(relevance) if callable(relevance) else RELEVANCES[relevance]

"""What the policies learn from a step: layer losses of drawn layers, and observations that came for free."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from banditplex.arrays import Floats, Ints
from banditplex.bandits import Draw, Observations, observation_probability
from banditplex.bandits.arms import to_arm, to_layer
from banditplex.errors import InputError
from banditplex.nn import Logits
from banditplex.nn.relevance import Diverged, Relevance, RelevanceBatch
from banditplex.training.batches import Batch
from banditplex.training.distributed import ALONE, Group


class LayerLosses(NamedTuple):
    """The layer losses of a step with B targets."""

    layers: Ints  # (B, m) the layers that each target was compared with
    values: Floats  # (B, m)

    def of(self, drawn: Ints) -> Floats:
        """Return the losses of drawn layers (B, k), which are among those compared."""
        if self.layers.shape == drawn.shape:
            return self.values
        return np.take_along_axis(self.values, np.searchsorted(self.layers[0], drawn), 1)


class SideInformation(NamedTuple):
    """What a policy observes besides the losses of its drawn arms; see `Policy.update`."""

    probability: Floats | None = None
    extra: Observations | None = None


def layer_losses(relevance: Relevance, batch: Batch, logits: Logits, group: Group = ALONE) -> LayerLosses:
    """Return the layer losses of the drawn layers or, if observations are free, of all layers of the step.

    They are those of all targets of the step: each process of the group has some of them in its batch.
    """
    if batch.whole is None:
        compared = compared_layers(relevance, batch)
        values = relevance.losses(_relevance_batch(relevance, batch, logits, compared)).numpy()
        return LayerLosses(compared, values.reshape(compared.shape))
    compared, here = compared_layers(relevance, batch.whole), np.isin(batch.whole.instances, batch.instances)
    values, failed = np.zeros(compared.shape), None
    try:
        own = relevance.losses(_relevance_batch(relevance, batch, logits, compared[here])).numpy()
        values[here] = own.reshape(-1, compared.shape[1])
    except InputError as error:  # the others must know, or they would wait
        values[here], failed = np.nan, error
    group.add_up(torch.from_numpy(values))
    if failed is not None or np.isnan(values).any():
        raise failed or Diverged
    return LayerLosses(compared, values)


def compared_layers(relevance: Relevance, batch: Batch) -> Ints:
    """Return the layers (B, m) that each target of a batch is compared with."""
    return np.tile(batch.encoded, (len(batch.table), 1)) if relevance.is_free else batch.drawn


def _relevance_batch(relevance: Relevance, batch: Batch, logits: Logits, compared: Ints) -> RelevanceBatch:
    """Gather what a relevance needs to compare each target with layers (B, m)."""
    m, none, no_group = compared.shape[1], batch.label[:0], batch.row[:0]
    pair_group, label, own, other = no_group, none, none, none
    if "logits" in relevance.needs:
        pair_group, own, label, other = batch.row, logits.own.detach(), batch.label, logits.other.reshape(-1).detach()
        if m != 1:
            pair_group = (batch.row.unsqueeze(1) * m + torch.arange(m, device=batch.row.device)).reshape(-1)
            own, label = own.repeat_interleave(m), label.repeat_interleave(m)
    node_group, first, second = no_group, none.view(0, 0), none.view(0, 0)
    if "embeddings" in relevance.needs and logits.block is not None:
        node_group, first, second = _embeddings(batch, logits, compared)
    return RelevanceBatch(compared.size, pair_group, label, own, other, node_group, first, second)


def _embeddings(batch: Batch, logits: Logits, compared: Ints) -> tuple[Tensor, Tensor, Tensor]:
    """Return the embeddings, in both layers, of the nodes of each comparison's batch, each node once."""
    assert logits.block is not None
    assert logits.embedding is not None
    num_nodes, m = logits.block.graph.num_nodes, compared.shape[1]
    key = torch.unique((batch.row.unsqueeze(1) * num_nodes + batch.pairs).reshape(-1))
    row, node = key // num_nodes, (key % num_nodes).repeat_interleave(m)
    group = (row.unsqueeze(1) * m + torch.arange(m, device=row.device)).reshape(-1)
    target, layer = (torch.from_numpy(each.reshape(-1)).to(row.device) for each in (batch.target, compared))
    embedding = logits.embedding.detach()
    vertices = [(target[row].repeat_interleave(m), node), (layer[group], node)]
    first, second = (embedding[logits.block.vertex(*each)] for each in vertices)
    return group, first, second


def encoding_probability(draw: Draw, target: Ints, layer: Ints) -> Floats:
    """Return how likely it was that each of `layer` (S,), sorted, would be encoded in the step of a draw.

    The targets `target` (B,) of the step are among the layers and are encoded anyway.
    """
    inclusion = draw.inclusion
    arm = np.minimum(to_arm(target[:, None], layer[None]), inclusion.shape[1] - 1)
    chance = np.where(layer[None] == target[:, None], 0.0, np.take_along_axis(inclusion, arm, 1))
    return observation_probability(chance, np.searchsorted(layer, target))


def free_observations(
    draw: Draw, target: Ints, layers: Ints, losses: Floats, instance_of: Ints, *, symmetric: bool
) -> SideInformation:
    """Turn the layer losses of all encoded layers into observations.

    Parameters: `target` (B,), the layers of the draw's instances; `layers` (S,), all encoded layers, sorted; `losses`
    (B, S); `instance_of` (num_layers,), the policy instance of each layer or -1.

    Returns the observation probabilities of the drawn arms (B, k) and all further observations. Other encoded layers
    are observed with their encoding probability. If the layer loss is symmetric, layers that are no target of this step
    learn about the targets, as advice. After draws that were used for several steps, everything further is advice.
    """
    column = np.searchsorted(layers, to_layer(target[:, None], draw.arms))
    losses = np.where(layers[None] == target[:, None], np.nan, losses)  # a target is not compared with itself
    row = np.arange(len(target))[:, None]
    chance = encoding_probability(draw, target, layers) if draw.marginals else np.full(len(layers), np.nan)
    rest = ~np.isnan(losses)
    rest[row, column] = False
    i, j = np.nonzero(rest)
    instance, arm = draw.instances[i], to_arm(target[i], layers[j])
    loss, probability = losses[i, j], chance[j]
    if symmetric:
        a, b = np.nonzero(~np.isnan(losses) & ~np.isin(layers, target) & (instance_of[layers] >= 0))
        instance = np.concatenate([instance, instance_of[layers[b]]])
        arm = np.concatenate([arm, to_arm(layers[b], target[a])])
        loss = np.concatenate([loss, losses[a, b]])
        probability = np.concatenate([probability, np.full(len(a), np.nan)])
    of_drawn = chance[column] if draw.marginals else draw.probability
    return SideInformation(of_drawn, Observations(instance, arm, loss, probability))

"""Layers as the policies see them: arms, observations and the probability of each observation."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditplex.bandits import Draw, Observations, Policy, observation_probability
from banditplex.rng import stream

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def to_layer(target: Any, arm: Any) -> Any:
    """Return the layer that an arm of a target stands for: arms count the layers, the target left out.

    >>> to_layer(np.array([2]), np.array([1])), to_layer(np.array([2]), np.array([2]))
    (array([1]), array([3]))
    """
    return arm + (arm >= target)


def to_arm(target: Any, layer: Any) -> Any:
    """Return the arm of a target that stands for a layer."""
    return layer - (layer > target)


def chance_to_be_encoded(draw: Draw, target: Ints, layer: Ints) -> Floats:
    """Return how likely it was that each of `layer` (S,), rising, would be encoded in the step of a draw.

    Targets `target` (B,) of the step are among the layers and encoded anyway.
    """
    inclusion = draw.inclusion
    arm = np.minimum(to_arm(target[:, None], layer[None]), inclusion.shape[1] - 1)
    chance = np.where(layer[None] == target[:, None], 0.0, np.take_along_axis(inclusion, arm, 1))
    return observation_probability(chance, np.searchsorted(layer, target))


def free_observations(
    draw: Draw, target: Ints, layers: Ints, losses: Floats, instance_of: Ints, *, symmetric: bool
) -> tuple[Floats, Floats, Observations]:
    """Turn the layer losses of a whole step into what its policies may learn.

    Parameters: `target` (B,), layers of the draw's instances; `layers` (S,), all layers encoded, rising; `losses`
    (B, S), NaN where a target meets itself; `instance_of` (num_layers,), the policy instance of each layer or -1.

    Returns the losses of the drawn arms (B, k), their observation probabilities (B, k), and all further
    observations: of other encoded layers with their probability and, for a symmetric layer loss, what a layer that
    is no target of this step learns of the targets, as advisory.
    """
    drawn = to_layer(target[:, None], draw.arms)
    column = np.searchsorted(layers, drawn)
    row = np.arange(len(target))[:, None]
    chance = chance_to_be_encoded(draw, target, layers)
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
    return losses[row, column], chance[column], Observations(instance, arm, loss, probability)


def mirrored(draw: Draw, target: Ints, losses: Floats, instance_of: Ints) -> Observations | None:
    """Return what drawn layers may learn of the targets that drew them, as advisory; None if no such layer is a target.

    If j helps to predict links of i, i probably helps to predict those of j: a hint, which j's own draws correct.
    Layers that are no targets, or drew that target themselves in this step, are told nothing.
    """
    layer = to_layer(target[:, None], draw.arms)
    instance = instance_of[layer]
    if instance.max(initial=-1) < 0:
        return None
    arm = to_arm(layer, target[:, None])
    width = len(instance_of)
    known = np.sort(draw.instances[:, None] * width + draw.arms, axis=None)
    key = instance * width + arm
    keep = (instance >= 0) & (known[np.minimum(np.searchsorted(known, key), len(known) - 1)] != key)
    return Observations(instance[keep], arm[keep], losses[keep])


def most_probable(policy: Policy, target: Ints, seed: int) -> Ints:
    """Return the k layers (len(target), k) that each instance is most likely to draw; ties fall at random, by seed."""
    inclusion = policy.inclusion()
    ties = stream(seed, "ties").random(inclusion.shape)
    arms = np.lexsort((ties, -inclusion))[:, : policy.k]
    return np.sort(to_layer(target[:, None], arms), axis=1)

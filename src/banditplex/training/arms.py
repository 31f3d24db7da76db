"""Layers as the policies see them: arms, observations and the probability of each observation."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditplex.bandits import Draw, Observations, Policy
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


def observation_probability(draw: Draw, target: Ints, layer: Ints) -> Floats:
    """Return how likely it was that each of `layer` (S,) would be encoded in the step of a draw.

    1 for the layers of the targets `target` (B,) themselves; otherwise 1 - product over targets of
    (1 - probability of drawing it), since targets draw independently.
    """
    inclusion = draw.inclusion
    chance = inclusion[np.arange(len(target))[:, None], to_arm(target[:, None], layer[None]).clip(0, None)]
    with np.errstate(divide="ignore"):
        drawn = -np.expm1(np.log1p(-np.minimum(chance, 1)).sum(axis=0))
    return np.where(np.isin(layer, target), 1.0, drawn)


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
    chance = observation_probability(draw, target, layers)
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


def most_probable(policy: Policy, target: Ints, seed: int) -> Ints:
    """Return the k layers (len(target), k) that each instance is most likely to draw; ties fall at random, by seed."""
    inclusion = policy.inclusion()
    ties = stream(seed, "ties").random(inclusion.shape)
    arms = np.lexsort((ties, -inclusion))[:, : policy.k]
    return np.sort(to_layer(target[:, None], arms), axis=1)

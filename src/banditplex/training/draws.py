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


class KeptDraws:
    """The draw of each instance, which serves for `steps` of its steps; then its policy is told the mean losses.

    >>> kept = KeptDraws(num_instances=1, k=1, steps=2)
    >>> first, loss = Draw(instances=[0], arms=[[3]], probability=[[0.25]]), np.array([[0.5]])
    >>> kept.take(first, kept.due(np.array([0]))).tolist(), kept.close(first, np.array([0]), loss)[2].tolist()
    ([[3]], [False])
    >>> none = Draw(instances=kept.due(np.array([0])), arms=np.empty((0, 1), int), probability=np.empty((0, 1)))
    >>> arms = kept.take(none, np.array([0]))
    >>> draw, mean, ended = kept.close(none, np.array([0]), 3 * loss)
    >>> arms.tolist(), draw.arms.tolist(), mean.tolist(), ended.tolist()
    ([[3]], [[3]], [[1.0]], [True])
    """

    def __init__(self, *, num_instances: int, k: int, steps: int) -> None:
        self._steps = steps
        self._left = np.zeros(num_instances, np.int64)
        self._arms = np.zeros((num_instances, k), np.int64)
        self._probability, self._total = np.zeros((2, num_instances, k))

    def due(self, instances: Ints) -> Ints:
        """Return those of `instances` (B,) that have to draw."""
        due: Ints = instances[self._left[instances] == 0]
        return due

    def take(self, draw: Draw, instances: Ints) -> Ints:
        """Take in the draw of those that had to; return the arms (B, k) for a step of `instances` (B,)."""
        self._arms[draw.instances], self._probability[draw.instances] = draw.arms, draw.probability
        self._left[draw.instances] = self._steps
        self._left[instances] -= 1
        arms: Ints = self._arms[instances]
        return arms

    def close(self, draw: Draw, instances: Ints, losses: Floats) -> tuple[Draw, Floats, NDArray[np.bool_]]:
        """Add the layer losses (B, k) of a step of `instances` (B,), in which `draw` was made.

        Returns the draws that end with this step, their mean layer losses, and which instances (B,) they belong to. A
        draw that was kept knows the probability of its own arms only.
        """
        self._total[instances] += losses
        ended = self._left[instances] == 0
        here = instances[ended]
        mean = self._total[here] / self._steps
        self._total[here] = 0.0
        if self._steps > 1:
            draw = Draw(here, self._arms[here], self._probability[here])
        return draw, mean, ended

    def drop(self) -> None:
        """Forget all draws: every instance has to draw anew."""
        self._left[:] = 0
        self._total[:] = 0.0

    def state_dict(self) -> dict[str, Any]:
        """Return the draws that are being kept."""
        arrays = {"left": self._left, "arms": self._arms, "probability": self._probability, "total": self._total}
        return {name: array.copy() for name, array in arrays.items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go back to where `state_dict` was taken."""
        self._left, self._arms = state["left"].copy(), state["arms"].copy()
        self._probability, self._total = state["probability"].copy(), state["total"].copy()


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
) -> tuple[Floats, Observations]:
    """Turn the layer losses of a whole step into what its policies may learn.

    Parameters: `target` (B,), layers of the draw's instances; `layers` (S,), all layers encoded, rising; `losses`
    (B, S), NaN where a target meets itself; `instance_of` (num_layers,), the policy instance of each layer or -1.

    Returns the observation probabilities of the drawn arms (B, k), and all further observations: of other encoded
    layers with their probability and, for a symmetric layer loss, what a layer that is no target of this step learns
    of the targets, as advisory. With draws that were kept over several steps, all of these are advisory.
    """
    drawn = to_layer(target[:, None], draw.arms)
    column = np.searchsorted(layers, drawn)
    row = np.arange(len(target))[:, None]
    chance = chance_to_be_encoded(draw, target, layers) if draw.marginals else np.full(len(layers), np.nan)
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
    return of_drawn, Observations(instance, arm, loss, probability)


def mirrored(draw: Draw, target: Ints, drawn: Ints, losses: Floats, instance_of: Ints) -> Observations | None:
    """Return what drawn layers may learn of the targets that drew them, as advisory; None if that is nothing.

    If j helps to predict links of i, i probably helps to predict those of j: a hint, which j's own draws correct.
    Layers that are no targets, or drew that target themselves in this step, are told nothing.

    Parameters: `target` (B,), layers of the draw's instances; `drawn` (B, k), the layers that its arms stand for;
    `losses` (B, k); `instance_of` (num_layers,), the policy instance of each layer or -1.
    """
    at = (instance_of[drawn] >= 0).nonzero()
    if not len(at[0]):
        return None
    instance, arm = instance_of[drawn[at]], to_arm(drawn[at], target[at[0]])
    key, known = instance * len(instance_of) + arm, (draw.instances[:, None] * len(instance_of) + draw.arms).ravel()
    known.sort()
    told = known.take(known.searchsorted(key), mode="clip") != key
    return Observations(instance[told], arm[told], losses[at][told]) if np.count_nonzero(told) else None


def most_probable(policy: Policy, target: Ints, seed: int) -> Ints:
    """Return the k layers (len(target), k) that each instance is most likely to draw; ties fall at random, by seed."""
    inclusion = policy.inclusion()
    ties = stream(seed, "ties").random(inclusion.shape)
    arms = np.lexsort((ties, -inclusion))[:, : policy.k]
    return np.sort(to_layer(target[:, None], arms), axis=1)

"""Free observations: what policies gain when the targets of a step see each other's layers.

L layers are points that move, as embeddings do while they are trained; the layer loss of two layers is their
distance, with a little noise. There is one instance per layer, whose arms are the other layers. Every step
has a batch of targets, each of which draws k layers. Two layers that were both computed (targets and drawn
layers are) show their loss to whoever has use for it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from banditplex.bandits import Observations, Policy, make_policy
from banditplex.bandits.arms import observation_probability
from banditplex.rng import stream
from experiments.regret import settings
from experiments.regret.measure import Result

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


class Sharing(StrEnum):
    """What an instance is told: losses of its own draws; free ones too, as advice; or with probabilities."""

    OWN = "own draws"
    ADVISORY = "advisory"
    PROBABILITIES = "probabilities"


@dataclass(frozen=True)
class Layers:
    """Points (runs, L, d) on their way from `start` to `end`: end + (start - end) exp(-pace t)."""

    start: Array
    end: Array
    pace: float

    def distances(self, time: int, batch: Indices) -> Array:
        """Return the distances (runs, B, L) between targets (runs, B) and all layers."""
        points = self.end + (self.start - self.end) * np.exp(-self.pace * time)
        targets = np.take_along_axis(points, batch[:, :, None], axis=1)
        square = np.sum(targets**2, axis=2)[:, :, None] + np.sum(points**2, axis=2)[:, None, :]
        square -= 2.0 * targets @ points.swapaxes(1, 2)
        distances: Array = np.sqrt(np.maximum(square, 0.0))
        return distances


def make_layers(rng: np.random.Generator, *, runs: int, layers: int, steps: int) -> Layers:
    """Draw where layers start and end."""
    start, end = rng.standard_normal((2, runs, layers, settings.FREE_DIMENSION))
    return Layers(start, end, 1.0 / (settings.FREE_PACE * steps))


def make_batches(rng: np.random.Generator, *, runs: int, layers: int, targets: int, rounds: int) -> list[Indices]:
    """Return the targets (runs, B) of each step; every layer is a target `rounds` times."""
    orders = [rng.permuted(np.tile(np.arange(layers), (runs, 1)), axis=1) for _ in range(rounds)]
    return [order[:, first : first + targets] for order in orders for first in range(0, layers, targets)]


def noisy(rng: np.random.Generator, distances: Array, batch: Indices) -> Array:
    """Return losses (runs, B, L) around `distances`; two targets see the same loss of each other."""
    losses: Array = distances * (1.0 + settings.FREE_NOISE * rng.uniform(-1.0, 1.0, distances.shape))
    columns = np.repeat(batch[:, None, :], batch.shape[1], axis=1)
    upper = np.triu(np.take_along_axis(losses, columns, axis=2), 1)
    np.put_along_axis(losses, columns, upper + upper.swapaxes(1, 2), axis=2)
    return losses


def over_layers(inclusion: Array, batch: Indices) -> Array:
    """Spread the probabilities (runs, B, L - 1) of arms over layers (runs, B, L), 0 for the target itself."""
    runs, size, arms = inclusion.shape
    spread = np.zeros((runs, size, arms + 1))
    np.put_along_axis(spread, np.arange(arms) + (np.arange(arms) >= batch[:, :, None]), inclusion, axis=2)
    return spread


def step(policy: Policy, losses: Array, batch: Indices, sharing: Sharing, rng: np.random.Generator) -> Array:
    """Let targets (runs, B) play a round on `losses` (runs, B, L); return their inclusion (runs, B, L)."""
    runs, size, layers = losses.shape
    run = np.arange(runs)[:, None]
    draw = policy.draw(rng, (run * layers + batch).ravel())
    inclusion = over_layers(draw.inclusion.reshape(runs, size, -1), batch)
    arms = draw.arms.reshape(runs, size, -1)
    drawn = arms + (arms >= batch[:, :, None])
    own = np.take_along_axis(losses, drawn, axis=2).reshape(draw.arms.shape)
    if sharing is Sharing.OWN:
        policy.update(draw, own)
    elif sharing is Sharing.ADVISORY:
        policy.update(draw, own, extra=free_observations(losses, batch, drawn, np.full((runs, layers), np.nan)))
    else:
        seen = observation_probability(inclusion, batch)
        extra = free_observations(losses, batch, drawn, seen)
        policy.update(draw, own, probability=seen[run[:, :, None], drawn].reshape(own.shape), extra=extra)
    return inclusion


def free_observations(losses: Array, batch: Indices, drawn: Indices, probability: Array) -> Observations:
    """Return what a step shows besides the losses of draws.

    A target is shown its loss with every layer that was computed; a layer that was drawn but is no target
    is shown its losses with the targets, as advice.

    losses: (runs, B, L); batch: (runs, B); drawn: (runs, B, k) layers; probability: (runs, L).
    """
    runs, size, layers = losses.shape
    is_target, is_computed = np.zeros((2, runs, layers), dtype=bool)
    np.put_along_axis(is_target, batch, True, axis=1)
    np.put_along_axis(is_computed, drawn.reshape(runs, -1), True, axis=1)
    shown = np.repeat((is_target | is_computed)[:, None, :], size, axis=1)
    np.put_along_axis(shown, drawn, False, axis=2)
    np.put_along_axis(shown, batch[:, :, None], False, axis=2)
    run, slot, layer = np.nonzero(shown)
    target = batch[run, slot]
    forth = (
        run * layers + target,
        layer - (layer > target),
        losses[run, slot, layer],
        probability[run, layer],
    )
    run, slot, layer = np.nonzero(np.repeat((is_computed & ~is_target)[:, None, :], size, axis=1))
    target = batch[run, slot]
    advice = np.full(len(run), np.nan)
    back = (run * layers + layer, target - (target > layer), losses[run, slot, layer], advice)
    return Observations(*(np.concatenate(pair) for pair in zip(forth, back, strict=True)))


def regrets(
    policy: Policy, layers: Layers, batches: Iterable[Indices], sharing: Sharing, rng: np.random.Generator
) -> Array:
    """Return the regret (runs, L) of a policy of runs * L instances, against each layer's best k others."""
    runs, count = layers.start.shape[:2]
    run = np.arange(runs)[:, None]
    loss, arm_loss = np.zeros((runs, count)), np.zeros((runs, count, count))
    for time, batch in enumerate(batches):
        distances = layers.distances(time, batch)
        inclusion = step(policy, noisy(rng, distances, batch), batch, sharing, rng)
        loss[run, batch] += np.einsum("rbl,rbl->rb", inclusion, distances)
        arm_loss[run, batch] += distances
    arm_loss[:, np.arange(count), np.arange(count)] = np.inf
    best: Array = np.partition(arm_loss, policy.k - 1, axis=2)[:, :, : policy.k].sum(axis=2)
    return loss - best


def measure(count: int, targets: int, k: int, rounds: int, *, runs: int, seed: int) -> Iterator[Result]:
    """Yield every policy's regrets, summed over `count` layers, with `targets` per step."""
    where = f"{count}/{targets}/{k}/{rounds}"
    rng = stream(seed, "layers", where, runs)
    batches = make_batches(rng, runs=runs, layers=count, targets=targets, rounds=rounds)
    layers = make_layers(rng, runs=runs, layers=count, steps=len(batches))
    for label, (name, sharing) in settings.FREE_POLICIES.items():
        policy = make_policy(name, num_arms=count - 1, k=k, num_instances=runs * count)
        regret = regrets(policy, layers, batches, Sharing(sharing), stream(seed, "steps", where, runs))
        yield Result(where, label, count - 1, k, rounds, regret.sum(axis=1))

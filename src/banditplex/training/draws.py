"""Which layers policies are most likely to draw, and for how many steps a draw is used."""

from typing import Any

import numpy as np

from banditplex.arrays import Bools, Floats, Ints
from banditplex.bandits import Draw, Policy
from banditplex.bandits.arms import to_layer
from banditplex.rng import stream

PROBABILITIES = 1 << 20  # probabilities that are looked at at once


class DrawSchedule:
    """Uses the draw of each instance for `steps` of its steps; then its policy learns from the mean losses."""

    def __init__(self, *, num_instances: int, k: int, steps: int) -> None:
        self._steps = steps
        self._left = np.zeros(num_instances, np.int64)
        self._arms = np.zeros((num_instances, k), np.int64)
        self._probability, self._total = np.zeros((2, num_instances, k))

    def needs_draw(self, instances: Ints) -> Ints:
        """Return those of `instances` (B,) that need a new draw."""
        needing: Ints = instances[self._left[instances] == 0]
        return needing

    def assign(self, draw: Draw, instances: Ints) -> Ints:
        """Take in a new draw; return the arms (B, k) for a step of `instances` (B,)."""
        self._arms[draw.instances], self._probability[draw.instances] = draw.arms, draw.probability
        self._left[draw.instances] = self._steps
        self._left[instances] -= 1
        arms: Ints = self._arms[instances]
        return arms

    def complete(self, draw: Draw, instances: Ints, losses: Floats) -> tuple[Draw, Floats, Bools]:
        """Add the layer losses (B, k) of a step of `instances` (B,), in which `draw` was made.

        Returns the draws that end with this step, their mean layer losses, and a mask (B,) of their instances. A draw
        that was used for several steps knows the probabilities of its own arms only.
        """
        self._total[instances] += losses
        ended = self._left[instances] == 0
        here = instances[ended]
        mean = self._total[here] / self._steps
        self._total[here] = 0.0
        if self._steps > 1:
            draw = Draw(here, self._arms[here], self._probability[here])
        return draw, mean, ended

    def reset(self) -> None:
        """Forget all draws: every instance needs a new one."""
        self._left[:] = 0
        self._total[:] = 0.0

    def state_dict(self) -> dict[str, Any]:
        """Return the draws in use."""
        arrays = {"left": self._left, "arms": self._arms, "probability": self._probability, "total": self._total}
        return {name: array.copy() for name, array in arrays.items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        self._left, self._arms = state["left"].copy(), state["arms"].copy()
        self._probability, self._total = state["probability"].copy(), state["total"].copy()


def most_probable_layers(policy: Policy | None, target: Ints, seed: int, count: int | None = None) -> Ints:
    """Return the layers (len(target), count) that each instance is most likely to draw, the most probable first.

    There are at most `count`; None: as many as are drawn. Ties fall at random, by seed. Some instances at a time are
    looked at: all probabilities of 10,000 instances and as many arms would take most of a gigabyte.
    """
    if policy is None:
        return np.empty((len(target), 0), np.int64)
    count = policy.k if count is None else min(count, policy.num_arms)
    arms, rng = np.empty((len(target), count), np.int64), stream(seed, "ties")
    rows = max(1, PROBABILITIES // policy.num_arms)
    for low in range(0, len(target), rows):
        some = np.arange(low, min(low + rows, len(target)))
        inclusion = policy.inclusion(some)
        arms[some] = np.lexsort((rng.random(inclusion.shape), -inclusion))[:, :count]
    return to_layer(target[:, None], arms)

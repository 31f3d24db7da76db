"""The values that go in and out of a policy: draws, observations, and the feedback of a round."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from banditplex.bandits.marginals import Marginals, dense
from banditplex.bandits.rounding import FloatArray, IntArray
from banditplex.bandits.state import Rows, as_rows
from banditplex.errors import InputError

INT, FLOAT = np.dtype(np.int64), np.dtype(np.float64)


def convert(values: ArrayLike, kind: np.dtype[Any], what: str) -> NDArray[Any]:
    """Return `values` as an array of `kind`, INT or FLOAT; refuse what is not an integer or a real number."""
    expected, kinds = ("integers", "iu") if kind is INT else ("real numbers", "iuf")
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise InputError(f"Expected {what} as an array of {expected}, got a ragged sequence.") from error
    if array.dtype == kind:
        return array
    if array.size and array.dtype.kind not in kinds:
        raise InputError(f"Expected {what} as an array of {expected}, got {array.dtype}.")
    return array.astype(kind)


def freeze(values: ArrayLike, kind: np.dtype[Any], what: str, *, copy: bool = True) -> NDArray[Any]:
    """Return a read-only copy of what `convert` returns, or that itself."""
    array = convert(values, kind, what)
    if copy:
        array = array.copy()
    array.flags.writeable = False
    return array


@dataclass(frozen=True, eq=False)
class Draw:
    """The arms that were drawn, and their inclusion probabilities.

    `instances` (B,), `arms` (B, k), `probability` (B, k). `Policy.draw` returns draws; a draw can also be built
    by hand, to force arms in tests and replays. It then has no `inclusion`.

    >>> Draw(instances=[0, 4], arms=[[2], [0]], probability=[[0.5], [0.25]]).arms.tolist()
    [[2], [0]]
    """

    instances: IntArray
    arms: IntArray
    probability: FloatArray
    marginals: tuple[Marginals, ...] = field(default=(), repr=False)

    def __init__(
        self, instances: ArrayLike, arms: ArrayLike, probability: ArrayLike, marginals: tuple[Marginals, ...] = ()
    ) -> None:
        copy = not marginals  # else a policy has made all arrays for this draw
        object.__setattr__(self, "instances", freeze(instances, INT, "Draw.instances", copy=copy))
        object.__setattr__(self, "arms", freeze(arms, INT, "Draw.arms", copy=copy))
        object.__setattr__(self, "probability", freeze(probability, FLOAT, "Draw.probability", copy=copy))
        object.__setattr__(self, "marginals", marginals)

    @cached_property
    def rows(self) -> Rows:
        """The instances as an index."""
        return as_rows(self.instances)

    @property
    def inclusion(self) -> FloatArray:
        """Inclusion probabilities of all arms at the time of the draw, (B, num_arms); computed on access."""
        if not self.marginals:
            raise InputError(
                "Expected a draw from Policy.draw, got one built by hand, which has no inclusion; "
                "Policy.inclusion(draw.instances) returns the current probabilities."
            )
        return dense(self.marginals, self.marginals[0].num_arms)


@dataclass(frozen=True, eq=False)
class Observations:
    """Side observations: losses of arms that were not drawn, and the probability of observing each.

    All are flat arrays of one length. A row whose `probability` is NaN (the default) is advisory: the loss is
    known, its observation probability is not. A single probability applies to all rows.

    >>> Observations(instance=[0, 0], arm=[1, 3], loss=[0.2, 0.7]).probability.tolist()
    [nan, nan]
    """

    instance: IntArray
    arm: IntArray
    loss: FloatArray
    probability: FloatArray

    def __init__(self, instance: ArrayLike, arm: ArrayLike, loss: ArrayLike, probability: ArrayLike = np.nan) -> None:
        object.__setattr__(self, "instance", freeze(instance, INT, "Observations.instance"))
        object.__setattr__(self, "arm", freeze(arm, INT, "Observations.arm"))
        object.__setattr__(self, "loss", freeze(loss, FLOAT, "Observations.loss"))
        if np.ndim(probability) == 0:
            probability = np.full(self.loss.shape, probability)
        object.__setattr__(self, "probability", freeze(probability, FLOAT, "Observations.probability"))
        shape = self.instance.shape
        if len(shape) != 1 or not shape == self.arm.shape == self.loss.shape == self.probability.shape:
            names = ("instance", "arm", "loss", "probability")
            got = ", ".join(f"{name} {getattr(self, name).shape}" for name in names)
            raise InputError(f"Expected Observations as flat arrays of one length, got shapes {got}.")


def importance_weighted(loss: FloatArray, probability: FloatArray) -> FloatArray:
    """Return loss / probability, limited to 1e150 so that squares and sums stay finite."""
    return loss / np.maximum(probability, loss * 1e-150)


COLUMNS = ("instance", "arm", "loss", "probability", "inclusion")


@dataclass(eq=False)
class Feedback:
    """The observations of a batch of instances in one round: flat, sorted by row, at least one entry per row.

    `row` is the position in the batch, `instance` the number in the policy. `probability` is the probability of
    observing the loss, `inclusion` that of drawing the arm; it is smaller if there are side observations.
    """

    row: IntArray
    instance: IntArray
    arm: IntArray
    loss: FloatArray
    probability: FloatArray
    inclusion: FloatArray

    @cached_property
    def start(self) -> IntArray:
        """Position of the first entry of each row."""
        first = np.ones(len(self.row), dtype=bool)
        first[1:] = self.row[1:] != self.row[:-1]
        return np.flatnonzero(first)

    @cached_property
    def estimate(self) -> FloatArray:
        """Importance-weighted losses: unbiased estimates of the loss of each arm."""
        return importance_weighted(self.loss, self.probability)

    def part(self, low: int, high: int) -> "Feedback":
        """Return rows `low` to `high` - 1, renumbered from 0."""
        i, j = np.searchsorted(self.row, (low, high))
        return Feedback(self.row[i:j] - low, **{name: getattr(self, name)[i:j] for name in COLUMNS})

    def merge(self, other: "Feedback") -> "Feedback":
        """Return the entries of both, sorted by row."""
        row = np.concatenate([self.row, other.row])
        order = np.argsort(row, kind="stable")
        both = {name: np.concatenate([getattr(self, name), getattr(other, name)])[order] for name in COLUMNS}
        return Feedback(row[order], **both)

    def count(self) -> IntArray:
        """Return the number of arms observed per row."""
        return np.bincount(self.row)

    def sum(self, values: FloatArray) -> FloatArray:
        """Return the sums of `values` per row."""
        return np.add.reduceat(values, self.start)

    def max(self, values: FloatArray) -> FloatArray:
        """Return the largest of `values` per row."""
        return np.maximum.reduceat(values, self.start)

    def min(self, values: FloatArray) -> FloatArray:
        """Return the smallest of `values` per row."""
        return np.minimum.reduceat(values, self.start)

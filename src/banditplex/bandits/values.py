"""What goes in and out of a policy, draws, observations and feedback, and checks that say what came and where."""

from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from banditplex.bandits.rounding import FloatArray, IntArray
from banditplex.bandits.state import Marginals, Rows, as_rows, dense
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


LARGEST_LOSS = 1e100
SMALLEST_LOSS = 1e-300  # losses below this count as zero


def check_integer(value: object, name: str, low: int, high: int | None = None) -> int:
    """Return `value` as int, refusing what is not an integer from `low` to `high`."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    number = int(value) if isinstance(value, Integral) else low
    if not whole or number < low or (high is not None and number > high):
        span = f"of at least {low}" if high is None else f"from {low} to {high}"
        raise InputError(f"Expected {name} to be an integer {span}, got {value!r}.")
    return number


def check_number(value: object, name: str, low: float, high: float) -> float:
    """Return `value` as float, refusing what is not a number from `low` to `high`."""
    if not isinstance(value, Real) or not low <= float(value) <= high:
        raise InputError(f"Expected {name} to be a number from {low:g} to {high:g}, got {value!r}.")
    return float(value)


def check_flag(value: object, name: str) -> bool:
    """Return `value` as bool, refusing what is neither True nor False."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"Expected {name} to be True or False, got {value!r}.")
    return bool(value)


def check_prices(prices: ArrayLike, num_instances: int, num_arms: int) -> FloatArray:
    """Return prices (1 or num_instances, num_arms), finite and above 0."""
    array = np.atleast_2d(convert(prices, FLOAT, "prices"))
    if array.shape not in ((1, num_arms), (num_instances, num_arms)):
        shapes = f"({num_arms},) or ({num_instances}, {num_arms})"
        raise InputError(f"Expected prices of shape {shapes}, got {np.shape(prices)}.")
    if not (np.isfinite(array) & (array > 0)).all():
        worst = array[~(np.isfinite(array) & (array > 0))][0]
        raise InputError(f"Expected finite prices above 0, got {worst}.")
    return array


def check_arms(arms: ArrayLike, num_instances: int, num_arms: int) -> IntArray:
    """Return arms (num_instances, k) that are distinct within each instance."""
    array = freeze(arms, INT, "arms")
    if array.ndim == 1:
        array = np.tile(array, (num_instances, 1))
    if array.ndim != 2 or len(array) != num_instances:
        raise InputError(f"Expected arms of shape (k,) or ({num_instances}, k), got {np.shape(arms)}.")
    _check_distinct_arms(array, "arms", np.arange(num_instances), num_arms)
    return array


def check_instances(instances: ArrayLike | None, num_instances: int) -> tuple[IntArray, Rows]:
    """Return distinct instance numbers (B,), and the same as an index; None means all instances."""
    if instances is None:
        return np.arange(num_instances), slice(0, num_instances)
    array = convert(instances, INT, "instances").copy()
    if array.ndim != 1:
        raise InputError(f"Expected instances as a flat array of integers, got shape {array.shape}.")
    if not (len(array) and array[0] >= 0 and array[-1] < num_instances and (array[1:] > array[:-1]).all()):
        _check_range(array, "instances", num_instances)
        ordered = np.sort(array)
        twice = ordered[1:][ordered[1:] == ordered[:-1]]
        if len(twice):
            raise InputError(f"Expected distinct instances, got {twice[0]} more than once.")
    return array, as_rows(array)


def check_draw(draw: Draw, num_instances: int, num_arms: int, k: int) -> None:
    """Refuse a draw that does not fit the policy."""
    if not isinstance(draw, Draw):
        raise InputError(f"Expected draw to be a Draw, got {type(draw).__name__}.")
    if draw.marginals and (draw.marginals[0].num_arms, draw.arms.shape[1]) == (num_arms, k):  # made by a policy
        _check_range(draw.instances, "draw.instances", num_instances)
        return
    check_instances(draw.instances, num_instances)
    shape = (len(draw.instances), k)
    check_shape(draw.arms, "draw.arms", shape)
    check_shape(draw.probability, "draw.probability", shape)
    _check_distinct_arms(draw.arms, "draw.arms", draw.instances, num_arms)


def check_shape(array: NDArray[Any], name: str, shape: tuple[int, ...]) -> None:
    """Refuse an array of another shape."""
    if array.shape != shape:
        raise InputError(f"Expected {name} of shape {shape}, got {array.shape}.")


def check_losses(losses: FloatArray, name: str, instance: IntArray, arm: IntArray) -> FloatArray:
    """Return flat losses with tiny ones set to 0; refuse NaN, negative, infinite and too large losses."""
    if losses.min(initial=LARGEST_LOSS) > SMALLEST_LOSS and losses.max(initial=SMALLEST_LOSS) < LARGEST_LOSS:
        return losses
    usual = (losses >= SMALLEST_LOSS) & (losses <= LARGEST_LOSS)
    good = usual | (losses >= 0) & (losses < SMALLEST_LOSS)
    if not good.all():
        _refuse(f"{name} from 0 to {LARGEST_LOSS:g}", losses, ~good, instance, arm)
    return np.where(usual, losses, 0.0)


def check_probability(probability: FloatArray, name: str, instance: IntArray, arm: IntArray) -> FloatArray:
    """Return flat probabilities, at most 1 after rounding; refuse values that are not above 0 and at most 1."""
    if probability.min(initial=1.0) > 0 and probability.max(initial=0.0) <= 1:
        return probability
    good = (probability > 0) & (probability <= 1 + 1e-9)
    if not good.all():
        _refuse(f"{name} above 0 and at most 1", probability, ~good, instance, arm)
    return np.minimum(probability, 1.0)


def check_observations(extra: Observations, draw: Draw, num_instances: int, num_arms: int) -> None:
    """Refuse side observations that do not fit the policy, or that repeat an arm of the draw or of `extra`."""
    if not isinstance(extra, Observations):
        raise InputError(f"Expected extra to be Observations, got {type(extra).__name__}.")
    _check_range(extra.instance, "extra.instance", num_instances)
    _check_range(extra.arm, "extra.arm", num_arms, instance=extra.instance)
    weighted = ~np.isnan(extra.probability)
    if np.count_nonzero(weighted) and (stray := weighted & ~np.isin(extra.instance, draw.instances)).any():
        expected = "extra.probability to be NaN (advisory) for instances outside the draw"
        _refuse(expected, extra.probability, stray, extra.instance, extra.arm)
    drawn = (draw.instances[:, None] * num_arms + draw.arms).ravel()
    keys = np.concatenate([drawn, extra.instance * num_arms + extra.arm])
    keys.sort()
    twice = keys[1:][keys[1:] == keys[:-1]]
    if len(twice):
        instance, arm = divmod(int(twice[0]), num_arms)
        raise InputError(f"Expected each arm once in draw and extra, got instance {instance}, arm {arm} again.")


def _check_distinct_arms(arms: IntArray, name: str, instances: IntArray, num_arms: int) -> None:
    _check_range(arms.ravel(), name, num_arms, instance=np.repeat(instances, arms.shape[1]))
    ordered = np.sort(arms, axis=1)
    row, column = np.nonzero(ordered[:, 1:] == ordered[:, :-1])
    if len(row):
        where = f"arm {ordered[row[0], column[0]]} twice for instance {instances[row[0]]}"
        raise InputError(f"Expected {name} to be distinct within an instance, got {where}.")


def _check_range(values: IntArray, name: str, count: int, *, instance: IntArray | None = None) -> None:
    wrong = (values < 0) | (values >= count)
    if np.count_nonzero(wrong):
        first = int(wrong.argmax())
        owner = "" if instance is None else f" for instance {instance[first]}"
        raise InputError(f"Expected {name} from 0 to {count - 1}, got {values[first]}{owner}.")


def _refuse(expected: str, values: FloatArray, bad: NDArray[np.bool_], instance: IntArray, arm: IntArray) -> None:
    i = int(np.flatnonzero(bad)[0])
    raise InputError(f"Expected {expected}, got {values[i]} for instance {instance[i]}, arm {arm[i]}.")

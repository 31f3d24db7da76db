"""The interface of policies, and the registry that finds them by name.

A policy draws k of `num_arms` arms for each of many independent instances, observes losses, and learns to draw
arms of small loss. A draw carries its inclusion probabilities, and is handed back with the losses.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from inspect import Parameter, signature
from types import MappingProxyType
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from banditplex.bandits import values
from banditplex.bandits.rounding import FloatArray, IntArray
from banditplex.bandits.state import Marginals, Rows, State, at, dense
from banditplex.bandits.values import FLOAT, Draw, Feedback, Observations, convert
from banditplex.errors import InputError
from banditplex.registry import Registry

BATCH_ELEMENTS = 1 << 17  # instances are processed in batches of about so many numbers, which fit into the cache
SIZES = ("num_arms", "k", "num_instances")
Advice = tuple[IntArray, IntArray, FloatArray]
"""Instances, arms and losses of advisory observations, sorted by instance."""
NO_ADVICE: Advice = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))

POLICIES: Registry[type["Policy"]] = Registry("policy")
P = TypeVar("P", bound="type[Policy]")


def register(*names: str) -> Callable[[P], P]:
    """Return a decorator that registers a policy class under `names`."""

    def enter(policy: P) -> P:
        for name in names:
            POLICIES.add(name, policy)
        return policy

    return enter


def make_policy(name: str, *, num_arms: int, k: int = 1, num_instances: int = 1, **options: Any) -> "Policy":
    """Create a policy by name; `options` are those of its class.

    >>> make_policy("exp3+", num_arms=5, raw_range=True)
    Exp3Plus(num_arms=5, k=1, num_instances=1)
    >>> make_policy("exp3+", num_arms=5, raw=True)
    Traceback (most recent call last):
    banditplex.errors.InputError: Expected an option of policy 'exp3+' (raw_range, printed_sign), got 'raw'.
    """
    policy = POLICIES[name]
    parameters = [parameter for parameter in signature(policy).parameters.values() if parameter.name not in SIZES]
    known = {parameter.name: parameter for parameter in parameters if parameter.kind is not Parameter.VAR_KEYWORD}
    for option in options:
        if option not in known and len(known) == len(parameters):
            listed = ", ".join(known) or "it has none"
            raise InputError(f"Expected an option of policy {name!r} ({listed}), got {option!r}.")
    for option, parameter in known.items():
        if parameter.default is Parameter.empty and option not in options:
            raise InputError(f"Expected the option {option!r} of policy {name!r}, got none.")
    return policy(num_arms=num_arms, k=k, num_instances=num_instances, **options)


class Policy(ABC):
    """Draws k of n arms for each of many instances and learns from losses >= 0 of any scale.

    A subclass defines `_marginals`, the inclusion probabilities of the next draw, and `_learn`, the update
    after a round. It may also define `_advise`, which uses advisory observations. These methods receive checked
    input for a batch of instances, so they contain formulas only. Everything that is learnt is in `_state`.

    Parameters: `num_arms` n >= 1; `k` arms per round, from 1 to n; `num_instances`; `per_instance` and
    `per_arm` name the numbers in the state and their initial values (`t`, rounds completed, is always there);
    their names differ, also from those of the sizes, `arms` and `seen`.

    Class attributes describe a policy to code that knows only its name:

    >>> [name for name in POLICIES if not POLICIES[name].learns]
    ['uniform', 'fixed', 'all', 'none']
    """

    learns: bool = True
    """Whether losses change the inclusion probabilities. A policy that does not learn needs no warm-up."""
    takes_k: bool = True
    """Whether the caller chooses k. Otherwise the argument `k` is ignored: k follows from the other arguments."""
    arm_options: ClassVar[Mapping[str, Literal["indices", "values"]]] = MappingProxyType({})
    """Options that refer to arms, and how: by arm index, (k,) or (num_instances, k), or with one value per arm,
    (num_arms,) or (num_instances, num_arms). Where arms have names, these options have to be translated."""
    _smallest_k: ClassVar[int] = 1

    def __init__(
        self, *, num_arms: int, k: int, num_instances: int, per_instance: Mapping[str, Any] | None = None,
        per_arm: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self.num_arms = values.check_integer(num_arms, "num_arms", 1)
        self.k = values.check_integer(k, "k", self._smallest_k, self.num_arms)
        self.num_instances = values.check_integer(num_instances, "num_instances", 1)
        instance, arm = {"t": 0} | dict(per_instance or {}), dict(per_arm or {})
        names = [*SIZES, "t", "arms", "seen", *(per_instance or {}), *arm]  # those of `state_dict`
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InputError(f"Expected another name than {twice!r} in per_instance or per_arm: it is taken.")
        self._state = State(self.num_instances, self.num_arms, instance=instance, arm=arm)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)}' for name in SIZES)})"

    @abstractmethod
    def _marginals(self, rows: Rows) -> Marginals:
        """Return the inclusion probabilities of the next draw; each row sums to k, and 0 < k < num_arms."""

    @abstractmethod
    def _learn(self, rows: Rows, seen: Feedback) -> None:
        """Update the state of `rows` with the feedback of a round; the caller increments `t`."""

    def _advise(self, instance: IntArray, arm: IntArray, loss: FloatArray) -> None:  # noqa: B027
        """Use losses whose observation probability is unknown; they are sorted by instance."""

    @property
    def rounds(self) -> IntArray:
        """Number of rounds that each instance has completed, (num_instances,)."""
        return self._state.instance["t"].copy()

    @property
    def nbytes(self) -> int:
        """Size of the state in bytes."""
        return self._state.nbytes

    def inclusion(self, instances: ArrayLike | None = None) -> FloatArray:
        """Return the inclusion probabilities of the next draw, (B, num_arms); rows sum to k."""
        _, rows = values.check_instances(instances, self.num_instances)
        return dense(self._parts(rows), self.num_arms)

    def draw(self, rng: np.random.Generator, instances: ArrayLike | None = None) -> Draw:
        """Draw k distinct arms for each of `instances` (distinct integers (B,); None = all)."""
        chosen, rows = values.check_instances(instances, self.num_instances)
        marginals, drawn = [], []
        for batch, _ in self._batches(rows):
            marginals.append(self._next(batch))
            drawn.append(marginals[-1].sample(self.k, rng))
        if not drawn:
            marginals = [Marginals.uniform(self.num_arms, self.k, 0)]
            drawn = [(np.empty((0, self.k), np.int64), np.empty((0, self.k)))]
        arms, probability = drawn[0] if len(drawn) == 1 else map(np.concatenate, zip(*drawn, strict=True))
        return Draw(chosen, arms, probability, tuple(marginals))

    def update(
        self, draw: Draw, losses: ArrayLike, *, probability: ArrayLike | None = None, extra: Observations | None = None
    ) -> None:
        """Learn from the losses of a round; this completes the round for the instances of the draw.

        Parameters: `losses` (B, k) of the drawn arms; `probability` (B, k), the probability of observing each
        loss (default `draw.probability`; larger if a draw of another instance may also reveal it); `extra`, side
        observations of arms that were not drawn. Bad input raises an InputError and leaves the state unchanged.
        """
        feedback, advisory = self._read(draw, losses, probability, extra)
        batches = self._batches(draw.rows)
        for rows, span in batches:
            self._learn(rows, feedback if len(batches) == 1 else feedback.part(span.start, span.stop))
            self._state.instance["t"][rows] += 1
        if len(advisory[0]):
            self._advise(*advisory)

    def state_dict(self) -> dict[str, Any]:
        """Return everything learnt as a plain dictionary of numbers and arrays."""
        return {name: getattr(self, name) for name in SIZES} | self._state.to_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned for a policy of the same kind and sizes."""
        for name in SIZES:
            if state.get(name) != getattr(self, name):
                raise InputError(f"Expected state[{name!r}] to be {getattr(self, name)}, got {state.get(name)!r}.")
        self._state.from_dict({name: values for name, values in state.items() if name not in SIZES})

    def _instances(self, rows: Rows) -> IntArray:
        """Return the instance numbers of `rows`."""
        return np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows

    def _next(self, rows: Rows) -> Marginals:
        """Return the inclusion probabilities of the next draw; calls `_marginals` only if there is a choice."""
        if 0 < self.k < self.num_arms:
            return self._marginals(rows)
        return Marginals.uniform(self.num_arms, self.k, len(self._instances(rows)))

    def _parts(self, rows: Rows) -> list[Marginals]:
        """Return the inclusion probabilities of the next draw, batch by batch."""
        return [self._next(batch) for batch, _ in self._batches(rows)]

    def _batches(self, rows: Rows) -> list[tuple[Rows, slice]]:
        """Split `rows` into batches that fit into the cache; return each as (index, positions)."""
        count = rows.stop - rows.start if isinstance(rows, slice) else len(rows)
        step = max(1, BATCH_ELEMENTS // self._state.width)
        if 0 < count <= step:
            return [(rows, slice(0, count))]
        spans = [slice(low, min(low + step, count)) for low in range(0, count, step)]
        if isinstance(rows, slice):
            return [(slice(rows.start + span.start, rows.start + span.stop), span) for span in spans]
        return [(rows[span], span) for span in spans]

    def _read(
        self, draw: Draw, losses: ArrayLike, probability: ArrayLike | None, extra: Observations | None
    ) -> tuple[Feedback, Advice]:
        """Check the arguments of `update`; return the feedback and the advisory observations."""
        values.check_draw(draw, self.num_instances, self.num_arms, self.k)
        row, instance, arm = np.arange(len(draw.instances)), draw.instances, draw.arms.ravel()
        if self.k != 1:
            row, instance = row.repeat(self.k), instance.repeat(self.k)
        loss = convert(losses, FLOAT, "losses")
        values.check_shape(loss, "losses", draw.arms.shape)
        loss = values.check_losses(loss.ravel(), "losses", instance, arm)
        name, given = ("draw.probability", draw.probability) if probability is None else ("probability", probability)
        p = convert(given, FLOAT, name)
        values.check_shape(p, name, draw.arms.shape)
        p = values.check_probability(p.ravel(), name, instance, arm)
        seen = Feedback(row, instance, arm, loss, p, draw.probability.ravel())
        return (seen, NO_ADVICE) if extra is None else self._read_extra(draw, seen, extra)

    def _read_extra(self, draw: Draw, seen: Feedback, extra: Observations) -> tuple[Feedback, Advice]:
        """Check side observations and merge them into `seen`; return all feedback and the advisory observations."""
        values.check_observations(extra, draw, self.num_instances, self.num_arms)
        loss = values.check_losses(extra.loss, "extra.loss", extra.instance, extra.arm)
        advisory = np.isnan(extra.probability)
        rest = advisory.nonzero()[0]
        rest = rest[extra.instance[rest].argsort(kind="stable")]
        advice = extra.instance[rest], extra.arm[rest], loss[rest]
        if len(rest) == len(loss):
            return seen, advice
        weighted = ~advisory
        instance, arm = extra.instance[weighted], extra.arm[weighted]
        p = values.check_probability(extra.probability[weighted], "extra.probability", instance, arm)
        order = np.argsort(draw.instances)
        row = order[np.searchsorted(draw.instances, instance, sorter=order)]
        inclusion = at(draw.marginals or self._parts(draw.rows), row, arm)
        more = Feedback(row, instance, arm, loss[weighted], p, inclusion)
        return seen.merge(more), advice


class ScaledPolicy(Policy):
    """A policy that knows the scale M of losses: an upper bound `scale` or, if it is None, the largest loss so far."""

    def __init__(self, *, num_arms: int, k: int = 1, num_instances: int = 1, scale: float | None = None) -> None:
        limits = values.SMALLEST_LOSS, values.LARGEST_LOSS
        self.scale = None if scale is None else values.check_number(scale, "scale", *limits)
        super().__init__(
            num_arms=num_arms, k=k, num_instances=num_instances, per_instance={"M": self.scale or 0.0},
            per_arm={"L": 0.0},
        )  # fmt: skip

    def _grow(self, rows: Rows, seen: Feedback) -> None:
        """Let M grow with the losses of a round, unless it is given."""
        if self.scale is None:
            M = self._state.instance["M"]
            M[rows] = np.maximum(M[rows], seen.max(seen.loss))

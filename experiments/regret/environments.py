"""Where losses come from: environments whose means are known, so that regret can be measured without noise.

An environment says how the means of the arms are chosen and how losses scatter around them. `start` makes a
game of it: means for every run, drawn anew. All runs of a game are played side by side.

    observed loss = scale * (noise(mean) + shift),      expected loss = scale * (mean + shift)
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from banditplex.registry import Registry
from experiments.regret import settings

Array = NDArray[np.float64]
Path = Callable[[int], Array]
"""The means (runs, arms) in round t = 1, 2, ..., horizon."""
Means = Callable[[np.random.Generator, int, int, int], Path]
"""Generator, runs, arms, horizon -> the path of the means."""
Noise = Callable[[np.random.Generator, Array], Array]
"""Generator, means -> losses of one round."""


@dataclass(frozen=True)
class Game:
    """One game: its `horizon`, the `path` of its means, the `noise` around them.

    >>> game = Environment(spread, exact).start(np.random.default_rng(0), runs=4, arms=3, horizon=10)
    >>> losses, expected = next(game.losses(np.random.default_rng(1))), next(game.expected())
    >>> losses.shape, bool((losses == expected).all())
    ((4, 3), True)
    """

    horizon: int
    path: Path
    noise: Noise
    scale: float
    shift: float

    def expected(self) -> Iterator[Array]:
        """Yield the expected losses (runs, arms) of each round."""
        for t in range(1, self.horizon + 1):
            yield self.scale * (self.path(t) + self.shift)

    def losses(self, rng: np.random.Generator) -> Iterator[Array]:
        """Yield the losses (runs, arms) of each round."""
        for t in range(1, self.horizon + 1):
            yield self.scale * (self.noise(rng, self.path(t)) + self.shift)


@dataclass(frozen=True)
class Environment:
    """How means are chosen and losses scatter; a game of it is made by `start`."""

    means: Means
    noise: Noise
    scale: float = 1.0
    shift: float = 0.0

    def start(self, rng: np.random.Generator, *, runs: int, arms: int, horizon: int) -> Game:
        """Draw the means of a new game."""
        return Game(horizon, self.means(rng, runs, arms, horizon), self.noise, self.scale, self.shift)


# How losses scatter around their mean.


def exact(rng: np.random.Generator, mean: Array) -> Array:
    """Every loss is its mean."""
    return mean


def relative(width: float) -> Noise:
    """Multiply by 1 + width * U(-1, 1)."""
    return lambda rng, mean: mean * (1.0 + width * rng.uniform(-1.0, 1.0, mean.shape))


def additive(width: float) -> Noise:
    """Add width * U(-1, 1)."""
    return lambda rng, mean: mean + width * rng.uniform(-1.0, 1.0, mean.shape)


def bernoulli(rng: np.random.Generator, mean: Array) -> Array:
    """0 or 1, 1 with probability mean."""
    return (rng.random(mean.shape) < mean).astype(np.float64)


def lognormal(rng: np.random.Generator, mean: Array) -> Array:
    """Multiply by exp(N(0, 1) - 1/2), which has mean 1."""
    return mean * np.exp(rng.standard_normal(mean.shape) - 0.5)


def pareto(rng: np.random.Generator, mean: Array) -> Array:
    """Multiply by a Pareto variable with index 1.5 and mean 1: its variance is infinite."""
    index = settings.PARETO_INDEX
    return mean * (rng.pareto(index, mean.shape) + 1.0) * (index - 1.0) / index


def rare(rng: np.random.Generator, mean: Array) -> Array:
    """Multiply by 1/chance with that chance, else by 0, on every other arm; the rest are exact."""
    hit = rng.random(mean.shape) < settings.RARE_CHANCE
    return np.where(np.arange(mean.shape[1]) % 2 == 1, mean * hit / settings.RARE_CHANCE, mean)


# How means are chosen.


def still(mean: Array) -> Path:
    """Keep the same means in every round."""
    return lambda t: mean


def _one_good(rng: np.random.Generator, runs: int, arms: int) -> tuple[Array, NDArray[np.int64]]:
    """Return means, and the arm of each run that is best."""
    mean = rng.uniform(*settings.OTHERS, (runs, arms))
    best = rng.integers(arms, size=runs)
    mean[np.arange(runs), best] = settings.BEST
    return mean, best


def one_good(rng: np.random.Generator, runs: int, arms: int, horizon: int) -> Path:
    """One random arm has .3, the others U(.5, .9)."""
    return still(_one_good(rng, runs, arms)[0])


def spread(rng: np.random.Generator, runs: int, arms: int, horizon: int) -> Path:
    """All arms U(.2, 1)."""
    return still(rng.uniform(*settings.SPREAD, (runs, arms)))


def shrinking(rng: np.random.Generator, runs: int, arms: int, horizon: int) -> Path:
    """Fall from about 1 to U(.05, .8), each arm at its own pace."""
    shape = (runs, arms)
    final, initial = rng.uniform(*settings.SHRINK_FINAL, shape), rng.uniform(*settings.SHRINK_INITIAL, shape)
    pace = horizon * rng.uniform(*settings.SHRINK_PACE, shape)
    return lambda t: final + (initial - final) * np.exp(-t / pace)


def growing(rng: np.random.Generator, runs: int, arms: int, horizon: int) -> Path:
    """Grow twentyfold, all arms alike: U(.2, 1) * (.1 + 2 t / T)."""
    base = rng.uniform(*settings.SPREAD, (runs, arms))
    return lambda t: base * (0.1 + 2.0 * t / horizon)


def switching(rng: np.random.Generator, runs: int, arms: int, horizon: int) -> Path:
    """As `one_good`, but in each of four equal phases one random arm, any of them, has .1."""
    phases = np.repeat(_one_good(rng, runs, arms)[0][None], settings.PHASES, axis=0)
    bait = rng.integers(arms, size=(settings.PHASES, runs))
    phases[np.arange(settings.PHASES)[:, None], np.arange(runs), bait] = settings.BAIT
    return lambda t: phases[(t - 1) * settings.PHASES // horizon]


def late(rng: np.random.Generator, runs: int, arms: int, horizon: int) -> Path:
    """As `one_good`, but the best arm has 1 in the first fifth and .1 after, its right neighbour .5."""
    before, best = _one_good(rng, runs, arms)
    row = np.arange(runs)
    before[row, (best + 1) % arms] = settings.LATE_NEIGHBOUR
    after = before.copy()
    before[row, best], after[row, best] = settings.LATE_BEFORE, settings.BAIT
    return lambda t: before if t <= settings.LATE_PART * horizon else after


def internship(rng: np.random.Generator, runs: int, arms: int, horizon: int) -> Path:
    """Distances sqrt(2 (1 - s)) of unit vectors, similarities s as in the paper's rand-internship network."""
    listed = settings.INTERNSHIP[:arms]
    similarity = np.array([*listed, *[settings.INTERNSHIP_REST] * (arms - len(listed))])
    return still(rng.permuted(np.tile(np.sqrt(2.0 * (1.0 - similarity)), (runs, 1)), axis=1))


# Held out: no policy was designed on what follows.


def drifting(rng: np.random.Generator, runs: int, arms: int, horizon: int) -> Path:
    """Each mean moves along straight lines between U(.2, 1) at eleven equally spaced times."""
    knots = rng.uniform(*settings.SPREAD, (settings.DRIFT_LEGS + 1, runs, arms))

    def path(t: int) -> Array:
        at = (t - 1) * settings.DRIFT_LEGS / horizon
        leg = int(at)
        mean: Array = knots[leg] + (at - leg) * (knots[leg + 1] - knots[leg])
        return mean

    return path


def cycling(rng: np.random.Generator, runs: int, arms: int, horizon: int) -> Path:
    """U(.4, .8) plus a wave of height .3, five times over the game, each arm with its own phase."""
    level, phase = rng.uniform(*settings.CYCLE_LEVEL, (runs, arms)), rng.random((runs, arms))
    return lambda t: level + settings.CYCLE_HEIGHT * np.sin(2 * np.pi * (settings.CYCLES * t / horizon + phase))


def decoyed(rng: np.random.Generator, runs: int, arms: int, horizon: int) -> Path:
    """As `one_good`, but another arm has .1 in the first third and 1 after."""
    before, best = _one_good(rng, runs, arms)
    after = before.copy()
    if arms > 1:
        decoy = (best + rng.integers(1, arms, size=runs)) % arms
        before[np.arange(runs), decoy], after[np.arange(runs), decoy] = settings.BAIT, 1.0
    return lambda t: before if 3 * t <= horizon else after


def crowded(rng: np.random.Generator, runs: int, arms: int, horizon: int) -> Path:
    """Half of the arms (one at least), chosen at random, have U(.3, .32), the others U(.5, .9)."""
    mean = rng.uniform(*settings.OTHERS, (runs, arms))
    mean[:, : max(1, arms // 2)] = rng.uniform(*settings.CROWD, (runs, max(1, arms // 2)))
    return still(rng.permuted(mean, axis=1))


def alternating(rng: np.random.Generator, runs: int, arms: int, horizon: int) -> Path:
    """Every arm jumps between mean - .2 and mean + .2, up or down first at random; means as in `one_good`."""
    mean = _one_good(rng, runs, arms)[0]
    swing = settings.SWING * rng.choice([-1.0, 1.0], size=(runs, arms))
    return lambda t: mean + (swing if t % 2 else -swing)


def seldom(rng: np.random.Generator, runs: int, arms: int, horizon: int) -> Path:
    """One arm has .02, the others U(.05, .2): with 0/1 losses, hardly anything is ever seen."""
    mean = rng.uniform(*settings.SELDOM_OTHERS, (runs, arms))
    mean[np.arange(runs), rng.integers(arms, size=runs)] = settings.SELDOM_BEST
    return still(mean)


ENVIRONMENTS: Registry[Environment] = Registry("environment")
ENVIRONMENTS.add("stoch", Environment(one_good, relative(0.3)))
ENVIRONMENTS.add("stoch1e-3", Environment(one_good, relative(0.3), scale=1e-3))
ENVIRONMENTS.add("stoch1e3", Environment(one_good, relative(0.3), scale=1e3))
ENVIRONMENTS.add("shift5", Environment(one_good, relative(0.3), shift=5.0))
ENVIRONMENTS.add("spread", Environment(spread, relative(0.3)))
ENVIRONMENTS.add("bern", Environment(one_good, bernoulli))
ENVIRONMENTS.add("smooth", Environment(spread, relative(0.02)))
ENVIRONMENTS.add("shrink", Environment(shrinking, relative(0.05)))
ENVIRONMENTS.add("grow", Environment(growing, relative(0.1)))
ENVIRONMENTS.add("switch", Environment(switching, relative(0.1)))
ENVIRONMENTS.add("late", Environment(late, relative(0.1)))
ENVIRONMENTS.add("logn", Environment(one_good, lognormal))
ENVIRONMENTS.add("pareto", Environment(one_good, pareto))
ENVIRONMENTS.add("intern", Environment(internship, relative(0.05)))
MAIN = tuple(ENVIRONMENTS)

ENVIRONMENTS.add("drift", Environment(drifting, relative(0.1)))
ENVIRONMENTS.add("cycle", Environment(cycling, relative(0.1)))
ENVIRONMENTS.add("decoy", Environment(decoyed, relative(0.3)))
ENVIRONMENTS.add("rare", Environment(one_good, rare))
ENVIRONMENTS.add("seldom", Environment(seldom, bernoulli))
ENVIRONMENTS.add("offset", Environment(one_good, additive(1.0), scale=10.0, shift=1.0))
ENVIRONMENTS.add("crowd", Environment(crowded, relative(0.3)))
ENVIRONMENTS.add("alternate", Environment(alternating, relative(0.1)))
HELD_OUT = tuple(name for name in ENVIRONMENTS if name not in MAIN)

"""How long a comparison still takes, by the time that each method has needed so far."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from statistics import fmean
from time import monotonic
from typing import Any

LEAST = 1.0
"""Seconds of a fit, besides those that its row has: to start a process, and to make the split."""


class TimeLeft:
    """Estimates the time left from the rows of finished fits.

    Slow methods are fitted first, so the mean time of all fits so far says little about the others. A method is taken
    to need what it has needed so far, or else the mean of those of its kind: that learn in epochs (`slow`), or not. As
    long as no slow method has been fitted, nothing is said; if no other has, the estimate is a lower bound, not `sure`.

    Parameters: `fits`, the number of fits of each method; `slow`, the methods that learn in epochs; `clock`.
    """

    def __init__(self, fits: Mapping[str, int], slow: Collection[str], clock: Callable[[], float] = monotonic) -> None:
        self._fits, self._slow, self._clock, self._began = dict(fits), frozenset(slow), clock, clock()
        self._needed: defaultdict[str, list[float]] = defaultdict(list)
        self._live = 0.0  # seconds of fits that this process has waited for
        self.sure = False

    def after(self, row: Mapping[str, Any], left: int) -> float | None:
        """Return the seconds that `left` more fits take after the one with this row; None if it is not known."""
        seconds = row.get("fit_seconds", 0.0) + row.get("score_seconds", 0.0)
        self._needed[row["method"]].append(seconds + LEAST)
        elapsed = self._clock() - self._began
        if elapsed >= seconds / 2:  # else it was done before, and is read from a file
            self._live += seconds + LEAST
        self.sure = any(found for name, found in self._needed.items() if name not in self._slow)
        todo = {name: max(count - len(self._needed[name]), 0) for name, count in self._fits.items()}
        expected = {name: self._expect(name) for name, count in todo.items() if count}
        if not left or not self._live or None in expected.values():
            return None
        work = sum(todo[name] * (each or 0.0) for name, each in expected.items())
        planned = sum(todo.values())
        return elapsed * work / self._live * left / planned if planned else None

    def _expect(self, method: str) -> float | None:
        """Return the mean time of a method, or of its kind."""
        if self._needed[method]:
            return fmean(self._needed[method])
        kind = method in self._slow
        alike = [each for name, all_of in self._needed.items() if (name in self._slow) == kind for each in all_of]
        return fmean(alike) if alike else None if kind else LEAST

"""The conditions of a comparison."""

from dataclasses import dataclass

from banditplex.errors import InputError
from banditplex.multiplex import Multiplex, Name
from banditplex.pairs.visibility import Visibility


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The conditions of a comparison, the same for all methods."""

    hide: str = "layer"
    seeds: int = 5  # splits, and seeds of the methods
    trials: int = 10  # settings tried per method and seed, at most; 1: no tuning
    budget: float = 120.0  # seconds of a fit, and of scoring the test pairs; see `jobs.limits.Usage`
    memory: float = 8.0  # gigabytes of a fit
    targets: tuple[Name, ...] | None = None  # None: every layer with enough edges
    device: str = "auto"  # of all methods that have the choice; auto: CUDA where there is one

    def check(self, mx: Multiplex) -> None:
        """Refuse values that make no sense."""
        Visibility.of_split(self.hide, mx)
        for name, least in (("seeds", 1), ("trials", 1)):
            if getattr(self, name) < least:
                raise InputError(f"Expected {name} to be at least {least}, got {getattr(self, name)}.")
        for name in ("budget", "memory"):
            if not getattr(self, name) > 0:
                raise InputError(f"Expected {name} to be above 0, got {getattr(self, name)}.")
        for layer in self.targets or ():
            mx.layer_index(layer)

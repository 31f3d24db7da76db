"""The interface of link prediction methods."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

from numpy.typing import ArrayLike

from banditplex.arrays import Floats
from banditplex.multiplex import Multiplex, Name

OnEpoch = Callable[[Any, dict[str, Any]], Any]  # called as on_epoch(model, row) after each epoch


@runtime_checkable
class LinkScorer(Protocol):
    """A method that is fitted to a multiplex and scores pairs of nodes in a layer; higher means more likely an edge."""

    def fit(self, mx: Multiplex, targets: Sequence[Name] | None = None, on_epoch: OnEpoch | None = None) -> Any:
        """Learn to predict links in the target layers (None = every layer); return self."""

    def score_pairs(self, pairs: ArrayLike, layer: Name) -> Floats:
        """Return a score (n,) for each pair (n, 2) of node names."""

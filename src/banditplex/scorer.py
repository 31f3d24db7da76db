"""What everything that predicts links answers to."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from banditplex.multiplex import Multiplex, Name


@runtime_checkable
class LinkScorer(Protocol):
    """Learns from a multiplex, then scores pairs of nodes in a layer; higher means more likely linked."""

    def fit(
        self,
        mx: Multiplex,
        targets: Sequence[Name] | None = None,
        on_epoch: Callable[[Any, dict[str, Any]], Any] | None = None,
    ) -> Any:
        """Learn to predict links in the target layers (None = every layer); return self."""

    def score_pairs(self, pairs: ArrayLike, layer: Name) -> NDArray[np.float64]:
        """Return one number per pair (n, 2) of node names or indices, (n,)."""

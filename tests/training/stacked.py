"""Models of several networks with some of what is stacked with them, so that a test can look at one part alone."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from banditplex.training import default
from banditplex.training import vectors as vectors_learnt
from banditplex.training.stacking import stack


@contextmanager
def stacked(*, regression: bool, vectors: bool) -> Iterator[None]:
    """Fit models with regressions, or vectors, or neither, beside their networks."""

    def some(parts, fits, learnt, every, rankings):
        assert rankings is None  # of long vectors alone
        kept = [parts[0], *parts[1:2] * regression, *parts[2:] * vectors]
        return stack(kept, fits if regression else None, learnt if vectors else None, every)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(default, "stack", some)
        if not vectors:
            patch.setattr(vectors_learnt, "can_learn", lambda data: False)
        yield

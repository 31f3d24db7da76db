"""How many threads torch uses: one for small graphs."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

SMALL = 20_000
"""Up to this many edges, one thread: on a busy machine, synchronising threads costs more than it saves."""


@contextmanager
def fitting_threads(num_edges: int) -> Iterator[None]:
    """Limit torch to one thread while a multiplex of at most `SMALL` edges is processed."""
    before = torch.get_num_threads()
    torch.set_num_threads(1 if num_edges <= SMALL else before)
    try:
        yield
    finally:
        torch.set_num_threads(before)

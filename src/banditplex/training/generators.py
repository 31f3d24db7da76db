"""torch's global generators: initial weights come from them, and the random numbers of a user's own convolutions.

They belong to the whole process, so fits in several threads take turns, and each leaves them as they were.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import RLock
from typing import Any

import torch

from banditplex.rng import stream

_TURN = RLock()


@contextmanager
def seeded(seed: int, name: str, device: torch.device) -> Iterator[None]:
    """Seed the global generators with the stream called `name` while this thread uses them."""
    with _TURN, torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(int(stream(seed, name).integers(2**62)))
        yield


def get_state() -> dict[str, Any]:
    """Return the state of the global generators."""
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []  # type: ignore[no-untyped-call]
    return {"cpu": torch.get_rng_state(), "cuda": cuda}


def set_state(state: Mapping[str, Any]) -> None:
    """Restore the global generators, as far as this machine has them."""
    torch.set_rng_state(state["cpu"])
    if state["cuda"] and len(state["cuda"]) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all(state["cuda"])

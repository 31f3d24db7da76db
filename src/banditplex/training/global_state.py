"""What of torch belongs to the whole process, and is left as it was: its generators, the precision of its products.

Initial weights come from the global generators, and the random numbers of a user's own convolutions. Fits in several
threads take turns.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import RLock
from typing import Any

import torch

from banditplex.rng import stream

WIDE = 32  # narrower products are not faster on tensor cores
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


@contextmanager
def on_tensor_cores(trainer: Any) -> Iterator[None]:
    """Let the products of a trainer's steps use TF32 if it has a wide encoder and a GPU; predictions are not rounded.

    TF32 keeps 10 bits of the fraction of each factor and adds up in float32; gradients are noisier than that.
    """
    encoder = trainer.model.encoder
    if trainer.data.device.type != "cuda" or encoder is None or encoder.width < WIDE:
        yield
        return
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)

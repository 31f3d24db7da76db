"""Matrix products of encoders on the tensor cores of a GPU."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

WIDE = 32  # narrower products are not faster on tensor cores


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

"""Matrix products of encoders on the tensor cores of a GPU."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch

WIDE = 32
"""Narrower products are not faster on tensor cores."""


def on_tensor_cores(step: Callable[..., None]) -> Callable[..., None]:
    """Let the products of a trainer's step use TF32 if it has a wide encoder and a GPU; predictions are not rounded.

    TF32 keeps 10 bits of the fraction of each factor and adds up in float32; gradients are noisier than that.
    """

    @wraps(step)
    def run(trainer: Any, *arguments: Any) -> None:
        encoder = trainer.model.encoder
        if trainer.data.device.type != "cuda" or encoder is None or encoder.width < WIDE:
            return step(trainer, *arguments)
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("high")
        try:
            step(trainer, *arguments)
        finally:
            torch.set_float32_matmul_precision(before)

    return run

"""Tensor cores: used by the steps of wide encoders on a GPU, and by nothing else."""

from types import SimpleNamespace

import pytest
import torch

from banditplex.training.tensor_cores import on_tensor_cores


@on_tensor_cores
def step(trainer, seen):
    seen.append(torch.get_float32_matmul_precision())
    if trainer.fails:
        raise ZeroDivisionError


def trainer_with(device, width, *, fails=False):
    encoder = None if width is None else SimpleNamespace(width=width)
    data, model = SimpleNamespace(device=torch.device(device)), SimpleNamespace(encoder=encoder)
    return SimpleNamespace(data=data, model=model, fails=fails)


@pytest.mark.parametrize(
    ("device", "width", "expected"),
    [("cuda", 64, "high"), ("cuda", 16, "highest"), ("cuda", None, "highest"), ("cpu", 64, "highest")],
)
def test_only_wide_encoders_on_a_gpu_use_them(device, width, expected):
    step(trainer_with(device, width), seen := [])
    assert seen == [expected]
    assert torch.get_float32_matmul_precision() == "highest"


def test_the_precision_comes_back_after_an_error():
    with pytest.raises(ZeroDivisionError):
        step(trainer_with("cuda", 64, fails=True), [])
    assert torch.get_float32_matmul_precision() == "highest"

"""Tensor cores: used by the steps of wide encoders on a GPU, and by nothing else."""

from types import SimpleNamespace

import pytest
import torch

from banditplex.training.tensor_cores import on_tensor_cores


def trainer_with(device, width):
    encoder = None if width is None else SimpleNamespace(width=width)
    data, model = SimpleNamespace(device=torch.device(device)), SimpleNamespace(encoder=encoder)
    return SimpleNamespace(data=data, model=model)


@pytest.mark.parametrize(
    ("device", "width", "expected"),
    [("cuda", 64, "high"), ("cuda", 16, "highest"), ("cuda", None, "highest"), ("cpu", 64, "highest")],
)
def test_only_wide_encoders_on_a_gpu_use_them(device, width, expected):
    with on_tensor_cores(trainer_with(device, width)):
        assert torch.get_float32_matmul_precision() == expected
    assert torch.get_float32_matmul_precision() == "highest"


def test_the_precision_comes_back_after_an_error():
    with pytest.raises(ZeroDivisionError), on_tensor_cores(trainer_with("cuda", 64)):
        raise ZeroDivisionError
    assert torch.get_float32_matmul_precision() == "highest"

"""Fits in threads: each as if it were alone, torch's generator as it was; tensor cores: for wide encoders on a GPU."""

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch_geometric.nn import GATConv

import banditplex as bx
from banditplex.training.global_state import on_tensor_cores


def dropping(channels, out):
    return GATConv(channels, out, dropout=0.5)


@pytest.mark.slow
@pytest.mark.parametrize("conv", ["sage", dropping])
def test_fits_in_threads_are_those_of_fits_one_after_another(conv):
    ends = np.random.default_rng(0).integers(0, 30, (2, 300))
    mx = bx.Multiplex.from_edges(*ends, np.repeat(["a", "b", "c"], 100), num_nodes=30, self_loops="drop")
    pairs = np.stack(np.triu_indices(30, 1), 1)

    def fit(seed):
        return bx.LinkPredictor(epochs=2, width=8, conv=conv, seed=seed).fit(mx).score_pairs(pairs, "a")

    alone = [fit(seed) for seed in range(5)]
    state = torch.get_rng_state()
    with ThreadPoolExecutor(5) as pool:
        together = list(pool.map(fit, range(5)))
    assert torch.equal(torch.get_rng_state(), state)
    for one, other in zip(alone, together, strict=True):
        assert (one == other).all()


def test_dropout_is_for_training_alone(tmp_path):
    ends = np.random.default_rng(0).integers(0, 30, (2, 200))
    mx = bx.Multiplex.from_edges(*ends, np.repeat(["a", "b"], 100), num_nodes=30, self_loops="drop")
    model = bx.LinkPredictor(epochs=2, width=8, conv=dropping).fit(mx)
    model.save(tmp_path)
    pairs = np.stack(np.triu_indices(30, 1), 1)
    first = model.score_pairs(pairs, "a")
    assert (model.score_pairs(pairs, "a") == first).all()
    assert (bx.LinkPredictor.load(tmp_path, conv=dropping).score_pairs(pairs, "a") == first).all()


# Tensor cores


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

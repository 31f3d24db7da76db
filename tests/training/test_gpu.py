"""What a GPU computes is what a CPU computes, up to rounding."""

import copy

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import banditplex as bx
from banditplex.backend.packing import EdgeTensors
from banditplex.datasets import groups, planted
from banditplex.nn import neighbour_sampling as sampling
from banditplex.nn.vectors import SETS, Folds, Vectors
from banditplex.pairs.visibility import Visibility
from banditplex.persistence.checkpoint import restore, state_of
from banditplex.training import vectors
from banditplex.training.batches import Batch
from banditplex.training.threads import Later, run_to_end
from tests.training.gradients import gradients
from tests.training.test_loop import trainer_of

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]
GPU = "cuda"
SETTINGS = {"epochs": 4, "warmup": 1, "targets_per_step": 3, "patience": 100}


@pytest.fixture(scope="module")
def mx():
    return planted(6, 2, 0.8, num_nodes=120, edges_per_layer=500, communities=4, seed=0)


@pytest.fixture(params=["whole", "near"])
def layers(request, monkeypatch):
    """Encode layers whole, or only what is needed of them."""
    monkeypatch.setattr(sampling, "WHOLE", 4096 if request.param == "whole" else 0)


def one_step(trainer, state):
    """Go back to a state; return loss and gradients of its next step, whose pairs and draws any device shares."""
    restore(trainer, state)
    data, plan = trainer.data, trainer._plan(trainer.rng["batches"])
    order, row = plan.edges(data.device)
    pairs, places = trainer.supply.epoch(trainer.epoch, order, trainer.rng["negatives"])
    edges, instances = next(plan.steps())
    _, table = trainer._draw_layers(instances)
    batch = Batch.of(row[edges], pairs[:, edges], instances, table)
    logits = trainer._score(
        batch, None if places is None else trainer.supply.known(places[:, edges].flatten()), Later()
    )
    loss = F.binary_cross_entropy_with_logits(logits.total, batch.label)
    names, found = [name for name, _ in trainer.model.named_parameters()], gradients(trainer, batch, logits)
    assert all(gradient.device.type == data.device.type for gradient in found)
    return loss.item(), {name: gradient.cpu() for name, gradient in zip(names, found, strict=True)}


@pytest.mark.parametrize("relevance", ["predictive", "euclidean"])
@pytest.mark.parametrize("fanout", [None, 1_000])
@pytest.mark.parametrize("conv", ["sage", "gcn"])
def test_a_step_has_the_same_loss_and_gradients(mx, layers, fanout, conv, relevance):
    settings = {"fanout": fanout, "conv": conv, "relevance": relevance, **SETTINGS}
    cpu, gpu = (trainer_of(mx, device=device, **settings) for device in ("cpu", GPU))
    cpu.run_epoch()
    state = copy.deepcopy(state_of(cpu))
    (loss, gradients), (gpu_loss, gpu_gradients) = one_step(cpu, state), one_step(gpu, state)
    assert gpu_loss == pytest.approx(loss, rel=1e-4)
    for name, gradient in gradients.items():
        np.testing.assert_allclose(gpu_gradients[name], gradient, rtol=1e-3, atol=1e-4, err_msg=name)


def test_plans_and_negatives_are_those_of_the_cpu(mx):
    cpu, gpu = (trainer_of(mx, device=device, evidence="drawn", **SETTINGS) for device in ("cpu", GPU))
    plans = [trainer._plan(np.random.default_rng(0)).edges(trainer.data.device) for trainer in (cpu, gpu)]
    pairs = [t.supply.epoch(0, plan[0], np.random.default_rng(1))[0] for t, plan in zip((cpu, gpu), plans, strict=True)]
    for one, other in [*zip(*plans, strict=True), pairs]:
        assert torch.equal(one, other.cpu())
    np.testing.assert_array_equal(cpu.data.validation_edges.pairs, gpu.data.validation_edges.pairs)
    np.testing.assert_array_equal(cpu.data.validation_negatives, gpu.data.validation_negatives)


@pytest.mark.parametrize("relevance", ["predictive", "cosine"])
def test_training_resumes_on_the_gpu(mx, layers, relevance, tmp_path):
    def fit(folder, *, stop=None, resume=False):
        model = bx.LinkPredictor(device=GPU, fanout=3, relevance=relevance, **SETTINGS)
        return model.fit(mx, on_epoch=lambda _, row: row["epoch"] == stop, checkpoint=tmp_path / folder, resume=resume)

    fit("stopped", stop=2)
    resumed, whole = fit("stopped", resume=True), fit("whole")
    assert resumed.history_.epoch.tolist() == whole.history_.epoch.tolist()
    assert [sum(row.values()) for row in resumed.history_.drawn] == [sum(row.values()) for row in whole.history_.drawn]
    a, b = resumed.layer_probabilities_, whole.layer_probabilities_
    np.testing.assert_allclose(a, b, atol=1e-2)  # sums on a GPU come in any order, and rounding adds up over steps


def test_neighbours_are_drawn_on_the_device(mx):
    generator = torch.Generator(GPU).manual_seed(0)
    size = torch.full((20_000,), 5, device=GPU)
    chosen = sampling.choose(size, 2, generator)
    assert chosen.device.type == GPU
    assert (chosen[:, 0] != chosen[:, 1]).all()
    count = torch.bincount(chosen.reshape(-1), minlength=5)
    # Each number is in a set of 2 out of 5 with chance 2 / 5; 5 deviations of a binomial
    assert (count - 8_000).abs().max() < 5 * (20_000 * 0.4 * 0.6) ** 0.5


def test_predictions_are_those_of_the_cpu(mx, layers, tmp_path):
    bx.LinkPredictor(device=GPU, fanout=3, **SETTINGS).fit(mx).save(tmp_path / "run")
    pairs = np.array(np.triu_indices(mx.num_nodes, 1)).T
    scores = []
    for device in ("cpu", GPU):
        model = bx.LinkPredictor.load(tmp_path / "run", device=device)
        assert model._fitted.view.device.type == device
        scores.append(model.score_pairs(pairs, mx.layer_names[2]))
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("candidates", [10, 1000])
def test_vectors_are_learnt_alike(mx, candidates, monkeypatch):
    monkeypatch.setattr(vectors, "FEWEST", 5)
    few = vectors.SEVERAL._replace(most=5, full=candidates, candidates=candidates)
    monkeypatch.setattr(vectors, "SEVERAL", few)  # later steps enlarge rounding errors
    empty = Vectors(mx, Visibility("edge", mx.directed))
    folds = Folds.draw(mx, torch.Generator().manual_seed(0), everywhere=False)
    empty.node_group.copy_(folds.node)
    empty.layer_group.copy_(folds.layer)
    parts = [vectors.learn(EdgeTensors.of(mx, device), None, empty.to(device), 3) for device in ("cpu", GPU)]
    assert [len(some) for some in parts] == [SETS, 1]  # all models in each step
    cpu, gpu = (
        [torch.cat(each) for each in zip(*(run_to_end(part.steps) for part in some), strict=True)] for some in parts
    )
    for there, here in zip(gpu, cpu, strict=True):
        np.testing.assert_allclose(there.cpu(), here, atol=1e-3)


def test_several_networks_with_all_that_is_beside_them_score_alike(mx, tmp_path):
    model = bx.LinkPredictor(members=2, epochs=2, warmup=0, k=1, device=GPU).fit(mx)
    beside = model._fitted.model.beside
    assert beside.vectors.node.device.type == "cuda"
    assert beside.vectors.factor.max() > 0
    pairs = np.random.default_rng(0).integers(0, mx.num_nodes, (500, 2))
    pairs = mx.node_names[pairs[pairs[:, 0] != pairs[:, 1]]]
    scores = model.score_pairs(pairs, mx.layer_names[0])
    model.save(tmp_path / "model")
    there = bx.LinkPredictor.load(tmp_path / "model", device="cpu").score_pairs(pairs, mx.layer_names[0])
    np.testing.assert_allclose(scores, there, atol=2e-3)


@pytest.mark.parametrize("hide", ["layer", "pair"])
@pytest.mark.parametrize("others", [39, 159])
def test_panels_that_a_gpu_finds_are_right_and_score_alike_on_a_cpu(hide, others, tmp_path):
    mx = groups(others + 1, 4, num_nodes=400, edges_per_layer=800, seed=1)
    model = bx.LinkPredictor(hide=hide, epochs=2, warmup=0, device=GPU).fit(mx, ["g0-0", "g1-0"])
    pooled = model.panel_.query("weight > 0")
    assert len(pooled) >= 4
    assert (pooled["target"].str[:3] == pooled["layer"].str[:3]).all()
    assert model.layer_gains_.query("helps")["layer"].isin(["g0-1", "g0-2", "g0-3", "g1-1", "g1-2", "g1-3"]).all()
    model.save(tmp_path / "model")
    pairs = np.random.default_rng(0).integers(0, mx.num_nodes, (500, 2))
    pairs = mx.node_names[pairs[pairs[:, 0] != pairs[:, 1]]]
    there = bx.LinkPredictor.load(tmp_path / "model", device="cpu").score_pairs(pairs, "g0-0")
    np.testing.assert_allclose(model.score_pairs(pairs, "g0-0"), there, atol=2e-3)

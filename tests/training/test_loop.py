"""The loop: no leak, nothing looked at beyond targets and draws, the same result from the same seed."""

import numpy as np
import pytest
import torch
from torch_geometric.nn import TAGConv

from banditplex.datasets import planted
from banditplex.evaluation import roc_auc
from banditplex.multiplex import Multiplex
from banditplex.nn import Encoder
from banditplex.nn import neighbour_sampling as sampling
from banditplex.persistence import checkpoint
from banditplex.persistence.checkpoint import read_checkpoint
from banditplex.predictor import LinkPredictor
from banditplex.training import threads
from banditplex.training.config import EVIDENCE, Config
from banditplex.training.setup import make_trainer
from tests.nn.test_evidence import forget_sizes
from tests.refusals import refuses
from tests.training.test_data import dense_layer


def trainer_of(mx, targets=None, **settings):
    """Return the trainer of target indices, by default all layers."""
    targets = np.arange(mx.num_layers) if targets is None else np.array(targets)
    return make_trainer(mx, targets, Config(**settings).checked())


def random_layers(seed, *, copied, features=False):
    """Two random layers of 60 nodes; the second is a copy of the first or independent of it."""
    rng = np.random.default_rng(seed)
    upper = np.array(np.triu_indices(60, 1))
    first = upper[:, rng.random(upper.shape[1]) < 0.2]
    second = first if copied else upper[:, rng.random(upper.shape[1]) < 0.2]
    source, destination = np.concatenate([first, second], axis=1)
    layer = np.repeat(["a", "b"], [first.shape[1], second.shape[1]])
    return Multiplex.from_edges(
        source, destination, layer, num_nodes=60, node_features=np.ones((60, 1)) if features else None
    )


@pytest.fixture
def sampled(monkeypatch):
    """Take every layer for a large one, in which neighbours are drawn."""
    monkeypatch.setattr(sampling, "WHOLE", 0)


@pytest.mark.parametrize(
    ("width", "features", "whole"),
    [(0, False, 4096), pytest.param(8, True, 4096, marks=pytest.mark.slow), (8, True, 0)],
)
def test_known_edges_of_a_random_layer_cannot_be_told_from_other_pairs(width, features, whole, monkeypatch):
    """If a pair's own edge were visible, known edges would be recognised perfectly; through a copy, they are."""
    monkeypatch.setattr(sampling, "WHOLE", whole)
    auc = {}
    for copied in (False, True):
        mx = random_layers(0, copied=copied, features=features)
        model = LinkPredictor(epochs=6, width=width, fanout=4, seed=0).fit(mx, targets=["a"])
        pairs = np.array(np.triu_indices(60, 1)).T
        auc[copied] = roc_auc(mx.has_edges(pairs, "a"), model.score_pairs(pairs, "a"))
    assert abs(auc[False] - 0.5) < 0.08
    assert auc[True] > 0.99


@pytest.mark.parametrize("evidence", EVIDENCE)
def test_in_a_directed_layer_an_arc_and_its_reverse_do_not_tell_of_each_other(evidence, monkeypatch):
    """Whether an arc is known or not, beside its reverse, makes no difference to its score."""
    forget_sizes(monkeypatch)
    arcs = np.unique(np.random.default_rng(0).integers(0, 30, (400, 2)), axis=0)
    arcs = arcs[arcs[:, 0] != arcs[:, 1]]
    known = {tuple(arc) for arc in arcs.tolist()}
    both = [arc for arc in sorted(known) if arc[::-1] in known][:6]
    ours = [arc in both or arc[::-1] in both for arc in map(tuple, arcs.tolist())]
    layer = np.where(ours, 0, np.arange(len(arcs)) % 2)

    def make(keep):
        return Multiplex.from_edges(*arcs[keep].T, layer[keep], num_nodes=30, directed=True, layer_names=[0, 1])

    whole = make(np.ones(len(arcs), np.bool_))
    model = LinkPredictor(epochs=3, width=8, warmup=0, evidence=evidence).fit(whole, targets=[0])
    for arc in both:
        without = make(~(arcs == arc).all(1))
        assert model.score_pairs([arc], 0) == pytest.approx(model.score_pairs([arc], 0, context=without), abs=1e-5)


def test_validation_edges_of_a_random_layer_are_not_learnt_by_heart():
    """Nothing can be known of them: of about 88 pairs half are told right, with a deviation of .053."""
    ends = np.random.default_rng(0).integers(0, 100, (2, 150))
    mx = Multiplex.from_edges(*ends, "a", num_nodes=100, self_loops="drop")
    model = LinkPredictor(epochs=40, patience=40, validation=0.3, batch_size=16, learning_rate=0.03, members=1).fit(mx)
    assert abs(model.history_["validation_accuracy"].iloc[-1] - 0.5) < 0.2


@pytest.mark.parametrize(
    "options",
    [
        {"width": 0},
        pytest.param({"width": 16, "conv": "sage"}, marks=pytest.mark.slow),
        pytest.param({"width": 16, "conv": "gcn"}, marks=pytest.mark.slow),
    ],
)
def test_validation_edges_show_nowhere_in_what_is_learnt_from(options):
    """Which pairs are edges is chance here, so what knows the training edges alone cannot tell, however it learns.

    With negatives that avoid validation edges the AUC of "sage" would be 1.0, with validation edges in the
    neighbourhoods of others .77. A layer's AUC deviates by about .07.
    """
    auc = []
    for seed in range(4):
        options = options | {"epochs": 40, "patience": 40, "validation": 0.3, "learning_rate": 0.03, "seed": seed}
        trainer = trainer_of(dense_layer(seed), **options)
        while not trainer.finished:
            trainer.run_epoch()
        found = trainer.validate()
        auc.append(roc_auc(found.label.numpy(), found.logit.numpy()))
    assert abs(np.mean(auc) - 0.5) < 0.12


@pytest.mark.parametrize("policy", ["default", "none"])
def test_a_training_that_diverges_says_so(policy):
    mx = random_layers(0, copied=False)
    with refuses("diverged", "learning_rate", "epoch 1", "target layer"):
        LinkPredictor(policy=policy, learning_rate=1e30, epochs=3).fit(mx)


def test_a_step_that_was_not_finite_ends_the_training(monkeypatch):
    mx = random_layers(0, copied=False)
    monkeypatch.setattr("banditplex.training.optimizer.FlatAdamW.first_bad_step", lambda optimizer: 0)
    with refuses("diverged", "epoch 1"):
        LinkPredictor(epochs=2, width=0).fit(mx)


def test_gradients_that_are_no_numbers_stop_before_the_checkpoint(tmp_path, monkeypatch):
    """From the second epoch on, a root at 0 has finite values and gradients that are NaN; losses show it later."""
    monkeypatch.setattr(checkpoint, "EVERY", 0.0)
    bad = []

    class Rooted(torch.nn.Linear):
        def forward(self, x, edge_index, *rest):
            return super().forward(x) + (torch.sqrt(x - x) if bad else 0)

    mx = random_layers(0, copied=False)
    model = LinkPredictor(conv=Rooted, width=4, epochs=4, targets_per_step=1, batch_size=10_000)
    with refuses("epoch 2", f"target layer {mx.layer_names[0]!r}", "diverged"):
        model.fit(mx, list(mx.layer_names[:1]), lambda model, row: bad.append(1), checkpoint=tmp_path)
    kept = read_checkpoint(tmp_path / "checkpoint.safetensors")["state"]
    assert kept["epoch"] == 1
    assert all(torch.isfinite(value).all() for value in kept["model"].values())
    bad.clear()
    model.fit(mx, list(mx.layer_names[:1]), checkpoint=tmp_path, resume=True)
    assert np.isfinite(model.history_["train_loss"]).all()


@pytest.mark.slow
@pytest.mark.parametrize("width", [0, 8])
def test_the_number_of_threads_changes_nothing_that_matters(width):
    """Of 25,000 edges, for which more than one thread is used: scores agree to 1e-6 for 1, 2 and 3 threads.

    Without an encoder, gradient steps have a thread of their own.
    """
    mx = planted(5, 2, 0.8, num_nodes=400, edges_per_layer=5_000, communities=4, seed=0)
    assert mx.num_edges > threads.SMALL
    pairs, before, found = np.arange(4_000).reshape(-1, 2) % mx.num_nodes, torch.get_num_threads(), []
    try:
        for count in (1, 2, 3):
            torch.set_num_threads(count)
            model = LinkPredictor(epochs=1, width=width).fit(mx, list(mx.layer_names[:2]))
            found.append(model.score_pairs(pairs, mx.layer_names[0]))
    finally:
        torch.set_num_threads(before)
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=0, atol=1e-6)


def test_an_epoch_encodes_target_and_drawn_layers_only(monkeypatch):
    mx = planted(12, 3, 0.8, num_nodes=60, edges_per_layer=80, communities=4, seed=0)
    encoded = []
    forward = Encoder.forward
    monkeypatch.setattr(
        Encoder, "forward", lambda self, block, x: encoded.append(block.layers.tolist()) or forward(self, block, x)
    )
    trainer = trainer_of(mx, [3, 7], k=2, width=16, validation=0.0, warmup=0)
    (row, other), rounds = trainer.run_epoch(), trainer.steps_per_epoch
    assert len(encoded) == rounds
    assert max(map(len, encoded)) <= 2 * (1 + 2)
    named = {mx.layer_index(name) for line in (row, other) for name in line["drawn"]}
    assert set().union(*encoded) == named | {3, 7}
    assert sum(row["drawn"].values()) == 2 * rounds


def test_a_step_looks_at_no_more_than_the_fanout_allows(monkeypatch, sampled):
    mx = planted(6, 2, 0.8, num_nodes=200, edges_per_layer=100, communities=4, seed=0)
    blocks = []
    forward = Encoder.forward
    monkeypatch.setattr(Encoder, "forward", lambda self, block, x: blocks.append(block) or forward(self, block, x))
    monkeypatch.setattr("banditplex.training.config.MAX_ROUNDS", 1000)
    settings = {"width": 16, "depth": 1, "fanout": 3, "batch_size": 4, "targets_per_step": 1}
    trainer = trainer_of(mx, [2], **settings, validation=0.0)
    trainer.run_epoch()
    assert len(blocks) == trainer.steps_per_epoch == 50
    arcs = [torch.bincount(block.edge_index[1]).max().item() for block in blocks if block.edge_index.shape[1]]
    assert max(arcs) == 3
    vertices = [len(block.key) for block in blocks]
    assert np.mean(vertices) < 100  # 4 pairs in 2 layers: at most 16, and common neighbours, with 3 neighbours each


@pytest.mark.parametrize(("conv", "num_nodes"), [("sage", 60), pytest.param(TAGConv, 400, marks=pytest.mark.slow)])
def test_prediction_sees_all_neighbours(conv, num_nodes, monkeypatch, sampled):
    """TAGConv looks three steps far; in the sparse layer there are more."""
    mx = planted(4, 1, 0.8, num_nodes=num_nodes, edges_per_layer=150 if num_nodes == 60 else 400, communities=4, seed=0)
    model = LinkPredictor(epochs=2, fanout=1, conv=conv).fit(mx)
    pairs = np.array(np.triu_indices(60, 1)).T[::30]
    near = model.score_pairs(pairs, mx.layer_names[0])
    monkeypatch.setattr(sampling, "WHOLE", 4096)
    np.testing.assert_allclose(near, model.score_pairs(pairs, mx.layer_names[0]), rtol=1e-4, atol=1e-5)


def test_layers_are_drawn_evenly_and_policies_told_nothing_while_warming_up():
    mx = planted(4, 1, 0.8, num_nodes=40, edges_per_layer=80, communities=4, seed=2)
    trainer = trainer_of(mx, width=0, warmup=2)
    for _ in range(2):
        (row, *_), untouched = trainer.run_epoch(), trainer.policy.rounds
        assert untouched.tolist() == [0, 0, 0, 0]
        assert set(row["inclusion"].values()) == {1 / 3}
    trainer.run_epoch()
    assert trainer.policy.rounds.tolist() == [trainer.steps_per_epoch] * 4


def test_regret_adds_up_layer_losses_of_warm_up_and_later_rounds():
    """A plain loop over the rounds of one target: losses of drawn layers, less those of the best, estimated."""
    mx = planted(4, 1, 0.8, num_nodes=40, edges_per_layer=80, communities=4, seed=2)
    trainer = trainer_of(mx, [0], epochs=8, width=0, warmup=2)
    rounds, add = [], trainer.regret.add
    trainer.regret.add = lambda draw, losses, *rest: (rounds.append((draw, losses)), add(draw, losses, *rest))
    for _ in range(3):
        (row,) = trainer.run_epoch()
        paid, estimate = 0.0, [0.0, 0.0, 0.0]
        for draw, losses in rounds:
            paid += losses[0, 0]
            estimate[draw.arms[0, 0]] += losses[0, 0] / draw.probability[0, 0]
        assert len(rounds) == trainer.epoch * trainer.steps_per_epoch
        assert row["regret"] == pytest.approx(paid - min(estimate))


@pytest.mark.parametrize("options", [{"k": 3}, {"policy": "all"}, {"policy": "none"}, {"relevance": "euclidean"}])
def test_regret_is_finite_and_0_where_there_is_no_choice(options):
    mx = planted(4, 1, 0.8, num_nodes=40, edges_per_layer=80, communities=4, seed=2)
    regret = [row["regret"] for row in trainer_of(mx, epochs=8, width=4, **options).run_epoch()]
    assert np.isfinite(regret).all()
    assert "relevance" in options or regret == [0.0] * 4


def test_the_same_seed_gives_the_same_weights_and_another_seed_others():
    mx = planted(4, 1, 0.8, num_nodes=40, edges_per_layer=80, communities=4, seed=3)
    first, same, other = (trainer_of(mx, epochs=2, width=4, seed=seed) for seed in (0, 0, 1))
    for trainer in (first, same, other):
        trainer.run_epoch()
    weights = [torch.cat([weight.flatten() for weight in t.ema_model.parameters()]) for t in (first, same, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])

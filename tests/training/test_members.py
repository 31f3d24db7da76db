from dataclasses import replace

import numpy as np
import pytest

import banditplex as bx
from banditplex.errors import InputError
from banditplex.nn.ensemble import members_of
from banditplex.training import vectors
from banditplex.training.config import Config
from banditplex.training.members import while_training
from tests.quick import only
from tests.training.stacked import stacked
from tests.training.test_loop import random_layers, trainer_of

FAST = {"members": 2, "epochs": 2, "warmup": 0}


@pytest.fixture(autouse=True)
def few_steps(monkeypatch):
    """Vectors are learnt in five steps: how good they are does not matter here."""
    monkeypatch.setattr(vectors, "FEWEST", 5)
    monkeypatch.setattr(vectors, "SEVERAL", vectors.SEVERAL._replace(most=5))


@pytest.fixture(scope="module")
def mx():
    return random_layers(0, copied=True)


@pytest.fixture(scope="module")
def model(mx):
    with stacked(regression=False, vectors=False):
        return bx.LinkPredictor(**FAST, width=4).fit(mx)


def test_scores_are_the_mean_of_the_members_scores(model, mx):
    layer, pairs = mx.layer_names[0], mx.node_names[[[0, 1], [2, 3], [4, 9]]]
    whole, members = model._fitted, members_of(model._fitted.model)
    assert len(members) == 2
    alone = []
    for member in members:
        model._fitted = replace(whole, model=member)
        alone.append(model.score_pairs(pairs, layer))
    model._fitted = whole
    assert not np.allclose(*alone)
    np.testing.assert_allclose(model.score_pairs(pairs, layer), np.mean(alone, axis=0), rtol=1e-6, atol=1e-6)


def test_while_training_scores_have_the_temperature_of_the_validation_pairs(mx):
    trainer = trainer_of(mx, epochs=2, width=0)
    trainer.run_epoch()
    temperature = trainer.validate().temperature()
    assert temperature != 1
    slope = while_training([trainer]).calibration.ratio(np.array([3.0]), 0)
    assert slope == pytest.approx([3.0 / temperature])


def test_members_hold_out_edges_of_their_own_and_share_policies(mx):
    members = bx.LinkPredictor(**FAST).make_members(mx)
    while not members.finished:
        members.run_epoch()
    first, second = members.trainers
    assert first.policy is second.policy
    held_out = [set(map(tuple, trainer.data.validation_edges.pairs.tolist())) for trainer in members.trainers]
    assert held_out[0] != held_out[1]
    assert [(row["epoch"], row["member"]) for row in members.history if row["layer"] == mx.layer_names[0]] == [
        (1, 1), (2, 1), (3, 2), (4, 2),
    ]  # fmt: skip


@pytest.mark.parametrize("stop", only([3], [2, 3]))  # the last epoch of a network, and one within the next
def test_a_training_stopped_within_any_member_goes_on_to_the_same_bits(tmp_path, stop, mx):
    pairs, layer = mx.edges(mx.layer_names[1]).T[:5], mx.layer_names[1]
    whole = bx.LinkPredictor(**FAST).fit(mx)
    bx.LinkPredictor(**FAST).fit(mx, on_epoch=lambda _, row: row["epoch"] == stop, checkpoint=tmp_path)
    again = bx.LinkPredictor(**FAST).fit(mx, checkpoint=tmp_path, resume=True)
    assert again.history_.equals(whole.history_)
    assert again.score_pairs(pairs, layer).tolist() == whole.score_pairs(pairs, layer).tolist()
    assert again.predict_proba(pairs, layer).tolist() == whole.predict_proba(pairs, layer).tolist()


@pytest.mark.slow
def test_all_members_are_trained_longer(tmp_path, mx):
    """Two networks of 2 epochs each get 3, then 4; the training of 4 is stopped in the first network's last epoch."""
    layer = mx.layer_names[0]
    settings = {"members": 2, "warmup": 0, "width": 0, "patience": 9}

    def rows(model):
        table = model.history_[model.history_["layer"] == layer]
        assert table["epoch"].tolist() == list(range(1, len(table) + 1))
        return [table[table["member"] == member]["train_loss"].tolist() for member in (1, 2)]

    before, seen = rows(bx.LinkPredictor(**settings, epochs=2).fit(mx, checkpoint=tmp_path)), []
    for epochs, stop in ((3, 0), (4, 4), (4, 0)):

        def watch(model, row, stop=stop):
            seen.append((row["epoch"], row["epochs"], row["layers"][0]["member"]))
            return row["epoch"] == stop

        model = bx.LinkPredictor(**settings, epochs=epochs).fit(mx, on_epoch=watch, checkpoint=tmp_path, resume=True)
        after = rows(model)
        assert [part[: len(old)] for part, old in zip(after, before, strict=True)] == before
        before = after
    assert seen == [(3, 6, 1), (6, 6, 2), (4, 8, 1), (8, 8, 2)]
    assert [len(part) for part in before] == [4, 4]


def test_saved_and_loaded(tmp_path, model, mx):
    model.save(tmp_path / "run")
    loaded = bx.LinkPredictor.load(tmp_path / "run")
    pairs, layer = mx.node_names[[[0, 1], [2, 3]]], mx.layer_names[0]
    assert loaded.members == 2
    assert loaded.score_pairs(pairs, layer).tolist() == model.score_pairs(pairs, layer).tolist()


def test_several_are_trained_by_default_where_that_is_cheap():
    assert [Config().num_members(size) for size in (1, 19_999, 20_000)] == [3, 3, 1]
    assert Config(epochs=29).num_members(100) == 1
    assert Config(members=5, epochs=1).num_members(20_000) == 5


def test_batches_are_larger_where_several_networks_are_trained():
    assert [Config().batch_edges(size) for size in (19_999, 20_000)] == [64, 32]
    assert [each.batch_edges(100) for each in (Config(epochs=29), Config(members=6))] == [32, 32]
    assert [Config(batch_size=size).batch_edges(100) for size in (1, 10)] == [1, 5]
    assert [Config().max_rounds(size) for size in (19_999, 20_000)] == [16, 64]
    assert [each.max_rounds(100) for each in (Config(epochs=29), Config(members=6), Config(batch_size=4))] == [64] * 3


def test_no_network_at_all_is_refused():
    with pytest.raises(InputError, match=r"members to be an integer of at least 1, or 'auto', got 0"):
        Config(members=0).checked()

"""Warm starts: what is carried over, and what must be as in the first fit."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.base import clone

import banditplex as bx
from banditplex.training.config import EVIDENCE
from tests.refusals import refuses
from tests.test_predictor import FAST, small, unrelated_layers


def test_a_warm_start_goes_on_with_new_edges_and_new_nodes():
    mx = small()
    model = bx.LinkPredictor(**{**FAST, "warm_start": True}).fit(mx)
    rounds = model._fitted.policy.rounds
    grown = bx.Multiplex.from_edges(
        np.append(mx.edge_index[0], [0, 40]), np.append(mx.edge_index[1], [40, 41]),
        np.append(mx.edge_layer, [0, 0]), num_nodes=42, layer_names=range(4),
    )  # fmt: skip
    with refuses("layers", [0, 1, 2, 3]):
        model.fit(grown)
    with refuses("directed=False"):
        model.fit(replace(mx, directed=True))
    for other in ({"width": 8}, {"width": 0}, {"hidden_units": 3}):
        with refuses("settings", "warm start"):
            clone(model).set_params(**FAST).fit(mx).set_params(warm_start=True, **other).fit(mx)
    grown = bx.Multiplex.from_indices(
        *grown.edge_index, grown.edge_layer, node_names=np.arange(42), layer_names=mx.layer_names
    )
    before = model._fitted.model.encoder.input.weight.clone()
    trainer = model.make_trainer(grown)
    assert torch.equal(trainer.model.encoder.input.weight[:40], before)
    assert (model.fit(grown)._fitted.policy.rounds > rounds).all()
    assert model.score_pairs([[0, 41]], mx.layer_names[0]).shape == (1,)


def test_a_warm_start_hides_what_was_hidden():
    mx = small()
    model = bx.LinkPredictor(**FAST, hide="pair", warm_start=True).fit(mx)
    with refuses("hide='pair'"):
        model.set_params(hide="edge").fit(mx)


@pytest.mark.parametrize("evidence", EVIDENCE)
@pytest.mark.parametrize("relevance", ["predictive", "euclidean"])
def test_a_run_can_be_resumed_and_started_warm_with_evidence_and_without(relevance, evidence, tmp_path):
    mx = unrelated_layers(3, num_layers=4)
    settings = {"epochs": 2, "width": 4, "warmup": 0, "evidence": evidence, "relevance": relevance}
    straight = bx.LinkPredictor(**settings).fit(mx)
    stopped = bx.LinkPredictor(**settings).fit(mx, on_epoch=lambda *_: True, checkpoint=tmp_path)
    assert len(stopped.history_) == 4
    resumed = bx.LinkPredictor(**settings).fit(mx, checkpoint=tmp_path, resume=True)
    pairs = np.array(np.triu_indices(60, 1)).T
    np.testing.assert_array_equal(resumed.score_pairs(pairs, "a"), straight.score_pairs(pairs, "a"))
    warm = resumed.set_params(warm_start=True).fit(unrelated_layers(4, num_layers=4))
    assert warm.layer_probabilities_.shape == (4, 4)
    with refuses("evidence", evidence):
        warm.set_params(evidence=next(other for other in EVIDENCE if other != evidence)).fit(mx)

"""The layer that is best on validation edges, against a plain loop."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.metrics import log_loss

import banditplex as bx
from experiments.policy_scores import validated_layers

MX = bx.planted(4, 1, 0.8, num_nodes=40, edges_per_layer=80, communities=4, within=0.9, seed=1)
TARGETS = [MX.layer_names[0], MX.layer_names[2]]


def fit(**settings):
    return bx.LinkPredictor(epochs=3, device="cpu", **settings).fit(MX, TARGETS)


def test_the_validated_layer_has_the_least_validation_loss_by_a_plain_loop():
    model = fit(policy="uniform")
    data, found = model._trainer.data, validated_layers(model)
    for instance, target in enumerate(data.targets.tolist()):
        here = data.validation_edges.instance == instance
        pairs = np.concatenate([data.validation_edges.pairs[here], data.validation_negatives[here]])
        label = np.repeat([1, 0], here.sum())
        loss = {}
        for layer in set(range(MX.num_layers)) - {target}:
            model._fitted.layers[instance, 0], model._fitted.counts[instance] = layer, 1
            logit = model.score_pairs(pairs, MX.layer_names[target], context=data.train_mx)
            loss[layer] = least_loss(label, logit)
        assert loss[found[instance]] == pytest.approx(min(loss.values()), abs=1e-3)


def least_loss(label, logit):
    """Return the log loss at the best temperature between 1/8 and 8."""

    def loss(power):
        return log_loss(label, 1 / (1 + np.exp(-logit / 2**power)))

    return minimize_scalar(loss, bounds=(-3, 3), method="bounded").fun


def test_without_validation_edges_the_most_probable_layer_is_taken():
    model = fit(validation=0)
    assert validated_layers(model).tolist() == model._trainer.most_probable_layers(1)[:, 0].tolist()

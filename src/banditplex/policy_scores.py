"""Fair comparisons of policies: the ways to predict with a model, whichever policy it was trained with.

A policy that never prefers a layer, such as `uniform`, has no most probable layer: predicting with one at random would
make it look worse than it is. So a comparison shows every policy with its most probable layers, with the mean over
draws, and with the single layer that is best on validation edges.
"""

from collections.abc import Callable, Collection
from dataclasses import replace

import numpy as np
import torch

from banditplex.arrays import Bools, Floats, Ints
from banditplex.bandits.arms import to_layer
from banditplex.multiplex import Name
from banditplex.predictor import LinkPredictor
from banditplex.training.loop import Trainer
from banditplex.training.validation import Validation

Score = Callable[[Ints, Name], Floats]  # pairs (n, 2) of node indices and a target layer -> logits (n,)
PREDICTED, ONE, MEAN, VALIDATED = "most probable layers", "one layer", "mean of draws", "validated layer"
WAYS = (PREDICTED, ONE, MEAN, VALIDATED)
DRAWS = 32


def ways_to_score(model: LinkPredictor, wanted: Collection[str] = WAYS) -> dict[str, Score]:
    """Return the `wanted` ways to predict with a fitted model, by name.

    `PREDICTED` is what `score_pairs` does. If k = "auto", `ONE` is with the most probable layer alone. `MEAN` is the
    mean over `DRAWS` draws, and `VALIDATED` with the layer of `validated_layers`. Ways that could not differ from
    `PREDICTED`, or use a layer that training never draws, are left out.
    """
    names, trainer = model.multiplex_.node_names, model._trainer
    ways: dict[str, Score] = {PREDICTED: lambda pairs, layer: model.score_pairs(names[pairs], layer)}
    policy = trainer.policy
    if policy is not None and policy.takes_k:
        if trainer.config.chooses_k and ONE in wanted:
            ways[ONE] = _with_one(model, trainer.most_probable_layers(1)[:, 0])
        ways[MEAN] = lambda pairs, layer: model.score_pairs(names[pairs], layer, draws=DRAWS)
    if policy is not None and VALIDATED in wanted and _drawn_in_training(trainer).sum(1).max() > 1:
        ways[VALIDATED] = _with_one(model, validated_layers(model))
    return {way: score for way, score in ways.items() if way in wanted}


def validated_layers(model: LinkPredictor) -> Ints:
    """Return for each target (T,) the other layer with which alone the validation loss is least.

    Layers that training never draws are left out. Losses are those at the best temperature. Without validation edges,
    the layer is the most probable one.
    """
    trainer = model._trainer
    data, drawn = trainer.data, _drawn_in_training(trainer)
    best = trainer.most_probable_layers(1)[:, 0].copy()
    fitted = replace(model._fitted, mx=data.train_mx, model=trainer.ema_model, source=data.train_view)
    for instance, target in enumerate(data.targets.tolist()):
        here = data.validation_edges.instance == instance  # edges that this network and graph have not seen
        if not here.any():
            continue
        layers = to_layer(np.array(target), np.flatnonzero(drawn[instance]))
        pairs = np.concatenate([data.validation_edges.pairs[here], data.validation_negatives[here]])
        asked = np.full(len(pairs), target), np.broadcast_to(layers, (len(pairs), len(layers)))
        label = (torch.arange(len(pairs)) < int(here.sum())).float()
        columns = torch.from_numpy(fitted.logits_by_layer(pairs, *asked)).unbind(1)
        one = np.zeros(len(pairs), np.int64)
        losses = [float(Validation(one, label, column).calibrated_loss().mean()) for column in columns]
        best[instance] = layers[np.argmin(losses)]
    return best


def _drawn_in_training(trainer: Trainer) -> Bools:
    """Return which arms (T, arms) training may draw."""
    assert trainer.policy is not None
    return (trainer.policy.inclusion() > 0) | trainer.policy.takes_k


def _with_one(model: LinkPredictor, layers: Ints) -> Score:
    """Return predictions with one given layer (T,) for each target."""
    mx, targets = model.multiplex_, model._trainer.data.targets

    def score(pairs: Ints, layer: Name) -> Floats:
        target = mx.layer_index(layer)
        other = layers[np.flatnonzero(targets == target)]
        asked = np.full(len(pairs), target), np.full((len(pairs), 1), other)
        return model.score_by_layer(mx.node_names[pairs], *asked)[:, 0]

    return score

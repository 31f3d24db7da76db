"""Fair comparisons of policies: predictions with one layer, whichever policy a model was trained with.

A policy that never prefers a layer, such as `uniform`, has no most probable layer: predicting with one at random would
make it look worse than it is. So a comparison also shows the single layer that is best on validation edges.
"""

from collections.abc import Callable
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


def validated_layers(model: LinkPredictor) -> Ints:
    """Return for each target (T,) the other layer with which alone the validation loss is least.

    Layers that training never draws are left out. Losses are those at the best temperature. Without validation edges,
    the layer is the most probable one.
    """
    trainer = model._trainer
    data, drawn = trainer.data, drawn_in_training(trainer)
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


def drawn_in_training(trainer: Trainer) -> Bools:
    """Return which arms (T, arms) training may draw."""
    assert trainer.policy is not None
    return (trainer.policy.inclusion() > 0) | trainer.policy.takes_k


def with_one(model: LinkPredictor, layers: Ints) -> Score:
    """Return predictions with one given layer (T,) for each target."""
    mx, targets = model.multiplex_, model._trainer.data.targets

    def score(pairs: Ints, layer: Name) -> Floats:
        target = mx.layer_index(layer)
        other = layers[np.flatnonzero(targets == target)]
        asked = np.full(len(pairs), target), np.full((len(pairs), 1), other)
        return model.score_by_layer(mx.node_names[pairs], *asked)[:, 0]

    return score

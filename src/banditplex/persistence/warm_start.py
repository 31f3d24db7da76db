"""Warm starts: weights and policies of an earlier training, on a multiplex with new edges or nodes."""

import numpy as np
import torch

from banditplex.errors import InputError
from banditplex.multiplex import Multiplex
from banditplex.prediction import Fitted
from banditplex.training.loop import Trainer

BASE = "encoder.input.weight"


@torch.no_grad()
def carry_over(fitted: Fitted, mx: Multiplex, trainer: Trainer) -> None:
    """Begin a trainer from a fitted model: same layers, known nodes keep their base embeddings.

    Policies are carried over if the targets are the same.
    """
    if mx.directed != fitted.mx.directed:
        raise InputError(f"Expected directed={fitted.mx.directed}, as in the first fit, for a warm start.")
    if mx.layer_names != fitted.mx.layer_names:
        raise InputError(f"Expected the layers of the first fit for a warm start, got {list(mx.layer_names)!r}.")
    if trainer.config.hide != fitted.config.hide:
        raise InputError(f"Expected hide={fitted.config.hide!r}, as in the first fit, for a warm start.")
    weights = {name: value.clone() for name, value in fitted.model.state_dict().items()}
    fresh = trainer.model.state_dict()
    if _shapes(weights) != _shapes(fresh):
        raise InputError("Expected the settings of the first fit for a warm start, got a network of another shape.")
    if BASE in weights and fitted.mx.node_features is None:
        known = {name: place for place, name in enumerate(fitted.mx.node_names.tolist())}
        place = np.array([known.get(name, -1) for name in mx.node_names.tolist()], np.int64)
        table = fresh[BASE].clone()
        table[torch.from_numpy(place >= 0)] = weights[BASE][torch.from_numpy(place[place >= 0])]
        weights[BASE] = table
    old, new = fitted.policy, trainer.policy
    same = np.array_equal(fitted.targets, trainer.targets)
    if old is not None and new is not None and same and type(old) is type(new) and old.k == new.k:
        new.load_state_dict(old.state_dict())
        trainer.warmup = 0
    trainer.model.load_state_dict(weights)
    trainer.mean.load_state_dict(weights)


def _shapes(weights: dict[str, torch.Tensor]) -> dict[str, torch.Size]:
    """Return the shapes of weights, without the number of nodes."""
    return {name: value.shape[name == BASE :] for name, value in weights.items()}

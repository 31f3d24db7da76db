"""Warm starts: weights and policies of an earlier training, on a multiplex with new edges or nodes."""

import numpy as np
import torch

from banditplex.errors import InputError
from banditplex.nn.ensemble import members_of
from banditplex.prediction import FittedModel
from banditplex.training.config import EVIDENCE
from banditplex.training.loop import Trainer

BASE = "encoder.input.weight"


@torch.no_grad()
def carry_over(fitted: FittedModel, trainer: Trainer, member: int = 0) -> None:
    """Begin a trainer from a member of a fitted model with the same layers; known nodes keep their input vectors.

    Policies are carried over if the targets are the same.
    """
    mx, targets = trainer.data.full_mx, trainer.data.targets
    if mx.directed != fitted.mx.directed:
        raise InputError(f"Expected directed={fitted.mx.directed}, as in the first fit, for a warm start.")
    if trainer.data.layer_names != fitted.layer_names:
        found = list(trainer.data.layer_names)
        raise InputError(f"Expected the layers of the first fit for a warm start, got {found!r}.")
    before, now = fitted.model.visibility, trainer.data.visibility
    if now.hide != before.hide:
        raise InputError(f"Expected hide={before.hide!r}, as in the first fit, for a warm start.")
    if now.evidence != before.evidence:
        raise InputError(f"Expected evidence={EVIDENCE[not before.evidence]!r}, as in the first fit, for a warm start.")
    networks = members_of(fitted.model)
    weights = {name: value.clone() for name, value in networks[member % len(networks)].state_dict().items()}
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
    same = np.array_equal(fitted.targets, targets)
    if old is not None and new is not None and same and type(old) is type(new) and old.k == new.k:
        new.load_state_dict(old.state_dict())
        trainer.warmup_epochs = 0
    trainer.model.load_state_dict(weights)
    trainer.ema_model.load_state_dict(weights)


def _shapes(weights: dict[str, torch.Tensor]) -> dict[str, torch.Size]:
    """Return the shapes of weights, without the number of nodes."""
    return {name: value.shape[name == BASE :] for name, value in weights.items()}

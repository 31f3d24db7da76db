"""Validation after each epoch: losses on held-out edges, early stopping, and which weights and policies are kept."""

import copy
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from banditplex.arrays import Floats, Ints
from banditplex.bandits import Policy
from banditplex.nn import HiddenEdges, MultiplexModel
from banditplex.nn.query import Query
from banditplex.nn.scoring import score_terms
from banditplex.training.data import TrainingData

MAX_USED = 8  # layers that predictions use at most, if their number is chosen


class Validation(NamedTuple):
    """Scores of the validation pairs: held-out edges, then as many negatives."""

    instance: Ints  # (n,) which target
    label: Tensor  # (n,)
    logit: Tensor  # (n,)

    def by_target(self, num_targets: int) -> tuple[Floats, Floats]:
        """Return link loss and accuracy of each target, NaN without validation pairs."""
        loss = F.binary_cross_entropy_with_logits(self.logit, self.label, reduction="none")
        right = (self.logit > 0) == (self.label > 0)
        with np.errstate(invalid="ignore"):
            count = np.bincount(self.instance, minlength=num_targets)
            values = (loss.cpu().numpy().astype(np.float64), right.cpu().numpy())
            first, second = (np.bincount(self.instance, each, num_targets) / count for each in values)
        return first, second

    def calibrated_loss(self) -> Tensor:
        """Return the link loss of each pair (n,) at the best temperature, on the CPU."""
        return self._loss(self.temperature()).cpu()

    def temperature(self) -> float:
        """Return the temperature T > 0 for which sigmoid(logit / T) has the least loss; 1 without validation pairs.

        It is one of those from 1/8 to 8 in steps of a sixteenth of an octave. The loss is convex in 1 / T, so half of
        those left are ruled out by comparing two neighbours.
        """
        if not len(self.label):
            return 1.0
        low, high = -48, 48
        while low < high:
            middle = (low + high) // 2
            if self._loss(2 ** (middle / 16)).mean() <= self._loss(2 ** ((middle + 1) / 16)).mean():
                high = middle
            else:
                low = middle + 1
        return float(2 ** (low / 16))

    def _loss(self, temperature: float) -> Tensor:
        return F.binary_cross_entropy_with_logits(
            self.logit.double() / temperature, self.label.double(), reduction="none"
        )


def validate(model: MultiplexModel, data: TrainingData, layers: Ints) -> Validation:
    """Score the validation pairs on the training graph with layers (T, k) for each target."""
    terms = _validation_terms(model, data, layers)
    return Validation(*_validation_labels(data), terms.sum(1))


def _validation_labels(data: TrainingData) -> tuple[Ints, Tensor]:
    """Return target (n,) and label (n,) of the validation pairs."""
    instance = np.tile(data.validation_edges.instance, 2)
    label = torch.zeros(len(instance), device=data.device)
    label[: len(data.validation_edges)] = 1
    return instance, label


def _validation_terms(model: MultiplexModel, data: TrainingData, layers: Ints) -> Tensor:
    """Return the terms (n, 1 + k) of the logits of the validation pairs: the one that is always on, and the layers'."""
    instance = np.tile(data.validation_edges.instance, 2)
    table = np.concatenate([data.targets[instance][:, None], layers[instance]], 1)
    asked, where = data.validation_pairs, torch.from_numpy(table).to(data.device)
    hidden = HiddenEdges.of(asked, data.visibility.hidden_layers(where))  # their reverse edges; edges elsewhere
    at = torch.from_numpy(data.own_validation).to(data.device)
    asked, where = asked.index_select(0, at), where.index_select(0, at)
    query = Query(asked, where[:, 0], where[:, 1:], data.validation_known, hidden)
    return data.group.put_together(score_terms(model, data.train_view, query), at, len(instance))


def choose_counts(members: Sequence[tuple[MultiplexModel, TrainingData]], layers: Ints) -> Ints:
    """Return how many of layers (T, m), in their order, predictions in each target should use, from 0 up.

    Each member's network scores its own validation pairs. The number is the one with the least loss over all targets,
    unless the validation pairs of a target prefer another by more than one standard error.
    """
    labels = [_validation_labels(data) for _, data in members]
    instance, label = np.concatenate([each[0] for each in labels]), torch.cat([each[1] for each in labels])
    if not len(instance):
        return np.ones(len(layers), np.int64)
    logits = torch.cumsum(torch.cat([_validation_terms(model, data, layers) for model, data in members]), 1)
    every = [Validation(instance, label, logit).calibrated_loss() for logit in logits.unbind(1)]
    loss = torch.stack(every, 1).numpy()
    common = int(loss.mean(0).argmin())
    above, size = loss - loss[:, [common]], np.bincount(instance, minlength=len(layers))[:, None]
    mean, square = (
        np.stack([np.bincount(instance, column, len(layers)) for column in each.T], 1) / np.maximum(size, 1)
        for each in (above, above**2)
    )
    error = np.sqrt(np.maximum(square - mean**2, 0) / np.maximum(size, 1))
    clear = np.where(mean < -error, mean, 0.0)
    return np.where(clear.min(1) < 0, clear.argmin(1), common)


class EarlyStopping:
    """Stops training once the validation loss has not fallen for `patience` epochs, and decides which epoch is kept.

    The epoch kept is the last whose loss is within one standard error of the lowest, pair by pair: on few validation
    pairs the lowest loss is luck, and longer training is better. Weights and policies of that epoch are kept together:
    its loss was measured with the layers that these policies choose.
    """

    def __init__(self, patience: int) -> None:
        self._patience = patience
        self.best_epoch = self.kept_epoch = 0
        self._best_loss: Tensor | None = None
        self._weights: dict[str, Tensor] | None = None
        self._policy: dict[str, Any] | None = None

    def update(self, epoch: int, loss: Tensor, model: nn.Module, policy: Policy | None) -> None:
        """Take in the validation loss (n,) of each pair after an epoch."""
        if self._best_loss is None or loss.mean() < self._best_loss.mean():
            self._best_loss, self.best_epoch = loss, epoch
        above = loss - self._best_loss
        if above.mean() <= above.std() / math.sqrt(len(above)):
            self.kept_epoch = epoch
            self._weights = {name: value.clone() for name, value in model.state_dict().items()}
            self._policy = None if policy is None else copy.deepcopy(policy.state_dict())

    def should_stop(self, epoch: int) -> bool:
        """Say whether the loss has not fallen for `patience` epochs."""
        return self._best_loss is not None and epoch - self.best_epoch >= self._patience

    def restore(self, model: nn.Module, policy: Policy | None) -> None:
        """Put the weights and the state of the policies that were kept into a model and a policy, if there are any."""
        if self._weights is not None:
            model.load_state_dict(self._weights)
        if policy is not None and self._policy is not None:
            policy.load_state_dict(self._policy)

    def state_dict(self) -> dict[str, Any]:
        """Return what the next epoch depends on."""
        epochs = {"best_epoch": self.best_epoch, "kept_epoch": self.kept_epoch}
        return epochs | {"best_loss": self._best_loss, "weights": self._weights, "policy": self._policy}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        self.best_epoch, self.kept_epoch = state["best_epoch"], state["kept_epoch"]
        self._best_loss, self._weights, self._policy = state["best_loss"], state["weights"], state["policy"]

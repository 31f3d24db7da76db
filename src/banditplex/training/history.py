"""The history of a training: one row per epoch and target, and the regret of the policies."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from banditplex.bandits import Draw, Observations
from banditplex.errors import InputError
from banditplex.nn.relevance import DIVERGED

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class EpochRecord:
    """Collects losses and draws during an epoch; losses are summed on the device."""

    def __init__(self, num_instances: int, device: torch.device) -> None:
        wide = torch.float32 if device.type == "mps" else torch.float64  # mps has no float64
        self._sums = torch.zeros(num_instances, 3, dtype=wide, device=device)  # loss, right, count
        self._draws: list[tuple[Ints, Ints, Floats, Floats]] = []

    def add(self, instance: Tensor, loss: Tensor, logit: Tensor, label: Tensor) -> None:
        """Add the pairs (P,) of a step."""
        right = ((logit > 0) == (label > 0)).float()
        values = torch.stack([loss.detach(), right, torch.ones_like(right)], 1)
        self._sums.index_add_(0, instance, values.to(self._sums.dtype))

    def add_draws(self, draw: Draw, layers: Ints, losses: Floats) -> None:
        """Add the drawn layers (B, k) of a step with their layer losses."""
        self._draws.append((np.repeat(draw.instances, layers.shape[1]), layers.ravel(), losses.ravel(),
                            draw.probability.ravel()))  # fmt: skip

    def rows(
        self,
        epoch: int,
        targets: Ints,
        names: Sequence[Any],
        regret: "Regret",
        validation: tuple[Floats, Floats],
    ) -> list[dict[str, Any]]:
        """Return one row per target; losses and accuracies are NaN without pairs.

        `drawn`, `layer_loss` and `inclusion` are dictionaries over the layers drawn in this epoch: how often each was
        drawn, its mean layer loss, and its mean inclusion probability in the rounds in which it was drawn.
        """
        loss, right, count = self._sums.cpu().numpy().astype(np.float64).T
        if not np.isfinite(loss).all():
            raise InputError(DIVERGED)
        drawn = self._per_layer(len(targets), names)
        with np.errstate(invalid="ignore"):
            loss, right = loss / count, right / count
        total = regret.total()
        return [
            {
                "epoch": epoch,
                "layer": names[target],
                "train_loss": float(loss[i]),
                "train_accuracy": float(right[i]),
                "validation_loss": float(validation[0][i]),
                "validation_accuracy": float(validation[1][i]),
                "drawn": drawn[i][0],
                "layer_loss": drawn[i][1],
                "inclusion": drawn[i][2],
                "regret": float(total[i]),
            }
            for i, target in enumerate(targets)
        ]

    def _per_layer(self, num_instances: int, names: Sequence[Any]) -> list[tuple[dict[Any, Any], ...]]:
        tables: list[tuple[dict[Any, Any], ...]] = [({}, {}, {}) for _ in range(num_instances)]
        if not self._draws:
            return tables
        instance, layer, loss, chance = (np.concatenate(parts) for parts in zip(*self._draws, strict=True))
        key, which, count = np.unique(instance * len(names) + layer, return_inverse=True, return_counts=True)
        losses, chances = np.bincount(which, loss) / count, np.bincount(which, chance) / count
        for code, number, mean_loss, mean_chance in zip(
            key.tolist(), count.tolist(), losses.tolist(), chances.tolist(), strict=True
        ):
            name = names[code % len(names)]
            for table, value in zip(tables[code // len(names)], (number, mean_loss, mean_chance), strict=True):
                table[name] = value
        return tables


class Regret:
    """Cumulative layer loss of the draws less that of the best fixed layer in hindsight.

    Known only while every round of an instance has observed all layers; otherwise NaN.
    """

    def __init__(self, num_instances: int, num_arms: int) -> None:
        self._num_arms = num_arms
        self._known = np.ones(num_instances, np.bool_)
        self._paid = np.zeros(num_instances)
        self._arms: Floats | None = None

    def add(self, draw: Draw, losses: Floats, extra: Observations | None) -> None:
        """Add a round: losses (B, k) of the drawn arms, and further observations."""
        here = draw.instances
        seen = np.full(len(here), draw.arms.shape[1])
        if extra is not None:
            order = np.argsort(here)
            place = np.searchsorted(here, extra.instance, sorter=order).clip(max=len(here) - 1)
            row = order[place]
            mine = (here[row] == extra.instance) & ~np.isnan(extra.probability)
            seen = seen + np.bincount(row[mine], minlength=len(here))
        self._known[here] &= seen == self._num_arms
        if not self._known[here].any():
            return
        if self._arms is None:
            self._arms = np.zeros((len(self._known), self._num_arms))
        self._paid[here] += losses.mean(axis=1)
        self._arms[here[:, None], draw.arms] += losses
        if extra is not None:
            self._arms[extra.instance[mine], extra.arm[mine]] += extra.loss[mine]

    def total(self) -> Floats:
        """Return the regret of each instance so far, NaN where it cannot be known."""
        if self._arms is None:
            return np.full(len(self._known), np.nan)
        return np.where(self._known, self._paid - self._arms.min(axis=1), np.nan)

    def state_dict(self) -> dict[str, Any]:
        """Return the sums so far."""
        return {
            "known": self._known.copy(),
            "paid": self._paid.copy(),
            "arms": None if self._arms is None else self._arms.copy(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        self._known, self._paid = state["known"].copy(), state["paid"].copy()
        self._arms = None if state["arms"] is None else state["arms"].copy()

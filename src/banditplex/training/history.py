"""The history of a training: one row per epoch and target, and the regret of the policies."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from banditplex import backend
from banditplex.arrays import Floats, Ints
from banditplex.bandits import Draw, Observations
from banditplex.bandits.state import State
from banditplex.nn.relevance import Diverged
from banditplex.schema import ANY_NUMBER, NAME, whole
from banditplex.training.distributed import ALONE, Group

NUMBERS = ("train_loss", "train_accuracy", "validation_loss", "validation_accuracy")
ROW = {  # what a row of the history is, for those who read it from a file
    "epoch": whole(1), "member": whole(1), "layer": NAME, "train_loss": ANY_NUMBER, "train_accuracy": ANY_NUMBER,
    "validation_loss": ANY_NUMBER, "validation_accuracy": ANY_NUMBER, "drawn": {"*": whole(0)},
    "layer_loss": {"*": ANY_NUMBER}, "inclusion": {"*": ANY_NUMBER}, "regret": ANY_NUMBER
}  # fmt: skip


class EpochRecord:
    """Collects losses and draws during an epoch; losses are summed on the device.

    The processes of `group` each add losses of their own targets, and all draws.
    """

    def __init__(self, num_instances: int, device: torch.device, group: Group = ALONE) -> None:
        self._group = group
        wide = torch.float32 if device.type == "mps" else torch.float64  # mps has no float64
        self._sums = torch.zeros(num_instances, 3, dtype=wide, device=device)  # loss, right, count
        self._draws: list[tuple[Ints, Ints, Floats, Floats]] = []

    def add(self, instance: Tensor, loss: Tensor, logit: Tensor, label: Tensor) -> None:
        """Add the pairs (P,) of a step."""
        backend.add_losses(loss, instance, logit, label, self._sums)

    def add_draws(self, draw: Draw, layers: Ints, losses: Floats) -> None:
        """Add the drawn layers (B, k) of a step with their layer losses."""
        self._draws.append((np.repeat(draw.instances, layers.shape[1]), layers.ravel(), losses.ravel(),
                            draw.probability.ravel()))  # fmt: skip

    def rows(
        self, epoch: int, targets: Ints, names: Sequence[Any], regret: "Regret", validation: tuple[Floats, Floats]
    ) -> list[dict[str, Any]]:
        """Return one row per target; losses and accuracies are NaN without pairs.

        `drawn`, `layer_loss` and `inclusion` are dictionaries over the layers drawn in this epoch: how often each was
        drawn, its mean layer loss, and its mean inclusion probability in the rounds in which it was drawn.
        """
        loss, right, count = self._group.add_up(self._sums.clone()).cpu().numpy().astype(np.float64).T
        if not np.isfinite(loss).all():
            raise Diverged(f" in epoch {epoch} in target layer {names[targets[np.argmin(np.isfinite(loss))]]!r}")
        drawn = self._per_layer(len(targets), names)
        with np.errstate(invalid="ignore"):
            loss, right = loss / count, right / count
        total = regret.total()
        return [
            {
                "epoch": epoch, "layer": names[target],
                "train_loss": float(loss[i]), "train_accuracy": float(right[i]),
                "validation_loss": float(validation[0][i]), "validation_accuracy": float(validation[1][i]),
                "drawn": drawn[i][0], "layer_loss": drawn[i][1], "inclusion": drawn[i][2], "regret": float(total[i]),
            }
            for i, target in enumerate(targets)
        ]  # fmt: skip

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
    """Estimated regret of each instance: the layer losses of all draws less those of the best k fixed layers.

    Losses of layers that were not observed are unknown, so the fixed layers are compared by importance weighting: an
    observed loss is divided by the probability with which it was observed, and others count 0. The estimate of every
    fixed set is unbiased; the smallest of them is on average too small, so the regret is rather too large. It is 0
    where all layers are drawn, and exact where every round has observed all layers.
    """

    def __init__(self, num_instances: int, num_arms: int, k: int) -> None:
        self._k = k
        self._state = State(num_instances, num_arms, instance={"paid": 0.0}, arm={"estimate": 0.0})

    def add(
        self, draw: Draw, losses: Floats, probability: Floats | None = None, extra: Observations | None = None
    ) -> None:
        """Add a round: losses (B, k) of the drawn arms and further observations, as a policy is told of them.

        `probability` (B, k) is how likely each loss was to be observed, by default the probability of the draw.
        """
        self._state.instance["paid"][draw.instances] += losses.sum(axis=1)
        instance, arm = np.repeat(draw.instances, losses.shape[1]), draw.arms.ravel()
        estimate = (losses / (draw.probability if probability is None else probability)).ravel()
        if extra is not None:
            mine = ~np.isnan(extra.probability)  # what has none is advice
            instance = np.concatenate([instance, extra.instance[mine]])
            arm = np.concatenate([arm, extra.arm[mine]])
            estimate = np.concatenate([estimate, extra.loss[mine] / extra.probability[mine]])
            order = np.argsort(instance, kind="stable")
            instance, arm, estimate = instance[order], arm[order], estimate[order]
        self._state.add("estimate", instance, arm, estimate)

    def total(self) -> Floats:
        """Return the regret of each instance so far."""
        state, k = self._state, self._k
        if not 0 < k < state.num_arms:
            return np.zeros(state.num_instances)
        best = np.zeros(state.num_instances)
        if state.dense:  # otherwise most arms were never observed: their estimate is 0
            best = np.partition(state.read("estimate", slice(0, None)), k - 1, axis=1)[:, :k].sum(axis=1)
        return state.instance["paid"] - best

    def state_dict(self) -> dict[str, Any]:
        """Return the sums so far."""
        return self._state.to_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        self._state.from_dict(state)


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the means over targets of an epoch, with the rows of its targets."""
    means = {name: _mean([row[name] for row in rows]) for name in NUMBERS}
    return {"epoch": rows[0]["epoch"], **means, "layers": rows}


def _mean(values: list[float]) -> float:
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else float("nan")

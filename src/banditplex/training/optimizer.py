"""AdamW and an exponential moving average of the weights, on two long vectors of which all weights are views.

One operation on a long vector takes a fraction of the time of one operation per weight.
"""

import math
from typing import Any

import torch
from torch import Tensor, nn

from banditplex.errors import InputError
from banditplex.schema import check, whole
from banditplex.training.config import Config
from banditplex.training.distributed import ALONE, Group
from banditplex.training.likeness import check_like

LOCAL = ("own.of_", "other.of_", "encoder.", ".interaction.")
"""Parts of names of weights that belong to single layers, or see single nodes: they overfit most easily."""
LOCAL_RATE = 0.1
"""Local weights learn at this share of the learning rate, and with the weight decay `layer_decay`."""
FEW_EDGES = 300
"""Beyond so many edges, the weight decay of shared weights falls in proportion to them."""
ROUNDING = 1e-5
"""Gradients below this share of the largest do not count in the first step, in which all logits are 0.

Edges and negatives then cancel in many of them, and Adam would turn the rounding errors that are left into full steps.
"""
ALIGN = 16
"""Weights start at multiples of this many numbers, as if each had its own memory: sums may depend on alignment."""


class FlatAdamW:
    """AdamW on the weights of `model`, with their exponential moving average in `ema_model`, a copy of it.

    The learning rate falls along a cosine over `num_steps`, to 5 % of its first value. The weight decay of shared
    weights falls with the number of edges that they are learnt from, as a prior does beside data. The processes of
    `group` add up their gradients.
    """

    def __init__(
        self,
        model: nn.Module,
        ema_model: nn.Module,
        config: Config,
        num_steps: int,
        num_edges: int = 0,
        group: Group = ALONE,
    ) -> None:
        self._group, self.num_done = group, 0
        self._first_bad: Tensor | None = None
        self._config, self._num_steps = config, num_steps
        averages = dict(ema_model.named_parameters())
        groups: tuple[list[str], list[str]] = ([], [])
        for name, weight in model.named_parameters():
            if weight.requires_grad:
                groups[any(part in name for part in LOCAL)].append(name)
        weights = dict(model.named_parameters())
        self._weights: list[Tensor] = [weights[name] for names in groups for name in names]
        self._vectors = [flatten([weights[name] for name in names]) for names in groups]
        self._averages = [flatten([averages[name] for name in names]) for names in groups]
        self._gradient, self._gradients = room_for(self._weights)
        for vector, part in zip(self._vectors, torch.split(self._gradient, [*map(len, self._vectors)]), strict=True):
            vector.grad = part
        decays = (config.weight_decay * min(1.0, FEW_EDGES / max(1, num_edges)), config.layer_decay)
        self._optimizer = torch.optim.AdamW(
            [{"params": [v], "weight_decay": decay} for v, decay in zip(self._vectors, decays, strict=True)],
            lr=config.learning_rate,
            fused=True,
        )

    @torch.no_grad()
    def step(self, loss: Tensor) -> None:
        """Take one gradient step and update the moving average; a loss without gradient is left to other processes."""
        if loss.requires_grad:
            gradients = torch.autograd.grad(loss, self._weights, allow_unused=True, materialize_grads=True)
            torch._foreach_copy_(self._gradients, list(gradients))
        else:
            self._gradient.zero_()
        self._group.add_up(self._gradient)  # once per step, the same bytes as DistributedDataParallel in one bucket
        if self.num_done == 0:
            self._gradient[self._gradient.abs() < ROUNDING * self._gradient.abs().max()] = 0
        self._watch()
        rate = self._config.learning_rate * rate_share(self.num_done / self._num_steps)
        for group, share in zip(self._optimizer.param_groups, (1.0, LOCAL_RATE), strict=True):
            group["lr"] = rate * share
        self._optimizer.step()
        self.num_done += 1
        decay = min(self._config.ema_decay, (1 + self.num_done) / (10 + self.num_done))
        for average, vector in zip(self._averages, self._vectors, strict=True):
            average.lerp_(vector, 1 - decay)

    def _watch(self) -> None:
        """Remember the first step with gradients that are not finite; it is read later, as reading makes a GPU wait."""
        sums = torch.stack([vector.grad.sum() for vector in self._vectors if vector.grad is not None])
        step = torch.where(torch.isfinite(sums).all(), -1, self.num_done)
        before = step.new_full((), -1) if self._first_bad is None else self._first_bad
        self._first_bad = torch.where(before >= 0, before, step)

    def first_bad_step(self) -> int | None:
        """Return the first step with gradients that are not finite, counted from 0; None if there is none."""
        bad = -1 if self._first_bad is None else int(self._first_bad)
        return bad if bad >= 0 else None

    def state_dict(self) -> dict[str, Any]:
        """Return what the next step depends on besides the weights and their average."""
        return {"num_done": self.num_done, "adamw": self._optimizer.state_dict()}

    def check_state_dict(self, state: dict[str, Any]) -> None:
        """Refuse a state that does not fit these weights: the fused kernel trusts shapes, and writes beyond them.

        Only learning rates may differ from the present ones; moments are finite.
        """
        check(state["num_done"], whole(0, self._num_steps), what="steps done")
        kept, own = state["adamw"], self._optimizer.state_dict()
        plain = [[{**group, "lr": 0} for group in each["param_groups"]] for each in (kept, own)]
        if plain[0] != plain[1]:
            raise InputError("Expected the settings of this optimizer, got others.")
        for vector, place in zip(self._vectors, own["param_groups"], strict=True):
            (number,) = place["params"]
            moments = {"step": torch.zeros(()), "exp_avg": vector.detach(), "exp_avg_sq": vector.detach()}
            if kept["state"] or state["num_done"]:
                check_like(kept["state"].get(number), moments, f"optimizer[{number}]")
                if (kept["state"][number]["exp_avg_sq"] < 0).any():
                    raise InputError(f"Expected squares of at least 0 in optimizer[{number}], got others.")
        if not set(kept["state"]) <= set(range(len(self._vectors))):
            raise InputError(f"Expected {len(self._vectors)} vectors in the optimizer, got others.")

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        self.num_done = state["num_done"]
        self._optimizer.load_state_dict(state["adamw"])


def rate_share(done: float) -> float:
    """Return the learning rate as a share of its first value, when a share of all steps is done.

    >>> rate_share(0), round(rate_share(0.5), 3), rate_share(1)
    (1.0, 0.5, 0.05)
    """
    return max(0.05, 0.5 * (1 + math.cos(math.pi * done)))


def room_for(weights: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
    """Return a vector of zeros with room for weights, and its views of their shapes, each at a multiple of `ALIGN`.

    >>> vector, views = room_for([torch.ones(2, 3), torch.ones(5)])
    >>> len(vector), [view.storage_offset() for view in views]
    (32, [0, 16])
    """
    sizes = [-(-weight.numel() // ALIGN) * ALIGN for weight in weights]
    vector = torch.zeros(sum(sizes), dtype=weights[0].dtype, device=weights[0].device)
    parts = zip(torch.split(vector, sizes), weights, strict=True)
    return vector, [part[: weight.numel()].view(weight.shape) for part, weight in parts]


@torch.no_grad()
def flatten(weights: list[Tensor]) -> Tensor:
    """Make weights views of one vector, with their present values, and return it."""
    vector, views = room_for(weights)
    for weight, view in zip(weights, views, strict=True):
        view.copy_(weight)
        weight.data = view
    return vector

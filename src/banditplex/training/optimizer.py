"""Gradient steps and the running mean of the weights, on a few long vectors of which all weights are views.

One operation on a long vector takes a fraction of the time of one for each weight.
"""

import math
from typing import Any

import torch
from torch import Tensor, nn

from banditplex.training.config import Config

SINGLE = (".of_layer", ".of_target", "encoder.", ".meet.")
"""Parts of names of weights that belong to single layers, or see single nodes: they fit noise most easily."""
SINGLE_RATE = 0.1
"""These learn at this share of the learning rate, and with a stronger decay."""
ALIGN = 16
"""Weights begin at multiples of this many numbers, as memory of their own would: products may depend on it."""


class Descent:
    """AdamW on the weights of `model`, and their running mean in `mean`, a network of the same shape.

    The learning rate falls along a cosine over `num_steps`, to 5 % of its first value.
    """

    def __init__(self, model: nn.Module, mean: nn.Module, config: Config, num_steps: int) -> None:
        self.step = 0
        self._config, self._num_steps = config, num_steps
        means = dict(mean.named_parameters())
        groups: tuple[list[str], list[str]] = ([], [])
        for name, weight in model.named_parameters():
            if weight.requires_grad:
                groups[any(part in name for part in SINGLE)].append(name)
        weights = dict(model.named_parameters())
        self._weights = [weights[name] for names in groups for name in names]
        self._vectors = [flatten([weights[name] for name in names]) for names in groups]
        self._means = [flatten([means[name] for name in names]) for names in groups]
        self._gradients: list[Tensor] = []
        for vector, names in zip(self._vectors, groups, strict=True):
            vector.grad, views = room_for([weights[name] for name in names])
            self._gradients += views
        decays = (config.weight_decay, config.layer_decay)
        self._optimiser = torch.optim.AdamW(
            [{"params": [v], "weight_decay": decay} for v, decay in zip(self._vectors, decays, strict=True)],
            lr=config.learning_rate,
            fused=True,
        )

    @torch.no_grad()
    def descend(self, loss: Tensor) -> None:
        """Take one step down the gradient of a loss."""
        gradients = torch.autograd.grad(loss, self._weights, allow_unused=True, materialize_grads=True)
        torch._foreach_copy_(self._gradients, list(gradients))
        done = self.step / self._num_steps
        rate = self._config.learning_rate * max(0.05, 0.5 * (1 + math.cos(math.pi * done)))
        for group, share in zip(self._optimiser.param_groups, (1.0, SINGLE_RATE), strict=True):
            group["lr"] = rate * share
        self._optimiser.step()
        self.step += 1
        keep = min(self._config.average, (1 + self.step) / (10 + self.step))
        for mean, vector in zip(self._means, self._vectors, strict=True):
            mean.lerp_(vector, 1 - keep)

    def state_dict(self) -> dict[str, Any]:
        """Return what the next step depends on besides the weights and their mean."""
        return {"step": self.step, "optimiser": self._optimiser.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go back to where `state_dict` was taken."""
        self.step = state["step"]
        self._optimiser.load_state_dict(state["optimiser"])


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

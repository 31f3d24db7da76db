"""AdamW and an exponential moving average of the weights, on one long vector of which all weights are views.

One operation on a long vector takes a fraction of the time of one operation per weight, and a few of them a fraction of
what `torch.optim` takes, which also imports a compiler.
"""

import copy
import math
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from banditplex import backend
from banditplex.arrays import Ints
from banditplex.errors import InputError
from banditplex.schema import check, whole
from banditplex.training.config import Config
from banditplex.training.distributed import ALONE, Group
from banditplex.training.likeness import check_like

Model = TypeVar("Model", bound=nn.Module)
LOCAL = ("own.of_", "other.of_", "encoder.", ".interaction.")
"""Parts of names of weights that belong to single layers, or see single nodes: they overfit most easily."""
OF_LAYERS = ("own.of_layer", "other.of_layer", "other.of_target", "listed.of_target", "encoder.adapt")
"""Weights with a row for each layer, which has gradients only in steps with that layer as a target or drawn."""
LOCAL_RATE = 0.1  # local weights learn at this share of the learning rate ...
LAYER_DECAY = 1.0  # ... and with this weight decay, whatever the number of edges: a layer has few of them
EMA_DECAY = 0.98
"""Decay of the exponential moving average of the weights, which predictions use: a mean over some 50 steps."""
FEW_EDGES = 300  # beyond so many edges, the weight decay of shared weights falls in proportion to them
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
        self, model: nn.Module, ema_model: nn.Module, config: Config, num_steps: int, num_edges: int = 0,
        group: Group = ALONE,
    ) -> None:  # fmt: skip
        self._group, self.num_done = group, 0
        self._sums: list[Tensor] = []  # of the gradients of each step
        self._config, self._num_steps, self.rate = config, num_steps, config.learning_rate
        averages = dict(ema_model.named_parameters())
        groups: tuple[list[str], list[str]] = ([], [])
        for name, weight in model.named_parameters():
            if weight.requires_grad:
                groups[any(part in name for part in LOCAL)].append(name)
        weights = dict(model.named_parameters())
        self._names = [name for names in groups for name in names]
        self._weights: list[Tensor] = [weights[name] for name in self._names]
        self._of_layers = [name in OF_LAYERS for name in self._names]
        self._vector = flatten(self._weights)
        self._average = flatten([averages[name] for name in self._names])
        self._gradient, self._gradients = room_for(self._weights)
        self._moments = {"mean": torch.zeros_like(self._vector), "square": torch.zeros_like(self._vector)}
        decays = (config.weight_decay * min(1.0, FEW_EDGES / max(1, num_edges)), LAYER_DECAY)
        self._share, self._decay = torch.ones_like(self._vector), torch.full_like(self._vector, decays[0])
        local = len(room_for([weights[name] for name in groups[0]])[0]) if groups[0] else 0
        self._share[local:], self._decay[local:] = LOCAL_RATE, decays[1] * LOCAL_RATE

    def gradient_of(self, model: Model) -> Model:
        """Return a copy of the model whose weights are, and stay, the gradient: what is written there is descended."""
        same = copy.deepcopy(model)
        weights = dict(same.named_parameters())
        for name, gradient in zip(self._names, self._gradients, strict=True):
            weights[name].data = gradient
        return same

    @torch.no_grad()
    def step(self, loss: Tensor, layers: Ints | None = None) -> None:
        """Take one gradient step and update the moving average; a loss without gradient is left to other processes.

        `layers` (S,) are those of the step, in all processes; None: any.
        """
        if loss.requires_grad:
            gradients = torch.autograd.grad(loss, self._weights, allow_unused=True, materialize_grads=True)
            torch._foreach_copy_(self._gradients, list(gradients))
        self.descend(layers, empty=not loss.requires_grad)

    def descend(self, layers: Ints | None = None, *, empty: bool = False) -> None:
        """Take a step along the gradient that has been computed; `empty`: other processes alone have one."""
        if empty:
            self.clear()
        self._add_up(layers)
        if self.num_done == 0:
            self._gradient[self._gradient.abs() < ROUNDING * self._gradient.abs().max()] = 0
        self.rate = self._config.learning_rate * rate_share(self.num_done / self._num_steps)
        self.num_done += 1
        decay = min(EMA_DECAY, (1 + self.num_done) / (10 + self.num_done))
        vectors = self._vector, self._gradient, *self._moments.values(), self._share, self._decay, self._average
        total = backend.descend(*vectors, num_done=self.num_done, rate=self.rate, new=1 - decay)
        self._sums.append(total)  # read later, as reading makes a GPU wait

    @property
    def adds_up(self) -> bool:
        """Whether there are gradients of other processes."""
        return self._group.size > 1

    def _add_up(self, layers: Ints | None) -> None:
        """Add up the gradients of all processes in one sum, in which other layers than those of the step have no part.

        So what is sent does not grow with the number of layers, unless the network looks at which layers have a pair.
        """
        if not self.adds_up:
            return
        every: Any = slice(None)
        at = every if layers is None else torch.from_numpy(layers).to(self._gradient.device)
        rows = [at if some else every for some in self._of_layers]
        parts = [gradient[row] for gradient, row in zip(self._gradients, rows, strict=True)]
        total = self._group.add_up(torch.cat([part.flatten() for part in parts]))
        found = torch.split(total, [part.numel() for part in parts])
        for gradient, row, part, values in zip(self._gradients, rows, parts, found, strict=True):
            gradient[row] = values.view_as(part)

    def clear(self) -> None:
        """Set the gradient to 0."""
        self._gradient.zero_()

    def first_bad_step(self) -> int | None:
        """Return the first step since the last call with gradients that are not finite, from 0 up; None: all are."""
        sums, self._sums = self._sums, []
        bad = [] if not sums else torch.nonzero(~torch.isfinite(torch.stack(sums))).flatten().tolist()
        return bad[0] if bad else None

    def state_dict(self) -> dict[str, Any]:
        """Return what the next step depends on besides the weights and their average."""
        return {"num_done": self.num_done, "moments": {name: each.clone() for name, each in self._moments.items()}}

    def check_state_dict(self, state: dict[str, Any]) -> None:
        """Refuse a state that does not fit these weights; moments are finite, and squares not negative."""
        check(state["num_done"], whole(0, self._num_steps), what="steps done")
        check_like(state["moments"], self._moments, "moments")
        if (state["moments"]["square"] < 0).any():
            raise InputError("Expected squares of at least 0 in the optimizer, got others.")

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        self.num_done = state["num_done"]
        for name, each in self._moments.items():
            each.copy_(state["moments"][name])


def rate_share(done: float) -> float:
    """Return the learning rate as a share of its first value, when a share of all steps is done."""
    return max(0.05, 0.5 * (1 + math.cos(math.pi * done)))


def room_for(weights: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
    """Return a vector of zeros with room for weights, and its views of their shapes, each at a multiple of `ALIGN`."""
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

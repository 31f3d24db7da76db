"""What a gradient step does besides scoring: sums of losses, layer losses, and the descent."""

import math
from functools import partial
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from banditplex.backend.choice import offer, on_cpu
from banditplex.backend.compiling import compile_loop

BETAS, EPS = (0.9, 0.999), 1e-8  # as in `torch.optim.AdamW`


@offer
def add_losses(loss: Tensor, instance: Tensor, logit: Tensor, label: Tensor, sums: Tensor) -> None:
    """Add loss, whether the logit has the sign of the label, and 1, of each pair (n,) to the sums of its instance."""
    right = ((logit > 0) == (label > 0)).float()
    values = torch.stack([loss.detach(), right, torch.ones_like(right)], 1)
    sums.index_add_(0, instance, values.to(sums.dtype))


@offer
def loss_ratios(own: Tensor, other: Tensor, label: Tensor, group: Tensor, num_groups: int) -> Tensor:
    """Return, for each group of pairs, the link loss of the logits own + other divided by that of own; 0 if empty."""
    alone = F.binary_cross_entropy_with_logits(own, label, reduction="none")
    with_layer = F.binary_cross_entropy_with_logits(own + other, label, reduction="none")
    total, count = (own.new_zeros(num_groups).index_add_(0, group, each) for each in (alone, torch.ones_like(own)))
    below = (total / count.clamp(min=1)).clamp(min=1e-12)
    return own.new_zeros(num_groups).index_add_(0, group, with_layer) / count.clamp(min=1) / below


@offer
def descend(
    vector: Tensor, gradient: Tensor, mean: Tensor, square: Tensor, share: Tensor, decay: Tensor, average: Tensor, *,
    num_done: int, rate: float, new: float,
) -> Tensor:  # fmt: skip
    """Change a vector by step number `num_done` of AdamW (Loshchilov and Hutter, ICLR 2019); return its gradient's sum.

    Each weight has a share of the rate and a weight decay. Their average moves towards them by a share `new`.
    """
    first, second = (1 - beta**num_done for beta in BETAS)
    total = gradient.sum()
    mean.lerp_(gradient, 1 - BETAS[0])
    square.mul_(BETAS[1]).addcmul_(gradient, gradient, value=1 - BETAS[1])
    vector.addcmul_(vector, decay, value=-rate)
    direction = mean / square.sqrt().div_(math.sqrt(second)).add_(EPS)
    vector.addcmul_(direction, share, value=-rate / first)
    average.lerp_(vector, new)
    return total


# Compiled loops


@add_losses.faster(on_cpu)
def _add_losses(loss: Tensor, instance: Tensor, logit: Tensor, label: Tensor, sums: Tensor) -> None:
    _add_losses_loop(*(each.detach().numpy() for each in (instance, loss, logit, label)), sums.numpy())


@loss_ratios.faster(on_cpu)
def _loss_ratios(own: Tensor, other: Tensor, label: Tensor, group: Tensor, num_groups: int) -> Tensor:
    flat = (each.contiguous().numpy() for each in (group, label, own, other))
    alone, with_layer = np.zeros((2, num_groups))
    _ratios_loop(*flat, alone, with_layer)
    return torch.from_numpy(with_layer / np.maximum(alone, 1e-12))


@descend.faster(on_cpu)
def _descend(
    vector: Tensor, gradient: Tensor, mean: Tensor, square: Tensor, share: Tensor, decay: Tensor, average: Tensor, *,
    num_done: int, rate: float, new: float,
) -> Tensor:  # fmt: skip
    first, second = (1 - beta**num_done for beta in BETAS)
    numbers = (1 - BETAS[0], 1 - BETAS[1], rate, rate / first, math.sqrt(second), EPS, new)
    arrays = (each.numpy() for each in (vector, gradient, mean, square, share, decay, average))
    return torch.tensor(_descend_loop(*arrays, *map(np.float32, numbers)))


@compile_loop
def _add_losses_loop(instance: Any, loss: Any, logit: Any, label: Any, sums: Any) -> None:
    for i in range(len(loss)):
        sums[instance[i], 0] += loss[i]
        sums[instance[i], 1] += (logit[i] > 0) == (label[i] > 0)
        sums[instance[i], 2] += 1


@compile_loop
def _ratios_loop(group: Any, label: Any, own: Any, other: Any, alone: Any, with_layer: Any) -> None:
    for i in range(len(group)):
        alone[group[i]] += _link_loss(own[i], label[i])
        with_layer[group[i]] += _link_loss(own[i] + other[i], label[i])


@compile_loop
def _link_loss(logit: Any, label: Any) -> Any:
    """Return log(1 + exp(logit)) - label * logit."""
    return max(logit, 0.0) - label * logit + math.log1p(math.exp(-abs(logit)))


@partial(compile_loop, reorder=True)
def _descend_loop(
    vector: Any, gradient: Any, mean: Any, square: Any, share: Any, decay: Any, average: Any, less_mean: Any,
    less_square: Any, rate: Any, step: Any, root: Any, eps: Any, new: Any,
) -> Any:  # fmt: skip
    total = np.float32(0)
    for i in range(len(vector)):
        total += gradient[i]
        mean[i] += less_mean * (gradient[i] - mean[i])
        square[i] += less_square * (gradient[i] * gradient[i] - square[i])
        weight = vector[i] - rate * decay[i] * vector[i]
        vector[i] = weight - step * share[i] * mean[i] / (np.sqrt(square[i]) / root + eps)
        average[i] += new * (vector[i] - average[i])
    return total

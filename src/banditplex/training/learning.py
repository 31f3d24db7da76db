"""How a network learns from a step: by torch's autograd or, without an encoder on a CPU, in compiled passes.

The compiled passes do the same in a fraction of the time: no graph of small operations is built and gone through.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from banditplex.nn import Logits, MultiplexModel
from banditplex.nn.compiled_terms import Pass, usable
from banditplex.nn.model import Described
from banditplex.nn.query import Query
from banditplex.training.batches import Batch
from banditplex.training.optimizer import FlatAdamW

Ints = NDArray[np.int64]


class Learning:
    """Scores pairs without an encoder, and takes gradient steps."""

    def __init__(self, model: MultiplexModel, optimizer: FlatAdamW) -> None:
        self._model, self._optimizer = model, optimizer

    def score(self, query: Query, described: Described) -> Logits:
        """Score pairs."""
        own, other = self._model.terms(described, query.target, query.layers.shape[1])
        return Logits(own, other.view_as(query.layers))

    def learn(self, batch: Batch, logits: Logits, loss: Tensor, layers: Ints) -> None:
        """Take a gradient step, given logits and losses (P,) of a batch and the layers of the step."""
        self._optimizer.step(batch.mean(loss), layers)


class CompiledLearning(Learning):
    """The same without autograd."""

    def __init__(self, model: MultiplexModel, optimizer: FlatAdamW) -> None:
        super().__init__(model, optimizer)
        self._weights, self._gradients = model.weights().arrays(), optimizer.gradient_of(model).weights().arrays()

    @torch.no_grad()
    def score(self, query: Query, described: Described) -> Logits:
        """Score pairs."""
        found = Pass.of(self._model.asked(described, query.target, query.layers.shape[1]), self._weights)
        return Logits(found.own, found.other.view_as(query.layers), found=found)

    def learn(self, batch: Batch, logits: Logits, loss: Tensor, layers: Ints) -> None:
        """Take a gradient step, given logits of a batch and the layers of the step."""
        self._optimizer.clear()
        if logits.found is not None:  # else all targets of the step are those of other processes
            logits.found.add_loss_gradient(batch.label, batch.count, self._gradients)
        self._optimizer.descend(layers)


def make_learning(model: MultiplexModel, optimizer: FlatAdamW) -> Learning:
    """Return how a network learns best."""
    compiled = model.encoder is None and usable(model.own.mean, model.own.linear.weight)
    return (CompiledLearning if compiled else Learning)(model, optimizer)

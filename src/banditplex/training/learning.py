"""How a network without an encoder scores the pairs of a step, and how any network learns from a step."""

from functools import cached_property

from torch import Tensor

from banditplex.backend import Weights, begin_pass
from banditplex.nn import Logits, MultiplexModel
from banditplex.nn.model import Described
from banditplex.nn.query import Query
from banditplex.training.batches import Batch
from banditplex.training.optimizer import FlatAdamW


class Learning:
    """Scores pairs without an encoder, and takes gradient steps."""

    def __init__(self, model: MultiplexModel, optimizer: FlatAdamW) -> None:
        self._model, self._optimizer = model, optimizer

    @cached_property
    def _weights(self) -> Weights:
        """The weights, in the memory of the optimizer."""
        return self._model.weights()

    @cached_property
    def _gradients(self) -> Weights:
        """The gradient, in the memory of the optimizer."""
        return self._optimizer.gradient_of(self._model).weights()

    def score(self, query: Query, described: Described) -> Logits:
        """Score pairs."""
        asked = self._model.asked(described, query.target, query.layers.shape[1])
        own, other, found = begin_pass(asked, self._weights)
        return Logits(own, other.view_as(query.layers), found=found)

    def learn(self, batch: Batch, logits: Logits, loss: Tensor) -> None:
        """Take a gradient step, given logits and losses (P,) of a batch."""
        layers = batch.encoded if self._optimizer.adds_up else None
        if logits.found is None:
            self._optimizer.step(batch.mean(loss), layers)
            return
        self._optimizer.clear()
        logits.found.add_loss_gradient(batch.label, batch.count, self._gradients)
        self._optimizer.descend(layers)

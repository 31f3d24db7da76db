"""Terms of the logits of pairs beside those of networks: a regression, vectors, or both."""

import torch
from torch import Tensor, nn

from banditplex.nn.model import Described, Logits
from banditplex.nn.query import Query
from banditplex.nn.regression import Columns, Regression
from banditplex.nn.vectors import Vectors


class Beside(nn.Module):
    """Other terms, and the factor of the networks' terms in each target layer."""

    factor: Tensor  # (L,)

    def __init__(self, num_layers: int, regression: Regression | None, vectors: Vectors | None) -> None:
        super().__init__()
        self.register_buffer("factor", torch.ones(num_layers))
        self.regression, self.vectors = regression, vectors

    def forward(self, logits: Logits, query: Query, described: Described) -> Logits:
        """Return the logits of networks together with the other terms."""
        target, layers = query.target, query.layers
        factor = self.factor[target]
        own, other = factor * logits.own, factor.unsqueeze(1) * logits.other
        if self.regression is not None:
            values = described[1].values
            seen = Columns(described[0].values, values.view(*layers.shape, values.shape[1]))
            linear = self.regression(seen, target, layers)
            own, other = own + linear[0], other + linear[1]
        if self.vectors is not None:
            own = own + self.vectors(query.pairs, target)
        return Logits(own, other)

    def in_graph(self, place: Tensor) -> "Beside":
        """Return the same for another graph; `place` as for `Vectors.in_graph`."""
        vectors = None if self.vectors is None else self.vectors.in_graph(place)
        other = Beside(len(self.factor), self.regression, vectors)
        other.factor = self.factor
        return other

"""What is asked of a network."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from banditplex.nn.graph import HiddenEdges
from banditplex.nn.known import Known
from banditplex.nn.neighbour_sampling import Fanout


class Vertices(NamedTuple):
    """Nodes in layers."""

    layer: Tensor  # (m,)
    node: Tensor  # (m,)


@dataclass(frozen=True, eq=False)
class Query:
    """The logits of P pairs, each in a target layer and with k other layers, and what must not be seen of them.

    Structural features follow the visibility of the network; `hidden` and all below it but `known` are for its encoder.
    """

    pairs: Tensor  # (P, 2) node indices
    target: Tensor  # (P,)
    layers: Tensor  # (P, k) drawn layers
    known: Known | None = None  # what is known of the pairs; None: it is looked up
    hidden: HiddenEdges | None = None  # edges that must not be seen; None: all may be
    wanted: Vertices | None = None  # further embeddings, of layers that are encoded anyway
    fanout: Fanout | None = None  # limits the neighbours that are averaged in large layers

    @property
    def table(self) -> Tensor:
        """Target and drawn layers, (P, 1 + k)."""
        return torch.cat([self.target.unsqueeze(1), self.layers], 1)

    def take(self, at: Tensor) -> "Query":
        """Return the same for the pairs at places (n,)."""
        known = None if self.known is None else self.known.take(at)
        return replace(self, pairs=self.pairs[at], target=self.target[at], layers=self.layers[at], known=known)

    def chunks(self, size: int) -> Iterator["Query"]:
        """Yield the same for at most `size` pairs at a time; nothing, if there are no pairs."""
        every = torch.arange(len(self.pairs), device=self.pairs.device)
        yield from map(self.take, torch.split(every, size) if len(every) else ())

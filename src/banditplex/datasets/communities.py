"""Pairs of nodes inside and across communities of equal size, numbered so that they can be drawn."""

from dataclasses import dataclass

import numpy as np

from banditplex.arrays import Ints
from banditplex.datasets.sampling import decode, num_pairs
from banditplex.errors import InputError


@dataclass(frozen=True)
class Communities:
    """`number` communities of `num_nodes` nodes, of equal size up to one node; nodes of one follow each other."""

    num_nodes: int
    number: int

    def __post_init__(self) -> None:
        if self.number > self.num_nodes:
            raise InputError(
                f"Expected communities of at most {self.num_nodes:,}, the number of nodes, got {self.number:,}."
            )

    @property
    def sizes(self) -> Ints:
        """Sizes of the communities, the larger ones first."""
        small, larger = divmod(self.num_nodes, self.number)
        return small + (np.arange(self.number) < larger).astype(np.int64)

    @property
    def num_inside(self) -> int:
        """Number of pairs inside communities."""
        return int(num_pairs(self.sizes).sum())

    @property
    def num_across(self) -> int:
        """Number of pairs across communities."""
        return num_pairs(self.num_nodes) - self.num_inside

    def inside(self, code: Ints) -> tuple[Ints, Ints]:
        """Return the pairs inside communities that have these numbers."""
        sizes = self.sizes
        community, place = _locate(code, num_pairs(sizes))
        one, other = decode(place, sizes[community])
        start = (np.cumsum(sizes) - sizes)[community]
        return one + start, other + start

    def across(self, code: Ints) -> tuple[Ints, Ints]:
        """Return the pairs across communities that have these numbers."""
        sizes = self.sizes
        ends = np.cumsum(sizes)
        community, place = _locate(code, sizes * (self.num_nodes - ends))
        one, other = np.divmod(place, self.num_nodes - ends[community])
        return one + (ends - sizes)[community], other + ends[community]

    def check_room(self, inside: int, num_edges: int, *, within: float) -> None:
        """Refuse more edges inside or across communities than there are pairs; `within` is for the message."""
        for needed, pairs, where in (
            (inside, self.num_inside, "inside"),
            (num_edges - inside, self.num_across, "across"),
        ):
            if needed > pairs:
                raise InputError(
                    f"Expected enough pairs {where} communities for {needed:,} of {num_edges:,} edges "
                    f"(within={within:g}), got {pairs:,} pairs ({self.number:,} communities of "
                    f"{self.num_nodes:,} nodes)."
                )


def _locate(code: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """Return the block of each code and its position in the block; blocks hold `counts` codes each."""
    ends = np.cumsum(counts)
    block = np.searchsorted(ends, code, side="right")
    return block, code - (ends - counts)[block]

"""Random distinct integers and node pairs, for many layers at once.

Only 64-bit words of the generator and integer arithmetic are used, so a seed gives the same numbers on every platform
and with every version of numpy.
"""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from banditplex.arrays import Ints
from banditplex.errors import InputError

Count = TypeVar("Count", int, Ints)
_WORD = np.iinfo(np.uint64).max


def distinct(rng: np.random.Generator, rows: int, population: int, count: int) -> Ints:
    """Draw `count` distinct integers below `population` for each row, uniformly: (rows, count), rows sorted.

    Each row draws until it has `count` different values, so it holds the first `count` different values of an infinite
    uniform sequence. If `count` is more than half of `population`, the values to leave out are drawn instead.
    """
    assert 0 <= count <= population
    assert rows * population < 2**63
    if 2 * count > population:
        left = np.ones((rows, population), np.bool_)
        np.put_along_axis(left, distinct(rng, rows, population, population - count), False, axis=1)
        return np.nonzero(left)[1].reshape(rows, count)
    starts = np.arange(rows + 1) * population
    keys = np.empty(0, np.int64)  # row * population + value, sorted
    lacking = np.full(rows, count)
    while lacking.any():
        fresh = np.repeat(starts[:-1], lacking)
        fresh += (words(rng, len(fresh)) % np.uint64(population)).view(np.int64)  # bias: population / 2**64
        fresh.sort()
        keys = np.concatenate([keys, fresh])
        keys.sort(kind="stable")  # two sorted runs: merged in one pass
        keys = keys[np.diff(keys, prepend=-1) > 0]
        lacking = count - np.diff(np.searchsorted(keys, starts))
    return keys.reshape(rows, count) - starts[:-1, None]


def permutations(rng: np.random.Generator, rows: int, size: int) -> Ints:
    """Draw a permutation of 0..size-1 for each row: (rows, size)."""
    return np.argsort(words(rng, rows * size).reshape(rows, size), axis=1)


def words(rng: np.random.Generator, size: int) -> npt.NDArray[np.uint64]:
    """Draw 64-bit words, as the bit generator makes them."""
    return rng.integers(0, _WORD, size, dtype=np.uint64, endpoint=True)


def positions(rng: np.random.Generator, size: int) -> Ints:
    """Draw positions in a square, (size, 2): integers, so that distances are exact."""
    return (words(rng, 2 * size) >> np.uint64(44)).astype(np.int64).reshape(size, 2)


def num_pairs(num_nodes: Count, *, directed: bool = False) -> Count:
    """Return the number of pairs of different nodes."""
    return num_nodes * (num_nodes - 1) // (1 if directed else 2)


def encode(low: Ints, high: Ints, num_nodes: int, *, directed: bool = False) -> Ints:
    """Return the position of each pair in the sorted list of all pairs; undirected pairs have low < high."""
    if directed:
        return low * (num_nodes - 1) + high - (high > low)
    return low * (2 * num_nodes - low - 1) // 2 + high - low - 1


def decode(code: Ints, num_nodes: Count, *, directed: bool = False) -> tuple[Ints, Ints]:
    """Return the pairs at positions `code` of the sorted list of all pairs: the inverse of `encode`."""
    if directed:
        low, high = np.divmod(code, num_nodes - 1)
        high += high >= low
        return low, high
    last = num_pairs(num_nodes) - 1 - code  # counted from the end, rows grow by one: 1, 2, 3, ...
    row = ((np.sqrt(8.0 * last + 1.0) - 1.0) / 2.0).astype(np.int64)
    row -= row * (row + 1) // 2 > last  # correct rounding errors
    row += (row + 1) * (row + 2) // 2 <= last
    low = num_nodes - 2 - row
    return low, num_nodes - 1 - (last - row * (row + 1) // 2)


def skip(rank: Ints, taken: Ints, population: int) -> Ints:
    """Return, for each row, the `rank`-th integers below `population` that are not in `taken` (sorted)."""
    rows, count = taken.shape
    starts = np.arange(rows)[:, None] * population
    before = (taken - np.arange(count) + starts).ravel()  # integers left below each taken one
    passed = np.searchsorted(before, (rank + starts).ravel(), side="right").reshape(rank.shape)
    return rank + passed - np.arange(rows)[:, None] * count


def near_copy(rng: np.random.Generator, base: Ints, population: int, kept: int) -> Ints:
    """Draw a near copy of each row of `base` (rows, count): `kept` of its integers and new ones, sorted.

    New integers are drawn from those below `population` that are not in the row.
    """
    rows, count = base.shape
    keep = np.take_along_axis(base, distinct(rng, rows, count, kept), axis=1)
    new = skip(distinct(rng, rows, population - count, count - kept), base, population)
    codes = np.concatenate([keep, new], axis=1)
    codes.sort(axis=1)
    return codes


def relevant_layers(groups: list[list[str]], noise: list[str]) -> dict[str, list[str]]:
    """Return the names of all layers in order, each with the other layers of its group; noise has none."""
    others = {name: [other for other in members if other != name] for members in groups for name in members}
    return others | {name: [] for name in noise}


def check_counts(**counts: tuple[int, int]) -> None:
    """Refuse counts, given as (value, least), that are too small."""
    for option, (value, least) in counts.items():
        if value < least:
            raise InputError(f"Expected {option} of at least {least}, got {value}.")


def check_share(option: str, share: float) -> None:
    """Refuse a share that is not between 0 and 1."""
    if not 0 <= share <= 1:
        raise InputError(f"Expected {option} between 0 and 1, got {share}.")


@dataclass(frozen=True)
class Communities:
    """`number` communities of `num_nodes` nodes, of equal size up to one node; nodes of one follow each other."""

    num_nodes: int
    number: int

    def __post_init__(self) -> None:
        if self.number > self.num_nodes:
            most = f"{self.num_nodes:,}, the number of nodes"
            raise InputError(f"Expected communities of at most {most}, got {self.number:,}.")

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

    def opposite(self, one: Ints, other: Ints) -> tuple[Ints, Ints]:
        """Exchange pairs inside communities for pairs of opposite ones: the end further on in its community moves.

        The number of communities is even, and they have the same size. Pairs move back if they are exchanged again;
        other pairs stay as they are.
        """
        size = self.num_nodes // self.number
        away = np.where((one // size - other // size) % (self.number // 2) == 0, self.number // 2 * size, 0)
        one_moves, other_moves = away * (one % size > other % size), away * (one % size < other % size)
        return (one + one_moves) % self.num_nodes, (other + other_moves) % self.num_nodes

    def codes(self, inside: Ints, across: Ints, node: Ints, *, opposite: npt.NDArray[np.bool_] | None = None) -> Ints:
        """Return the codes of edges (rows, E) by their numbers, with nodes (rows or 1, num_nodes) in these places.

        In rows that are `opposite` (rows,), pairs of opposite communities take the place of those inside.
        """
        places = np.concatenate([self.inside(inside), self.across(across)], axis=2)
        if opposite is not None:
            places[:, opposite] = self.opposite(*places[:, opposite])
        one, other = (np.take_along_axis(node, place, axis=1) for place in places)
        return encode(np.minimum(one, other), np.maximum(one, other), self.num_nodes)

    def check_room(self, inside: int, num_edges: int, *, within: float) -> None:
        """Refuse more edges inside or across communities than there are pairs; `within` is for the message."""
        rest = num_edges - inside
        for needed, pairs, where in ((inside, self.num_inside, "inside"), (rest, self.num_across, "across")):
            if needed > pairs:
                expected = f"enough pairs {where} communities for {needed:,} of {num_edges:,} edges (within={within:g})"
                got = f"{pairs:,} pairs ({self.number:,} communities of {self.num_nodes:,} nodes)"
                raise InputError(f"Expected {expected}, got {got}.")


def _locate(code: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """Return the block of each code and its position in the block; blocks hold `counts` codes each."""
    ends = np.cumsum(counts)
    block = np.searchsorted(ends, code, side="right")
    return block, code - (ends - counts)[block]

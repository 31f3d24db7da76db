"""Which pairs a layer may link: pairs of the node types that its edges link.

The pairs of a layer come in blocks, one for each combination of types: the nodes of one type times those of another.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from banditplex.arrays import Bools, Ints
from banditplex.multiplex import Multiplex
from banditplex.multiplex.build import linked_types
from banditplex.pairs.known import KnownPairs, contains, in_order, pair_keys

Propose = Callable[[Ints, np.random.Generator], Ints]  # layers (n,) -> pairs (n, 2)


class _Groups(NamedTuple):
    """Lists of nodes: group g is nodes[offset[g]:offset[g + 1]]."""

    nodes: Ints
    offset: Ints

    @classmethod
    def of(cls, group: Ints, nodes: Ints, num_groups: int) -> "_Groups":
        """Collect nodes (n,) by their group (n,), in the given order."""
        size = np.bincount(group, minlength=num_groups)
        return cls(nodes[np.argsort(group, kind="stable")], np.append(0, np.cumsum(size)))

    def size(self, group: Ints) -> Ints:
        return self.offset[group + 1] - self.offset[group]

    def list(self, group: int) -> Ints:
        return self.nodes[self.offset[group] : self.offset[group + 1]]


class PairSpace:
    """The pairs that each layer of a multiplex may link; self pairs are never among them.

    Parameters: `mx`: the multiplex. If its nodes have no types, they count as one type. `links_of`: the multiplex with
    the same layers whose edges show which types a layer links; None: `mx`. A layer without edges may link all types.
    """

    def __init__(self, mx: Multiplex, *, links_of: Multiplex | None = None) -> None:
        self._mx, self._types, self._num_types = mx, mx.type_index, max(len(mx.type_names), 1)
        self._links = _links(mx, mx if links_of is None else links_of)
        self._groups = _Groups.of(self._types, np.arange(mx.num_nodes), self._num_types)
        layer, source, destination = self._links
        self.propose = _proposal(mx, layer, (self._groups, source), (self._groups, destination), distinct=True)

    def contains(self, layer: Ints, pairs: Ints) -> Bools:
        """Return for each pair (n, 2) whether its layer (n,) may link it; if directed, in this direction."""
        source, destination = self._types[pairs.T]
        if not self._mx.directed:
            source, destination = np.minimum(source, destination), np.maximum(source, destination)
        inside = contains(self._link_keys(*self._links), self._link_keys(layer, source, destination))
        return inside & (pairs[:, 0] != pairs[:, 1])

    def _link_keys(self, layer: Ints, source: Ints, destination: Ints) -> Ints:
        return (layer * self._num_types + source) * self._num_types + destination

    def num_pairs(self, *, ordered: bool) -> Ints:
        """Return the number of pairs of each layer; unless `ordered`, the two directions of a pair count once."""
        layer, source, destination = self._merged(ordered)
        a, b = self._groups.size(source), self._groups.size(destination)
        return _sum(layer, np.where(source == destination, a * (a - 1) // (1 if ordered else 2), a * b), self._mx)

    def num_inside(self, pairs: Ints, *, ordered: bool) -> Ints:
        """Return how many of the distinct pairs (n, 2) each layer may link, (num_layers,)."""
        code = pair_keys(np.zeros(len(pairs), np.int64), self._types[pairs], self._num_types, ordered=ordered)
        layer, *groups = self._merged(ordered)
        wanted = pair_keys(np.zeros_like(layer), np.stack(groups, 1), self._num_types, ordered=ordered)
        return _sum(layer, np.bincount(code, minlength=self._num_types**2)[wanted], self._mx)

    def _merged(self, ordered: bool) -> Ints:
        """Return layer, source and destination type of each block (3, c); unless `ordered`, each once."""
        if ordered or not self._mx.directed:
            return self._links
        return np.unique(np.concatenate([self._links[:1], np.sort(self._links[1:], axis=0)]), axis=1)

    def chunks(self, layer: int, size: int) -> Iterator[Ints]:
        """Yield all pairs (n, 2) of a layer, about `size` at a time; if undirected, smaller index first."""
        for one, other in self._links[1:, self._links[0] == layer].T.tolist():
            source, destination = self._groups.list(one), self._groups.list(other)
            rows = max(1, size // max(1, len(destination)))
            for low in range(0, len(source), rows):
                ends = np.meshgrid(source[low : low + rows], destination, indexing="ij")
                pairs = np.stack([each.ravel() for each in ends], 1)
                if one == other:
                    pairs = pairs[pairs[:, 0] != pairs[:, 1] if self._mx.directed else pairs[:, 0] < pairs[:, 1]]
                yield in_order(pairs[:, 0], pairs[:, 1], self._mx)

    def all_pairs(self, layer: int) -> Ints:
        """Return all pairs (n, 2) of a layer."""
        return np.concatenate([np.empty((0, 2), np.int64), *self.chunks(layer, 1 << 20)])

    def propose_by_degree(self) -> Propose:
        """Return a function that proposes pairs whose ends are drawn in proportion to their degrees in the layer."""
        mx = self._mx
        other = mx.edge_index[0] != mx.edge_index[1]
        ends, layer = mx.edge_index[:, other], mx.edge_layer[other]
        group, count = layer * self._num_types + self._types[ends], mx.num_layers * self._num_types
        if mx.directed:
            tails, heads = (_Groups.of(*each, count) for each in zip(group, ends, strict=True))
        else:
            tails = heads = _Groups.of(group.ravel(), ends.ravel(), count)
        first = self._links[0] * self._num_types
        tail, head = (tails, first + self._links[1]), (heads, first + self._links[2])
        return _proposal(mx, self._links[0], tail, head, distinct=False)


def restrict(known: KnownPairs, mx: Multiplex, *, links_of: Multiplex | None = None) -> KnownPairs:
    """Set `known.space`, which says what may be a negative, if nodes have types, and return `known`."""
    if mx.node_types is not None:
        known.space = PairSpace(mx, links_of=links_of)
    return known


def _links(mx: Multiplex, shown: Multiplex) -> Ints:
    """Return the types that each layer may link, in the type indices of `mx`: (layer, source, destination), (3, c)."""
    shown = mx if shown.node_types is None else shown
    links = linked_types(shown)
    if shown is not mx and shown.type_names != mx.type_names:
        index = {name: place for place, name in enumerate(mx.type_names)}
        code = np.array([index.get(name, -1) for name in shown.type_names], np.int64)
        links[1:] = code[links[1:]]
        links = links[:, (links[1:] >= 0).all(axis=0)]
        links[1:] = links[1:] if mx.directed else np.sort(links[1:], axis=0)
    bare = np.flatnonzero(np.bincount(links[0], minlength=mx.num_layers) == 0)
    count = max(len(mx.type_names), 1)
    one, other = np.indices((count, count)).reshape(2, -1) if mx.directed else np.triu_indices(count)
    every = np.stack([np.repeat(bare, len(one)), np.tile(one, len(bare)), np.tile(other, len(bare))])
    joint = np.concatenate([links, every], axis=1)
    return joint[:, np.lexsort(joint[::-1])]


def _sum(layer: Ints, values: Ints, mx: Multiplex) -> Ints:
    total = np.zeros(mx.num_layers, np.int64)
    np.add.at(total, layer, values)
    return total


def _proposal(
    mx: Multiplex, layer: Ints, source: tuple[_Groups, Ints], destination: tuple[_Groups, Ints], *, distinct: bool
) -> Propose:
    """Return a function that proposes pairs of blocks, given by their layer (c,), sorted, and two groups (c,).

    A block is chosen in proportion to its number of pairs, and a pair of the block uniformly. With `distinct`, the two
    entries of a pair are different ones, so that groups without repetition never give self pairs. A single random
    integer decides both.
    """
    (tails, tail), (heads, head) = source, destination
    same = (tail == head) if tails is heads else np.zeros(len(tail), np.bool_)
    skip = same & distinct
    width = heads.size(head) - skip
    pairs = np.maximum(tails.size(tail) * width, 0)
    weight = pairs if mx.directed else np.where(same, pairs, 2 * pairs)  # same: either order of a pair
    end = np.cumsum(weight)
    bounds = np.append(0, end)[np.searchsorted(layer, np.arange(mx.num_layers + 1))]
    start, total = bounds[:-1], np.diff(bounds)

    def propose(where: Ints, rng: np.random.Generator) -> Ints:
        number = start[where] + rng.integers(0, total[where])
        block = np.searchsorted(end, number, side="right")
        number = (number - (end[block] - weight[block])) % pairs[block]
        first, second = np.divmod(number, width[block])
        second += skip[block] & (second >= first)
        first, second = tails.offset[tail[block]] + first, heads.offset[head[block]] + second
        return in_order(tails.nodes[first], heads.nodes[second], mx)

    return propose

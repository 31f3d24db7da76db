"""Which pairs are edges, and which a layer may link: pairs of the node types that its edges link.

Each pair has an integer key, and keys are found by binary search. The pairs that a layer may link come in blocks, one
for each combination of types: the nodes of one type times those of another.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from banditplex.arrays import Bools, Ints
from banditplex.errors import InputError
from banditplex.multiplex import Multiplex
from banditplex.multiplex.build import linked_types

MANY = 1 << 14  # with more keys than this, sorting them before the lookup is faster


class KnownPairs:
    """The pairs that are edges of a multiplex, so that they are not drawn as negatives. Self loops are ignored.

    Parameters: `mx`: the multiplex whose edges are known. `everywhere`: whether an edge of one layer counts in all
    layers. `ordered`: whether (u, v) and (v, u) are different pairs. None: only in a directed multiplex.

    `space` is set by `banditplex.pairs.known.restrict` if not every other pair is a negative; `num_pairs`, `num_free`
    and `free_pairs` then count and list only its pairs.
    """

    def __init__(self, mx: Multiplex, *, everywhere: bool = False, ordered: bool | None = None) -> None:
        check_key_size(mx.num_layers, mx.num_nodes)
        self.num_nodes, self.num_layers = mx.num_nodes, mx.num_layers
        self.everywhere, self.directed = everywhere, mx.directed
        self.ordered = mx.directed if ordered is None else ordered
        self.space: PairSpace | None = None
        no_loop = mx.edge_index[0] != mx.edge_index[1]
        keys = self._lookup_keys(self.keys(mx.edge_layer[no_loop], mx.edge_index[:, no_loop].T))
        self._sorted = distinct(keys) if everywhere or self.ordered != mx.directed else keys
        self._in_all = np.empty(0, np.int64)  # keys, without a layer, of pairs that count in all layers

    def keys(self, layer: Ints, pairs: Ints) -> Ints:
        """Return the key of each pair (n, 2) of node indices in its layer (n,); equal pairs have equal keys."""
        return pair_keys(layer, pairs, self.num_nodes, ordered=self.ordered)

    def has_keys(self, keys: Ints) -> Bools:
        """Return for each key whether its pair is known."""
        return contains(self._sorted, self._lookup_keys(keys)) | contains(self._in_all, keys % self.num_nodes**2)

    def has(self, layer: Ints, pairs: Ints) -> Bools:
        """Return for each pair (n, 2) whether it is known in its layer (n,)."""
        return self.has_keys(self.keys(layer, pairs))

    def add(self, layer: Ints, pairs: Ints) -> None:
        """Add known pairs (n, 2) of layers (n,)."""
        self._sorted = np.union1d(self._sorted, self._lookup_keys(self.keys(layer, pairs)))

    def add_to_all(self, pairs: Ints) -> None:
        """Add pairs (n, 2) that are known in all layers."""
        self._in_all = np.union1d(self._in_all, self.keys(np.zeros(len(pairs), np.int64), pairs))
        self._sorted = self._sorted[~contains(self._in_all, self._sorted % self.num_nodes**2)]

    def _lookup_keys(self, keys: Ints) -> Ints:
        """Return keys as they are stored: with `everywhere`, without the layer."""
        return keys % self.num_nodes**2 if self.everywhere else keys

    def num_pairs(self) -> Ints:
        """Return the number of pairs of each layer, known or not, (num_layers,)."""
        if self.space is not None:
            return self.space.num_pairs(ordered=self.ordered)
        pairs = self.num_nodes * (self.num_nodes - 1) // (1 if self.ordered else 2)
        return np.full(self.num_layers, pairs)

    def num_free(self) -> Ints:
        """Return the number of pairs that are not known in each layer, (num_layers,)."""
        if self.everywhere:
            return self.num_pairs() - self._num_in_all(self._sorted)
        bounds = np.arange(self.num_layers + 1) * self.num_nodes**2
        return self.num_pairs() - np.diff(np.searchsorted(self._sorted, bounds)) - self._num_in_all(self._in_all)

    def _num_in_all(self, keys: Ints) -> Ints | int:
        """Return how many pairs, whose keys are without a layer, each layer may link."""
        if self.space is None:
            return len(keys)
        return self.space.num_inside(np.stack(np.divmod(keys, self.num_nodes), 1), ordered=self.ordered)

    def degrees(self) -> Ints:
        """Return the number of known pairs of each node (num_nodes,), summed over layers."""
        of_layers, of_all = (
            np.bincount(np.concatenate(np.divmod(keys % self.num_nodes**2, self.num_nodes)), minlength=self.num_nodes)
            for keys in (self._sorted, self._in_all)
        )
        return of_layers + self.num_layers * of_all

    def free_pairs(self, layer: int) -> tuple[Ints, Ints]:
        """Return all pairs (f, 2) that are not known in a layer, and their keys (f,).

        Unless pairs are ordered, the smaller index comes first. This enumerates all pairs of nodes: use it only for
        layers in which nearly all of them are known.
        """
        if self.space is None:
            pairs = np.stack(np.triu_indices(self.num_nodes, 1), axis=1)
            pairs = np.concatenate([pairs, pairs[:, ::-1]]) if self.ordered else pairs
        else:
            pairs = self.space.all_pairs(layer)
            pairs = pairs if self.ordered else np.sort(pairs, axis=1)
        keys = self.keys(np.full(len(pairs), layer), pairs)
        free = ~self.has_keys(keys)
        if self.space is not None:
            free &= ~repeated(keys)  # of both directions, one
        return pairs[free], keys[free]

    def orient(self, layer: Ints, pairs: Ints, rng: np.random.Generator) -> Ints:
        """Return pairs (n, 2) of layers (n,) in a direction that the layer may link, at random if both are."""
        if not self.directed:
            return pairs
        if self.space is None:
            return rng.permuted(pairs, axis=1)
        forward, backward = (self.space.contains(layer, each) for each in (pairs, pairs[:, ::-1]))
        flip = backward & (~forward | (rng.random(len(pairs)) < 0.5))
        return np.where(flip[:, None], pairs[:, ::-1], pairs)


def check_key_size(num_layers: int, num_nodes: int) -> None:
    """Refuse multiplexes whose pairs have no 64-bit keys."""
    if num_layers * num_nodes**2 >= 2**63:
        got = f"{num_layers:,} layers and {num_nodes:,} nodes"
        raise InputError(f"Expected layers x nodes x nodes below 2**63, got {got}.")


def pair_keys(layer: Ints, pairs: Ints, num_nodes: int, *, ordered: bool) -> Ints:
    """Return an integer key for each pair (n, 2) in its layer (n,); (u, v) and (v, u) share it unless `ordered`."""
    source, destination = pairs[:, 0], pairs[:, 1]
    if not ordered:
        source, destination = np.minimum(source, destination), np.maximum(source, destination)
    return (layer * num_nodes + source) * num_nodes + destination


def contains(sorted_keys: Ints, keys: Ints) -> Bools:
    """Return for each key whether it is in a sorted array."""
    if not len(sorted_keys):
        return np.zeros(keys.shape, np.bool_)
    order = np.argsort(keys, kind="stable") if len(keys) > MANY else slice(None)  # sorted lookups hit the cache
    asked, found = keys[order], np.empty(keys.shape, np.bool_)
    found[order] = sorted_keys[np.minimum(np.searchsorted(sorted_keys, asked), len(sorted_keys) - 1)] == asked
    return found


def distinct(keys: Ints) -> Ints:
    """Return the different keys, sorted: what `np.unique` does by hashing, which takes many times as long."""
    ordered = np.sort(keys)
    new = np.ones(len(keys), np.bool_)
    new[1:] = ordered[1:] != ordered[:-1]
    return ordered[new]


def repeated(keys: Ints) -> Bools:
    """Return for each key (n,) whether it repeats an earlier one."""
    repeats = np.ones(len(keys), np.bool_)
    repeats[np.unique(keys, return_index=True)[1]] = False
    return repeats


def repeated_in_rows(keys: Ints) -> Bools:
    """Return for each key (p, m) whether it repeats an earlier one of its row."""
    order = np.argsort(keys, axis=1, kind="stable")
    ranked = np.take_along_axis(keys, order, 1)
    repeats = np.zeros(keys.shape, np.bool_)
    np.put_along_axis(repeats, order[:, 1:], ranked[:, 1:] == ranked[:, :-1], 1)
    return repeats


def in_order(source: Ints, destination: Ints, mx: Multiplex) -> Ints:
    """Return pairs (n, 2), with the smaller index first unless the multiplex is directed."""
    if not mx.directed:
        source, destination = np.minimum(source, destination), np.maximum(source, destination)
    return np.stack([source, destination], 1)


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
        keys = partial(pair_keys, num_nodes=self._num_types, ordered=self._mx.directed)
        inside = contains(keys(self._links[0], self._links[1:].T), keys(layer, self._types[pairs]))
        return inside & (pairs[:, 0] != pairs[:, 1])

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

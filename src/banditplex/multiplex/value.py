"""`Multiplex`, the data structure of the library."""

from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from functools import cached_property, partial
from html import escape
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from banditplex.arrays import Bools, Floats, Ints
from banditplex.errors import InputError
from banditplex.multiplex import build, convert, join
from banditplex.multiplex.names import Name, NameIndex, Names, as_array, as_names, check_distinct, factorize
from banditplex.registry import check_choice

if TYPE_CHECKING:
    from banditplex.multiplex.summary import Summary

DATES = "dates"  # the entry of `metadata` that says that times were dates: they are then nanoseconds since 1970
_ARRAYS = ("edge_index", "layer_offsets", "node_names", "weight", "time", "node_features", "node_types")
_SHOWN = 20  # layers that a notebook shows


@dataclass(frozen=True, eq=False, repr=False)
class Multiplex:
    """One set of named nodes and many named layers of edges; immutable.

    Create one with `from_edges` (or `banditplex.read`, `from_pandas`, ...). The constructor does not sort or check.

    Rules:

    - Names are all strings or all integers. Names that are not declared are sorted.
    - Nodes without edges are kept.
    - An undirected edge is stored once, smaller index first. Edges are sorted by layer, source, destination.
    - Duplicates of an edge in a layer are merged: weights are added (`duplicates="sum"`, the default) or the largest is
      kept (`"max"`), and the earliest time is kept. `"error"` refuses duplicates. In an undirected multiplex (u, v) and
      (v, u) are duplicates.
    - Self loops are kept (`self_loops="keep"`, the default), dropped or refused. `to_undirected` drops them.
    - Weights are finite and >= 0. No weights means weight 1 everywhere, but merging duplicates without weights gives
      no weights. A multiplex without edges has neither weights nor times.
    - Nodes may have types, such as "user" and "item": one string per node. Then a layer links only the types that its
      edges link, and negatives and recommendations are pairs of these types.
    - Memory grows with edges and nodes, not with layers x nodes.

    >>> mx = Multiplex.from_edges(["ann", "bob", "ann"], ["bob", "cid", "cid"], ["work", "work", "home"])
    >>> mx
    Multiplex(3 nodes, 2 layers, 3 edges, undirected): 'home' (1), 'work' (2)
    >>> mx.edges("work")
    array([[0, 1],
           [1, 2]])
    """

    edge_index: Ints  # (2, num_edges), sorted by (layer, source, destination)
    layer_offsets: Ints  # (num_layers + 1,): edges of layer l are edge_index[:, layer_offsets[l]:layer_offsets[l + 1]]
    layer_names: tuple[Name, ...]
    node_names: Names  # (num_nodes,), int64 or object (str)
    _: KW_ONLY
    directed: bool = False
    weight: Floats | None = None  # (num_edges,)
    time: build.Numbers | None = None  # (num_edges,)
    node_features: npt.NDArray[Any] | None = None  # (num_nodes, F)
    node_types: Names | None = None  # (num_nodes,), object (str)
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in _ARRAYS:
            array = getattr(self, name)
            if name in ("weight", "time") and not self.num_edges:
                object.__setattr__(self, name, None)
            elif array is not None:  # a view: the caller's array stays writeable
                array = array.view()
                array.flags.writeable = False
                object.__setattr__(self, name, array)
        object.__setattr__(self, "metadata", MappingProxyType(dict(self.metadata)))

    def __reduce__(self) -> Any:
        stored = {each.name: getattr(self, each.name) for each in fields(self)}
        return partial(Multiplex, **(stored | {"metadata": dict(self.metadata)})), ()  # without the caches

    @classmethod
    def from_edges(
        cls,
        source: Any,
        destination: Any,
        layer: Any,
        *,
        weight: Any = None,
        time: Any = None,
        num_nodes: int | None = None,
        node_names: Any = None,
        layer_names: Any = None,
        node_features: Any = None,
        node_types: Any = None,
        directed: bool = False,
        duplicates: str = "sum",
        self_loops: str = "keep",
        metadata: Mapping[str, Any] | None = None,
    ) -> "Multiplex":
        """Build a multiplex from columns with one entry per edge.

        Parameters
        ----------
        source, destination
            Node ids (E,). With `num_nodes` given they are indices 0..num_nodes-1, otherwise names.
        layer
            Layer names (E,), or one name for all edges.
        weight, time
            Optional numbers (E,). Weights: finite, >= 0. Times: numbers or datetimes.
        num_nodes
            Declares the nodes 0..num_nodes-1, to which `node_names` may give names.
        node_names, layer_names
            Declare all names and their order. By default, the names found in the edges are sorted.
        node_features
            Numbers (num_nodes, F).
        node_types
            Type of each node, a string: (num_nodes,), or a mapping from node names to types.
        directed
            Whether (u, v) and (v, u) are two edges.
        duplicates, self_loops
            "sum", "max" or "error"; "keep", "drop" or "error". See the rules above.
        metadata
            Additional information. It is ignored when multiplexes are compared.
        """
        codes, layer_names = build.index_layers(layer, len(source), layer_names)
        tail, head, names = build.index_nodes(source, destination, num_nodes, node_names)
        return cls.from_indices(
            tail, head, codes, node_names=names, layer_names=layer_names, weight=weight, time=time,
            node_features=node_features, node_types=node_types, directed=directed, duplicates=duplicates,
            self_loops=self_loops, metadata=metadata,
        )  # fmt: skip

    @classmethod
    def from_indices(
        cls, source: Ints, destination: Ints, layer: Ints, *, node_names: Any, layer_names: Any, weight: Any = None,
        time: Any = None, node_features: Any = None, node_types: Any = None, directed: bool = False,
        duplicates: str = "sum", self_loops: str = "keep", metadata: Mapping[str, Any] | None = None,
    ) -> "Multiplex":  # fmt: skip
        """Build a multiplex from indices into declared names, by the same rules as `from_edges`."""
        check_choice("duplicates", duplicates, ("sum", "max", "error"))
        check_choice("self_loops", self_loops, ("keep", "drop", "error"))
        names = check_distinct(as_names(node_names, "node"), "node")
        layer_names = tuple(check_distinct(as_names(layer_names, "layer"), "layer").tolist())
        source, destination, layer = build.check_edges(source, destination, layer, names, layer_names)
        columns = build.check_weight(weight, len(source)), build.check_time(time, len(source))
        if self_loops != "keep":
            keep = source != destination
            if self_loops == "error":
                build.refuse_loops(~keep, source, layer, names, layer_names)
            source, destination, layer = source[keep], destination[keep], layer[keep]
            columns = build.take(columns[0], keep), build.take(columns[1], keep)
        edges, offsets, weights, times = build.sort_edges(
            source, destination, layer, num_nodes=len(names), num_layers=len(layer_names),
            weight=columns[0], time=columns[1], directed=directed, duplicates=duplicates,
        )  # fmt: skip
        return cls(
            edges, offsets, layer_names, _own(names, node_names), directed=directed,
            weight=_own(build.check_weight(weights, edges.shape[1]), weight), time=_own(times, time),
            node_features=_own(build.check_features(node_features, names), node_features),
            node_types=build.check_types(node_types, names),
            metadata={**(metadata or {}), **({DATES: True} if np.asarray(time).dtype.kind == "M" else {})},
        )  # fmt: skip

    # Properties and access

    @property
    def num_nodes(self) -> int:
        """Number of nodes, including isolated nodes."""
        return len(self.node_names)

    @property
    def num_layers(self) -> int:
        """Number of layers, including empty layers."""
        return len(self.layer_names)

    @property
    def num_edges(self) -> int:
        """Number of edges in all layers together."""
        return int(self.edge_index.shape[1])

    @property
    def layer_sizes(self) -> Ints:
        """Number of edges of each layer, (num_layers,)."""
        return np.diff(self.layer_offsets)

    @property
    def edge_layer(self) -> Ints:
        """Layer index of every edge, (num_edges,)."""
        return np.repeat(np.arange(self.num_layers), self.layer_sizes)

    def edges(self, layer: Name) -> Ints:
        """Return the edges of a layer: node indices, (2, E), sorted; a view, not a copy."""
        return self.edge_index[:, self._span(layer)]

    def weights(self, layer: Name) -> Floats:
        """Return the weights of a layer's edges, (E,); ones if the multiplex has no weights."""
        span = self._span(layer)
        return np.broadcast_to(1.0, span.stop - span.start) if self.weight is None else self.weight[span]

    def times(self, layer: Name) -> build.Numbers | None:
        """Return the times of a layer's edges, (E,), or None if the multiplex has no times."""
        return None if self.time is None else self.time[self._span(layer)]

    def active_nodes(self, layer: Name) -> Ints:
        """Return the indices of the nodes that have an edge in a layer, sorted."""
        return np.unique(self.edges(layer))

    @property
    def type_names(self) -> tuple[str, ...]:
        """The distinct node types, sorted; empty if nodes have no types."""
        return tuple(self._types[0].tolist())

    @property
    def type_index(self) -> Ints:
        """Index of each node's type in `type_names`, (num_nodes,); zeros if nodes have no types."""
        return self._types[1]

    def layer_index(self, layer: Name) -> int:
        """Return the index of a layer name."""
        return int(self._layer_lookup([layer])[0])

    def node_index(self, names: Any) -> Ints:
        """Return the indices of node names, in the shape of `names`."""
        array = as_array(names)
        return self._node_lookup(array.ravel()).reshape(array.shape)

    def has_edges(self, pairs: Any, layer: Name) -> Bools:
        """Return whether each pair of node indices (n, 2) is an edge of the layer, (n,)."""
        pairs = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
        outside = (pairs < 0) | (pairs >= self.num_nodes)
        if outside.any():
            raise InputError(f"Expected node indices from 0 to {self.num_nodes - 1}, got {pairs[outside][0]}.")
        low, high = pairs.T if self.directed else (pairs.min(axis=1), pairs.max(axis=1))
        edges = self.edges(layer)
        known = edges[0] * self.num_nodes + edges[1]
        wanted = low * self.num_nodes + high
        return np.append(known, -1)[np.searchsorted(known, wanted)] == wanted

    def summary(self) -> "Summary":
        """Return edges, active nodes, density and overlap with other layers, layer by layer."""
        from banditplex.multiplex.summary import summarise

        return summarise(self)

    # Derived multiplexes

    def subset(self, layers: Iterable[Name] | None = None, nodes: Iterable[Name] | None = None) -> "Multiplex":
        """Return the multiplex of the given layers and of the edges between the given nodes, in the given order.

        >>> mx = Multiplex.from_edges([1, 2, 3], [2, 3, 1], ["a", "a", "b"])
        >>> mx.subset(layers=["b"]), mx.subset(nodes=[1, 2])
        (Multiplex(3 nodes, 1 layer, 1 edge, undirected): 'b' (1),
         Multiplex(2 nodes, 2 layers, 1 edge, undirected): 'a' (1), 'b' (0))
        """
        chosen = self if layers is None else self._take_layers(list(layers))
        return chosen if nodes is None else chosen._take_nodes(list(nodes))

    def keep_edges(self, keep: npt.ArrayLike) -> "Multiplex":
        """Return a multiplex with only the edges where `keep` (num_edges,) is True, and with all nodes and layers.

        >>> Multiplex.from_edges([1, 2, 3], [2, 3, 1], ["a", "a", "b"]).keep_edges([True, False, True])
        Multiplex(3 nodes, 2 layers, 2 edges, undirected): 'a' (1), 'b' (1)
        """
        kept = np.asarray(keep)
        if kept.dtype != np.bool_ or kept.shape != (self.num_edges,):
            raise InputError(f"Expected {self.num_edges} truth values, one per edge, got {kept.dtype} {kept.shape}.")
        return replace(
            self, edge_index=np.ascontiguousarray(self.edge_index[:, kept]),
            layer_offsets=np.append(0, np.cumsum(kept))[self.layer_offsets], weight=build.take(self.weight, kept),
            time=build.take(self.time, kept),
        )  # fmt: skip

    def union(self) -> "Multiplex":
        """Return all layers merged into one, named "union"; weights are added, with weight 1 if there are none."""
        source, destination = self.edge_index
        edges, offsets, weight, time = build.sort_edges(
            source, destination, np.zeros(self.num_edges, np.int64), num_nodes=self.num_nodes, num_layers=1,
            weight=np.ones(self.num_edges) if self.weight is None else self.weight, time=self.time,
            directed=self.directed, duplicates="sum",
        )  # fmt: skip
        return replace(
            self, edge_index=edges, layer_offsets=offsets, layer_names=("union",), time=time,
            weight=build.check_weight(weight, edges.shape[1]),
        )  # fmt: skip

    def to_undirected(self, *, self_loops: str = "drop") -> "Multiplex":
        """Return the undirected multiplex: both directions of an edge are merged, self loops are dropped (or kept)."""
        if not self.directed and not (self.edge_index[0] == self.edge_index[1]).any():
            return self
        return self._rebuild(self.edge_index, self.edge_layer, directed=False, self_loops=self_loops)

    def to_directed(self) -> "Multiplex":
        """Return the directed multiplex: every undirected edge becomes two, with the same weight and time.

        >>> Multiplex.from_edges([0, 1], [1, 1], "a").to_directed().edges("a").T.tolist()
        [[0, 1], [1, 0], [1, 1]]
        """
        if self.directed:
            return self
        again = self.edge_index[0] != self.edge_index[1]
        ends = np.append(self.edge_index, self.edge_index[::-1, again], axis=1)
        layer, weight, time = (
            None if column is None else np.append(column, column[again])
            for column in (self.edge_layer, self.weight, self.time)
        )
        return self._rebuild(ends, layer, weight=weight, time=time, directed=True)

    def with_metadata(self, **entries: Any) -> "Multiplex":
        """Return the same multiplex with more metadata, which is ignored when multiplexes are compared."""
        return replace(self, metadata={**self.metadata, **entries})

    def with_node_features(self, features: Any) -> "Multiplex":
        """Return the same multiplex with node features (num_nodes, F), in the order of `node_names`; None removes them.

        A table of pandas whose index names the nodes may have any order.

        >>> Multiplex.from_edges(["ann"], ["bob"], "a").with_node_features([[30], [40]]).node_features.tolist()
        [[30.0], [40.0]]
        """
        return replace(self, node_features=_own(build.check_features(features, self.node_names), features))

    def with_node_types(self, types: Any) -> "Multiplex":
        """Return the same multiplex with node types, (num_nodes,) or a mapping from names to types; None removes them.

        >>> shop = Multiplex.from_edges(["ann", "bob"], ["tea", "tea"], "buys")
        >>> shop.with_node_types({"ann": "user", "bob": "user", "tea": "item"}).node_types.tolist()
        ['user', 'user', 'item']
        """
        return replace(self, node_types=build.check_types(types, self.node_names))

    def _rebuild(self, ends: Ints, layer: Any, **changes: Any) -> "Multiplex":
        options: dict[str, Any] = {
            "node_names": self.node_names, "layer_names": self.layer_names, "weight": self.weight,
            "time": self.time, "node_features": self.node_features, "node_types": self.node_types,
            "directed": self.directed, "metadata": self.metadata,
        }  # fmt: skip
        return Multiplex.from_indices(ends[0], ends[1], layer, **(options | changes))

    def _take_layers(self, names: list[Name]) -> "Multiplex":
        chosen = self._layer_lookup(names)
        NameIndex(as_names(names, "layer"), "layer")  # refuses duplicates
        sizes = self.layer_sizes[chosen]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        take = np.arange(offsets[-1]) + np.repeat(self.layer_offsets[chosen] - offsets[:-1], sizes)
        return replace(
            self, edge_index=self.edge_index[:, take], layer_offsets=offsets,
            layer_names=tuple(self.layer_names[i] for i in chosen),
            weight=build.check_weight(build.take(self.weight, take), len(take)), time=build.take(self.time, take),
        )  # fmt: skip

    def _take_nodes(self, names: list[Name]) -> "Multiplex":
        chosen = self._node_lookup(names)
        NameIndex(as_names(names, "node"), "node")
        new = np.full(self.num_nodes, -1, np.int64)
        new[chosen] = np.arange(len(chosen))
        ends = new[self.edge_index]
        keep = (ends[0] >= 0) & (ends[1] >= 0)
        return self._rebuild(
            ends[:, keep], self.edge_layer[keep], node_names=self.node_names[chosen],
            weight=build.take(self.weight, keep), time=build.take(self.time, keep),
            node_features=build.take(self.node_features, chosen), node_types=build.take(self.node_types, chosen),
        )  # fmt: skip

    with_edges = join.with_edges

    # Conversions, which import each library only when it is used

    from_networkx = classmethod(convert.from_networkx)
    from_hetero_data = classmethod(convert.from_hetero_data)
    from_pandas = classmethod(convert.from_pandas)
    from_scipy = classmethod(convert.from_scipy)
    from_triples_factory = classmethod(convert.from_triples_factory)
    to_networkx = convert.to_networkx
    to_hetero_data = convert.to_hetero_data
    to_pandas = convert.to_pandas
    to_scipy = convert.to_scipy
    to_triples_factory = convert.to_triples_factory

    # Comparison and display

    def __eq__(self, other: object) -> bool:
        """Compare nodes, layers, edges, weights, times, features and types, names and order included."""
        if not isinstance(other, Multiplex):
            return NotImplemented
        if (self.directed, self.layer_names) != (other.directed, other.layer_names):
            return False
        return all(_same(getattr(self, name), getattr(other, name)) for name in _ARRAYS)

    __hash__ = None  # type: ignore[assignment]

    @property
    def title(self) -> str:
        """A one-line description without the layers."""
        traits = ["directed" if self.directed else "undirected"]
        traits += ["weighted"] * (self.weight is not None) + ["timed"] * (self.time is not None)
        if self.node_features is not None:
            traits.append(_count(self.node_features.shape[1], "node feature"))
        if self.node_types is not None:
            traits.append(_count(len(self.type_names), "node type"))
        counts = {"node": self.num_nodes, "layer": self.num_layers, "edge": self.num_edges}
        return f"Multiplex({', '.join([*(_count(number, noun) for noun, number in counts.items()), *traits])})"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """Refuse to be split by scikit-learn, which makes an array of what it splits; be an object in other arrays."""
        if dtype is None:
            hint = "cross_val_score(model, mx.to_pandas().sample(frac=1)) works"
            raise InputError(f"Expected a table of edges to split, got a Multiplex: {hint}.")
        box = np.empty((), object)
        box[()] = self
        return box

    def __repr__(self) -> str:
        shown = [f"{name!r} ({size:,})" for name, size in zip(self.layer_names[:4], self.layer_sizes, strict=False)]
        more = [f"... {self.num_layers - 4} more"] if self.num_layers > 4 else []
        return self.title + ": " * bool(shown) + ", ".join(shown + more)

    def _repr_html_(self) -> str:
        """Return the layers as a small table, for notebooks: edges, and their share of all pairs that may be linked."""
        loops = np.bincount(self.edge_layer[self.edge_index[0] == self.edge_index[1]], minlength=self.num_layers)
        density = (self.layer_sizes - loops) / np.maximum(build.num_linkable(self, build.linked_types(self)), 1)
        rows = [
            f"<tr><th>{escape(str(name))}</th><td>{size:,}</td><td>{share:.3g}</td></tr>"
            for name, size, share in zip(self.layer_names[:_SHOWN], self.layer_sizes, density, strict=False)
        ]
        more = self.num_layers - _SHOWN
        rows += [f"<tr><th>... {more:,} more</th><td></td><td></td></tr>"] * (more > 0)
        head = "<thead><tr><th>layer</th><th>edges</th><th>density</th></tr></thead>"
        return f"<p>{escape(self.title)}</p><table>{head}<tbody>{''.join(rows)}</tbody></table>"

    def _span(self, layer: Name) -> slice:
        index = self.layer_index(layer)
        return slice(int(self.layer_offsets[index]), int(self.layer_offsets[index + 1]))

    @cached_property
    def _layer_lookup(self) -> NameIndex:
        return NameIndex(as_names(list(self.layer_names), "layer"), "layer")

    @cached_property
    def _types(self) -> tuple[Names, Ints]:
        names, index = np.empty(0, dtype=object), np.zeros(self.num_nodes, np.int64)
        if self.node_types is not None:
            names, index = factorize(self.node_types)
        index.flags.writeable = False
        return names, index

    @cached_property
    def _node_lookup(self) -> NameIndex:
        return NameIndex(self.node_names, "node")


def _own(array: Any, given: Any) -> Any:
    """Return `array`, copied if it shares memory with the caller's data, which may change later."""
    if array is None or isinstance(given, list | tuple):
        return array
    return array.copy() if np.may_share_memory(array, np.asarray(given)) else array


def _same(a: Any, b: Any) -> bool:
    if a is None or b is None:
        return a is b
    return (a.dtype == object) == (b.dtype == object) and np.array_equal(a, b)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + "s" * (number != 1)

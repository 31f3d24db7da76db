"""The conversion methods of `Multiplex`: networkx, PyG, PyKEEN, pandas and scipy, imported only when they are used."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from banditplex.arrays import Ints
from banditplex.errors import InputError
from banditplex.multiplex.build import EdgeError
from banditplex.multiplex.names import ONLY_LAYER, Name, as_names, as_python, factorize
from banditplex.multiplex.notes import note

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd
    import scipy.sparse as sp
    from torch_geometric.data import HeteroData

    from banditplex.multiplex.value import Multiplex

NODE = "node"  # the only node type in the HeteroData of a multiplex without node types


def as_multiplex(cls: type["Multiplex"], data: Any, **options: Any) -> "Multiplex | None":
    """Return a multiplex from a table of pandas, a graph of networkx, HeteroData, triples, a matrix, or a dict of them.

    Options are those of the method for the type of data, such as `from_pandas`. None: data are nothing of the kind.
    """
    makers: dict[tuple[str, str], Callable[..., Multiplex]] = {
        ("pandas", "DataFrame"): from_pandas,
        ("networkx", "Graph"): from_networkx,
        ("torch_geometric", "HeteroData"): from_hetero_data,
        ("pykeen", "CoreTriplesFactory"): from_triples_factory,
    }
    bases = [(each.__module__.partition(".")[0], each.__name__) for each in type(data).__mro__]
    if isinstance(data, cls):
        return data
    for base in bases:
        if base in makers:
            return makers[base](cls, data, **options)
    if any(home == "scipy" for home, _ in bases) or (isinstance(data, np.ndarray) and data.ndim == 2):
        return from_scipy(cls, {ONLY_LAYER: data}, **options)
    if ("torch_geometric", "Data") in bases:
        raise InputError("Expected a HeteroData, got a Data with one kind of edges; data.to_heterogeneous() makes one.")
    if any(home in ("polars", "pyarrow") for home, _ in bases):
        got = f"{type(data).__name__} of {type(data).__module__}"
        raise InputError(f"Expected a table of pandas, got {got}; call to_pandas().")
    if isinstance(data, Mapping):
        return _stacked(cls, data, options)
    return None


def _stacked(cls: type["Multiplex"], parts: Mapping[Name, Any], options: Mapping[str, Any]) -> "Multiplex":
    """Join tables, graphs or matrices, one for each layer; a layer of a part that has several is named part/layer."""
    mxs: list[Multiplex] = []
    layers: list[Name] = []
    for name, part in parts.items():
        mx = as_multiplex(cls, part, **options)
        if mx is None:
            kinds = "tables of pandas, graphs of networkx, HeteroData or scipy matrices"
            raise InputError(f"Expected a dict from layers to {kinds}, got {type(part).__name__} for {name!r}.")
        mxs.append(mx)
        layers += [name] if mx.num_layers == 1 else [f"{name}/{each}" for each in mx.layer_names]
    if not layers:
        raise InputError("Expected at least one layer, got an empty dict.")
    directed = any(mx.directed for mx in mxs)
    mxs = [mx.to_directed() if directed else mx for mx in mxs]
    source, destination = np.concatenate([mx.node_names[mx.edge_index] for mx in mxs], axis=1)
    layer = np.repeat(as_names(layers, "layer"), np.concatenate([mx.layer_sizes for mx in mxs]))
    weight = np.concatenate([np.ones(mx.num_edges) if mx.weight is None else mx.weight for mx in mxs])
    time = np.concatenate([mx.time for mx in mxs]) if all(mx.time is not None for mx in mxs) else None
    nodes = factorize(np.concatenate([mx.node_names for mx in mxs]))[0]
    about: dict[str, Any] = {"node_names": nodes, "layer_names": layers, "directed": directed}
    return cls.from_edges(source, destination, layer, weight=weight, time=time, **about)


# pandas


def to_pandas(mx: "Multiplex") -> "pd.DataFrame":
    """Return a row per edge: source, destination, layer[, weight][, time][, source_type, destination_type]."""
    import pandas as pd

    types = (None, None) if mx.node_types is None else mx.node_types[mx.edge_index]
    columns = {
        "source": mx.node_names[mx.edge_index[0]], "destination": mx.node_names[mx.edge_index[1]],
        "layer": as_names(mx.layer_names, "layer")[mx.edge_layer], "weight": mx.weight, "time": mx.time,
        "source_type": types[0], "destination_type": types[1],
    }  # fmt: skip
    return pd.DataFrame({name: column for name, column in columns.items() if column is not None})


def from_pandas(cls: type["Multiplex"], /, frame: "pd.DataFrame", **options: Any) -> "Multiplex":
    """Build a multiplex from a table with a row per edge.

    Options may name the columns `source`, `destination` (or `target`), `layer`, `weight`, `time`, `source_type` and
    `destination_type` (or `target_type`). By default, columns with usual names are used, such as "from", "target" or
    "relation", whatever their case; an empty name stands for no column. Empty cells are refused; with
    `missing="drop"`, rows without a node or layer are left out, an edge without a weight has weight 1, and one without
    a time the earliest. With `bipartite=True`, source and destination are two kinds of nodes, each with ids of its own;
    with `fold_case=True`, names that differ only by case or spaces are the same. Weights and times that are text are
    read as in files, with `decimal`, `thousands` and `date_format`. All other options are passed to
    `Multiplex.from_edges`.

    >>> import pandas as pd
    >>> from banditplex import Multiplex
    >>> Multiplex.from_pandas(pd.DataFrame({"source": [0, 1], "target": [1, 2], "layer": ["a", "b"]}))
    Multiplex(3 nodes, 2 layers, 2 edges, undirected): 'a' (1), 'b' (1)
    """
    from banditplex.multiplex.options import OPTIONS, TableOptions, by_role
    from banditplex.multiplex.table import from_frame

    options = by_role(options)
    own = {name: options.pop(name) for name in OPTIONS if name in options}
    return from_frame(cls, frame, TableOptions(**own), **options)


# scipy


def to_scipy(mx: "Multiplex", layer: Name) -> "sp.csr_array":
    """Return the (num_nodes, num_nodes) weight matrix of a layer; it is symmetric if the multiplex is undirected."""
    import scipy.sparse as sp

    arcs = mx.subset(layers=[layer]).to_directed()
    return sp.csr_array((arcs.weights(layer), arcs.edge_index), shape=(mx.num_nodes, mx.num_nodes))


def from_scipy(
    cls: type["Multiplex"],
    /,
    matrices: Mapping[Name, "sp.sparray"],
    *,
    directed: bool | None = None,
    node_names: Any = None,
    **options: Any,
) -> "Multiplex":
    """Build a multiplex from one square sparse matrix per layer; entries are weights, zeros are no edges.

    With `directed=None` the multiplex is undirected if and only if every matrix is symmetric. An undirected edge
    takes the larger of its two entries (`duplicates="max"`).

    >>> import scipy.sparse as sp
    >>> from banditplex import Multiplex
    >>> Multiplex.from_scipy({"a": sp.csr_array([[0, 2], [2, 0]])})
    Multiplex(2 nodes, 1 layer, 1 edge, undirected, weighted): 'a' (1)
    """
    import scipy.sparse as sp

    if not matrices:
        raise InputError("Expected at least one matrix, got none.")
    coos = [sp.coo_array(matrix) for matrix in matrices.values()]
    num_nodes = coos[0].shape[0]
    for name, matrix in zip(matrices, coos, strict=True):
        if matrix.shape != (num_nodes, num_nodes):
            raise InputError(f"Expected a {num_nodes} x {num_nodes} matrix for layer {name!r}, got {matrix.shape}.")
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    if directed is None:
        directed = any((matrix != matrix.T).nnz > 0 for matrix in coos)
    if not directed:
        options.setdefault("duplicates", "max")
    ends = [np.concatenate([matrix.coords[axis] for matrix in coos]).astype(np.int64) for axis in (0, 1)]
    layer = np.repeat(np.arange(len(coos)), [matrix.nnz for matrix in coos])
    weight = np.concatenate([matrix.data for matrix in coos]).astype(np.float64)
    names = np.arange(num_nodes) if node_names is None else node_names
    options = {"node_names": names, "layer_names": list(matrices), "directed": directed} | options
    return cls.from_indices(ends[0], ends[1], layer, weight=weight, **options)


# networkx


def to_networkx(mx: "Multiplex") -> "nx.MultiGraph":
    """Return a MultiGraph or MultiDiGraph whose edge keys are layer names.

    Edges have the attribute `layer` and, if the multiplex has them, `weight` and `time`; nodes have `features` (a
    list) and `node_type`. The graph attribute `layers` lists all layer names, including those of empty layers.
    """
    import networkx as nx

    graph = (nx.MultiDiGraph if mx.directed else nx.MultiGraph)(layers=list(mx.layer_names))
    graph.add_nodes_from(mx.node_names.tolist())
    for name, values in (("features", mx.node_features), ("node_type", mx.node_types)):
        if values is not None:
            nx.set_node_attributes(graph, dict(zip(graph, values.tolist(), strict=True)), name)
    table = to_pandas(mx)
    attributes = ["layer", *(column for column in ("weight", "time") if column in table)]
    columns = [table[column].tolist() for column in ("source", "destination", *attributes)]
    graph.add_edges_from(
        (u, v, values[0], dict(zip(attributes, values, strict=True))) for u, v, *values in zip(*columns, strict=True)
    )
    return graph


def from_networkx(
    cls: type["Multiplex"],
    /,
    graph: "nx.Graph",
    *,
    layer: str | None = None,
    weight: str | None = None,
    time: str | None = None,
    features: str = "features",
    types: str = "node_type",
    directed: bool | None = None,
    **options: Any,
) -> "Multiplex":
    """Build a multiplex from any networkx graph; `directed=None` is as the graph.

    The layer of an edge is its attribute `layer`, by default "layer"; without it, its key in a multigraph. If keys are
    networkx's own (0, 1, ...), an attribute such as "relation" or "type" is the layer, and a warning says so; if there
    is none, all edges are in the layer "edges". The edge attributes `weight` and `time` (by default those of this name)
    are used if any edge has them (a missing weight is 1, a missing time is an error), the node attributes `features`
    and `types` (by default "node_type") if any node has them.
    """
    for attribute, option in ((features, "node_features"), (types, "node_types")):
        if option not in options and any(attribute in attributes for _, attributes in graph.nodes(data=True)):
            given = dict(graph.nodes(data=attribute))
            bare = next((node for node, value in given.items() if value is None), None)
            if bare is not None:
                raise InputError(f"Expected every node to have {attribute!r}, got none on {bare!r}.")
            options[option] = list(given.values())
    keys = None
    if graph.is_multigraph():
        edges = list(graph.edges(keys=True))
        counted = all(isinstance(key, int) and 0 <= key < graph.number_of_edges(u, v) for u, v, key in edges)
        keys = None if counted else [key for _, _, key in edges]  # 0, 1, ... are those that networkx gives
    options = {"node_names": list(graph.nodes), "layer_names": graph.graph.get("layers")} | options
    return redirect(from_attributes(cls, graph, keys, layer=layer, weight=weight, time=time, **options), directed)


def redirect(mx: "Multiplex", directed: bool | None) -> "Multiplex":
    """Make a multiplex directed (each edge becomes two) or undirected (both directions are merged); None: as it is."""
    if directed in (None, mx.directed):
        return mx
    return mx.to_directed() if directed else mx.to_undirected(self_loops="keep")


def from_attributes(
    cls: type["Multiplex"], graph: "nx.Graph", keys: list[Any] | None = None, *, layer: str | None, weight: str | None,
    time: str | None, node_names: Any, layer_names: Any, **options: Any,
) -> "Multiplex":  # fmt: skip
    """Build a multiplex from attributes of edges, `keys` of those without a layer, and names of the nodes in order."""
    names, place = as_names(node_names, "node"), {node: index for index, node in enumerate(graph)}
    rows = [(place[u], place[v], attributes) for u, v, attributes in graph.edges(data=True)]
    data = [attributes for *_, attributes in rows]

    def edge(row: Sequence[Any]) -> str:
        return f"the edge from {as_python(names[row[0]])!r} to {as_python(names[row[1]])!r}"

    chosen = _layer_attribute(data, layer, graph, keyed=keys is not None)
    if keys is None and 0 < sum(chosen in attributes for attributes in data) < len(data):
        missing = next(row for row in rows if chosen not in row[-1])
        raise InputError(f"Expected {chosen!r} on every edge, got none on {edge(missing)}.")
    default = keys or [ONLY_LAYER] * len(rows)
    layers = [attributes.get(chosen, key) for attributes, key in zip(data, default, strict=True)]
    for role, name, absent in (("weight", weight, 1), ("time", time, None)):
        attribute = role if name is None else name
        if any(attribute in attributes for attributes in data):
            options[role] = np.array([as_number(row[-1].get(attribute, absent), attribute, edge(row)) for row in rows])
        elif name is not None and rows:
            raise InputError(f"Expected an edge attribute as {role}, got {name!r}, which no edge has.")
    try:
        return cls.from_edges(
            [row[0] for row in rows], [row[1] for row in rows], layers, num_nodes=len(place), node_names=names,
            layer_names=layer_names, directed=graph.is_directed(), **options,
        )  # fmt: skip
    except EdgeError as error:
        raise InputError(f"{error.message} on {edge(rows[error.edge])}.") from None


def as_number(value: Any, name: str, owner: str) -> Any:
    """Return an attribute as a number; text is read as one, and dates stay what they are."""
    if isinstance(value, float | np.number | np.datetime64 | datetime):
        return value
    for kind in (int, float) if isinstance(value, int | str) else ():
        with suppress(ValueError, OverflowError):
            float(value)  # refuses integers beyond all floats
            return kind(value)
    got = "none" if value is None else repr(value) if len(repr(value)) < 80 else "one of many digits"
    raise InputError(f"Expected a number as {name!r} of {owner}, got {got}.")


def _layer_attribute(data: list[dict[str, Any]], given: str | None, graph: "nx.Graph", *, keyed: bool) -> str:
    """Return the edge attribute with the layer; `keyed`: edges without it have a layer, their key."""
    from banditplex.multiplex.roles import suggest_layer

    known = list(dict.fromkeys(name for attributes in data for name in attributes))
    if given is not None:
        if data and given not in known:
            listed = ", ".join(sorted(map(str, known))) or "there are none"
            raise InputError(f"Expected an edge attribute ({listed}) as layer, got {given!r}.")
        return given
    if "layer" in known or keyed or not data:
        return "layer"
    whole = [name for name in known if isinstance(name, str) and all(name in attributes for attributes in data)]
    found = suggest_layer(whole, lambda name: [attributes[name] for attributes in data[:1000]])
    if found is not None:
        note(f"The edge attribute {found!r} is read as the layer; layer=NAME selects another.")
        return found
    if graph.is_multigraph() and len(data) > len({frozenset((u, v)) for u, v in graph.edges()}):
        note("Parallel edges are merged; layer=NAME selects an edge attribute as layer.")
    return "layer"


# PyTorch Geometric


def to_hetero_data(mx: "Multiplex") -> "HeteroData":
    """Return a HeteroData with one node type, "node", and one edge type ("node", layer, "node") per layer.

    If nodes have types, these are the node types, and a layer has an edge type (source type, layer, destination type)
    for each combination that its edges show. Undirected edges are stored in both directions, as message passing needs
    them. Features are `x`, weights `edge_weight`, times `edge_time`. Names and directedness are stored too, so
    `from_hetero_data` restores the same multiplex.
    """
    import torch
    from torch_geometric.data import HeteroData

    data, kinds = HeteroData(), mx.type_names or (NODE,)
    data.directed = mx.directed
    data.layer_names = list(mx.layer_names)
    place = np.empty(mx.num_nodes, np.int64)  # of a node among those of its type
    for index, kind in enumerate(kinds):
        mine = np.flatnonzero(mx.type_index == index)
        place[mine] = np.arange(len(mine))
        data[kind].num_nodes = len(mine)
        data[kind].names = mx.node_names[mine].tolist()
        if mx.node_types is not None:
            data[kind].position = torch.from_numpy(mine)
        if mx.node_features is not None:
            data[kind].x = torch.from_numpy(mx.node_features[mine])
    for name in mx.layer_names:
        edges, other = mx.edges(name), slice(0)
        if not mx.directed:
            other = edges[0] != edges[1]  # a self loop is stored once
        both = np.concatenate([edges, edges[::-1, other]], axis=1)
        weight, times = None if mx.weight is None else mx.weights(name), mx.times(name)
        source, destination = mx.type_index[both]
        code = source * len(kinds) + destination
        for each in (np.unique(code) if mx.node_types is not None else np.zeros(1, np.int64)).tolist():
            store = data[kinds[each // len(kinds)], str(name), kinds[each % len(kinds)]]
            store.edge_index = torch.from_numpy(place[both[:, code == each]])
            if weight is not None:
                store.edge_weight = torch.from_numpy(np.concatenate([weight, weight[other]])[code == each])
            if times is not None:
                store.edge_time = torch.from_numpy(np.concatenate([times, times[other]])[code == each])
    return data


def from_hetero_data(
    cls: type["Multiplex"],
    /,
    data: "HeteroData",
    *,
    directed: bool | None = None,
    weight: str = "edge_weight",
    time: str = "edge_time",
    features: str = "x",
    **options: Any,
) -> "Multiplex":
    """Build a multiplex from a HeteroData: every edge type is a layer.

    Several node types become the node types of one set of nodes, named "type/index". A layer is named after its
    relation, or "source/relation/destination" if a relation occurs more than once. `directed=None` uses `data.directed`
    if it exists, otherwise `data.is_undirected()`. An undirected edge takes the larger weight and the earlier time of
    its two directions (`duplicates="max"`). Either every edge type has the attribute `weight` or none has it; the same
    holds for `time`. `features` are kept if all node types have the same number of them.
    """
    place, names, types = _join_node_types(data)
    layer_names, layer_of = _layers(data)
    if directed is None:
        directed = bool(data["directed"]) if "directed" in data else not data.is_undirected()
    if not directed:
        options.setdefault("duplicates", "max")
    stores = [(data[kind].edge_index.cpu().numpy(), kind) for kind in data.edge_types]
    ends = [np.stack([place[kind[0]][edges[0]], place[kind[2]][edges[1]]]) for edges, kind in stores]
    source, destination = np.concatenate([np.empty((2, 0), np.int64), *ends], axis=1)
    layer = np.repeat(np.array(layer_of, np.int64), [part.shape[1] for part in ends])
    columns = {"weight": _join_edge_types(data, weight), "time": _join_edge_types(data, time)}
    nodes = {"node_names": names, "node_features": _join_features(data, features, place)}
    options = {"node_types": types, "layer_names": layer_names, "directed": directed} | options
    return cls.from_indices(source, destination, layer, **columns, **nodes, **options)


def _join_node_types(data: "HeteroData") -> tuple[dict[str, Ints], Any, Any]:
    """Return the indices of the nodes of each type in the joint set, and the names and types of all nodes."""
    kinds = data.node_types
    counts = [data[kind].num_nodes for kind in kinds]
    if None in counts:
        raise InputError(f"Expected num_nodes for node type {kinds[counts.index(None)]!r}, got none.")
    types = np.repeat(np.array(kinds, dtype=object), counts)
    if _is_ours(data):
        place = {kind: data[kind].position.cpu().numpy() for kind in kinds}
        order = np.argsort(np.concatenate([np.empty(0, np.int64), *place.values()]))
        names = [name for kind in kinds for name in data[kind].names]
        return place, [names[each] for each in order.tolist()], types[order]
    start = np.cumsum([0, *counts]).tolist()
    place = {kind: np.arange(low, low + count) for kind, low, count in zip(kinds, start, counts, strict=False)}
    if len(counts) == 1:
        store = data[kinds[0]]
        return place, list(store.names) if "names" in store else np.arange(counts[0]), None
    return place, [f"{kind}/{i}" for kind, count in zip(kinds, counts, strict=True) for i in range(count)], types


def _is_ours(data: "HeteroData") -> bool:
    """Return whether `to_hetero_data` made this from a multiplex with node types."""
    return "layer_names" in data and all("position" in data[kind] and "names" in data[kind] for kind in data.node_types)


def _layers(data: "HeteroData") -> tuple[list[Name], list[int]]:
    """Return the layer names, and the layer index of each edge type."""
    relations = [relation for _, relation, _ in data.edge_types]
    stored = list(data.get("layer_names") or [])  # the original names, before their conversion to text
    shown = list(map(str, stored))
    if _is_ours(data) and set(relations) <= set(shown):
        return stored, [shown.index(relation) for relation in relations]
    if len(set(relations)) < len(relations):
        relations = ["/".join(edge_type) for edge_type in data.edge_types]
    return stored if shown == relations else relations, list(range(len(relations)))


def _join_edge_types(data: "HeteroData", attribute: str) -> Any:
    parts = [data[kind][attribute].cpu().numpy() for kind in data.edge_types if attribute in data[kind]]
    if not parts:
        return None
    if len(parts) < len(data.edge_types):
        raise InputError(f"Expected {attribute!r} on every edge type or on none, got it on {len(parts)}.")
    joint = np.concatenate(parts)
    return joint[:, 0] if joint.ndim == 2 and joint.shape[1] == 1 else joint


def _join_features(data: "HeteroData", attribute: str, place: Mapping[str, Ints]) -> Any:
    parts = [data[kind][attribute].cpu().numpy() for kind in data.node_types if attribute in data[kind]]
    if not parts or len(parts) != len(data.node_types) or len({part.shape[1:] for part in parts}) != 1:
        return None
    joint = np.concatenate(parts)
    return joint[np.argsort(np.concatenate([place[kind] for kind in data.node_types]))]


# PyKEEN


def to_triples_factory(mx: "Multiplex") -> Any:
    """Return PyKEEN's TriplesFactory, with a triple (source, layer, destination) per edge; needs `banditplex[pykeen]`.

    Entities and relations have the indices of nodes and layers, and their names as text. Undirected edges become two
    triples. Weights, times, types and features are left out.
    """
    import torch

    try:
        triples = import_module("pykeen.triples")
    except ImportError as error:
        raise InputError(f"Expected PyKEEN, got {error}: pip install 'banditplex[pykeen]'.") from error
    nodes, layers = (
        {str(name): index for index, name in enumerate(names)} for names in (mx.node_names.tolist(), mx.layer_names)
    )
    (source, destination), layer = mx.edge_index, mx.edge_layer
    found = np.stack([source, layer, destination], 1)
    if not mx.directed:
        found = np.concatenate([found, found[source != destination][:, ::-1]])
    mapped = torch.from_numpy(np.ascontiguousarray(found))
    return triples.TriplesFactory(mapped_triples=mapped, entity_to_id=nodes, relation_to_id=layers)


def from_triples_factory(cls: type["Multiplex"], /, factory: Any, **options: Any) -> "Multiplex":
    """Build a directed multiplex from PyKEEN's TriplesFactory: entities are nodes, relations are layers.

    A factory without labels has its indices as names. Inverse triples, which PyKEEN makes for training, are left out.
    With `directed=False`, triples are undirected edges. Options are those of `Multiplex.from_edges`.

    >>> from types import SimpleNamespace
    >>> from banditplex import Multiplex
    >>> factory = SimpleNamespace(
    ...     mapped_triples=np.array([[0, 0, 1], [1, 1, 0]]), entity_to_id={"china": 0, "egypt": 1},
    ...     relation_to_id={"aids": 0, "visits": 1})
    >>> Multiplex.from_triples_factory(factory)
    Multiplex(2 nodes, 2 layers, 2 edges, directed): 'aids' (1), 'visits' (1)
    """
    head, relation, tail = np.asarray(factory.mapped_triples).T
    nodes, layers = (
        list(range(count)) if place is None else sorted(place, key=place.__getitem__)
        for place, count in (
            (getattr(factory, "entity_to_id", None), getattr(factory, "num_entities", 0)),
            (getattr(factory, "relation_to_id", None), getattr(factory, "real_num_relations", 0)),
        )
    )
    real = relation < len(layers)
    names, kinds = as_names(nodes, "node"), as_names(layers, "layer")
    return cls.from_edges(
        names[head[real]], names[tail[real]], kinds[relation[real]],
        **{"directed": True, "node_names": nodes, "layer_names": layers} | options,
    )  # fmt: skip

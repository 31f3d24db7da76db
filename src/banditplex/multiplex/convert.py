"""The conversion methods of `Multiplex`: networkx, PyG, pandas and scipy, each imported only when it is used."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from banditplex.errors import InputError
from banditplex.multiplex.names import Name, as_names

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd
    import scipy.sparse as sp
    from torch_geometric.data import HeteroData

    from banditplex.multiplex.value import Multiplex

NODE = "node"  # the only node type in the HeteroData of a multiplex


# pandas


def to_pandas(mx: "Multiplex") -> "pd.DataFrame":
    """Return a table with a row per edge: source, destination, layer[, weight][, time]."""
    import pandas as pd

    columns = {
        "source": mx.node_names[mx.edge_index[0]],
        "destination": mx.node_names[mx.edge_index[1]],
        "layer": as_names(mx.layer_names, "layer")[mx.edge_layer],
        "weight": mx.weight,
        "time": mx.time,
    }
    return pd.DataFrame({name: column for name, column in columns.items() if column is not None})


def from_pandas(
    cls: type["Multiplex"],
    /,
    frame: "pd.DataFrame",
    *,
    source: str = "source",
    destination: str | None = None,
    layer: str = "layer",
    weight: str | None = None,
    time: str | None = None,
    **options: Any,
) -> "Multiplex":
    """Build a multiplex from a table with a row per edge.

    The second node is in the column `destination`, by default "destination" or, if there is none, "target".
    Columns "weight" and "time" are used if they exist. Further options are passed to `Multiplex.from_edges`.

    >>> import pandas as pd
    >>> from banditplex import Multiplex
    >>> Multiplex.from_pandas(pd.DataFrame({"source": [0, 1], "target": [1, 2], "layer": ["a", "b"]}))
    Multiplex(3 nodes, 2 layers, 2 edges, undirected): 'a' (1), 'b' (1)
    """
    if destination is None:
        destination = "target" if "target" in frame and "destination" not in frame else "destination"
    wanted = {"source": source, "destination": destination, "layer": layer}
    optional = {role: given or role for role, given in (("weight", weight), ("time", time)) if given or role in frame}
    for role, column in (wanted | optional).items():
        if column not in frame:
            raise InputError(
                f"Expected a column {column!r} for {role}, got columns {', '.join(map(repr, frame.columns))}."
            )
    values: dict[str, Any] = {role: frame[column].to_numpy() for role, column in (wanted | optional).items()}
    return cls.from_edges(**values, **options)


# scipy


def to_scipy(mx: "Multiplex", layer: Name) -> "sp.csr_array":
    """Return the (num_nodes, num_nodes) weight matrix of a layer; it is symmetric if the multiplex is undirected."""
    import scipy.sparse as sp

    (source, destination), weight = mx.edges(layer), mx.weights(layer)
    if not mx.directed:
        other = source != destination
        source, destination = np.append(source, destination[other]), np.append(destination, source[other])
        weight = np.append(weight, weight[other])
    return sp.csr_array((weight, (source, destination)), shape=(mx.num_nodes, mx.num_nodes))


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
    source, destination = (np.concatenate([matrix.coords[axis] for matrix in coos]) for axis in (0, 1))
    return cls.from_indices(
        source.astype(np.int64),
        destination.astype(np.int64),
        np.repeat(np.arange(len(coos)), [matrix.nnz for matrix in coos]),
        weight=np.concatenate([matrix.data for matrix in coos]).astype(np.float64),
        node_names=np.arange(num_nodes) if node_names is None else node_names,
        layer_names=list(matrices),
        directed=directed,
        **options,
    )


# networkx


def to_networkx(mx: "Multiplex") -> "nx.MultiGraph":
    """Return a MultiGraph or MultiDiGraph whose edge keys are layer names.

    Edges have the attribute `layer` and, if the multiplex has them, `weight` and `time`; nodes have `features` (a
    list). The graph attribute `layers` lists all layer names, including those of empty layers.
    """
    import networkx as nx

    graph = (nx.MultiDiGraph if mx.directed else nx.MultiGraph)(layers=list(mx.layer_names))
    graph.add_nodes_from(mx.node_names.tolist())
    if mx.node_features is not None:
        rows = zip(mx.node_names.tolist(), mx.node_features.tolist(), strict=True)
        nx.set_node_attributes(graph, dict(rows), "features")
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
    layer: str = "layer",
    weight: str = "weight",
    time: str = "time",
    features: str = "features",
    **options: Any,
) -> "Multiplex":
    """Build a multiplex from any networkx graph.

    The layer of an edge is its attribute `layer`; without it, its key in a multigraph, otherwise "edges". The edge
    attributes `weight` and `time` are used if any edge has them (a missing weight is 1, a missing time is an error),
    the node attribute `features` if any node has it.
    """
    keyed = graph.is_multigraph()
    rows = list(graph.edges(keys=True, data=True) if keyed else graph.edges(data=True))
    data = [row[-1] for row in rows]
    names = [attributes.get(layer, row[2] if keyed else "edges") for row, attributes in zip(rows, data, strict=True)]
    if any(time in attributes for attributes in data):
        missing = next((row for row in rows if time not in row[-1]), None)
        if missing:
            raise InputError(f"Expected every edge to have {time!r}, got none on ({missing[0]!r}, {missing[1]!r}).")
        options["time"] = [attributes[time] for attributes in data]
    if any(weight in attributes for attributes in data):
        options["weight"] = [float(attributes.get(weight, 1.0)) for attributes in data]
    if any(features in attributes for _, attributes in graph.nodes(data=True)):
        vectors = dict(graph.nodes(data=features))
        bare = next((node for node, vector in vectors.items() if vector is None), None)
        if bare is not None:
            raise InputError(f"Expected every node to have {features!r}, got none on {bare!r}.")
        options["node_features"] = list(vectors.values())
    return cls.from_edges(
        [row[0] for row in rows],
        [row[1] for row in rows],
        names,
        node_names=list(graph.nodes),
        layer_names=options.pop("layer_names", graph.graph.get("layers")),
        directed=graph.is_directed(),
        **options,
    )


# PyTorch Geometric


def to_hetero_data(mx: "Multiplex") -> "HeteroData":
    """Return a HeteroData with one node type, "node", and one edge type ("node", layer, "node") per layer.

    Undirected edges are stored in both directions, as message passing needs them. Features are `x`, weights
    `edge_weight`, times `edge_time`. Names and directedness are stored too, so `from_hetero_data` restores the same
    multiplex.
    """
    import torch
    from torch_geometric.data import HeteroData

    data = HeteroData()
    data[NODE].num_nodes = mx.num_nodes
    data[NODE].names = mx.node_names.tolist()
    data.directed = mx.directed
    data.layer_names = list(mx.layer_names)
    if mx.node_features is not None:
        data[NODE].x = torch.from_numpy(mx.node_features.copy())
    for name in mx.layer_names:
        edges, other = mx.edges(name), slice(0)
        if not mx.directed:
            other = edges[0] != edges[1]  # a self loop is stored once
        both = np.concatenate([edges, edges[::-1, other]], axis=1)
        store = data[NODE, str(name), NODE]
        store.edge_index = torch.from_numpy(both)
        if mx.weight is not None:
            weight = mx.weights(name)
            store.edge_weight = torch.from_numpy(np.concatenate([weight, weight[other]]))
        times = mx.times(name)
        if times is not None:
            store.edge_time = torch.from_numpy(np.concatenate([times, times[other]]))
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

    Several node types become one set of nodes named "type/index". A layer is named after its relation, or
    "source/relation/destination" if a relation occurs more than once. `directed=None` uses `data.directed` if it
    exists, otherwise `data.is_undirected()`. An undirected edge takes the larger weight and the earlier time of its
    two directions (`duplicates="max"`). Either every edge type has the attribute `weight` or none has it; the same
    holds for `time`. `features` are kept if all node types have the same number of them.
    """
    first, names = _join_node_types(data)
    if directed is None:
        directed = bool(data["directed"]) if "directed" in data else not data.is_undirected()
    if not directed:
        options.setdefault("duplicates", "max")
    starts = [np.array([[first[u]], [first[v]]]) for u, _, v in data.edge_types]
    edges = [start + data[kind].edge_index.cpu().numpy() for start, kind in zip(starts, data.edge_types, strict=True)]
    source, destination = np.concatenate([np.empty((2, 0), np.int64), *edges], axis=1)
    layer = np.repeat(np.arange(len(edges)), [part.shape[1] for part in edges])
    return cls.from_indices(
        source,
        destination,
        layer,
        node_names=names,
        layer_names=_layer_names(data),
        weight=_join_edge_types(data, weight),
        time=_join_edge_types(data, time),
        node_features=_join_features(data, features),
        directed=directed,
        **options,
    )


def _join_node_types(data: "HeteroData") -> tuple[dict[str, int], Any]:
    """Return the index of the first node of each type, and the names of all nodes."""
    kinds = data.node_types
    counts = [data[kind].num_nodes for kind in kinds]
    if None in counts:
        raise InputError(f"Expected num_nodes for node type {kinds[counts.index(None)]!r}, got none.")
    first = dict(zip(kinds, np.cumsum([0, *counts]).tolist(), strict=False))
    if len(counts) == 1:
        store = data[kinds[0]]
        return first, list(store.names) if "names" in store else np.arange(counts[0])
    return first, [f"{kind}/{i}" for kind, count in zip(kinds, counts, strict=True) for i in range(count)]


def _layer_names(data: "HeteroData") -> list[Name]:
    relations = [relation for _, relation, _ in data.edge_types]
    if len(set(relations)) < len(relations):
        return ["/".join(edge_type) for edge_type in data.edge_types]
    stored = data.get("layer_names") or []  # the original names, before their conversion to text
    return list(stored) if list(map(str, stored)) == relations else relations


def _join_edge_types(data: "HeteroData", attribute: str) -> Any:
    parts = [data[kind][attribute].cpu().numpy() for kind in data.edge_types if attribute in data[kind]]
    if not parts:
        return None
    if len(parts) < len(data.edge_types):
        raise InputError(f"Expected {attribute!r} on every edge type or on none, got it on {len(parts)}.")
    joint = np.concatenate(parts)
    return joint[:, 0] if joint.ndim == 2 and joint.shape[1] == 1 else joint


def _join_features(data: "HeteroData", attribute: str) -> Any:
    parts = [data[kind][attribute].cpu().numpy() for kind in data.node_types if attribute in data[kind]]
    if not parts or len(parts) != len(data.node_types) or len({part.shape[1:] for part in parts}) != 1:
        return None
    return np.concatenate(parts)

"""Join two multiplexes: edges that came later, with the nodes and layers of the earlier ones."""

from typing import TYPE_CHECKING, Any

import numpy as np

from banditplex.errors import InputError
from banditplex.multiplex.names import NameIndex

if TYPE_CHECKING:
    from banditplex.multiplex.value import Multiplex

FEATURE_NAMES = "feature_names"  # entry of `metadata`; town=Ulm is one of several values of a text


def with_edges(mx: "Multiplex", later: "Multiplex") -> "Multiplex":
    """Return a multiplex with the edges of both, as if they had been in one file.

    The layers of `later` must be layers of `mx`. New nodes come last; they need features and types if `mx` has them.
    Edges of both become one, with the sum of weights. Times are kept if both have them.

    >>> from banditplex import Multiplex
    >>> with_edges(Multiplex.from_edges(["a"], ["b"], "x"), Multiplex.from_edges(["b"], ["c"], "x"))
    Multiplex(3 nodes, 1 layer, 2 edges, undirected): 'x' (2)
    """
    if not isinstance(later, type(mx)):
        raise InputError(f"Expected a Multiplex, got {type(later).__name__}: banditplex.read makes one of tables.")
    if later.directed != mx.directed:
        raise InputError(f"Expected later edges with directed={mx.directed}, got directed={later.directed}.")
    names = _named_alike(mx, later)
    if (names.dtype == object) != (mx.node_names.dtype == object) and later.num_nodes and mx.num_nodes:
        kinds = ["strings" if each.dtype == object else "integers" for each in (mx.node_names, names)]
        raise InputError(f"Expected later edges between nodes whose names are {kinds[0]}, got {kinds[1]}.")
    place = NameIndex(mx.node_names, "node").find(names)
    new = np.flatnonzero(place < 0)
    place[new] = mx.num_nodes + np.arange(len(new))
    layer = np.array([mx.layer_index(name) for name in later.layer_names], np.int64)
    ends = np.concatenate([mx.edge_index, place[later.edge_index]], axis=1)
    both = mx.weight is not None or later.weight is not None
    weights = [np.ones(each.num_edges) if each.weight is None else each.weight for each in (mx, later)]
    timed = mx.time is not None and (later.time is not None or not later.num_edges)
    times = np.concatenate([each.time for each in (mx, later) if each.time is not None]) if timed else None
    layers = np.concatenate([mx.edge_layer, layer[later.edge_layer]])
    nodes = {what: _extend(mx, later, new, what) for what in ("node_features", "node_types")}
    nodes["node_names"] = np.concatenate([mx.node_names, names[new]])
    return mx._rebuild(ends, layers, weight=np.concatenate(weights) if both else None, time=times, **nodes)


def _named_alike(mx: "Multiplex", later: "Multiplex") -> Any:
    """Return the names of later nodes as those of `mx` are: with the type in front, as in 'user/7', if ids are shared.

    Of few later edges, users and items may share no id; they are then read without it.
    """
    if mx.node_types is None or later.node_types is None or not _begin_with_type(mx) or _begin_with_type(later):
        return later.node_names
    pairs = zip(later.node_types.tolist(), later.node_names.tolist(), strict=True)
    return np.array([f"{kind}/{name}" for kind, name in pairs], dtype=object)


def _begin_with_type(mx: "Multiplex") -> bool:
    if mx.node_types is None or mx.node_names.dtype != object:
        return False
    pairs = zip(mx.node_types.tolist(), mx.node_names.tolist(), strict=True)
    return all(name.startswith(f"{kind}/") for kind, name in pairs)


def _extend(mx: "Multiplex", later: "Multiplex", new: Any, what: str) -> Any:
    """Return features or types of old and new nodes."""
    old, more = getattr(mx, what), getattr(later, what)
    if old is None or not len(new):
        return old
    if more is None:
        name, called = later.node_names[new].tolist()[0], what.replace("_", " ")
        raise InputError(f"Expected {called} of new nodes, as training had them, got none for {name!r}.")
    if what == "node_features":
        more = _same_features(mx, later)
    return np.concatenate([old, more[new]])


def _same_features(mx: "Multiplex", later: "Multiplex") -> Any:
    """Return the features of `later` in the columns of `mx`; texts that `mx` does not know have none."""
    names, found = mx.metadata.get(FEATURE_NAMES), later.metadata.get(FEATURE_NAMES)
    assert mx.node_features is not None
    assert later.node_features is not None
    if not names or not found:
        counts = mx.node_features.shape[1], later.node_features.shape[1]
        if counts[0] != counts[1]:
            raise InputError(f"Expected {counts[0]} node features, as training had, got {counts[1]}.")
        return later.node_features
    texts = {name.partition("=")[0] for name in found if "=" in name}
    place = {name: index for index, name in enumerate(found)}
    lacking = next((name for name in names if name not in place and name.partition("=")[0] not in texts), None)
    if lacking is not None:
        raise InputError(f"Expected the node feature {lacking!r}, as training had it, got {', '.join(found)}.")
    nothing = np.zeros(len(later.node_features))
    columns = [later.node_features[:, place[name]] if name in place else nothing for name in names]
    return np.stack(columns, axis=1)

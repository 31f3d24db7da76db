"""Hypothesis strategies for multiplexes of every kind: what formats and conversions must carry unchanged."""

import numpy as np
from hypothesis import strategies as st

from banditplex.multiplex import Multiplex

NASTY = ["a b", " a", "a ", '"', 'say "hi"', "it's", "a,b", "a;b", "a\tb", "#a", "007", "7", "-1", "1.5", "1e3", "nan"]
NASTY += ["NA", "null", "None", "true", "", "é", "e\u0301", "猫", "🦉", "a/b", "a\\b", "a=b", "<a>&", "[a]", "layer"]
NASTY += ["--", "--a"]

integers = st.one_of(st.integers(0, 20), st.integers(-(2**63), 2**63 - 1))
# Any text a file encoded as UTF-8 can hold; what a format cannot hold, its tests leave out with `names=`.
strings = st.one_of(
    st.sampled_from(NASTY),
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=6),
)
words = st.text("abcdeXYZ0123456789_-.", min_size=1, max_size=6)  # names any text format can hold

json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**63), 2**63), st.floats(allow_nan=False), strings),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(strings, inner, max_size=3)),
    max_leaves=8,
)


@st.composite
def multiplexes(
    draw,
    *,
    names=strings,
    weights=True,
    times=True,
    features=True,
    types=None,
    metadata=False,
    max_nodes=8,
    max_layers=4,
    max_edges=20,
):
    """Draw a multiplex: directed or not; names strings or integers, in any order; isolated nodes, empty layers, loops.

    `names` draws string names; `weights`, `times` and `features` say what the multiplex may have, `metadata` whether
    it carries some. `types` draws node types, None for no types. No edge is given twice, so that nothing depends on how
    duplicates are merged.
    """
    node_names = draw(_names(names, max_nodes))
    layer_names = draw(_names(names, max_layers))
    directed = draw(st.booleans())
    index = st.integers(0, len(node_names) - 1)
    triple = st.tuples(st.integers(0, len(layer_names) - 1), index, index)
    if not directed:
        triple = triple.map(lambda edge: (edge[0], min(edge[1:]), max(edge[1:])))
    edges = draw(st.lists(triple, unique=True, max_size=max_edges))
    layer, source, destination = np.array(edges, np.int64).reshape(-1, 3).T
    return Multiplex.from_indices(
        source,
        destination,
        layer,
        node_names=node_names,
        layer_names=layer_names,
        weight=draw(_optional(weights, _column(len(edges), st.floats(0, 1e300)))),
        time=draw(_optional(times, _times(len(edges)))),
        node_features=draw(_optional(features, _features(len(node_names)))),
        node_types=draw(_optional(types is not None, _types(types, len(node_names)))),
        directed=directed,
        metadata=draw(st.dictionaries(strings, json_values, max_size=3)) if metadata else None,
    )


def _names(texts, max_size):
    kinds = (st.lists(kind, min_size=1, max_size=max_size, unique=True) for kind in (integers, texts))
    return st.one_of(*kinds)


def _optional(wanted, strategy):
    return st.one_of(st.none(), strategy) if wanted else st.none()


def _types(kinds, num_nodes):
    return st.lists(kinds if kinds is not None else strings, min_size=num_nodes, max_size=num_nodes)


def _column(length, values, dtype=np.float64):
    return st.lists(values, min_size=length, max_size=length).map(lambda column: np.array(column, dtype))


def _times(length):
    whole = _column(length, st.integers(-(2**63), 2**63 - 1), np.int64)
    return st.one_of(whole, _column(length, st.floats(allow_nan=False, allow_infinity=False)))


def _features(num_nodes):
    def table(width):
        number = st.floats(allow_nan=False, allow_infinity=False, width=32)
        flat = _column(num_nodes * width, number)
        return flat.map(lambda values: values.reshape(num_nodes, width))

    wide = st.integers(1, 3).flatmap(table)
    return st.one_of(wide, wide.map(lambda values: values.astype(np.float32)))

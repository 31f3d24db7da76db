"""Slow, plain second opinions on what a multiplex is: dictionaries and loops, no arrays."""

from hypothesis import strategies as st

Edge = tuple[object, object, object]  # layer, source, destination


def merge(rows, *, directed, duplicates="sum"):
    """Merge rows (layer, source, destination, weight, time) into {edge: (weight, time)}, an edge at a time."""
    merged = {}
    for layer, source, destination, weight, time in rows:
        edge = (layer, source, destination) if directed else (layer, *sorted((source, destination)))
        if edge in merged:
            old_weight, old_time = merged[edge]
            weight = old_weight + weight if duplicates == "sum" else max(old_weight, weight)
            time = min(old_time, time)
        merged[edge] = weight, time
    return merged


def edges_of(mx):
    """Return {(layer, source, destination): (weight, time)} by names, an edge at a time."""
    found = {}
    for layer in mx.layer_names:
        times = mx.times(layer)
        for i, (u, v) in enumerate(mx.edges(layer).T.tolist()):
            edge = (layer, mx.node_names[u], mx.node_names[v])
            assert edge not in found
            found[edge] = mx.weights(layer)[i], None if times is None else times[i]
    return found


quarters = st.integers(0, 12).map(lambda n: n / 4)  # they add up exactly
raw_rows = st.lists(  # with duplicates and self loops
    st.tuples(st.integers(0, 2), st.integers(0, 4), st.integers(0, 4), quarters, st.integers(-5, 5)), max_size=25
)

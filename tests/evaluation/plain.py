"""Random multiplexes for tests, and plain reference implementations with Python sets and lists."""

from hypothesis import strategies as st

from banditplex.multiplex import Multiplex


@st.composite
def multiplexes(draw, path=2, times=False):
    """Small multiplexes with empty layers, layers of one edge, self loops and both directions of a pair.

    Layer a contains a path, and every layer has more negatives than all layers together have edges.
    """
    num_nodes = draw(st.integers(10, 14))
    node = st.integers(0, num_nodes - 1)
    edges = draw(st.lists(st.tuples(node, node, st.sampled_from("abc")), max_size=16))
    edges += [(u, u + 1, "a") for u in range(path)]
    assert len(edges) <= 22 < 45 - 22
    source, destination, layer = zip(*edges, strict=True)
    time = draw(st.lists(st.integers(0, 9), min_size=len(edges), max_size=len(edges))) if times else None
    return Multiplex.from_edges(
        list(source), list(destination), list(layer), layer_names=["a", "b", "c", "empty"], num_nodes=num_nodes,
        directed=draw(st.booleans()), time=time,
    )  # fmt: skip


def edge_sets(mx):
    """Return the set of edges (u, v) of each layer, as they are stored."""
    return {name: {tuple(pair) for pair in mx.edges(name).T.tolist()} for name in mx.layer_names}


def linked(mx):
    """Return the set of unordered pairs of two nodes that are linked in each layer."""
    return {name: {frozenset(pair) for pair in pairs if len(set(pair)) == 2} for name, pairs in edge_sets(mx).items()}


def everywhere(mx):
    """Return the set of unordered pairs of two nodes that are linked in any layer."""
    return set().union(*linked(mx).values())


def held_out(data):
    """Return the test pairs with label 1 and with label 0 of each layer, as lists of (u, v)."""
    found = {}
    for name in data.train.layer_names:
        pairs, label = data.test(name)
        found[name] = tuple([tuple(pair) for pair in pairs[label == value].tolist()] for value in (1, 0))
    return found


def plain_rank(score, others):
    """Return 1 + the number of higher scores + half the number of equal scores."""
    return 1 + sum(other > score for other in others) + sum(other == score for other in others) / 2

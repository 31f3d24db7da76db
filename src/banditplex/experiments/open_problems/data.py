"""The data sets of the open problems: real ones, undirected, and made ones whose relevant layers are known."""

import numpy as np

from banditplex.datasets import load_dataset, planted
from banditplex.datasets.planted import similar_layer
from banditplex.experiments.open_problems import settings
from banditplex.multiplex import Multiplex, Name
from banditplex.multiplex.names import Ints
from banditplex.rng import stream


def load(name: str, seed: int) -> tuple[Multiplex, list[Name] | None]:
    """Return a data set and its target layers (None = all); what is made is made anew for each seed."""
    if name == "uneven":
        mx = uneven(seed)
        return mx, [layer for layer in mx.layer_names if str(layer).endswith("base")]
    if name.startswith("planted-"):
        layers = int(name.removeprefix("planted-"))
        return planted(layers, layers // 4, 0.8, num_nodes=300, edges_per_layer=900, seed=seed), None
    mx = load_dataset(name).to_undirected()
    return mx, choose_targets(mx, settings.DATA[name])


def choose_targets(mx: Multiplex, data: settings.Data) -> list[Name] | None:
    """Choose layers at random among those with enough edges, the same for all seeds; None if all are targets."""
    if data.num_targets is None:
        return None
    large = np.flatnonzero(mx.layer_sizes >= data.min_edges)
    chosen = stream(settings.SEED, "targets").choice(large, data.num_targets, replace=False)
    return [mx.layer_names[index] for index in np.sort(chosen)]


def uneven(seed: int) -> Multiplex:
    """Return a multiplex whose relevant layers differ in size.

    In each group there is a base layer with communities, a copy that has some of its edges and as many edges in all,
    and a dense layer that has nearly all of its edges, and three times as many in all. The rest is noise.

    >>> mx = uneven(0)
    >>> [(name, int(size)) for name, size in zip(mx.layer_names, mx.layer_sizes)][:3]
    [('g1-base', 500), ('g1-copy', 500), ('g1-dense', 1500)]
    """
    count, nodes = settings.UNEVEN_EDGES, settings.UNEVEN_NODES
    rng = stream(seed, "uneven")
    bases = planted(
        2 * settings.UNEVEN_GROUPS + settings.UNEVEN_NOISE, settings.UNEVEN_GROUPS, settings.UNEVEN_COPY,
        num_nodes=nodes, edges_per_layer=count, seed=seed,
    )  # fmt: skip
    layers: dict[str, Ints] = {}
    relevant: dict[str, list[str]] = {}
    for group in range(1, settings.UNEVEN_GROUPS + 1):
        base, copy, dense = (f"g{group}-{kind}" for kind in ("base", "copy", "dense"))
        layers[base], layers[copy] = bases.edges(base), bases.edges(f"g{group}-copy1")
        more = (settings.UNEVEN_FACTOR - 1) * count
        near = similar_layer(layers[base], nodes, settings.UNEVEN_DENSE, rng)
        layers[dense] = _with_more(near, nodes, more, rng)
        relevant |= {base: [dense, copy], copy: [base, dense], dense: [base, copy]}
    noise = [str(name) for name in bases.layer_names if str(name).startswith("noise")]
    layers |= {name: bases.edges(name) for name in noise}
    source, destination = np.concatenate(list(layers.values()), axis=1)
    names = np.repeat(list(layers), [edges.shape[1] for edges in layers.values()])
    about = {"name": "uneven", "relevant": relevant | {name: [] for name in noise}}
    return Multiplex.from_edges(source, destination, names, num_nodes=nodes, metadata=about)


def _with_more(edges: Ints, num_nodes: int, count: int, rng: np.random.Generator) -> Ints:
    """Return the edges (2, E) and `count` others, all distinct, smaller index first."""
    upper = np.stack(np.triu_indices(num_nodes, 1))
    code, known = upper[0] * num_nodes + upper[1], edges.min(axis=0) * num_nodes + edges.max(axis=0)
    free = upper[:, ~np.isin(code, known)]
    return np.concatenate([edges, rng.choice(free, count, replace=False, axis=1)], axis=1)

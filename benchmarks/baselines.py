"""Baselines: skip-gram and MNE against gensim's Word2Vec on as many walks, walks per second, heuristics of many pairs.

Gensim is not among the dependencies: `pip install gensim` to see its ratios.
"""

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from time import process_time
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from banditplex.baselines import BASELINES, MNE, Node2Vec
from banditplex.baselines.skipgram import WalkGraph, walk
from banditplex.multiplex import Multiplex

NODES, EDGES, LAYERS = 2_000, 10_000, 3
SIZES = {"dimension": 128, "window": 5}
WALKS, LENGTH = 4, 10


def processor_time(work: Callable[[], object]) -> float:
    """Return the processor time, in seconds, that `work` took; with one thread."""
    torch.set_num_threads(1)
    start = process_time()
    work()
    return process_time() - start


def random_multiplex(num_nodes: int, num_edges: int, num_layers: int) -> Multiplex:
    """Return layers with degrees that differ: ends are drawn in proportion to 1 / sqrt(index)."""
    rng = np.random.default_rng(0)
    ends = (num_nodes * rng.random((2, num_layers * num_edges)) ** 2).astype(np.int64)
    layer = np.repeat(np.arange(num_layers), num_edges)
    return Multiplex.from_edges(ends[0], ends[1], layer, num_nodes=num_nodes, self_loops="drop")


def gensim_time(walks: NDArray[np.int64]) -> float:
    """Return the processor time of Word2Vec on walks, with one worker."""
    from gensim.models import Word2Vec

    sentences = [list(map(str, walk)) for walk in walks.tolist()]
    model = Word2Vec(
        vector_size=SIZES["dimension"], window=SIZES["window"], min_count=0, sg=1, negative=5, workers=1, sample=0
    )
    model.build_vocab(sentences)
    return processor_time(lambda: model.train(sentences, total_examples=len(sentences), epochs=1))


def main() -> None:
    mx = random_multiplex(NODES, EDGES, LAYERS)
    graph = WalkGraph.of(mx)
    rng = np.random.default_rng(0)
    start = np.tile(np.arange(graph.num_rows), WALKS)
    walks = walk(graph, start, LENGTH, rng)
    first = processor_time(lambda: walk(graph, start, LENGTH, rng))
    second = processor_time(lambda: walk(graph, start, LENGTH, rng, q=0.5))
    print(f"walks, million steps per second: first order {walks.size / first / 1e6:.1f}, "
          f"second order {walks.size / second / 1e6:.1f}")  # fmt: skip
    same: dict[str, Any] = {**SIZES, "num_walks": WALKS, "walk_length": LENGTH}
    node2vec = processor_time(lambda: Node2Vec(**same, q=1.0).fit(mx))
    mne = processor_time(lambda: MNE(**same, epochs=1).fit(mx))
    print(f"{walks.size:,} nodes in walks: node2vec {node2vec:.2f} s, mne {mne:.2f} s")
    if find_spec("gensim") is None:
        print("gensim is not installed: no ratios")
    else:
        other = gensim_time(walks)
        print(f"gensim {other:.2f} s; node2vec / gensim {node2vec / other:.2f}, mne / gensim {mne / other:.2f}")
    many = rng.integers(0, NODES, (100_000, 2))
    many = many[many[:, 0] != many[:, 1]]
    for name in ("resource-allocation", "katz", "overlap+union"):
        model = BASELINES[name](hide="layer").fit(mx)
        rate = len(many) / processor_time(partial(model.score_pairs, many, 0)) / 1e6
        print(f"{name}: {rate:.2f} million pairs per second")

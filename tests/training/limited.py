"""Fit a model on a stored multiplex within a limit on memory, then without one, and print what came of each.

Run as `python limited.py FOLDER MEGABYTES`: so many megabytes beyond those of a process that has trained before.
"""

import json
import sys
import threading
import time
from importlib import import_module

import numpy as np
import torch

import banditplex as bx
from banditplex.datasets import planted
from banditplex.errors import InputError
from banditplex.training.memory import resident


class Peak(threading.Thread):
    """Looks at the memory two hundred times a second."""

    most = 0

    def run(self) -> None:
        """Look until the process ends."""
        while True:
            self.most = max(self.most, resident())
            time.sleep(0.005)


def large(num_layers: int, num_edges: int, num_nodes: int, *, directed: bool = False) -> bx.Multiplex:
    """Return two small layers, "a" and "b", that are much alike, and large random ones."""
    rng = np.random.default_rng(0)
    small = planted(2, 1, 0.8, num_nodes=400, edges_per_layer=800, communities=4, seed=0)
    ends = np.concatenate([small.edge_index, rng.integers(0, num_nodes, (2, num_layers * num_edges))], 1)
    names = np.array(["a", "b", *(f"random {number}" for number in range(num_layers))])
    layer = np.repeat(names, [*small.layer_sizes, *[num_edges] * num_layers])
    return bx.Multiplex.from_edges(
        *ends, layer, num_nodes=num_nodes, duplicates="max", self_loops="drop", directed=directed
    )


def packed(model: bx.LinkPredictor) -> int:
    """Return the bytes of the neighbour lists, and of the index of pairs, that a model was trained on."""
    graph = model._trainer.data.train_graph
    arrays = [*vars(graph.both).values(), graph.pair_key, graph.pair_layer]
    return sum(each.nbytes for each in arrays if isinstance(each, torch.Tensor))


if __name__ == "__main__":
    mx, more = bx.read(sys.argv[1]), int(sys.argv[2]) * 10**6
    bx.LinkPredictor(epochs=1).fit(planted(3, 1, 0.8, num_nodes=40, edges_per_layer=60, communities=2))  # imports
    import_module("torch._dynamo")  # which is loaded where files are needed
    watcher = Peak(daemon=True)
    watcher.start()
    for limit in (resident() + more, None):
        watcher.most, start, found = 0, resident(), {"limit": limit}
        try:
            model = bx.LinkPredictor(epochs=1, members=1, memory=limit).fit(mx, ["a", "b"])
            found |= {"loss": model.history_["train_loss"].tolist(), "packed": packed(model)}
            del model
        except InputError as error:
            found["refusal"] = str(error)
        print(json.dumps(found | {"start": start, "peak": watcher.most}), flush=True)

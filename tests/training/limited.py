"""Fit a model within limits on memory, and print the limit, the peak of anonymous memory, and what came of each."""

import json
import threading
import time

import banditplex as bx
from banditplex.datasets import planted
from banditplex.errors import InputError
from banditplex.training.memory import anonymous


class Peak(threading.Thread):
    """Looks at the memory two hundred times a second."""

    most = 0

    def run(self) -> None:
        """Look until the process ends."""
        while True:
            self.most = max(self.most, anonymous())
            time.sleep(0.005)


if __name__ == "__main__":
    mx = planted(6, 2, 0.8, num_nodes=2_000, edges_per_layer=8_000, communities=5, seed=0)
    bx.LinkPredictor(epochs=1).fit(planted(3, 1, 0.8, num_nodes=40, edges_per_layer=60, communities=2))  # imports
    watcher = Peak(daemon=True)
    watcher.start()
    start, found = anonymous(), {}
    for more in (100, 1_500):
        watcher.most, limit = 0, start + more * 10**6
        try:
            model = bx.LinkPredictor(epochs=1, max_steps=None, memory=limit).fit(mx)
            said = f"trained {len(model.history_)} targets"
        except InputError as error:
            said = str(error)
        found[more] = [limit, watcher.most, said]
    print(json.dumps(found))

"""node2vec: skip-gram on random walks of second order."""

from banditplex.baselines.base import add_one_graph
from banditplex.baselines.node_vectors import WalkVectors
from banditplex.errors import InputError


class Node2Vec(WalkVectors):
    """node2vec (Grover and Leskovec, KDD 2016): node vectors from skip-gram on biased random walks.

    After nodes t and v, the next node x is a neighbour of v, drawn in proportion to 1/p if x = t, 1 if x is a neighbour
    of t, and 1/q otherwise. The loss is that of `baselines/skipgram.py`.

    Differs from the original: steps are drawn by rejection, without tables of all transitions; Adagrad on mini-batches
    of walks (see `skipgram.py`); edge weights are ignored. The paper chooses p and q from .25, .5, 1, 2 and 4 on
    labelled data and scores pairs with `operator="hadamard"`.

    Parameters: `p` and `q`; all others as for `DeepWalk`.
    """

    def __init__(
        self,
        *,
        graph: str = "target",
        p: float = 1.0,
        q: float = 0.5,
        dimension: int = 128,
        num_walks: int = 10,
        walk_length: int = 80,
        window: int = 10,
        num_negatives: int = 5,
        learning_rate: float = 0.1,
        operator: str = "cosine",
        time_limit: float | None = None,
        device: str = "cpu",
        hide: str | None = None,
        seed: int = 0,
    ) -> None:
        self.graph, self.p, self.q = graph, p, q
        self.dimension, self.num_walks, self.walk_length, self.window = dimension, num_walks, walk_length, window
        self.num_negatives, self.learning_rate, self.operator = num_negatives, learning_rate, operator
        self.time_limit, self.device, self.hide, self.seed = time_limit, device, hide, seed

    def _bias(self) -> tuple[float, float]:
        if self.p <= 0 or self.q <= 0:
            raise InputError(f"Expected p and q above 0, got {self.p} and {self.q}.")
        return self.p, self.q


add_one_graph("node2vec", Node2Vec)

"""DeepWalk: skip-gram on random walks."""

from banditplex.baselines.base import add_one_graph
from banditplex.baselines.node_vectors import WalkVectors


class DeepWalk(WalkVectors):
    """DeepWalk (Perozzi, Al-Rfou and Skiena, KDD 2014): node vectors from skip-gram on uniform random walks.

    Nodes that are near each other in walks get similar vectors v: the loss is that of `baselines/skipgram.py`, on
    walks in which the next node is a uniform neighbour.

    Differs from the original: negative sampling instead of the hierarchical softmax, and Adagrad on mini-batches of
    walks (see `skipgram.py`). The paper classifies nodes; pairs are scored with the cosine of their vectors.

    Parameters
    ----------
    graph
        "target": walks in the target layer. "union": walks in the union of all layers.
    dimension, num_walks, walk_length, window
        Size of the vectors, walks from each node, nodes in a walk, and largest distance of a context.
    num_negatives, learning_rate
        Negatives per pair, and the first learning rate, which falls to 0.
    operator
        "cosine", "dot" or "hadamard"; see `NodeVectors`.
    time_limit
        Training stops after so many seconds; None: after `num_walks` walks from each node.
    device, hide, seed
        Device of the tables; see `Baseline`.
    """

    def __init__(
        self,
        *,
        graph: str = "target",
        dimension: int = 128,
        num_walks: int = 80,
        walk_length: int = 40,
        window: int = 10,
        num_negatives: int = 5,
        learning_rate: float = 0.1,
        operator: str = "cosine",
        time_limit: float | None = None,
        device: str = "cpu",
        hide: str | None = None,
        seed: int = 0,
    ) -> None:
        self.graph, self.dimension, self.num_walks, self.walk_length = graph, dimension, num_walks, walk_length
        self.window, self.num_negatives, self.learning_rate = window, num_negatives, learning_rate
        self.operator, self.time_limit, self.device, self.hide, self.seed = operator, time_limit, device, hide, seed


add_one_graph("deepwalk", DeepWalk)

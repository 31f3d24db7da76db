"""Methods to compare with: heuristics, factorisations, classifiers, node vectors, knowledge graphs, graph networks.

All are link scorers: `fit(mx, targets)` and `score_pairs(pairs, layer)`. `BASELINES` has them by name.

>>> from banditplex import load_dataset
>>> mx = load_dataset("twins")
>>> model = BASELINES["overlap+union"](hide="layer").fit(mx)
>>> model.score_pairs([[0, 1], [2, 3]], "a").shape
(2,)
"""

from banditplex.baselines.base import BASELINES, Baseline
from banditplex.baselines.classifiers import PooledRegression, Regression, Trees
from banditplex.baselines.graph_networks import Aggregation, GCNDistMult, NCNAll
from banditplex.baselines.heuristics import Heuristic, Katz
from banditplex.baselines.node_vectors import GATNE, MNE, Node2Vec
from banditplex.baselines.sampled import SampledGCN
from banditplex.baselines.seal import SEAL, DeePlex
from banditplex.baselines.svd import SVD
from banditplex.baselines.triples import Triples

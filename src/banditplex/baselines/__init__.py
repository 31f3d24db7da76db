"""Methods to compare with: heuristics, factorisations, classifiers, node vectors, knowledge graphs, graph networks.

All are link scorers: `fit(mx, targets)` and `score_pairs(pairs, layer)`. `BASELINES` has them by name.

>>> from banditplex import load_dataset
>>> mx = load_dataset("twins")
>>> model = BASELINES["overlap+union"](hide="layer").fit(mx)
>>> model.score_pairs([[0, 1], [2, 3]], "a").shape
(2,)
"""

from banditplex.baselines.aggregation import Aggregation as Aggregation
from banditplex.baselines.base import BASELINES as BASELINES
from banditplex.baselines.base import Baseline as Baseline
from banditplex.baselines.classifiers import PooledRegression as PooledRegression
from banditplex.baselines.classifiers import Regression as Regression
from banditplex.baselines.classifiers import Trees as Trees
from banditplex.baselines.common_neighbours import NCN as NCN
from banditplex.baselines.common_neighbours import NCNAll as NCNAll
from banditplex.baselines.common_neighbours import NeoGNN as NeoGNN
from banditplex.baselines.gatne import GATNE as GATNE
from banditplex.baselines.graph_networks import RGCN as RGCN
from banditplex.baselines.graph_networks import VGAE as VGAE
from banditplex.baselines.graph_networks import GCNDistMult as GCNDistMult
from banditplex.baselines.heuristics import Heuristic as Heuristic
from banditplex.baselines.katz import Katz as Katz
from banditplex.baselines.mne import MNE as MNE
from banditplex.baselines.node_vectors import LINE as LINE
from banditplex.baselines.node_vectors import DeepWalk as DeepWalk
from banditplex.baselines.node_vectors import Node2Vec as Node2Vec
from banditplex.baselines.pykeen import PyKEEN as PyKEEN
from banditplex.baselines.sampled import SampledGCN as SampledGCN
from banditplex.baselines.seal import SEAL as SEAL
from banditplex.baselines.seal import DeePlex as DeePlex
from banditplex.baselines.svd import SVD as SVD
from banditplex.baselines.triples import Triples as Triples

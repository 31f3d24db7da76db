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
from banditplex.baselines.deeplex import DeePlex as DeePlex
from banditplex.baselines.deepwalk import DeepWalk as DeepWalk
from banditplex.baselines.gatne import GATNE as GATNE
from banditplex.baselines.gcn_distmult import GCNDistMult as GCNDistMult
from banditplex.baselines.heuristics import Heuristic as Heuristic
from banditplex.baselines.katz import Katz as Katz
from banditplex.baselines.line import LINE as LINE
from banditplex.baselines.mne import MNE as MNE
from banditplex.baselines.ncn import NCN as NCN
from banditplex.baselines.ncn_all import NCNAll as NCNAll
from banditplex.baselines.neo_gnn import NeoGNN as NeoGNN
from banditplex.baselines.node2vec import Node2Vec as Node2Vec
from banditplex.baselines.pykeen import PyKEEN as PyKEEN
from banditplex.baselines.regression import PooledRegression as PooledRegression
from banditplex.baselines.regression import Regression as Regression
from banditplex.baselines.rgcn import RGCN as RGCN
from banditplex.baselines.sampled import SampledGCN as SampledGCN
from banditplex.baselines.seal import SEAL as SEAL
from banditplex.baselines.svd import SVD as SVD
from banditplex.baselines.trees import Trees as Trees
from banditplex.baselines.triples import Triples as Triples
from banditplex.baselines.vgae import VGAE as VGAE

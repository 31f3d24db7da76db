"""Evaluation of link prediction: splits without leakage, negatives, metrics, cross-validation and paired tests."""

from banditplex.evaluation.metrics import LayerMetrics as LayerMetrics
from banditplex.evaluation.metrics import accuracy as accuracy
from banditplex.evaluation.metrics import average_precision as average_precision
from banditplex.evaluation.metrics import average_precision_at as average_precision_at
from banditplex.evaluation.metrics import brier as brier
from banditplex.evaluation.metrics import evaluate_layers as evaluate_layers
from banditplex.evaluation.metrics import evaluate_scores as evaluate_scores
from banditplex.evaluation.metrics import f1 as f1
from banditplex.evaluation.metrics import hits as hits
from banditplex.evaluation.metrics import mrr as mrr
from banditplex.evaluation.metrics import ranks as ranks
from banditplex.evaluation.metrics import roc_auc as roc_auc
from banditplex.evaluation.protocol import evaluate as evaluate
from banditplex.evaluation.ranking import filtered_ranking as filtered_ranking
from banditplex.evaluation.ranking import filtered_ranks as filtered_ranks
from banditplex.evaluation.split import FixedSplit as FixedSplit
from banditplex.evaluation.split import Split as Split
from banditplex.evaluation.split import fixed_split as fixed_split
from banditplex.evaluation.split import k_fold as k_fold
from banditplex.evaluation.split import split as split
from banditplex.evaluation.split import temporal_split as temporal_split
from banditplex.evaluation.statistics import summary as summary
from banditplex.pairs.negatives import NegativeSampler as NegativeSampler
from banditplex.storage.rows import read_results as read_results

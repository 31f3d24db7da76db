"""Evaluation of link prediction: splits without leakage, negatives, metrics, cross-validation and paired tests."""

# isort: off
from banditplex.evaluation.metrics import LayerMetrics, accuracy, average_precision, average_precision_at, brier
from banditplex.evaluation.metrics import evaluate_layers, evaluate_scores, f1, hits, mrr, ranks, roc_auc
from banditplex.evaluation.protocol import evaluate
from banditplex.evaluation.metrics import filtered_ranking
from banditplex.evaluation.split import FixedSplit, Split, fixed_split, k_fold, split, temporal_split
from banditplex.evaluation.statistics import summary
from banditplex.pairs.negatives import NegativeSampler
from banditplex.storage.rows import read_results

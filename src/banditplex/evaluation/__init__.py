"""How link prediction is judged: splits that do not leak, negatives, metrics."""

from banditplex.evaluation.metrics import accuracy as accuracy
from banditplex.evaluation.metrics import average_precision as average_precision
from banditplex.evaluation.metrics import brier as brier
from banditplex.evaluation.metrics import roc_auc as roc_auc
from banditplex.evaluation.negatives import NegativeSampler as NegativeSampler
from banditplex.evaluation.split import Split as Split
from banditplex.evaluation.split import split as split

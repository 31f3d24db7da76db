"""Methods to compare with: heuristics, low-rank approximation, logistic regression and boosted trees.

All are link scorers: `fit(mx, targets)` and `score_pairs(pairs, layer)`. `BASELINES` has them by name.

>>> from banditplex import load_dataset
>>> mx = load_dataset("twins")
>>> model = BASELINES["overlap+union"](hide="layer").fit(mx)
>>> model.score_pairs([[0, 1], [2, 3]], "a").shape
(2,)
"""

from banditplex.baselines.base import BASELINES as BASELINES
from banditplex.baselines.base import Baseline as Baseline
from banditplex.baselines.heuristics import Heuristic as Heuristic
from banditplex.baselines.regression import PooledRegression as PooledRegression
from banditplex.baselines.regression import Regression as Regression
from banditplex.baselines.svd import SVD as SVD
from banditplex.baselines.trees import Trees as Trees

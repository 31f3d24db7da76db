"""LinkPredictor by the names of its policies, to stand beside the baselines on the same splits.

"default" is LinkPredictor as it comes. The others differ from it in the policy alone: "none" looks at no other layer in
detail, "uniform" draws layers uniformly, "exp3+" is the paper's bandit, and "all" looks at every layer.
"""

from functools import partial

from banditplex.baselines.base import BASELINES
from banditplex.predictor import LinkPredictor

VARIANTS = ("none", "uniform", "exp3+", "all", "default")
"""Names of policies that are entered as methods."""

for _policy in VARIANTS:
    BASELINES.add(_policy, partial(LinkPredictor, policy=_policy))

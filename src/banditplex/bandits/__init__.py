"""Adversarial bandits with k plays and losses of unknown scale, for many instances at once.

A policy draws k of n arms for each instance, observes their losses, and learns which arms have small losses.
The package needs only numpy.

>>> import numpy as np
>>> rng = np.random.default_rng(0)
>>> policy = make_policy("exp3+", num_arms=3, num_instances=2, raw_range=True)
>>> for _ in range(200):
...     draw = policy.draw(rng)
...     policy.update(draw, losses=np.array([0.2, 0.9, 0.9])[draw.arms])
>>> bool((policy.inclusion()[:, 0] > 0.9).all())
True
"""

from banditplex.bandits.arms import observation_probability as observation_probability
from banditplex.bandits.base import POLICIES as POLICIES
from banditplex.bandits.base import Policy as Policy
from banditplex.bandits.base import make_policy as make_policy
from banditplex.bandits.base import register as register
from banditplex.bandits.marginals import Marginals as Marginals
from banditplex.bandits.play import Round as Round
from banditplex.bandits.play import play as play
from banditplex.bandits.rounding import capped_softmax as capped_softmax
from banditplex.bandits.rounding import dependent as dependent
from banditplex.bandits.rounding import systematic as systematic
from banditplex.bandits.values import Draw as Draw
from banditplex.bandits.values import Feedback as Feedback
from banditplex.bandits.values import Observations as Observations

# The policies, one line each, in the order in which POLICIES lists them.
# isort: off
from banditplex.bandits.hinted import Hinted as Hinted
from banditplex.bandits.exp3plus import Exp3Plus as Exp3Plus
from banditplex.bandits.exp3 import Exp3 as Exp3
from banditplex.bandits.exp3 import Exp3IX as Exp3IX
from banditplex.bandits.tsallis_inf import TsallisInf as TsallisInf
from banditplex.bandits.epsilon_greedy import EpsilonGreedy as EpsilonGreedy
from banditplex.bandits.adahedge import AdaHedge as AdaHedge
from banditplex.bandits.cost_aware import CostAware as CostAware
from banditplex.bandits.uniform import Uniform as Uniform
from banditplex.bandits.uniform import Fixed as Fixed
from banditplex.bandits.uniform import AllArms as AllArms
from banditplex.bandits.uniform import NoArms as NoArms

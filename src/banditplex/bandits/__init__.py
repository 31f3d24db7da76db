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

from banditplex.bandits.arms import observation_probability
from banditplex.bandits.base import POLICIES, Policy, make_policy, register
from banditplex.bandits.play import Round, play
from banditplex.bandits.rounding import capped_softmax, dependent, systematic
from banditplex.bandits.state import Marginals
from banditplex.bandits.values import Draw, Feedback, Observations

# The policies, one line each, in the order in which POLICIES lists them.
# isort: off
from banditplex.bandits.hinted import Hinted
from banditplex.bandits.exp3plus import Exp3Plus
from banditplex.bandits.exp3 import Exp3
from banditplex.bandits.exp3 import Exp3IX
from banditplex.bandits.tsallis_inf import TsallisInf
from banditplex.bandits.epsilon_greedy import EpsilonGreedy
from banditplex.bandits.adahedge import AdaHedge
from banditplex.bandits.cost_aware import CostAware
from banditplex.bandits.uniform import Uniform
from banditplex.bandits.uniform import Fixed
from banditplex.bandits.uniform import AllArms
from banditplex.bandits.uniform import NoArms

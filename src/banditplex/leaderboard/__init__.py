"""The leaderboard: every method on the same splits, with the same tuning budget and the same limits."""

from banditplex.leaderboard.compare import compare as compare
from banditplex.leaderboard.methods import Method as Method
from banditplex.leaderboard.methods import find_methods as find_methods
from banditplex.leaderboard.plan import Plan as Plan

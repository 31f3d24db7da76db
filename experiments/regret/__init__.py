"""Regret of bandit policies on losses with known means."""

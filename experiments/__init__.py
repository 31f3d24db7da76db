"""Experiments: settings, analysis and expected numbers. `python -m experiments --help` lists them."""

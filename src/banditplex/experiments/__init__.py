"""Experiments: settings, analysis and the numbers to expect; the library does not know that they exist."""

"""Experiments that are part of the command line: settings, analysis and published numbers."""

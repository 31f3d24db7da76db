"""The version, at the bottom of the import ladder so that everything may name it."""

__version__ = "0.1.0"

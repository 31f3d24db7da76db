"""How a session of Python shows a value, for values that have no equality: arrays and tensors."""


def shown(value):
    """Return the representation of a value in one line."""
    return " ".join(repr(value).split())

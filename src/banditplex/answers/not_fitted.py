"""The error of a model that is not fitted; on its own, since importing scikit-learn takes long."""

from sklearn.exceptions import NotFittedError

from banditplex.errors import InputError


class NotFitted(NotFittedError, InputError):  # type: ignore[misc]
    """`fit` has not been called yet; scikit-learn knows it as `NotFittedError`."""

"""The manners of a scikit-learn estimator, without importing scikit-learn: that takes half as long as torch."""

from dataclasses import Field, fields
from typing import Any, ClassVar, Self

from banditplex.errors import InputError


class Estimator:
    """A dataclass whose fields are the parameters that `clone` and `GridSearchCV` of scikit-learn read and set."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the arguments of the constructor, by name; none has parameters of its own, whatever `deep` says."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def set_params(self, **values: Any) -> Self:
        """Change arguments of the constructor, and return self."""
        known, kind = self.get_params(), type(self).__name__
        for name, value in values.items():
            if name not in known:
                raise InputError(f"Expected a parameter of {kind}, one of {', '.join(known)}, got {name!r}.")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        values = [(each.name, repr(getattr(self, each.name)), repr(each.default)) for each in fields(self)]
        given = [f"{name}={value}" for name, value, default in values if value != default]
        return f"{type(self).__name__}({', '.join(given)})"

    def __sklearn_tags__(self) -> Any:
        from sklearn.base import BaseEstimator

        return BaseEstimator().__sklearn_tags__()

# ruff: noqa: INP001 - a program that is run by its path, not a module of the package
"""What an agent may change: how a value is guessed from a number."""


class Model:
    """Guesses the mean of what it has seen."""

    def fit(self, numbers: list[float], values: list[float]) -> None:  # noqa: ARG002 - as below
        """Learn from pairs of a number and its value."""
        self.mean = sum(values) / len(values)

    def guess(self, number: float) -> float:  # noqa: ARG002 - a better model looks at it
        """The value of a number that was not seen."""
        return self.mean

"""What an agent may change: how a value is guessed from a number."""


class Model:
    """Guesses the mean of what it has seen."""

    def fit(self, numbers: list[float], values: list[float]) -> None:
        """Learn from pairs of a number and its value."""
        self.mean = sum(values) / len(values)

    def guess(self, number: float) -> float:
        """The value of a number that was not seen."""
        return self.mean

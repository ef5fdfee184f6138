"""The one error of a bench: something it needs is missing or went wrong."""


class BenchFailure(Exception):
    """The text says what was expected, what came, and what to try."""

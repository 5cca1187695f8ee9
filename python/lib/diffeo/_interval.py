"""Intervals: what is known of a number."""


class Interval:
    """The numbers between two."""

    __slots__ = ("lo", "hi")

    def __init__(self, lo, hi):
        if not lo <= hi:
            raise ValueError(f"no number is between {lo} and {hi}")
        self.lo, self.hi = float(lo), float(hi)

    @property
    def _diffeo_interval(self):
        return self.lo, self.hi

    @property
    def width(self):
        """How far its ends are apart."""
        return self.hi - self.lo

    def __contains__(self, x):
        return self.lo <= x <= self.hi

    def __repr__(self):
        return f"Interval({self.lo!r}, {self.hi!r})"

    def __eq__(self, other):
        return isinstance(other, Interval) and (self.lo, self.hi) == (other.lo, other.hi)

    def __hash__(self):
        return hash((self.lo, self.hi))

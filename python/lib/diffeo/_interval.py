"""Intervals: what is known of a number."""


class Interval:
    """The numbers between two."""

    __slots__ = ("lo", "hi")

    def __init__(self, lo: float, hi: float) -> None:
        if not lo <= hi:
            raise ValueError(f"no number is between {lo} and {hi}")
        self.lo, self.hi = float(lo), float(hi)

    @property
    def _diffeo_interval(self) -> tuple[float, float]:
        return self.lo, self.hi

    @property
    def width(self) -> float:
        """How far its ends are apart."""
        return self.hi - self.lo

    def __contains__(self, x: float) -> bool:
        return self.lo <= x <= self.hi

    def __repr__(self) -> str:
        return f"Interval({self.lo!r}, {self.hi!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Interval) and (self.lo, self.hi) == (other.lo, other.hi)

    def __hash__(self) -> int:
        return hash((self.lo, self.hi))

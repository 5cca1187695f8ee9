"""How far chains are, in one line on standard error that changes."""

import sys
import threading
import time

#: How often the line is written, in seconds.
_EVERY = 0.2


class Line:
    """Takes the reports of chains, on any thread."""

    def __init__(self, warmup: int) -> None:
        self._warmup = warmup
        self._lock = threading.Lock()
        self._chains: dict[int, tuple[int, int, int]] = {}
        self._next = 0.0
        self._width = 0

    def __call__(self, chain: int, draw: int, total: int, divergences: int) -> None:
        with self._lock:
            self._chains[chain] = (draw, total, divergences)
            now = time.monotonic()
            if now >= self._next:
                self._next = now + _EVERY
                self._write()

    def _write(self) -> None:
        chains = sorted(self._chains.items())
        parts = [
            f"chain {chain}: {draw}/{total}{' warm-up' if draw <= self._warmup else ''}"
            for chain, (draw, total, _) in chains
        ]
        diverged = sum(divergences for _, (_, _, divergences) in chains)
        text = ", ".join(parts) + (f"; {diverged} diverged" if diverged else "")
        sys.stderr.write("\r" + text.ljust(self._width))
        sys.stderr.flush()
        self._width = len(text)

    def close(self) -> None:
        """Writes the last state, and ends the line."""
        with self._lock:
            if self._chains:
                self._write()
                sys.stderr.write("\n")

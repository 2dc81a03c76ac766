"""How far a share that was observed can be off."""

from __future__ import annotations

import math
from statistics import NormalDist


def wilson(share: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """The bounds of Wilson's (1927) score interval for a share, 0 to 1, of `n` > 0 observations."""
    z = NormalDist().inv_cdf((1 + level) / 2)
    spread = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    middle, scale = share + z * z / (2 * n), 1 + z * z / n
    return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)

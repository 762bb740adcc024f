"""How benchmarks sum up and print what they have measured."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence


def percentile(values: Sequence[float], share: float) -> float:
    """Return the least value that at least `share` of them do not exceed."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def show(figures: Mapping[str, float], *, as_json: bool) -> None:
    """Print figures, a line each, or as one JSON object."""
    if as_json:
        print(json.dumps(figures))
        return
    width = max(map(len, figures))
    for name, value in figures.items():
        print(f"{name:{width}} {value:12.3f}")

"""How benchmarks print what they have measured."""

from __future__ import annotations

import json
from collections.abc import Mapping


def show(figures: Mapping[str, float], *, as_json: bool) -> None:
    """Print figures, a line each, or as one JSON object."""
    if as_json:
        print(json.dumps(figures))
        return
    width = max(map(len, figures))
    for name, value in figures.items():
        print(f"{name:{width}} {value:12.3f}")

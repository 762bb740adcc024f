"""Counts of features for the optimiser that needs them: found when a run is prepared, kept
beside the positions."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ringmaster import datasets
from ringmaster.competitions.texel.methods import OptimiserSettings
from ringmaster.errors import SettingError
from ringmaster.model.canonical import canonical
from ringmaster.model.parameters import TunedParameter
from ringmaster.positions import FeatureFile, PositionFile
from ringmaster.tuners.texel.linear import Linear
from ringmaster.tuners.texel.linear_model import features_of
from ringmaster.tuners.texel.optimiser import Optimiser

_WHERE = ("optimiser",)


def find_features(
    settings: OptimiserSettings,
    parameters: Sequence[TunedParameter],
    positions: PositionFile,
    say: Callable[[str], None],
) -> FeatureFile | None:
    """Return the counts of all positions, None where the optimiser needs none.

    parameters  all of them, the frozen ones included

    Raises SettingError, and what `datasets.features.build` does.
    """
    if settings.name != "linear":
        return None
    arguments = settings.arguments
    source = arguments.get("features")
    if source is None:
        raise SettingError(
            _WHERE,
            'optimiser "linear" has to know how often each weight is counted',
            'Linear(features="counts.csv"), an NPZ file, or a function of the position',
        )
    if callable(source) and _arguments(source) != 1:
        raise SettingError(_WHERE, "features must be a function of one argument, the position")
    version = json.dumps(canonical(source), sort_keys=True) if callable(source) else ""
    tapered = bool(arguments.get("tapered", False))
    return datasets.build_features(
        source if callable(source) else Path(source),
        positions,
        features_of([p.code for p in parameters], tapered),
        positions.path.with_suffix(".features"),
        say,
        phase=tapered,
        unnamed=arguments.get("unnamed", "refuse"),
        version=hashlib.sha256(version.encode()).hexdigest(),
    )


def hand_over(
    optimiser: Optimiser | None, features: FeatureFile | None, fixed: Mapping[str, Any]
) -> None:
    """Give the counts to an optimiser that needs them.

    fixed  values of parameters that are not tuned

    Raises SettingError when they do not fit its parameters.
    """
    if not isinstance(optimiser, Linear) or features is None:
        return
    tuned = {p.code for p in optimiser.parameters}
    try:
        optimiser.set_features(
            features, {code: float(value) for code, value in fixed.items() if code not in tuned}
        )
    except ValueError as error:
        raise SettingError(_WHERE, str(error)) from None


def problem_of(optimiser: Optimiser | None) -> str:
    """Return why an optimiser cannot go on, "" where it can."""
    return (optimiser.problem or "") if isinstance(optimiser, Linear) else ""


def _arguments(function: Callable[..., Any]) -> int:
    """Return how many arguments a function has to be given."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # a built-in function may not tell
        return 1
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in kinds and p.default is p.empty for p in parameters)

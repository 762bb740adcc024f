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
from ringmaster.model.jobs import ScoreKind
from ringmaster.model.parameters import TunedParameter
from ringmaster.positions import FeatureFile, PositionFile
from ringmaster.tuners.texel.linear import Linear
from ringmaster.tuners.texel.linear_model import features_of
from ringmaster.tuners.texel.optimiser import Optimiser

_WHERE = ("optimiser",)


class Features:
    """The counts that an optimiser needs, wherever they come from.

    names       of the features
    of_answers  whether they are made of what an engine answers
    """

    def __init__(self, settings: OptimiserSettings, names: tuple[str, ...]) -> None:
        arguments = settings.arguments
        self.names = names
        self._source = arguments["features"]
        count = _arguments(self._source) if callable(self._source) else 0
        if count > 2:
            raise SettingError(
                _WHERE, "features must be a function of the position, or of (answer, position)"
            )
        self.of_answers = count == 2
        self._tapered = bool(arguments.get("tapered", False))
        self._unnamed: Any = arguments.get("unnamed", "refuse")
        #: What an engine is asked to make it print them.
        self.kind = ScoreKind("eval", command=arguments.get("command", "features"))
        self._pieces: datasets.Pieces | None = None
        self.file: FeatureFile | None = None

    @classmethod
    def of(
        cls, settings: OptimiserSettings, parameters: Sequence[TunedParameter]
    ) -> Features | None:
        """Return those of an optimiser, None where it needs none.

        parameters  all of them, the frozen ones included

        Raises SettingError.
        """
        if settings.name != "linear":
            return None
        if settings.arguments.get("features") is None:
            raise SettingError(
                _WHERE,
                'optimiser "linear" has to know how often each weight is counted',
                'Linear(features="counts.csv"), an NPZ file, or a function',
            )
        tapered = bool(settings.arguments.get("tapered", False))
        return cls(settings, features_of([p.code for p in parameters], tapered))

    def prepare(self, positions: PositionFile, say: Callable[[str], None]) -> None:
        """Find them, as far as no engine is needed.  Raises DatasetError, StoreError."""
        target = positions.path.with_suffix(".features")
        source, version = self._source, ""
        if callable(source):
            text = json.dumps([canonical(source), self.kind.command], sort_keys=True)
            version = hashlib.sha256(text.encode()).hexdigest()
        if self.of_answers:
            self._pieces = datasets.Pieces(
                source,
                positions,
                self.names,
                target,
                phase=self._tapered,
                unnamed=self._unnamed,
                version=version,
            )
            self.file = self._pieces.kept()
            return
        self.file = datasets.build_features(
            source if callable(source) else Path(source),
            positions,
            self.names,
            target,
            say,
            phase=self._tapered,
            unnamed=self._unnamed,
            version=version,
        )

    def put(self, shard: int, places: range, answers: Sequence[str]) -> None:
        """Keep what an engine answered to a shard.  Raises DatasetError, StoreError."""
        if self.file is None and self._pieces is not None:
            self._pieces.put(shard, places, answers)

    def finish(self, shards: int) -> None:
        """Make one file of all shards.  Raises StoreError."""
        if self.file is None and self._pieces is not None:
            self.file = self._pieces.finish(shards)


def hand_over(
    optimiser: Optimiser | None, features: Features | None, fixed: Mapping[str, Any]
) -> None:
    """Give the counts to an optimiser that needs them.

    fixed  values of parameters that are not tuned

    Raises SettingError when they do not fit its parameters.
    """
    if not isinstance(optimiser, Linear) or features is None or features.file is None:
        return
    tuned = {p.code for p in optimiser.parameters}
    others = {code: float(value) for code, value in fixed.items() if code not in tuned}
    try:
        optimiser.set_features(features.file, others)
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

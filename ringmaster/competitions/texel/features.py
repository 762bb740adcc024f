"""The features of a linear evaluation: where they come from, and the pass of an engine that
prints them."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ringmaster.competitions.texel.methods import OptimiserSettings
from ringmaster.competitions.tuned_parameters import Named
from ringmaster.errors import DatasetError, SettingError
from ringmaster.model.canonical import canonical
from ringmaster.model.jobs import ScoreKind
from ringmaster.positions import FeatureFile, PositionFile
from ringmaster.tuners.texel.linear_model import features_of

_PLACE = ("optimiser", "features")
#: What an engine is sent where the control file does not say it.
COMMAND = "features"


class Features:
    """The features of a tune.

    settings  of the optimiser, with the argument `features`
    codes     of all parameters, frozen ones too
    target    where they are kept
    Raises SettingError where nothing says where they come from.
    """

    def __init__(
        self,
        settings: OptimiserSettings,
        codes: Sequence[str],
        target: Path,
        say: Callable[[str], None],
    ) -> None:
        given = settings.arguments
        self._source = given["features"]
        self._target = target
        self._say = say
        self._phase = bool(given.get("tapered"))
        self._names = features_of(list(codes), self._phase)
        text = json.dumps(canonical(self._source), sort_keys=True)
        self._version = hashlib.sha256(text.encode()).hexdigest()
        usual = "ignore" if callable(self._source) else "refuse"
        self._unnamed: Any = given.get("unnamed", usual)
        self._pieces: Any = None

    def ready(self, file: PositionFile) -> FeatureFile | None:
        """Return the features of all positions; None where an engine has to be asked."""
        from ringmaster.datasets import features

        try:
            if not from_answers(self._source):
                return features.build(
                    self._source,
                    file,
                    self._names,
                    self._target,
                    self._say,
                    phase=self._phase,
                    unnamed=self._unnamed,
                    version=self._version if callable(self._source) else "",
                )
            self._pieces = features.Pieces(
                self._source,
                file,
                self._names,
                self._target,
                phase=self._phase,
                unnamed=self._unnamed,
                version=self._version,
            )
            found: FeatureFile | None = self._pieces.kept()
            return found
        except DatasetError as error:
            raise SettingError(_PLACE, str(error)) from None

    def put(self, shard: int, rows: range, answers: Sequence[str]) -> None:
        """Keep what an engine said of a shard.  Raises SettingError."""
        try:
            self._pieces.put(shard, rows, answers)
        except DatasetError as error:
            raise SettingError(_PLACE, str(error)) from None

    def finish(self, shards: int) -> FeatureFile:
        """Return the features once all shards have come.  Raises StoreError."""
        kept = self._pieces.kept()
        found: FeatureFile = self._pieces.finish(shards) if kept is None else kept
        return found


def from_answers(source: Any) -> bool:
    """Whether a source is a function of what an engine says."""
    if not callable(source):
        return False
    try:
        parameters = inspect.signature(source).parameters.values()
    except (TypeError, ValueError):
        return False
    taken = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return len([p for p in taken if p.default is p.empty]) >= 2


def asked(settings: OptimiserSettings) -> ScoreKind:
    """Return what is sent to an engine for its features."""
    return ScoreKind("eval", command=settings.arguments.get("command", COMMAND))


def give(optimiser: Any, matrix: FeatureFile, fixed: Named) -> None:
    """Hand features to an optimiser.  Raises SettingError where they do not fit."""
    try:
        optimiser.set_features(matrix, {code: float(value) for code, value in fixed.items()})
    except ValueError as error:
        raise SettingError(_PLACE, str(error)) from None

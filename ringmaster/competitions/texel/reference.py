"""A reference engine, whose errors over the same positions are compared with the tune's.

The reference is scored once.  It has its own win-rate scale, since engines scale centipawns
differently.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from ringmaster.competitions.common_settings import PlayerDefinition, find_player
from ringmaster.competitions.setting_types import optional
from ringmaster.competitions.texel.labels import LabelledPositions
from ringmaster.competitions.texel.score_setting import ScoreSetting, Scoring
from ringmaster.competitions.texel.state import Comparison, Quality, plain, scoring_settings
from ringmaster.errors import SettingError
from ringmaster.model.canonical import canonical
from ringmaster.model.players import GameName, Player
from ringmaster.model.report import LEFT, RIGHT, Cell, Table
from ringmaster.model.settings import CallOf, Identifier, Setting
from ringmaster.tuners.texel.loss import Loss, Sum, mean


class ReferenceSettings(msgspec.Struct, frozen=True):
    """Reference(…) of a control file.

    score  how the reference scores a position, None: as the tuned player
    """

    player: str
    score: Scoring | None


REFERENCE_CALL = CallOf(
    "Reference",
    (
        Setting("player", Identifier(), "Code of the engine."),
        optional(
            "score",
            ScoreSetting(),
            "How the engine scores a position; by default as the competition's ``score``.",
        ),
    ),
    lambda values, context: ReferenceSettings(**values),
    positional=("player",),
    shorthand=True,
)


class Reference(msgspec.Struct, frozen=True):
    """A reference engine, ready for jobs.

    scoring_settings  settings on which its scores depend, as JSON data
    """

    player: Player
    scoring: Scoring
    scoring_settings: dict[str, Any]

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Reference | None:
        """Return the reference of a control file, None without one.  Raises SettingError."""
        settings: ReferenceSettings | None = values["reference"]
        if settings is None:
            return None
        game: GameName = values["game"]
        definition = find_player(values, settings.player, ("reference", "player"))
        if not definition.has_limits:
            # a Player(…) must limit its moves; scores need no limit
            definition = PlayerDefinition({**definition.values, "depth": 1})
        scoring = settings.score or values["score"]
        try:
            scoring.for_game(game)
            player = definition.make(settings.player, game)
        except SettingError as error:
            raise SettingError(("reference",), error.message, error.expected) from None
        own_settings = {
            "engine": scoring_settings(definition),
            "score": plain(canonical(scoring)),
        }
        return cls(player, scoring, own_settings)


def compare(name: str, positions: LabelledPositions, number: int, best: int | None) -> Comparison:
    """Compare the errors of a reference with those of a tune.

    number  pass of the reference
    best    pass of the best values, None if unknown
    Raises SettingError if no scale fits the reference's scores.
    """
    own = loss = positions.loss
    if positions.has_fitted_scale:
        try:
            loss = Loss(own.kind, positions.fit_scale(number, "reference's scores").scale)
        except ValueError as error:
            raise SettingError(("reference",), str(error)) from None
    passes = [(number, loss), (0, own), *([] if best is None else [(best, own)])]
    missing = []
    columns: list[list[float | None]] = []
    for part in ("train", "validation"):
        sums: list[list[Sum]] = [[], [], []]
        for shard in positions.shards.of(part):
            labels = positions.labels(shard)
            known = np.isfinite(positions.scores(number, shard))
            weight = np.where(known, labels.weight, np.float32(0))
            missing.append(float((labels.weight - weight).sum()))
            for into, (which, measure) in zip(sums, passes, strict=False):
                into.append(measure.total(positions.scores(which, shard), labels.target, weight))
        columns.append([mean(each) for each in sums])
    reference, start, tuned = (Quality(*each) for each in zip(*columns, strict=True))
    return Comparison(
        name, loss.scale, math.fsum(missing), reference, start, None if best is None else tuned
    )


def comparison_table(comparison: Comparison, kind: str) -> Table:
    """Return the errors side by side.

    kind  kind of the errors, in words
    """
    rows: list[tuple[Cell, ...]] = []
    for name, field in (("training", "train"), ("validation", "validation")):
        columns = (comparison.start, comparison.best, comparison.reference)
        values = [None if each is None else getattr(each, field) for each in columns]
        if values[0] is not None:
            rows.append((name, *(None if v is None else f"{v:.8f}" for v in values)))
    notes = [f"the win-rate scale of {comparison.player} is {comparison.scale:.5g} centipawns"]
    if comparison.missing:
        notes.append(
            f"{comparison.missing:g} positions without a score of {comparison.player} are left out"
        )
    return Table(
        ("", "start", "best", comparison.player),
        tuple(rows),
        f"errors and the reference {comparison.player} ({kind})",
        tuple(notes),
        (LEFT, RIGHT, RIGHT, RIGHT),
    )

"""A reference engine: its error over the positions of a tune, beside the tune's own errors.

The reference is scored once.  Its win-rate scale is its own, since engines count centipawns
differently; all errors that stand beside each other are over the same positions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import numpy as np

from ringmaster.competitions.players import PlayerDefinition, find_player
from ringmaster.competitions.texel.edits import engine_of
from ringmaster.competitions.texel.labels import EventData, Positions
from ringmaster.competitions.texel.scoring import ScoreSetting, Scoring
from ringmaster.competitions.texel.state import Labelling, Quality
from ringmaster.competitions.texel.terms import plain
from ringmaster.errors import SettingError
from ringmaster.model.canonical import canonical
from ringmaster.model.players import GameName, Player
from ringmaster.model.report import LEFT, RIGHT, Cell, Table
from ringmaster.model.settings import CallOf, Identifier, Maybe, Setting
from ringmaster.tuners.texel.loss import Floats, Loss, Sum, mean
from ringmaster.tuners.texel.scale import ScoreHistogram


class ReferenceSettings(msgspec.Struct, frozen=True):
    """Reference(…) of a control file.

    score  how the reference scores a position, None: as the tuned player does
    """

    player: str
    score: Scoring | None


REFERENCE_CALL = CallOf(
    "Reference",
    (
        Setting("player", Identifier(), "Code of the engine."),
        Setting(
            "score",
            Maybe(ScoreSetting()),
            "How it scores a position; by default as the event's ``score`` says.",
            None,
        ),
    ),
    lambda values, context: ReferenceSettings(**values),
    positional=("player",),
    shorthand=True,
)


class Reference(msgspec.Struct, frozen=True):
    """A reference engine, ready for jobs.

    terms  what its scores depend on, as JSON data
    """

    player: Player
    scoring: Scoring
    terms: dict[str, Any]

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Reference | None:
        """Return the reference of a control file, None where there is none.  Raises
        SettingError."""
        settings: ReferenceSettings | None = values["reference"]
        if settings is None:
            return None
        game: GameName = values["game"]
        definition = find_player(values["players"], settings.player, ("reference", "player"))
        limits = ("time_control", "nodes", "depth", "move_time")
        if all(definition.values[name] is None for name in limits):
            # scores need no limit of moves, and a Player(…) must have one
            definition = PlayerDefinition({**definition.values, "depth": 1})
        scoring = settings.score or values["score"]
        try:
            scoring.for_game(game)
            player = definition.make(settings.player, game)
        except SettingError as error:
            raise SettingError(("reference",), error.message, error.expected) from None
        terms = {"engine": engine_of(definition, None), "score": plain(canonical(scoring))}
        return cls(player, scoring, terms)


class Comparison(msgspec.Struct):
    """The errors of a reference and of the tune over the same positions.

    scale    win-rate scale of the reference, centipawns
    missing  weight of the positions that the reference gives no score
    best     errors of the best values, once the tune is done
    """

    player: str
    scale: float
    missing: float
    reference: Quality
    start: Quality
    best: Quality | None = None


def compare(
    name: str,
    positions: Positions,
    data: EventData,
    labelling: Labelling,
    scores: Callable[[int, int], Floats],
    number: int,
    best: int | None,
) -> Comparison:
    """Return how the errors of a reference compare with those of a tune.

    scores  returns the scores of a pass and a shard
    number  of the reference's pass
    best    of the pass of the best values, None where it is not known yet
    Raises SettingError where no scale fits the reference's scores.
    """
    shards, teacher = positions.shards, labelling.teacher_scale
    loss = Loss(data.loss.kind, labelling.scale)
    if "win_rate_scale" in labelling.fitted:
        histogram = ScoreHistogram()
        for shard in shards.of("train"):
            labels, result = positions.labels(shard, teacher), positions.column("result", shard)
            wanted = labels.target if np.isnan(result).all() else result
            histogram.add(scores(number, shard), wanted, labels.weight)
        try:
            loss = Loss(loss.kind, histogram.fit(loss.kind, "reference's scores").scale)
        except ValueError as error:
            raise SettingError(("reference",), str(error)) from None
    missing = []
    columns: list[list[float | None]] = []
    for part in ("train", "validation"):
        sums: list[list[Sum]] = [[], [], []]
        for shard in shards.of(part):
            labels, known = positions.labels(shard, teacher), np.isfinite(scores(number, shard))
            weight = np.where(known, labels.weight, np.float32(0))
            missing.append(float((labels.weight - weight).sum()))
            passes = [(number, loss), (0, data.loss)]
            passes += [] if best is None else [(best, data.loss)]
            for into, (which, measure) in zip(sums, passes, strict=False):
                into.append(measure.total(scores(which, shard), labels.target, weight))
        columns.append([mean(each) for each in sums])
    found = [Quality(*each) for each in zip(*columns, strict=True)]
    reference, start, tuned = found
    return Comparison(
        name, loss.scale, math.fsum(missing), reference, start, None if best is None else tuned
    )


def comparison_table(found: Comparison, kind: str) -> Table:
    """Return the errors beside each other.

    kind  of the errors, in words
    """
    rows: list[tuple[Cell, ...]] = []
    for name, field in (("training", "train"), ("validation", "validation")):
        columns = (found.start, found.best, found.reference)
        values = [None if each is None else getattr(each, field) for each in columns]
        if values[0] is not None:
            rows.append((name, *(None if v is None else f"{v:.8f}" for v in values)))
    notes = [f"{found.player} has a win-rate scale of its own, {found.scale:.5g} centipawns"]
    if found.missing:
        notes.append(
            f"{found.missing:g} positions without a score of {found.player} count for nobody here"
        )
    return Table(
        ("", "start", "best", found.player),
        tuple(rows),
        f"errors beside the reference {found.player} ({kind})",
        tuple(notes),
        (LEFT, RIGHT, RIGHT, RIGHT),
    )

"""What of a texel event's settings does not go together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ringmaster.competitions.closing_match import VerifySettings
from ringmaster.competitions.players import PlayerDefinition
from ringmaster.errors import SettingError
from ringmaster.model.parameters import TunedParameter
from ringmaster.model.wording import nearest, shown
from ringmaster.positions import PositionFile
from ringmaster.tuners.texel.targets import Target

_LIMITS = ("time_control", "nodes", "depth", "move_time")


def check_game(game: str) -> None:
    """Raise SettingError for a game whose engines print no scores."""
    if game == "go":
        raise SettingError(
            ("game",),
            "engines of Go have no evaluation to be asked for",
            "'chess' or 'shogi'; an spsa event tunes engines of Go",
        )


def check_anchor(values: Mapping[str, Any]) -> list[SettingError]:
    """Return what is wrong with the parameter that is pinned."""
    anchor, parameters = values["anchor"], values["parameters"]
    codes = [p.code for p in parameters]
    if anchor is None:
        return []
    if anchor not in codes:
        return [
            SettingError(
                ("anchor",), f"there is no parameter {shown(anchor)}", nearest(anchor, codes)
            )
        ]
    if all(p.frozen or p.code == anchor for p in parameters):
        return [SettingError(("anchor",), "no parameter but the anchor is left: nothing to tune")]
    return []


def check_groups(values: Mapping[str, Any]) -> list[SettingError]:
    """Return what is wrong with the groups of parameters."""
    groups, parameters = values["groups"], values["parameters"]
    named = list(dict.fromkeys(p.group for p in parameters if p.group is not None))
    if groups is None:
        return []
    errors = []
    for i, name in enumerate(groups):
        if name not in named:
            errors.append(
                SettingError(
                    ("groups", i),
                    f"no parameter is of group {shown(name)}",
                    nearest(name, named) if named else "group=… in a Parameter",
                )
            )
        elif name in groups[:i]:
            errors.append(SettingError(("groups", i), f"group {shown(name)} is named twice"))
    for i, p in enumerate(parameters):
        tuned = not p.frozen and p.code != values["anchor"]
        if tuned and p.group not in groups:
            errors.append(
                SettingError(
                    ("parameters", i),
                    f"parameter {p.code!r} is of no group that is tuned",
                    f"group={' or '.join(map(repr, groups))}, or frozen=True",
                )
            )
    return errors


def without_limits(definition: PlayerDefinition) -> bool:
    """Whether nothing limits the moves of a player."""
    return all(definition.values[name] is None for name in _LIMITS)


def check_limits(
    definition: PlayerDefinition, code: str, verify: VerifySettings | None, made: bool
) -> list[SettingError]:
    """Return what the closing match lacks; scores alone need no limit."""
    if verify is None or made or verify.limits or not without_limits(definition):
        return []
    return [
        SettingError(
            ("verify",),
            f"nothing limits the moves of player {code!r} in the closing match",
            "one of " + ", ".join(_LIMITS) + " in Verify(…)",
        )
    ]


def check_labels(file: PositionFile, target: Target, values: Mapping[str, Any]) -> None:
    """Raise SettingError for a set that has not the labels that the target needs."""
    train = slice(0, file.train)
    if file.train == 0:
        raise SettingError(("positions",), "there is no position to tune on")
    teacher = bool(np.isfinite(file.teacher[train]).any())
    result = bool(np.isfinite(file.result[train]).any())
    if target.needs_teacher and not teacher:
        raise SettingError(
            ("target",),
            "the positions have no scores of a teacher, which this target needs",
            "target = Texel(), or positions with scores",
        )
    if target.needs_result and not result:
        raise SettingError(
            ("target",),
            "the positions have no results of games, which this target needs",
            "target = Elmo(1.0), the teacher's scores alone, or positions with results",
        )
    if not result:
        for name in ("teacher_scale",):
            if values[name] == "fit":
                raise SettingError(
                    (name,),
                    "without results of games it cannot be fitted",
                    "its scale in centipawns, as 600",
                )


def check_validation(values: Mapping[str, Any], file: PositionFile) -> list[str]:
    """Return what is to be said of the positions that are held out."""
    if values["validation"] == 0:
        return [
            "validation = 0: nothing is held out, so nothing says when to stop, and the "
            "improvement is measured on the positions that it was tuned on"
        ]
    if file.validation == 0:
        return ["there are too few games for a part of validation; nothing is held out"]
    return []


def unused(parameters: Sequence[TunedParameter]) -> list[str]:
    """Return a line for arguments of Parameter(…) that have no effect here."""
    given = [
        name for name in ("c_end", "r_end") if any(getattr(p, name) is not None for p in parameters)
    ]
    return (
        [f"{' and '.join(given)} of Parameter(…) have no effect in a texel event"] if given else []
    )

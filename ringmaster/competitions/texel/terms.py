"""What the settings say of a tune's errors and of the way to smaller ones, as data: as long
as it is the same, results go on being results of the same tune."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import msgspec

from ringmaster.model.canonical import canonical
from ringmaster.model.parameters import TunedParameter

#: Settings under which all results have their meaning: scores and labels.
MEASURING = ("positions", "score", "validation", "win_rate_scale", "teacher_scale", "loss", "seed")
#: Settings with which the optimiser begins anew, in the order in which changes are told.
LEARNING = (*MEASURING, "apply", "target", "optimiser", "regularisation", "groups")


class Known(msgspec.Struct, frozen=True, omit_defaults=True):
    """A parameter without what only reports and the way to engines need of it."""

    code: str
    minimum: float
    maximum: float
    step: float | None = None
    integer: bool = False
    frozen: bool = False
    group: str | None = None

    @classmethod
    def of(cls, parameter: TunedParameter, anchor: str | None) -> Known:
        """Return what of a parameter a tune knows; the anchor is one that is frozen."""
        frozen = parameter.frozen or parameter.code == anchor
        return cls(
            parameter.code,
            parameter.minimum,
            parameter.maximum,
            parameter.step,
            parameter.integer,
            frozen,
            parameter.group,
        )

    def clip(self, value: float) -> float:
        """Return the nearest value within the bounds."""
        return min(max(value, self.minimum), self.maximum)


class Terms(msgspec.Struct, frozen=True):
    """What a tune learns by.

    settings  those of LEARNING as JSON data, by name
    """

    parameters: list[Known]
    settings: dict[str, Any]

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Terms:
        """Return what interpreted settings of a control file say."""
        settings = {name: canonical(values[name]) for name in LEARNING}
        paths = settings["positions"].get("paths")
        if isinstance(paths, list):
            # the folder of a competition may be moved
            settings["positions"]["paths"] = [os.path.basename(str(path)) for path in paths]
        return cls([Known.of(p, values["anchor"]) for p in values["parameters"]], settings)

    @property
    def tuned(self) -> list[Known]:
        """The parameters that are not frozen."""
        return [p for p in self.parameters if not p.frozen]


def plain(data: Any) -> Any:
    """Return JSON data as it comes back from a store."""
    return msgspec.json.decode(msgspec.json.encode(data))

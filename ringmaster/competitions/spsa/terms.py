"""What the settings say of how a tune learns, as data.

The state of a tune keeps the terms that it is of, so that a result is taken under the
settings under which its game was played, whatever the control file says by now.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ringmaster.model.parameters import TunedParameter

#: Settings of the top level that say how a tune learns, in the order in which changes
#: of them are told.
LEARNING = (
    "method",
    "pairing",
    "number_of_games",
    "games_per_iteration",
    "alpha",
    "gamma",
    "A",
    "A_ratio",
    "k_counts",
    "update",
    "rounding",
    "epsilon",
    "annealing",
    "elo_per_parameter",
    "precision",
    "draw_ratio",
    "a",
    "c",
    "seed",
)


class AnnealingTerms(msgspec.Struct, frozen=True):
    """Annealing(…) of a control file."""

    s: float
    epsilon: float
    games: float

    def __str__(self) -> str:
        return f"Annealing(s={self.s:g}, epsilon={self.epsilon:g}, games={self.games:g})"


class Known(msgspec.Struct, frozen=True, omit_defaults=True):
    """A parameter without what only engines and reports are given of it."""

    code: str
    start: float
    minimum: float
    maximum: float
    c_end: float | None = None
    r_end: float | None = None
    integer: bool = False
    frozen: bool = False
    step: float | None = None

    @classmethod
    def of(cls, parameter: TunedParameter) -> Known:
        """Return what of a parameter a tune knows."""
        return cls(*(getattr(parameter, name) for name in cls.__struct_fields__))

    def tuned(self) -> TunedParameter:
        """Return it as a parameter again."""
        return TunedParameter(**msgspec.structs.asdict(self))

    def clip(self, value: float) -> float:
        """Return the nearest value within the bounds."""
        return min(max(value, self.minimum), self.maximum)


class Terms(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a tune learns by.

    parameters  all of them, in the order of the control file
    settings    the settings of `LEARNING` that are not None, by name
    """

    parameters: list[Known]
    settings: dict[str, Any] = {}
    annealing: AnnealingTerms | None = None

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Terms:
        """Return what interpreted settings of a control file say."""
        annealing = values.get("annealing")
        return cls(
            [Known.of(p) for p in values["parameters"] if not p.not_used],
            {
                name: values[name]
                for name in LEARNING
                if name != "annealing" and values.get(name) is not None
            },
            annealing
            and AnnealingTerms(*(getattr(annealing, f) for f in AnnealingTerms.__struct_fields__)),
        )

    @property
    def tuned(self) -> list[Known]:
        """The parameters that are not frozen."""
        return [p for p in self.parameters if not p.frozen]

    def values(self) -> dict[str, Any]:
        """Return them as settings are, None for what is not set."""
        return {
            **dict.fromkeys(LEARNING),
            **self.settings,
            "annealing": self.annealing,
            "parameters": tuple(p.tuned() for p in self.parameters),
        }

    def shown(self) -> dict[str, str]:
        """Return the settings of the top level as they are told of."""
        found = {name: f"{value!r}" for name, value in self.settings.items()}
        return {**found, **({"annealing": str(self.annealing)} if self.annealing else {})}


def by_code(parameters: Sequence[Known]) -> dict[str, Known]:
    """Return parameters by their codes."""
    return {p.code: p for p in parameters}

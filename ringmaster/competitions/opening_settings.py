"""Openings(…) of a control file, and the book that a competition takes its start
positions from."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import msgspec

from ringmaster.errors import SettingError
from ringmaster.games.openings import (
    FORMATS,
    Format,
    OpeningOrder,
    Order,
    PolyglotBook,
    format_of,
    load_openings,
)
from ringmaster.model.jobs import Opening
from ringmaster.model.players import GameName
from ringmaster.model.settings import CallOf, FileName, Integer, Maybe, OneOf, Setting

#: Start positions of Chess960.
POSITIONS = 960


class OpeningsSettings(msgspec.Struct, frozen=True):
    """Openings(…) of a control file; path is absolute."""

    path: str
    format: Format | None = None
    order: Order = "sequential"
    start: int = 1
    plies: int | None = None
    seed: int | None = None
    policy: Literal["round", "encounter"] = "round"


def describe_openings(openings: OpeningsSettings | None) -> dict[str, Any]:
    """Return the file's name, without its folder, which may be moved, and the arguments
    that are not the default; {} for no openings."""
    if openings is None:
        return {}
    given = msgspec.structs.asdict(openings)
    default = OpeningsSettings(openings.path)
    return {
        "file": Path(openings.path).name,
        **{name: value for name, value in given.items() if value != getattr(default, name)},
    }


OPENINGS = CallOf(
    "Openings",
    (
        Setting("path", FileName(), "The file with the openings."),
        Setting(
            "format",
            Maybe(OneOf("epd", "pgn", "polyglot", "sfen")),
            "Format of the file; by default what its suffix (.epd, .fen, .pgn, .bin, .sfen) "
            "or its first lines say.",
            None,
        ),
        Setting(
            "order",
            OneOf("sequential", "random"),
            "In the order of the file, or shuffled anew for each pass over it.  Lines of a "
            "Polyglot book are always drawn at random.",
            "sequential",
        ),
        Setting("start", Integer(minimum=1), "Opening to begin with, counted from 1.", 1),
        Setting(
            "plies",
            Maybe(Integer(minimum=1, maximum=1000)),
            "Moves of both sides that are taken of each line; by default all, of a Polyglot "
            "book 16.",
            None,
        ),
        Setting(
            "seed", Maybe(Integer()), "Seed of the random order; by default the event's.", None
        ),
        Setting(
            "policy",
            OneOf("round", "encounter"),
            "In a tournament, whether all matchups have the same openings in the same "
            "rounds, or each pair of games has the next one of the book.",
            "round",
        ),
    ),
    lambda values, context: OpeningsSettings(**values),
    positional=("path",),
)


def check_openings(openings: OpeningsSettings | None, game: GameName, variant: str) -> None:
    """Raises SettingError for openings that the game cannot have."""
    if openings is None:
        return
    if game not in FORMATS:
        raise SettingError(("openings",), f"openings are for {' and '.join(FORMATS)} so far")
    known = FORMATS[game]
    if openings.format is not None and openings.format not in known:
        raise SettingError(
            ("openings", "format"),
            f"openings in the format {openings.format!r} are not for {game}",
            " or ".join(map(repr, known)),
        )
    if openings.format == "polyglot" and variant != "standard":
        raise SettingError(
            ("openings", "format"),
            f"Polyglot books are for standard chess, not for {variant}",
            "another format",
        )


#: Warnings where openings are missed: of a tournament, of a tune.
SAME_GAMES = (
    "without openings, engines that play alike every time will play the same game again and again"
)
SAME_GAMES_OF_TUNE = "without openings, the games of a tune are all much the same"


class OpeningBook:
    """The start positions of an event: read once, before the first game.

    Chess960 has its 960 positions where no openings are given.
    """

    def __init__(
        self,
        settings: OpeningsSettings | None,
        game: GameName,
        seed: int,
        variant: str = "standard",
    ) -> None:
        self._settings = settings
        self._game = game
        self._variant = variant
        self._seed = seed if settings is None or settings.seed is None else settings.seed
        #: How many openings there are; None while they have not been read, and of a
        #: Polyglot book.
        self.size: int | None = None

    @functools.cached_property
    def _find(self) -> Callable[[int], Opening]:
        """The opening of a pair, by its number."""
        settings = self._settings
        if settings is None:
            return self._chess960()
        format = format_of(settings.path, self._game, variant=self._variant, format=settings.format)
        if format == "polyglot":
            book = PolyglotBook(settings.path, settings.plies, self._seed)
            return lambda number: book.opening(settings.start - 1 + number)
        openings = load_openings(
            settings.path,
            self._game,
            variant=self._variant,
            format=format,
            plies=settings.plies,
        )
        self.size = len(openings)
        order = OpeningOrder(len(openings), settings.order, seed=self._seed, start=settings.start)
        return lambda number: openings[order.index(number)]

    def _chess960(self) -> Callable[[int], Opening]:
        from ringmaster.games.chess960 import start_fen

        self.size = POSITIONS
        order = OpeningOrder(POSITIONS, "random", seed=self._seed)

        def find(number: int) -> Opening:
            position = order.index(number)
            return Opening(fen=start_fen(position), source=f"chess960:{position}")

        return find

    def describe(self) -> dict[str, Any]:
        """Return where the start positions are from; {} for the game's own."""
        if self._settings is None and self:
            return {"file": f"the {POSITIONS} positions of Chess960"}
        return describe_openings(self._settings)

    @property
    def by_encounter(self) -> bool:
        """Whether each pair of games of a tournament has an opening of its own."""
        return self._settings is not None and self._settings.policy == "encounter"

    def load(self) -> None:
        """Read the file.  Raises OpeningsError."""
        if self:
            _ = self._find

    @property
    def missed(self) -> bool:
        """Whether games are much the same for want of openings: engines of chess and
        shogi play alike from the same position, more than those of Go do."""
        return self._game != "go" and not self

    def __bool__(self) -> bool:
        return self._settings is not None or self._variant == "chess960"

    def pick(self, number: int) -> Opening:
        """Return the opening of the `number`-th pair (from 0)."""
        return self._find(number) if self else Opening()

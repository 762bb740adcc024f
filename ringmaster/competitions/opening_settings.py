"""Openings(…) of a control file, and the opening book of a competition."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import msgspec

from ringmaster.competitions.setting_types import optional
from ringmaster.errors import SettingError
from ringmaster.formats.openings import (
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
from ringmaster.model.settings import CallOf, FileName, Integer, OneOf, Setting

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
    """Return the file's name without its folder, and arguments other than the defaults."""
    if openings is None:
        return {}
    arguments = msgspec.structs.asdict(openings)
    default = OpeningsSettings(openings.path)
    return {
        "file": Path(openings.path).name,
        **{name: value for name, value in arguments.items() if value != getattr(default, name)},
    }


OPENINGS = CallOf(
    "Openings",
    (
        Setting("path", FileName(), "The file with the openings."),
        optional(
            "format",
            OneOf("epd", "pgn", "polyglot", "sfen"),
            "Format of the file; by default from its suffix (.epd, .fen, .pgn, .bin, .sfen) "
            "or its first lines.",
        ),
        Setting(
            "order",
            OneOf("sequential", "random"),
            "The file's order, or a new shuffle for each pass over the file.  Lines of a "
            "Polyglot book are always drawn at random.",
            "sequential",
        ),
        Setting("start", Integer(minimum=1), "Number of the first opening, from 1.", 1),
        optional(
            "plies",
            Integer(minimum=1, maximum=1000),
            "Moves to play from each line, counting both sides; by default all, or 16 from a "
            "Polyglot book.",
        ),
        optional("seed", Integer(), "Seed of the random order; by default the competition's."),
        Setting(
            "policy",
            OneOf("round", "encounter"),
            "In a tournament: the same opening for a round's pairs in all matchups, or the next "
            "opening of the book for each pair of games.",
            "round",
        ),
    ),
    lambda values, context: OpeningsSettings(**values),
    positional=("path",),
)


def check_openings(openings: OpeningsSettings | None, game: GameName, variant: str) -> None:
    """Check openings against the game.  Raises SettingError."""
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


#: Warnings about missing openings, in a tournament and in a tune.
SAME_GAMES = (
    "without openings, deterministic engines play the same game again and again; set `openings`"
)
SAME_GAMES_OF_TUNE = "without openings, the games of a tune are all much the same"


class OpeningBook:
    """The start positions of a competition, read once before the first game.

    Without openings, Chess960 uses its 960 positions.
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
        #: Number of openings; None before loading, and for a Polyglot book.
        self.size: int | None = None

    @functools.cached_property
    def _opening(self) -> Callable[[int], Opening]:
        """A function from a pair's number to its opening."""
        settings = self._settings
        if settings is None:
            return self._chess960()
        format = format_of(settings.path, self._game, variant=self._variant, format=settings.format)
        if format == "polyglot":
            book = PolyglotBook(settings.path, settings.plies, self._seed)
            return lambda number: book.opening(settings.start - 1 + number)
        openings = load_openings(
            settings.path, self._game, variant=self._variant, format=format, plies=settings.plies
        )
        self.size = len(openings)
        order = OpeningOrder(len(openings), settings.order, seed=self._seed, start=settings.start)
        return lambda number: openings[order.index(number)]

    def _chess960(self) -> Callable[[int], Opening]:
        from ringmaster.games.chess960 import start_fen

        self.size = POSITIONS
        order = OpeningOrder(POSITIONS, "random", seed=self._seed)

        def opening(number: int) -> Opening:
            position = order.index(number)
            return Opening(fen=start_fen(position), source=f"chess960:{position}")

        return opening

    def describe(self) -> dict[str, Any]:
        """Return the source of the start positions; {} for the game's own position."""
        if self._settings is None and self.has_positions:
            return {"file": f"the {POSITIONS} positions of Chess960"}
        return describe_openings(self._settings)

    @property
    def by_encounter(self) -> bool:
        """Whether each pair of games of a tournament has its own opening."""
        return self._settings is not None and self._settings.policy == "encounter"

    def load(self) -> None:
        """Read the file.  Raises DataFileError."""
        if self.has_positions:
            _ = self._opening

    @property
    def lacks_openings(self) -> bool:
        """Whether openings are needed: engines of chess and shogi, more than Go engines,
        repeat their moves from the same position."""
        return self._game != "go" and not self.has_positions

    @property
    def has_positions(self) -> bool:
        """Whether games have start positions other than the game's usual one."""
        return self._settings is not None or self._variant == "chess960"

    def pick(self, number: int) -> Opening:
        """Return the opening of the `number`-th pair (from 0)."""
        return self._opening(number) if self.has_positions else Opening()

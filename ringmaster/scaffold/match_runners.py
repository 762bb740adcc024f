"""Import a match of fastchess, cutechess-cli or gogui-twogtp from its command line.

An option with an effect on presentation or storage only becomes a note.  An option that would make
it another match, or may make it one because it is unknown, is refused.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any

from ringmaster.control.python_text import Call
from ringmaster.errors import UsageError, shown, similar
from ringmaster.parameter_files.entries import plain
from ringmaster.scaffold import gogui_twogtp
from ringmaster.scaffold.control_file import Match, Places
from ringmaster.scaffold.foreign_values import Option, choice, integer, options, real, truth
from ringmaster.scaffold.match_engines import CLOCK, MatchEngine

# with the suffixes of test frameworks and packages: cutechess-ob, fastchess-ubuntu-22.04
_RUNNER = re.compile(r"(?:fast-?chess|(?P<cutechess>cutechess))(?:[-_].*)?(?<!\.json)")

#: Options without effect on the match, with the counterpart here.
_IGNORED = {
    **dict.fromkeys(
        ("-outcomeinterval", "-ratinginterval", "-scoreinterval"),
        "reports are up to date after every game",
    ),
    **dict.fromkeys(
        ("-ping-ms", "-startup-ms", "-ucinewgame-ms"),
        "hang_timeout and ready_timeout limit the waiting time",
    ),
    "-autosaveinterval": "every result is stored at once",
    "-bookmode": "books are read once",
    "-check-mate-pvs": "`check` looks at the scores of mates",
    "-crc32": "records have no checksums",
    "-debug": "`run --log-gtp` writes transcripts",
    "-epdout": "the records have every move; `positions` makes labelled positions of them",
    "-force-concurrency": "`run -j` takes any number",
    "-log": "every run writes a log, and `run --log-gtp` writes transcripts",
    "-output": "there is one report format",
    "-report": "reports have pentanomial statistics wherever there are pairs",
    "-resultformat": "there is one report format",
    "-show-latency": "the records have the time charged for a move",
    "-site": "records have no site",
    "-strict": "a warning does not end a run",
    "-testEnv": "it is for test servers",
    "-use-affinity": "`run --affinity` gives games CPUs of their own",
    "-wait": "a game starts when a worker is free",
}
#: Options without a match.
_REFUSED = {
    **dict.fromkeys(("-engines", "-help", "-v", "-version"), "it plays no match"),
    "-compliance": "`ringmaster FILE check` tests engines",
}
#: More plies than any game has: the 50-move rule ends it before.
_UNLIMITED = 10_000
#: Values of a record with the same name here; "timeleft" is "left".
_TRACKED = ("seldepth", "nodes", "nps", "hashfull", "tbhits", "pv", "timeleft")


def recognises(words: Sequence[str]) -> bool:
    """Return whether words are a command line of one of the programs."""
    return bool(words) and (_runner(words[0]) is not None or gogui_twogtp.program_length(words) > 0)


def _runner(word: str) -> re.Match[str] | None:
    return _RUNNER.fullmatch(os.path.basename(word).removesuffix(".exe").lower())


def import_command_line(words: Sequence[str], places: Places) -> Match:
    """Return the match of a command line.  Raises UsageError."""
    runner = _runner(words[0])
    if runner is None:
        return gogui_twogtp.import_command_line(words, places)
    cutechess = runner["cutechess"] is not None
    return MatchReader(options(words[1:]), shlex.join(words), places, cutechess=cutechess).match


def _count(minimum: int = 1, maximum: int = 10**9) -> Callable[[Option], int]:
    return lambda option: integer(option.single(), option.name, minimum, maximum)


#: Options with a value that depends on no other option.
_VALUES: dict[str, Callable[[Option], Any]] = {
    **dict.fromkeys(("-noswap", "-recover", "-reverse", "-tbignore50"), lambda option: True),
    "-concurrency": _count(maximum=10**6),
    "-event": lambda option: " ".join(option.values),
    "-games": _count(),
    "-maxmoves": _count(0, 10**6),
    "-output": lambda option: option.mapping(("format",)).get("format") != "cutechess",
    "-report": lambda option: option.mapping(("penta",)).get("penta") != "false",
    "-rounds": _count(),
    "-seeds": _count(0, 10**6),
    "-srand": _count(0, 2**63),
    "-tbpieces": _count(3, 32),
}
#: The order of settings in the control file.
_ORDER = (
    *("number_of_games", "rounds", "margin", "openings", "variant", "draw_adjudication"),
    *("resign_adjudication", "seed", "tablebases", "move_limit", "failures", "record_info"),
    *("competitors", "challengers", "opponents", "matchups"),
)


class MatchReader:
    """Read the options of one match in their order, then make the settings of `match`.

    origin  of the options, for the head of the control file

    Raises UsageError.
    """

    def __init__(
        self, given: Sequence[Option], origin: str, places: Places, *, cutechess: bool = False
    ) -> None:
        self.cutechess = cutechess
        self.program = "cutechess-cli" if cutechess else "fastchess"
        self.places = places
        self.match = Match(origin=origin)
        self.engines: list[MatchEngine] = []
        self.each: list[tuple[str, str]] = []
        self.tournament = "roundrobin"
        self.values: dict[str, Any] = {"-games": 1 if cutechess else 2, "-seeds": 1}
        self.repeat = 1 if cutechess else 2
        self.openings: dict[str, Any] | None = None
        self.policy = ""
        self.sprt: dict[str, Any] | None = None
        self.tablebases: list[str] = []
        self.record_info: list[str] = []
        for option in given:
            self._read(option)
        self._finish()

    def _read(self, option: Option) -> None:
        name = option.name
        if name in _REFUSED:
            raise UsageError(f"{name}: {_REFUSED[name]}")
        readers = {f"-{n[6:]}": getattr(self, n) for n in dir(self) if n.startswith("_read_")}
        if name in _IGNORED:
            self.match.note(f"{option} ({_IGNORED[name]})")
        if name in _VALUES:
            self.values[name] = _VALUES[name](option)
        elif name in readers:
            readers[name](option)
        elif name not in _IGNORED:
            close = similar(name, [*readers, *_VALUES, *_IGNORED])
            hint = f"expected {' or '.join(close)}" if close else "leave it out"
            raise UsageError(f"{self.program} has no option {shown(name)}; {hint}")

    # The option -NAME is read by _read_NAME.

    def _read_engine(self, option: Option) -> None:
        engine = MatchEngine(len(self.engines) + 1)
        self.engines.append(engine)
        engine.set_all(option.pairs(), self.match)

    def _read_each(self, option: Option) -> None:
        self.each += option.pairs()

    def _read_tournament(self, option: Option) -> None:
        name = option.single().replace("-", "")
        if name in ("knockout", "pyramid"):
            raise UsageError(f"-tournament {name}: ringmaster has no such tournament")
        self.tournament = choice(name, option.name, "roundrobin", "gauntlet")

    def _read_repeat(self, option: Option) -> None:
        count = integer(option.single(), option.name, 1, 10**9) if option.values else 2
        if self.cutechess:
            self.repeat = count
        else:
            self.values["-games"] = count

    def _read_variant(self, option: Option) -> None:
        name = option.single()
        if not name.isprintable() or not name:
            raise UsageError(f"-variant {shown(name)} is not a variant")
        if name != "standard":
            self.match.settings["variant"] = {"fischerandom": "chess960"}.get(name, name)

    def _read_openings(self, option: Option) -> None:
        keys = ("file", "format", "order", "plies", "start", "policy")
        values = option.mapping(keys, needed=("file",))
        book: dict[str, Any] = {}
        extension = os.path.splitext(values["file"])[1].lower()
        format = values.get("format") or ("pgn" if self.cutechess else extension.removeprefix("."))
        choice(format, "-openings format", "epd", "pgn")
        if extension != f".{format}":
            book["format"] = format
        order = values.get("order", "sequential")
        book["order"] = choice(order, "-openings order", "random", "sequential")
        start = integer(values.get("start", "1"), "-openings start", 1, 10**9)
        if start > 1:
            book["start"] = start
        if "plies" in values and format == "pgn":
            book["plies"] = integer(values["plies"], "-openings plies", 1, 10**6)
        self.policy = values.get("policy", "default")
        if self.policy not in ("default", "encounter", "round"):
            raise UsageError(f"-openings policy={shown(self.policy)} has no counterpart here")
        self.openings = {"path": self.places.file(values["file"]), **book}

    def _read_draw(self, option: Option) -> None:
        arguments = self._adjudication(option, {"movenumber": 0, "movecount": 1, "score": 0})
        # both count full moves from 1: 0 is "at once" as well
        arguments["move_number"] = max(1, arguments["move_number"])
        self.match.settings["draw_adjudication"] = Call("DrawAdjudication", (), arguments)

    def _read_resign(self, option: Option) -> None:
        arguments = self._adjudication(option, {"movecount": 1, "score": 0}, "twosided")
        if truth(dict(option.pairs()).get("twosided", "false"), "-resign twosided"):
            arguments["two_sided"] = True
        self.match.settings["resign_adjudication"] = Call("ResignAdjudication", (), arguments)

    def _adjudication(
        self, option: Option, least: Mapping[str, int], *others: str
    ) -> dict[str, int]:
        """Return the arguments of a call.

        least   the least value of each key, which is fastchess's default for missing keys
        others  further keys
        """
        needed = least if self.cutechess or not option.values else ()
        values = {key: str(low) for key, low in least.items()}
        values |= option.mapping((*least, *others), needed)
        return {
            key.replace("move", "move_"): integer(values[key], f"{option.name} {key}", low)
            for key, low in least.items()
        }

    def _read_tb(self, option: Option) -> None:
        text = option.single()
        text = text if self.cutechess else text.replace(":", ";")
        self.tablebases = [self.places.file(path) for path in text.split(";") if path]
        if not self.tablebases:
            raise UsageError("-tb has no folder")

    def _read_tbadjudicate(self, option: Option) -> None:
        if option.single() != "BOTH":
            raise UsageError(
                f"{option.name} {shown(option.single())}: tablebases end every game with a known "
                "result; leave the option out"
            )

    def _read_sprt(self, option: Option) -> None:
        needed = ("elo0", "elo1", "alpha", "beta")
        values = option.mapping((*needed, "model"), needed)
        model = values.get("model", "logistic" if self.cutechess else "normalized")
        choice(model, "-sprt model", "normalized", "logistic")
        test: dict[str, Any] = {
            key: plain(real(values[key], f"-sprt {key}")) for key in ("elo0", "elo1")
        }
        test |= {key: real(values[key], f"-sprt {key}", above=0) for key in ("alpha", "beta")}
        if test["elo0"] >= test["elo1"]:
            raise UsageError("-sprt: elo0 must be less than elo1")
        if test["alpha"] + test["beta"] >= 1:
            raise UsageError("-sprt: alpha and beta together must be less than 1")
        self.sprt = {**test, "model": model}

    def _read_pgnout(self, option: Option) -> None:
        pairs = option.pairs()
        if any("=" in value for value in option.values):
            name = dict(pairs).get("file", "")
            pairs = [(key, value) for key, value in pairs if key != "file"]
        else:  # cutechess-cli: FILE [min] [fi]
            name = option.values[0] if option.values else ""
            pairs = [(key, "true") for key in option.values[1:]]
        if not name:
            raise UsageError("-pgnout has no file")
        self.match.note(f"-pgnout {name} (the records have the name of the control file)")
        for key, value in pairs:
            if key in _TRACKED:
                if truth(value, f"-pgnout {key}"):
                    self.record_info.append(key.removeprefix("time"))
            elif (key, value) not in (("notation", "san"), ("fi", "true"), ("append", "true")):
                self.match.note(f"-pgnout {key}={value}")

    def _read_config(self, option: Option) -> None:
        values = option.mapping(("file", "discard", "outname", "stats"))
        if "file" in values and values.get("discard") != "true":
            name = shlex.quote(values["file"])
            raise UsageError(f"-config: the options are in that file; ringmaster import {name}")
        self.match.note(f"{option} (the status file has the name of the control file)")

    def _read_quick(self, option: Option) -> None:
        for key, value in option.pairs():
            if key == "cmd":
                self._read_engine(Option("-engine", (f"cmd={value}", f"tc={CLOCK}")))
            elif key == "book":
                self._read_openings(Option("-openings", (f"file={value}", "order=random")))
            else:
                raise UsageError(f"-quick has {shown(key)}; expected cmd or book")
        self.values |= {"-games": 2, "-rounds": 25_000, "-recover": True}
        self._read_draw(Option("-draw", ("movenumber=30", "movecount=8", "score=8")))

    # Settings

    def _finish(self) -> None:
        if len(self.engines) < 2:
            raise UsageError(f"a match needs two engines, there are {len(self.engines)}")
        for engine in self.engines:
            engine.set_all(self.each, self.match)
            engine.enter(self.match, self.places, self.cutechess)
        self.match.parallel = self.values.get("-concurrency")
        self.match.description = self.values.get("-event", "")
        self._own_books()
        self._pairing()
        settings, comments = self.match.settings, self.match.comments
        margins = {engine.margin for engine in self.engines} - {None}
        if len(margins) == 1:
            settings["margin"] = margins.pop()
        for engine, entrant in zip(self.engines, self.match.entrants, strict=True):
            if margins and engine.margin is not None:
                entrant.arguments["margin"] = engine.margin
        comments["margin"] = "Seconds an engine may exceed its clock: timemargin."
        if self.openings is not None:
            book = dict(self.openings)
            settings["openings"] = Call("Openings", (book.pop("path"),), book)
            self._check_repeat()
        if "-srand" in self.values:
            settings["seed"] = self.values["-srand"]
            self.match.different.append("the same seed gives another order of the openings")
        self._tablebases()
        moves = self.values.get("-maxmoves")
        settings["move_limit"] = 2 * moves if moves else _UNLIMITED
        limit = "-maxmoves" if moves else "no limit, as without -maxmoves"
        comments["move_limit"] = f"Plies: {limit}."
        if "-recover" in self.values:
            settings["failures"] = "loss"
            comments["failures"] = "An engine that crashes or hangs loses the game: -recover."
        else:
            self.match.different.append(
                f"{self.program} ends the match when an engine crashes; here the game is void and "
                'played again, unless most games are void (failures = "loss": it loses)'
            )
        if self.record_info:
            settings["record_info"] = list(dict.fromkeys(self.record_info))
        self.match.settings = {name: settings[name] for name in _ORDER if name in settings}

    def _tablebases(self) -> None:
        names = {"-tbpieces": "pieces", "-tbignore50": "ignore_50_moves"}
        limits = {name: self.values[key] for key, name in names.items() if key in self.values}
        paths: Any = self.tablebases[0] if len(self.tablebases) == 1 else self.tablebases
        if paths:
            self.match.settings["tablebases"] = Call("Tablebases", (paths,), limits)
        elif limits:
            self.match.note("-tbpieces, -tbignore50 (without -tb)")

    def _own_books(self) -> None:
        """Make the openings from a Polyglot book that all engines share."""
        (book, depth), *others = {engine.book for engine in self.engines}
        if others or (depth is not None and not book):
            raise UsageError("book: engines cannot have different books; give all the same book")
        if not book:
            return
        if self.openings is not None:
            raise UsageError("book and -openings cannot be used together here")
        self.openings = {"path": self.places.file(book), "format": "polyglot", "order": "random"}
        if depth is not None:
            self.openings["plies"] = 2 * depth
        self.match.different.append(
            "the opening is drawn from the book before the game; engines do not use the book"
        )

    def _check_repeat(self) -> None:
        times = self.repeat if self.cutechess else self.values["-games"]
        if times != 2 and "-noswap" not in self.values:
            often = "once" if times == 1 else f"{times} times"
            self.match.different.append(
                f"{self.program} plays each opening {often} with these options; ringmaster plays "
                "it twice, with the colours swapped"
            )

    def _pairing(self) -> None:
        games, rounds = self.values["-games"], self.values.get("-rounds")
        if rounds is None:
            # fastchess plays until its test is decided
            rounds = 1 if self.cutechess else 2 if self.sprt is None else 500_000
        if not self.cutechess and games > 2:
            # fastchess swaps them
            games, rounds = rounds, games
            if games > 2:
                total = games * rounds
                raise UsageError(
                    f"-games {rounds} -rounds {games}: a round of fastchess has 1 or 2 games, "
                    f"and it refuses both above 2; write -games 2 -rounds {-(-total // 2)} for "
                    f"{total} games"
                )
            self.values["-games"] = games
        codes = self.match.codes()
        several = len(codes) > 2
        swap = "-noswap" not in self.values
        if self.sprt is not None and several:
            raise UsageError(f"-sprt is for two engines, there are {len(codes)}")
        settings = self.match.settings
        number = "number_of_games"
        if several and (swap or self.tournament == "gauntlet"):
            number = "rounds"
            self._roster(codes)
        else:
            if "-reverse" in self.values:
                codes.reverse()
            fixed: dict[str, Any] = {} if swap else {"alternating": False}
            if self.sprt is not None:
                pairs = swap and games == 2 and not self.cutechess
                reported = (self.values.get(name, True) for name in ("-output", "-report"))
                self.sprt["pentanomial"] = pairs and all(reported)
                fixed["sprt"] = Call("SPRT", (), self.sprt)
            settings["matchups"] = [Call("Matchup", pair, fixed) for pair in combinations(codes, 2)]
        settings[number] = games * rounds
        self.match.comments[number] = "Games of each pairing: games × rounds."
        if several and self.openings is not None and self.cutechess and self.policy != "round":
            self.openings["policy"] = "encounter"
        elif self.policy not in ("", "default", "round"):
            self.match.note(f"-openings policy={self.policy} (there is only one pairing)")

    def _roster(self, codes: list[str]) -> None:
        """Make a tournament of more than two engines."""
        settings = self.match.settings
        if self.tournament != "gauntlet":
            self.match.type_name = "allplayall"
            settings["competitors"] = codes[::-1] if "-reverse" in self.values else codes
            return
        if "-noswap" in self.values:
            raise UsageError("-noswap: in a gauntlet the colours are swapped")
        seeds = max(1, self.values["-seeds"])
        if seeds >= len(codes):
            raise UsageError(f"-seeds {seeds}: there are {len(codes)} engines only")
        if "-reverse" in self.values:
            self.match.note("-reverse (colours are swapped from game to game)")
        self.match.type_name = "gauntlet"
        settings |= {"challengers": codes[:seeds], "opponents": codes[seeds:]}

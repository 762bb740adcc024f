"""Players: launch, options, limits, and the threads and hash that they request."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import PurePath
from typing import Final, Literal

import msgspec

from ringmaster.model.time_control import TimeControl

GameName = Literal["go", "chess", "shogi"]
ProtocolName = Literal["gtp", "uci", "usi"]
Restart = Literal["auto", "on", "off"]
ScoreView = Literal["mover", "opponent", "white", "black"]
AnalysisForm = Literal["kata", "lz"]
OptionValue = bool | int | float | str

#: The protocol of a game's engines unless a player says otherwise.
PROTOCOL_OF_GAME: dict[GameName, ProtocolName] = {"go": "gtp", "chess": "uci", "shogi": "usi"}

#: Suffix of the code of the second side in a matchup with itself (Gomill); codes in a
#: control file have no "#".
SECOND_SELF: Final = "#2"


class Source(msgspec.Struct, frozen=True):
    """The commit that a player's program is built from.

    git      the repository: a URL, or a folder, as a rule relative to the control file
    program  its path in the repository
    commit   hexadecimal, "" before the first run
    changes  hash of the working tree, where it differs from the commit, else ""
    nodes, nps  results of the benchmark, None if unknown
    folder   where the commit is built, absolute
    """

    git: str
    ref: str
    build: str
    program: str
    bench: str
    folder: str
    commit: str = ""
    changes: str = ""
    date: str = ""
    subject: str = ""
    nodes: int | None = None
    nps: int | None = None

    @property
    def label(self) -> str:
        """The commit in a few characters: "1a2b3c4d5e", with changes "1a2b3c4d5e+f00f1e"."""
        return self.commit[:10] + (f"+{self.changes[:6]}" if self.changes else "")

    def __str__(self) -> str:
        """Return the facts as a line of a report."""
        facts = f"commit {self.label} of {self.date}, {self.subject!r}"
        bench = "" if self.nodes is None else f"; {self.bench}: {self.nodes:,} nodes"
        speed = "" if self.nps is None else f" at {self.nps:,} a second"
        return f"{self.git}, {self.ref}: {facts if self.commit else 'not built yet'}{bench}{speed}"


class Player(msgspec.Struct, frozen=True):
    """One engine with its settings.

    command       executable and arguments; an executable with a "/" is resolved against
                  the competition directory
    cwd           working directory (absolute), or None for ringmaster's own
    environ       variables set on top of the inherited ones
    options       UCI/USI options to set, by name
    startup_gtp_commands  GTP commands sent at the beginning of each game
    move_time     seconds a move; nodes and depth as in the protocol
    restart       "on": a new process for each game; "off": one process for all games;
                  "auto": one process for UCI and USI, new ones for GTP and with `resources`
    margin        seconds that it may overstep its clock, None: the game's margin
    ponder        whether it thinks on the opponent's time
    ready_timeout  seconds to start and to prepare a game; None: the default
    score_pov     the side of its scores
    analysis      the form of the analysis that it gives with each move (GTP), None: none
    visits, playouts  limits of a move over GTP, which the engine is told before each game
    ship          whether a cluster's hosts get its program and the files that it names
    max_memory, max_cpu, max_processes  bytes, CPU seconds in a game, and processes that the
                  engine with its descendants may use; None: no limit
    sandbox       whether it runs without a network and with a read-only file system
    resources     tokens that it holds while it plays, by resource
    source        the commit of its program, None without a repository
    """

    code: str
    command: tuple[str, ...]
    protocol: ProtocolName = "gtp"
    cwd: str | None = None
    environ: dict[str, str] = {}
    options: dict[str, OptionValue] = {}
    startup_gtp_commands: tuple[tuple[str, ...], ...] = ()
    gtp_aliases: dict[str, str] = {}
    discard_stderr: bool = False
    is_reliable_scorer: bool = True
    allow_claim: bool = False
    sgf_player_name_from_gtp: bool = True
    time_control: TimeControl | None = None
    nodes: int | None = None
    depth: int | None = None
    move_time: float | None = None
    restart: Restart = "auto"
    margin: float | None = None
    ponder: bool = False
    ready_timeout: float | None = None
    score_pov: ScoreView = "mover"
    ship: bool = False
    max_memory: int | None = None
    max_cpu: float | None = None
    max_processes: int | None = None
    sandbox: bool = False
    resources: dict[str, int] = {}
    source: Source | None = None
    analysis: AnalysisForm | None = None
    visits: int | None = None
    playouts: int | None = None

    @property
    def keeps_process(self) -> bool:
        """Return whether one engine process serves several games."""
        # an idle process would keep its memory of a graphics card
        is_kept = self.protocol != "gtp" and not self.resources
        return self.restart == "off" or (self.restart == "auto" and is_kept)

    @property
    def ponders(self) -> bool:
        """Return whether it thinks on the opponent's time, perhaps by its command line."""
        text = " ".join(map(" ".join, (self.command, *self.startup_gtp_commands)))
        # Leela Zero is told not to, for its analysis
        return self.ponder or (self.analysis != "lz" and _PONDERING.search(text) is not None)

    def at_time_control(self, text: str) -> Player:
        """Return the player with another time control; "" for its own."""
        if not text:
            return self
        return msgspec.structs.replace(self, time_control=TimeControl.parse(text))

    def turns_scores(self, colour: int) -> bool:
        """Return whether its scores as `colour` have the opposite sign of its own side's."""
        if self.score_pov in ("mover", "opponent"):
            return self.score_pov == "opponent"
        # Black moves first in shogi and Go
        plays_white = colour == (0 if self.protocol == "uci" else 1)
        return plays_white != (self.score_pov == "white")


def describe_limits(player: Player) -> str:
    """Return a player's limits as text, such as "10+0.1" or "nodes 1000"; or ""."""
    parts = [] if player.time_control is None else [str(player.time_control)]
    if player.move_time is not None:
        parts.append(f"{player.move_time:g} s a move")
    for name in ("nodes", "depth", "visits", "playouts"):
        if (limit := getattr(player, name)) is not None:
            parts.append(f"{name} {limit}")
    return ", ".join(parts)


#: Case-folded options of UCI and USI engines: threads, and megabytes of hash.
THREADS = ("threads", "thread", "number of threads", "max cpus", "cores", "usi_threads")
HASH = ("hash", "usi_hash")

#: Threads on command lines and in startup commands, from the engines' documentation.
_KATAGO = re.compile(r"(?:^|[,\s])numSearchThreads\s*[=\s]\s*(\d{1,5})(?!\d)", re.ASCII)
_WORDS = re.compile(
    r"(?:--?threads|threads|uct_param_search number_threads)[= ](\d{1,5})", re.ASCII
)
_LEELA = re.compile(r"-t ?(\d{1,5})", re.ASCII)
#: Pondering: KataGo's setting, and Leela Zero's default.
_PONDERING = re.compile(
    r"[,\s]ponderingEnabled\s*[=\s]\s*true\b|^(\S*/)?leelaz(?!.* --noponder)", re.IGNORECASE
)


def given_option(player: Player, names: tuple[str, ...]) -> OptionValue | None:
    """Return the player's value of the first of these options that it sets, or None."""
    folded = {name.casefold(): value for name, value in player.options.items()}
    return next((folded[name] for name in names if name in folded), None)


def threads_of(player: Player) -> int | None:
    """Return the number of threads in a player's options, command line and startup commands."""
    option = given_option(player, THREADS)
    if option is not None:
        text = str(option)
        return int(text) if text.isdecimal() else None
    words = list(player.command[1:])
    leela = PurePath(player.command[0]).name.casefold().startswith("leelaz")
    # an option and its value may be one word or two
    texts = [*words, *map(" ".join, pairwise(words))]
    texts += [" ".join(command) for command in player.startup_gtp_commands]
    for text in texts:
        match = _KATAGO.search(text) or _WORDS.fullmatch(text) or (leela and _LEELA.fullmatch(text))
        if match:
            return int(match[1])
    return None

"""Output files of a competition, and the program that wrote each of them.

Gomill gives its files the names that ringmaster uses.  Its status file is a pickle,
which could run code: no file is loaded here, only its first bytes are compared.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from glob import escape
from pathlib import Path
from typing import Final, Literal

import msgspec

from ringmaster.errors import ForeignFiles, StoreUnwritable, UsageError
from ringmaster.model.output_files import open_regular, other_kind

Maker = Literal["ringmaster", "Gomill", "another program"]

#: Mark a SQLite file as ringmaster's ("RMSF"), and as an unreleased version's ("RMST").
APPLICATION_ID: Final = 0x524D5346
UNRELEASED_ID: Final = 0x524D5354
SQLITE_MAGIC: Final = b"SQLite format 3\0"

#: Bytes read of each file.
_HEAD: Final = 1 << 16

# The files of Gomill 0.8.3.  A report of a tournament begins as ringmaster's does, but it
# ends with an empty line.
_GOMILL: Final = re.compile(
    rb"run started at \d"  # .log
    rb"|(?:MCTS|CEM) tuning event: "  # .report
    rb"|(?:playoff|allplayall): [^\n]*\n(?s:.*)\n\n\Z"
    rb"| *\S+_\d+ \S+ (?:beat|vs) "  # .hist of a tournament, of mc_tuner, of ce_tuner
    rb"|[^\n]* \[\([0-9, ()]*\)\] (?:won|lost)\n"
    rb"|Generation \d+\nDistribution\n"
    rb"|\(;FF\[4\]AP\[gomill:"  # a game record
    rb"|(?:>>|<<) [^\n:]*: "  # a transcript
)
_RINGMASTER: Final = re.compile(
    # .cmd (Gomill's has no line end), and any file that is empty
    rb"(?:(?:stop|pause|resume|more|fewer)\n)*\Z"
    rb"|RMPOS\x00|RMFEA\x00|RMMOV\x00"  # .positions, .features, .moves
    rb'|\{"games":'  # .tree.jsonl
    rb"|\(;FF\[4\][^\n]*\nAP\[ringmaster:"
    rb"| +\d+\.\d{4} \S+ [<>!] "
    rb'|<!DOCTYPE html>\n(?s:.{,100})<meta name="generator" content="ringmaster">'
)
_LOG_LINE: Final = re.compile(rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \S")
#: Pieces of Gomill's pickles, which are of protocol 2.
_PICKLED: Final = (b"void_game_count", b"comp_vn", b"gomill.")


def maker(path: Path) -> Maker | None:
    """Return the program that wrote a file, None when its content does not show it.

    Raises StoreUnwritable when the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
            if len(head) == _HEAD:
                # the last two bytes of a longer file, too
                file.seek(-2, os.SEEK_END)
                head += file.read()
    except OSError as error:
        raise StoreUnwritable(f"cannot read {path}: {error.strerror}") from error
    if head.startswith(b"\x80") and any(piece in head for piece in _PICKLED):
        return "Gomill"
    if head.startswith(SQLITE_MAGIC):
        application = int.from_bytes(head[68:72], "big")
        if application:
            own = (APPLICATION_ID, UNRELEASED_ID)
            return "ringmaster" if application in own else "another program"
        return None  # ringmaster's number may still be in the `-wal`
    if _GOMILL.match(head):
        return "Gomill"
    if _LOG_LINE.match(head) and (b"ringmaster" in head or b" startup check failed" in head):
        return "ringmaster"
    # a report begins with the type and the name of its competition
    own_report = re.compile(rb"[a-z_]+: " + re.escape(os.fsencode(path.stem)) + rb"\n")
    return "ringmaster" if _RINGMASTER.match(head) or own_report.match(head) else None


#: Commands to a run in its remote control file, one a line (Gomill has "stop" alone).
COMMANDS = ("stop", "pause", "resume", "more", "fewer")
#: Suffixes of game records.
RECORD_SUFFIXES = ("pgn", "sgf", "csa", "kif", "kifu")


class _Output:
    """An attribute of OutputPaths: the file or folder with a suffix."""

    def __init__(self, suffix: str, doc: str) -> None:
        self._suffix = suffix
        self.__doc__ = doc

    def __get__(self, paths: OutputPaths, owner: type) -> Path:
        return paths._beside(self._suffix)


class OutputPaths(msgspec.Struct, frozen=True):
    """The output files of a control file: `tune.ctl` has tune.status, tune.log, …

    Raises UsageError when `control` is itself the name of an output file: `reset` would
    delete files of another control file.
    """

    control: Path

    def __post_init__(self) -> None:
        path = self.control.absolute()
        if path in (*self._files(), *self._folders()):
            raise UsageError(
                f"{self.control} is an output file, not a control file; "
                f"did you mean {self.control.with_suffix('.ctl')}?"
            )

    def _beside(self, suffix: str) -> Path:
        return self.control.absolute().with_suffix(suffix)

    status = _Output(".status", "The store.")
    log = _Output(".log", "The run log.")
    hist = _Output(".hist", "The history of results.")
    report = _Output(".report", "The report of the last run.")
    page = _Output(".html", "The report with pictures.")
    tree_log = _Output(".tree.jsonl", "The tree log: a snapshot a line.")
    cmd = _Output(".cmd", "The remote control file.")
    positions = _Output(".positions", "Labelled positions in binary form.")
    features = _Output(".features", "Features of each labelled position.")
    moves = _Output(".moves", "Positions with a teacher's moves, for `move_accuracy`.")
    games = _Output(".games", "The folder of game records.")
    void = _Output(".void", "The folder of records of void games.")
    gtplogs = _Output(".gtplogs", "The folder of protocol transcripts.")
    backups = _Output(".backups", "The folder of copies of the store; `reset` leaves it.")
    live = _Output(".live", "The folder of records of games in progress.")

    @property
    def locked(self) -> Path:
        """The file that a live run locks (see `lock`)."""
        return self.status if sys.platform == "linux" else self.log

    @property
    def has_results(self) -> bool:
        """Return whether there is a status file, or its `-wal` alone.

        A run that is checking its players has an empty status file.
        """
        files = self.status, Path(f"{self.status}-wal")
        return any(file.exists() and (file.is_dir() or file.stat().st_size) for file in files)

    def collected(self, suffix: str) -> Path:
        """Return the file of all game records of one format."""
        return self._beside(f".games.{suffix}")

    def _files(self) -> list[Path]:
        # the store first: without it the competition is reset; the locked log last
        sqlite = [Path(f"{self.status}{suffix}") for suffix in ("-wal", "-shm", "-journal")]
        collected = map(self.collected, RECORD_SUFFIXES)
        texts = [self.hist, self.tree_log, self.report, self.page, self.cmd]
        derived = (self.positions, self.features, self.moves)
        # a kill leaves parts of an unfinished file
        parts = [p for d in derived for p in sorted(d.parent.glob(f"{escape(d.name)}.*~"))]
        return [self.status, *sqlite, *collected, *texts, *derived, *parts, self.log]

    def _folders(self) -> list[Path]:
        return [self.games, self.void, self.gtplogs, self.live, self._beside(".features.pieces")]

    def owns(self, path: Path) -> bool:
        """Return whether a file, under any name, is the control file or an output."""
        outputs = filter(Path.exists, (self.control, *self.existing()))
        if path.exists() and any(own.samefile(path) for own in outputs):
            return True
        real = path.resolve()
        folders = [folder.resolve() for folder in (*self._folders(), self.backups)]
        files = [file.resolve() for file in (self.control, *self._files())]
        return real in files or any(real.is_relative_to(folder) for folder in folders)

    def existing(self) -> list[Path]:
        """Return every existing output, the run log last."""
        *files, log = self._files()
        return [path for path in (*files, *self._folders(), log) if os.path.lexists(path)]

    def check_kinds(self) -> None:
        """Raise StoreUnwritable if an output is of another kind: a link, a folder, a FIFO."""
        for path in self._files():
            if kind := other_kind(path):
                raise StoreUnwritable(f"{path} is {kind}, and ringmaster writes a file there")
        for path in (*self._folders(), self.backups):
            if os.path.lexists(path) and other_kind(path) != "a folder":
                raise StoreUnwritable(f"{path} is no folder, and ringmaster makes a folder there")

    def check_first_run(self) -> None:
        """Raise ForeignFiles if a first run would write files of another program."""
        if not self.status.exists() or maker(self.status) != "ringmaster":
            # the modules of these files recognise them
            others = {self.page, self.positions, self.features, self.moves}
            self.check([path for path in self.existing() if path not in others])

    def check(self, outputs: Iterable[Path]) -> None:
        """Raise ForeignFiles if another program wrote one of these outputs."""
        outputs = list(outputs)
        foreign = self._foreign(outputs)
        if foreign:
            raise ForeignFiles(
                f"{_listed(outputs, foreign)}; ringmaster writes files of these names, but never "
                "over files of other programs: move them away, or copy the control file under "
                "another name (or into another folder)"
            )

    def take_commands(self) -> list[str]:
        """Return the commands in the remote control file, and delete it if it has any."""
        try:
            with open(open_regular(self.cmd, os.O_RDWR), "r+", encoding="ascii") as file:
                # no command is added between reading and deleting
                fcntl.flock(file, fcntl.LOCK_EX)
                words = file.read().split()
                if not words or not set(words) <= set(COMMANDS):
                    return []
                self.cmd.unlink(missing_ok=True)
        except (OSError, ValueError):
            return []
        return words

    def give_command(self, command: str) -> None:
        """Add a command to the remote control file.  Raises OSError."""
        is_given = False
        while not is_given:
            fd = open_regular(self.cmd, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            with open(fd, "a", encoding="ascii") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                # the run may have taken the file before it was locked
                is_given = os.fstat(file.fileno()).st_nlink > 0
                file.write(f"{command}\n")

    def clear_live(self) -> None:
        """Delete the records of games in progress; for the owner of the lock.

        Other files stay, as they do in every folder.
        """
        with suppress(OSError):
            for record in (*self.live.glob("*.json"), *self.live.glob("*.json.new~")):
                record.unlink(missing_ok=True)
            self.live.rmdir()

    def removable(self) -> list[Path]:
        """Return every output that ringmaster wrote, the run log last.

        Of a folder with other files, these are single files.
        """
        existing = self.existing()
        foreign = self._foreign(existing)
        removable = []
        for path in existing:
            if path not in foreign:
                removable.append(path)
            elif path in self._folders() and path.is_dir() and not path.is_symlink():
                removable += [inside for inside in path.iterdir() if inside not in foreign]
        return removable

    def remove_all(self) -> None:
        """Delete every output that ringmaster wrote; links are removed, not followed.

        Raises StoreUnwritable; ForeignFiles, at the end, when other files remain.
        """
        folders = self._folders()
        for path in self.removable():
            is_ours = path in folders or path.parent in folders
            try:
                if is_ours and path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink(missing_ok=True)
            except OSError as error:
                where = error.filename or path
                raise StoreUnwritable(f"cannot delete {where}: {error.strerror}") from error
        if left := self.existing():
            raise ForeignFiles(
                f"not deleted: {_listed(left, self._foreign(left))}; delete them yourself if you "
                "do not need them"
            )

    def _foreign(self, outputs: Iterable[Path]) -> dict[Path, Maker]:
        """Return the outputs, and files inside them, that other programs wrote.

        A file whose content does not show it is ringmaster's if the store or the log is.  Those
        that are written over must show it: a stranger's folder may have any store.
        """
        known = (self.status, self.log)
        ours = any(p.is_file() and p.stat().st_size and maker(p) == "ringmaster" for p in known)
        default: Maker = "ringmaster" if ours else "another program"
        foreign: dict[Path, Maker] = {}
        for output in outputs:
            if output.is_dir():
                theirs: dict[Path, Maker] = {}
                for path in output.iterdir():
                    # Gomill's records and transcripts
                    is_known = path.suffix in (".sgf", ".log") and not path.is_symlink()
                    its = (maker(path) if is_known and path.is_file() else None) or default
                    if its != "ringmaster":
                        theirs[path] = its
                if theirs:
                    foreign |= theirs
                    gomill = "Gomill" in theirs.values()
                    foreign[output] = "Gomill" if gomill else "another program"
            elif output.exists():
                is_known = output in (self.report, self.page, self.cmd)
                its = maker(output) or ("another program" if is_known else default)
                if its != "ringmaster":
                    foreign[output] = its
        return foreign


def _listed(outputs: Iterable[Path], foreign: Mapping[Path, Maker]) -> str:
    """Return a clause that names the outputs of other programs."""
    sentences = []
    for its, verb in (
        ("Gomill", "Gomill wrote"),
        ("another program", "nothing shows that ringmaster wrote"),
    ):
        names = sorted(path.name for path in outputs if foreign.get(path) == its)
        if names:
            *others, last = names
            listed = f"{', '.join(others)} and {last}" if others else last
            sentences.append(f"{verb} {listed}")
    return "; ".join(sentences)

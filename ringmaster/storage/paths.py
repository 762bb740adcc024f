"""Where the files of a competition are, beside its control file."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from glob import escape
from pathlib import Path

import msgspec

from ringmaster.errors import ForeignFiles, StoreUnwritable, UsageError
from ringmaster.storage.origin import Maker, maker, makers

#: What the names of game records end in.
RECORD_SUFFIXES = ("pgn", "sgf", "csa", "kif", "kifu")


class OutputPaths(msgspec.Struct, frozen=True):
    """The output files of the competition whose control file is `control`;
    `tune.ctl` has tune.status, tune.log, … (Gomill's names).

    Raises UsageError when `control` is itself named like one of them (`reset`
    would delete what belongs to another control file).
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

    @property
    def status(self) -> Path:
        """The store."""
        return self._beside(".status")

    @property
    def log(self) -> Path:
        """The event log; also what is locked while a run is alive."""
        return self._beside(".log")

    @property
    def hist(self) -> Path:
        """The history of results."""
        return self._beside(".hist")

    @property
    def report(self) -> Path:
        """The report of the last run."""
        return self._beside(".report")

    @property
    def page(self) -> Path:
        """The report with pictures."""
        return self._beside(".html")

    @property
    def tree_log(self) -> Path:
        """The tree log: a snapshot a line."""
        return self._beside(".tree.jsonl")

    @property
    def cmd(self) -> Path:
        """The remote control file."""
        return self._beside(".cmd")

    @property
    def positions(self) -> Path:
        """Labelled positions in the form that is read fast."""
        return self._beside(".positions")

    @property
    def features(self) -> Path:
        """What an evaluation counts of each of them."""
        return self._beside(".features")

    @property
    def games(self) -> Path:
        """The folder of game records."""
        return self._beside(".games")

    def collected(self, suffix: str) -> Path:
        """The file of all game records of one format."""
        return self._beside(f".games.{suffix}")

    @property
    def void(self) -> Path:
        """The folder of records of void games."""
        return self._beside(".void")

    @property
    def gtplogs(self) -> Path:
        """The folder of protocol transcripts."""
        return self._beside(".gtplogs")

    def _files(self) -> list[Path]:
        # the store first: once it is gone the event is reset, whatever stops
        # the rest; its log, which is locked meanwhile, last
        sqlite = [Path(f"{self.status}{suffix}") for suffix in ("-wal", "-shm", "-journal")]
        collected = map(self.collected, RECORD_SUFFIXES)
        texts = [self.hist, self.tree_log, self.report, self.page, self.cmd]
        made = (self.positions, self.features)
        # a kill while one was being made leaves its parts
        parts = [p for m in made for p in sorted(m.parent.glob(f"{escape(m.name)}.*~"))]
        return [self.status, *sqlite, *collected, *texts, *made, *parts, self.log]

    def _folders(self) -> list[Path]:
        return [self.games, self.void, self.gtplogs, self._beside(".features.pieces")]

    def owns(self, path: Path) -> bool:
        """Whether a file is the control file, an output, or in an output folder,
        under whatever name it is reached."""
        if os.path.lexists(path):
            for own in (self.control, *self.existing()):
                if own.exists() and path.exists() and own.samefile(path):
                    return True
        real = path.resolve()
        folders = [folder.resolve() for folder in self._folders()]
        files = [file.resolve() for file in (self.control, *self._files())]
        return real in files or any(real.is_relative_to(folder) for folder in folders)

    def existing(self) -> list[Path]:
        """Return every output that is there, the event log last."""
        *files, log = self._files()
        return [path for path in (*files, *self._folders(), log) if os.path.lexists(path)]

    def check_first_run(self) -> None:
        """Raise ForeignFiles if a run would be the first one and another program wrote
        a file that it would write."""
        if not self.status.is_file() or maker(self.status) != "ringmaster":
            # what is made of positions knows its own files
            others = {self.page, self.positions, self.features}
            self.check([path for path in self.existing() if path not in others])

    def check(self, outputs: Iterable[Path]) -> None:
        """Raise ForeignFiles if another program wrote one of these outputs."""
        outputs = list(outputs)
        foreign = self._foreign(outputs)
        if foreign:
            raise ForeignFiles(
                f"{_listed(outputs, foreign)}; ringmaster writes files of these names, and leaves "
                "those of other programs alone: move them away, or copy the control file under "
                "another name (or into another folder)"
            )

    def take_stop(self) -> bool:
        """Delete the remote control file if it says "stop"; return whether it did."""
        try:
            wanted = self.cmd.read_bytes().strip() == b"stop"
        except OSError:
            return False
        if wanted:
            self.cmd.unlink(missing_ok=True)
        return wanted

    def remove_all(self) -> None:
        """Delete every output but those that another program wrote; links are removed,
        not followed.

        Raises StoreUnwritable; ForeignFiles, at the end, when some have been left.
        """
        folders = self._folders()
        existing = self.existing()
        foreign = self._foreign(existing)
        for path in existing:
            try:
                if path in folders and path.is_dir() and not path.is_symlink():
                    self._remove_folder(path, foreign)
                elif path not in foreign:
                    path.unlink(missing_ok=True)
            except OSError as error:
                where = error.filename or path
                raise StoreUnwritable(f"cannot delete {where}: {error.strerror}") from error
        if foreign:
            raise ForeignFiles(
                f"not deleted: {_listed(existing, foreign)}; delete them yourself if they are of "
                "no use"
            )

    def _remove_folder(self, folder: Path, foreign: Mapping[Path, Maker]) -> None:
        if folder not in foreign:
            shutil.rmtree(folder)
            return
        for path in folder.iterdir():
            if path in foreign:
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()

    def _foreign(self, outputs: Iterable[Path]) -> dict[Path, Maker]:
        """Return which of these outputs other programs wrote, and files inside them.

        A file whose content does not say is ringmaster's where its store or its log is; a
        page and a command always say.
        """
        known = (self.status, self.log)
        ours = any(p.is_file() and p.stat().st_size and maker(p) == "ringmaster" for p in known)
        default: Maker = "ringmaster" if ours else "another program"
        found: dict[Path, Maker] = {}
        for output in outputs:
            if output.is_dir():
                inside = {path: its or default for path, its in makers(output).items()}
                theirs = {path: its for path, its in inside.items() if its != "ringmaster"}
                if theirs:
                    found |= theirs
                    gomill = "Gomill" in theirs.values()
                    found[output] = "Gomill" if gomill else "another program"
            elif output.exists():
                says = output in (self.page, self.cmd)
                its = maker(output) or ("another program" if says else default)
                if its != "ringmaster":
                    found[output] = its
        return found


def _listed(outputs: Iterable[Path], foreign: Mapping[Path, Maker]) -> str:
    """Return a sentence that names the outputs of other programs."""
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

"""Where the files of a competition are, beside its control file."""

from __future__ import annotations

import os
import shutil
from glob import escape
from pathlib import Path

import msgspec

from ringmaster.errors import StoreUnwritable, UsageError

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

    def remove_all(self) -> None:
        """Delete every output; links are removed, not followed.

        Raises StoreUnwritable.
        """
        folders = self._folders()
        for path in self.existing():
            try:
                if path in folders and path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink(missing_ok=True)
            except OSError as error:
                where = error.filename or path
                raise StoreUnwritable(f"cannot delete {where}: {error.strerror}") from error

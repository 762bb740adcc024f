"""Where the files of a competition are, beside its control file."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from ringmaster.errors import StoreUnwritable


@dataclass(frozen=True)
class OutputPaths:
    """The output files of the competition whose control file is `control`;
    `tune.ctl` has tune.status, tune.log, … (Gomill's names)."""

    control: Path

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
    def cmd(self) -> Path:
        """The remote control file."""
        return self._beside(".cmd")

    @property
    def games(self) -> Path:
        """The folder of game records."""
        return self._beside(".games")

    @property
    def void(self) -> Path:
        """The folder of records of void games."""
        return self._beside(".void")

    @property
    def gtplogs(self) -> Path:
        """The folder of protocol transcripts."""
        return self._beside(".gtplogs")

    def existing(self) -> list[Path]:
        """Return every output that is there."""
        files = [self.status, self.hist, self.report, self.cmd]
        files += [Path(f"{self.status}{suffix}") for suffix in ("-wal", "-shm", "-journal")]
        everything = [*files, self.games, self.void, self.gtplogs, self.log]
        return [path for path in everything if path.exists() or path.is_symlink()]

    def remove_all(self) -> None:
        """Delete every output; links are removed, not followed.

        Raises StoreUnwritable.
        """
        for path in self.existing():
            try:
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink(missing_ok=True)
            except OSError as error:
                raise StoreUnwritable(f"cannot delete {path}: {error.strerror}") from error

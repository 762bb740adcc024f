"""The builds of a competition's players: the recorded ones, and the files as they are now."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from ringmaster.control.changes import SettingChange
from ringmaster.errors import EngineRebuilt
from ringmaster.model.builds import Build, FileSum, FileSums, files_of
from ringmaster.model.canonical import relative
from ringmaster.model.players import Player
from ringmaster.model.results import CheckResult, EngineUsage
from ringmaster.model.settings import SettingPath

#: Key of `competition_files` in the settings of a run.
FILES = "files"


class Rebuilt(msgspec.Struct, frozen=True):
    """A player whose present build has no results, though another one has.

    what  the change, in words
    before, now  SHA-256 of the file
    """

    player: str
    what: str
    before: str
    now: str

    def change(self, place: SettingPath, *, accepted: bool) -> SettingChange:
        """Return this as a change of the setting that defines the player."""
        return SettingChange(
            place,
            f"player {self.player!r}:",
            self.what,
            self.before,
            self.now,
            "free" if accepted else "refused",
            "the results so far are those of another build",
            details=(
                f"SHA-256 {self.before[:12]} before, {self.now[:12]} now",
                *remedies(self.player),
            ),
        )


def remedies(player: str) -> tuple[str, ...]:
    """Return the user's choices after a change of a player's build, a line each."""
    return (
        "put the former build back,",
        "or give the new one a player code of its own, which counts from zero,",
        f"or, if the change does not matter: run --accept-build {player}",
    )


class Builds:
    """Numbers the builds of the players.

    directory  of the control file; names of files below it are stored relative to it
    players    with the codes under which they are reported
    recorded   builds with results, by their numbers in the store
    games      number of results of each, void ones left out
    accepted   codes of players whose changes do not matter
    completed  number of results so far, for messages

    current    the present build of each player
    rebuilt    players with other files than in their recorded builds
    """

    def __init__(
        self,
        directory: str,
        players: Iterable[Player],
        recorded: Mapping[int, Build] = {},
        games: Mapping[int, int] = {},
        accepted: Collection[str] = (),
        completed: int = 0,
    ) -> None:
        self._directory = directory
        self.recorded = dict(recorded)
        self.games = Counter(games)
        self._accepted = accepted
        self.current: dict[str, Build] = {}
        self.rebuilt: list[Rebuilt] = []
        #: Numbers of present builds in the store, if they have results.
        self._numbers: dict[str, int] = {}
        #: Beginnings of each player's commands.
        self._commands: dict[str, set[tuple[str, ...]]] = {}
        #: Paths of each player's files by name, the program first.
        self._paths: dict[str, dict[str, str]] = {}
        #: Players whose programs are not here.
        self._absent: list[str] = []
        for player in players:
            self._paths.setdefault(player.code, {}).update(files_of(player))
            self._commands.setdefault(player.code, set()).add(player.command[:2])
        for code in self._paths:
            self._look(code, completed)

    def of(self, code: str) -> list[Build]:
        """Return the recorded builds of a player, the newest first."""
        return [build for build in reversed(self.recorded.values()) if build.player == code]

    def players(self) -> list[str]:
        """Return the codes of the players with recorded builds."""
        return list(dict.fromkeys(build.player for build in self.recorded.values()))

    def shown(self, code: str) -> Build:
        """Return the build of a player for reports: the present one if it has played or was
        checked, else the last."""
        current = self.current.get(code, Build(code))
        is_known = code in self._numbers or current.name
        return current if is_known else next(iter(self.of(code)), current)

    def _look(self, code: str, completed: int) -> None:
        """Find the present build of a player."""
        paths = {self._key(name): path for name, path in self._paths[code].items()}
        former = self.of(code)
        marked = {
            paths[name]: sum
            for build in reversed(former)
            for name, sum in build.files.items()
            if name in paths and sum.mark[:1] == (sum.size,)
        }
        sums = FileSums(marked)
        files: dict[str, FileSum] = {}
        changed: list[Rebuilt] = []
        for name, path in paths.items():
            may_grow, now = bool(files), sums.of(path)
            known = [build.files[name] for build in former if name in build.files]
            if code in self._accepted and not now.mark:
                # only hosts of a cluster have it, and they may have another one
                known = []
            same = [sum for sum in known if sums.is_same(path, sum, may_grow=may_grow)]
            files[name] = same[0] if same and same[0].sha256 != now.sha256 else now
            if known and known[0].sha256 and not same:
                when = f"after game {completed:,}" if completed else "before the first game"
                what = f"{name} was {'changed' if may_grow else 'rebuilt'} {when}"
                changed.append(Rebuilt(code, what, known[0].sha256, now.sha256))
        self.rebuilt += changed[:1]
        if not next(iter(files.values())).sha256:
            self._absent.append(code)
        self._choose(code, files)

    def _key(self, name: str) -> str:
        return relative(name, self._directory)

    def _choose(self, code: str, files: dict[str, FileSum], name: str = "") -> Build:
        """Set the present build: a recorded one with these files, else a new one.

        name  of the engine, "" for any
        """
        self._numbers.pop(code, None)
        for number, build in reversed(self.recorded.items()):
            if build.player == code and build.has_files(files) and name in ("", build.name):
                self._numbers[code] = number
                self.current[code] = msgspec.structs.replace(build, files=files)
                return self.current[code]
        last = max((build.number for build in self.of(code)), default=0)
        self.current[code] = Build(code, last + 1, files, name)
        return self.current[code]

    # reports of engines

    def take_check(self, code: str, result: CheckResult) -> Rebuilt | None:
        """Take the facts of a startup check; return a refused change of the engine's name."""
        build = self.current.get(code) or self._choose(code, {})
        renamed = self._renamed(build, result.name) if code == result.code else None
        if renamed is not None:
            if code not in self._accepted:
                return renamed
            build = self._choose(code, build.files, result.name)
        self.current[code] = msgspec.structs.replace(
            build, name=result.name, hash=result.hash, threads=result.threads
        )
        return None

    def _renamed(self, build: Build, name: str) -> Rebuilt | None:
        """Return the change of a build's engine to another name, None without one."""
        if not (name and build.name) or name == build.name:
            return None
        what = f"its engine is {name} now and was {build.name}, with the same files"
        first = next(iter(build.files.values()), FileSum())
        return Rebuilt(build.player, what, first.sha256, first.sha256)

    def identify(
        self, code: str, player: Player, used: EngineUsage, now: float
    ) -> tuple[int, Build | None]:
        """Return the number of the build that played, and the build if it has to be stored.

        code  of the player in reports; candidates differ in their descriptions
        used  the report of its engine
        now   seconds since the epoch

        Raises EngineRebuilt for an engine of another name.
        """
        build = self.current.get(code) or self._choose(code, {})
        if player.command[:2] in self._commands.get(code, ()):
            renamed = self._renamed(build, used.name)
            if renamed is not None:
                if code not in self._accepted:
                    raise EngineRebuilt(renamed.what, code)
                build = self._choose(code, build.files, used.name)
        build = msgspec.structs.replace(
            build,
            name=build.name or used.name,
            description=(used.description if code == player.code else "") or build.description,
            first_seen=build.first_seen or now,
        )
        if code not in self._numbers:
            self._numbers[code] = 1 + max([*self.recorded, *self.games], default=0)
        number = self._numbers[code]
        is_new = self.recorded.get(number) != build
        self.recorded[number] = self.current[code] = build
        return number, build if is_new else None

    # files for workers and hosts

    def sums_by_path(self) -> dict[str, FileSum]:
        """Return the sums of the present files by path."""
        return {
            path: self.current[code].files[self._key(name)]
            for code, paths in self._paths.items()
            for name, path in paths.items()
        }

    def sums_by_name(self) -> dict[str, str]:
        """Return the SHA-256 of the present files by name, "" for files that are not here."""
        return {
            name: self.current[code].files[self._key(name)].sha256
            for code, paths in self._paths.items()
            for name in paths
        }

    def take_sums(self, found: Mapping[str, str]) -> None:
        """Take the SHA-256 of programs, by name, that only the hosts of a cluster have."""
        for code in list(self._absent):
            name, build = next(iter(self._paths[code])), self.current[code]
            if found.get(name):
                self._absent.remove(code)
                files = {**build.files, self._key(name): FileSum(found[name])}
                self._choose(code, files, build.name)


def competition_files(
    settings: Mapping[str, Any], directory: str, known: Mapping[str, FileSum]
) -> dict[str, FileSum]:
    """Return the sums of opening files and folders of tablebases in settings, by name.

    known  earlier sums
    """
    paths = {name: os.path.join(directory, name) for name in _named(settings)}
    sums = FileSums({path: known[name] for name, path in paths.items() if name in known})
    return {name: sums.of(path) for name, path in paths.items()}


def _named(data: Any) -> Iterator[str]:
    """Yield the names of opening files and folders of tablebases in canonical settings."""
    kind = data.get("$") if isinstance(data, dict) else None
    if kind == "OpeningsSettings":
        yield data["path"]
    elif kind == "Tablebases":
        yield from data["paths"]
    elif isinstance(data, dict | list):
        for item in data.values() if isinstance(data, dict) else data:
            yield from _named(item)

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

#: Key of the sums of `competition_files` in a run's settings.
FILES = "files"


class Rebuilt(msgspec.Struct, frozen=True):
    """A player whose build is not one that has results.

    what  the change, in words
    """

    player: str
    what: str
    before: str
    now: str

    def __str__(self) -> str:
        return f"player {self.player!r}: {self.what}"

    def remedies(self) -> tuple[str, ...]:
        """Return the user's choices, a line each."""
        return (
            f"put the former build back (SHA-256 {self.before[:12]}), or",
            "give the new build a player code of its own, which counts from zero, or",
            f"if the change does not matter: run --accept-build {self.player}",
        )

    def change(self, place: SettingPath, accepted: bool) -> SettingChange:
        """Return this as a change of the setting that defines the player."""
        return SettingChange(
            place,
            f"player {self.player!r}:",
            self.what,
            self.before,
            self.now,
            "free" if accepted else "refused",
            str(self),
            remedies=self.remedies(),
        )


class Builds:
    """Numbers the builds of the players.

    directory  of the control file; names of files below it are stored relative to it

    accepted   codes of players whose new builds do not matter
    recorded   builds with results, by their numbers in the store
    games      number of results of each, void ones left out
    current    the present build of each player
    """

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self.accepted: Collection[str] = ()
        self.recorded: dict[int, Build] = {}
        self.games: Counter[int] = Counter()
        self.current: dict[str, Build] = {}
        self._numbers: dict[str, int] = {}
        #: Paths of each player's files by name, the program first.
        self._paths: dict[str, dict[str, str]] = {}
        #: Beginnings of each player's commands.
        self._commands: dict[str, set[tuple[str, ...]]] = {}

    def restore(self, recorded: Mapping[int, Build], games: Mapping[int, int]) -> None:
        """Take what is recorded, before `look`."""
        self.recorded, self.games = dict(recorded), Counter(games)

    def of(self, code: str) -> list[Build]:
        """Return the recorded builds of a player, the newest first."""
        return [build for build in reversed(self.recorded.values()) if build.player == code]

    def shown(self, code: str) -> Build:
        """Return the build of a player for reports: the present one, without results the last."""
        current = self.current.get(code, Build(code))
        is_known = code in self._numbers or current.name
        return current if is_known or not self.of(code) else self.of(code)[0]

    def look(self, players: Iterable[tuple[str, Player]], completed: int) -> list[Rebuilt]:
        """Find the present builds; return the players whose files have changed.

        players    with the codes under which they are reported
        completed  number of results so far, for messages
        """
        self._paths, self._commands, self.current, self._numbers = {}, {}, {}, {}
        for code, player in players:
            self._paths.setdefault(code, {}).update(files_of(player))
            self._commands.setdefault(code, set()).add(player.command[:2])
        rebuilt = []
        for code, paths in self._paths.items():
            sums = FileSums(self._known(code, paths))
            files: dict[str, FileSum] = {}
            changed: list[Rebuilt] = []
            for name, path in paths.items():
                key, now = relative(name, self._directory), sums.of(path)
                former = [b.files[key] for b in self.of(code) if key in b.files]
                may_grow = bool(files)
                kept = [sum for sum in former if sums.is_same(path, sum, may_grow=may_grow)]
                files[key] = kept[0] if kept and kept[0].sha256 != now.sha256 else now
                if former and former[0].sha256 and not kept:
                    verb = "was changed" if may_grow else "was rebuilt"
                    what = f"{key} {verb} after {_game(completed)}"
                    changed.append(Rebuilt(code, what, former[0].sha256, now.sha256))
            rebuilt += changed[:1]
            self._choose(code, files)
        return rebuilt

    def _known(self, code: str, paths: Mapping[str, str]) -> dict[str, FileSum]:
        """Return the latest recorded sum of each file by its path."""
        known = {}
        for build in reversed(self.of(code)):
            for name, path in paths.items():
                sum = build.files.get(relative(name, self._directory))
                if sum is not None and sum.mark[:1] == (sum.size,):
                    known[path] = sum
        return known

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

    # names of engines

    def take_check(self, code: str, result: CheckResult) -> Rebuilt | None:
        """Take the facts of a startup check; return a refused change of the engine's name."""
        build = self.current.get(code) or self._choose(code, {})
        renamed = self._renamed(build, result.name) if code == result.code else None
        if renamed is not None:
            if code not in self.accepted:
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
        what = f"its engine is {name} now and was {build.name}, in the same files"
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
            if renamed is not None and code not in self.accepted:
                raise EngineRebuilt("\n".join([str(renamed), *renamed.remedies()]), code)
            if renamed is not None:
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

    def count(self, numbers: Collection[int | None]) -> None:
        """Count a result of builds."""
        self.games.update(number for number in set(numbers) if number is not None)

    # for workers and hosts

    def sums_by_path(self) -> dict[str, FileSum]:
        """Return the sums of all players' files by path."""
        return {
            path: self.current[code].files[relative(name, self._directory)]
            for code, paths in self._paths.items()
            for name, path in paths.items()
        }

    def sums_by_name(self) -> dict[str, str]:
        """Return the SHA-256 of the files that are known here, by name."""
        return {
            name: self.current[code].files[relative(name, self._directory)].sha256
            for code, paths in self._paths.items()
            for name in paths
        }

    def take_sums(self, found: Mapping[str, str]) -> None:
        """Take the SHA-256, by name, of programs that only the hosts of a cluster have."""
        for code, paths in self._paths.items():
            name = next(iter(paths))
            key = relative(name, self._directory)
            build = self.current[code]
            if name in found and not build.files[key].sha256:
                self._choose(code, {**build.files, key: FileSum(found[name])}, build.name)


def _game(number: int) -> str:
    return f"game {number:,}" if number else "the first game"


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

"""The builds of a competition's players: the recorded ones, and the files as they are now."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from ringmaster.control.changes import SettingChange
from ringmaster.errors import UsageError, nearest
from ringmaster.model.builds import Build, FileSum, absolute, commit_sum, files_of, label, sum_of
from ringmaster.model.canonical import relative
from ringmaster.model.players import Player, Source
from ringmaster.model.settings import SettingPath

#: Name of a commit among the files of a build.
_COMMIT: Final = "commit"


def remedies(player: str) -> tuple[str, ...]:
    """Return the user's choices after a change of a player's build, a line each."""
    return (
        "put the former build back,",
        "or give the new one a player code of its own, which counts from zero,",
        f"or, if the change does not matter: run --accept-build {player}",
    )


class Builds:
    """Numbers the builds of the players.

    players    as reported; several with one code have the files of all
    recorded   builds with results, by number
    games      number of results of each, void ones left out
    completed  number of results so far, for messages
    directory  of the control file; names of files below it are stored relative to it
    accepted   codes of players whose changes do not matter
    place_of   returns the setting that defines a player

    Raises UsageError for an accepted player that does not take part.

    current    the present build of each player
    rebuilt    players with other files than in all their recorded builds
    """

    def __init__(
        self,
        players: Iterable[Player],
        recorded: Mapping[int, Build] = {},
        games: Mapping[int, int] = {},
        completed: int = 0,
        *,
        directory: str = "",
        accepted: Collection[str] = (),
        place_of: Callable[[str], SettingPath] = lambda code: ("players", code),
    ) -> None:
        self._directory = directory
        self._accepted = accepted
        self._place_of = place_of
        self.recorded = dict(recorded)
        self.games = Counter(games)
        self.current: dict[str, Build] = {}
        self.rebuilt: list[SettingChange] = []
        #: Numbers of present builds with results.
        self._numbers: dict[str, int] = {}
        #: Paths of each player's files by name, the program first.
        self._paths: dict[str, dict[str, str]] = {}
        #: Sources of players from git.
        self._sources: dict[str, Source] = {}
        for player in players:
            self._paths.setdefault(player.code, {}).update(files_of(player))
            if player.source is not None:
                self._sources[player.code] = player.source
        for code in accepted:
            if code not in self._paths:
                known = nearest(code, [*self._paths])
                raise UsageError(f"--accept-build: no player {code!r}; {known}")
        when = f"after game {completed:,}" if completed else "before the first game"
        for code in self._paths:
            self._choose(code, self._present_files(code, when))

    def _present_files(self, code: str, when: str) -> dict[str, FileSum]:
        """Return the sums of a player's files; note a change if they differ from each recorded
        build's.

        when  "after game 40"
        """
        own = [build.files for build in self.of(code)]
        files: dict[str, FileSum] = {}
        for name, path in self._paths[code].items():
            key = self._key(name)
            former = [sums[key] for sums in own if key in sums]
            files[key] = sum_of(path, former)
            if former and not files[key].sha256 and code not in self._accepted:
                # only hosts of a cluster have it
                files[key] = former[0]
        if source := self._sources.get(code):
            former = [sums[_COMMIT] for sums in own if _COMMIT in sums]
            is_known = source.commit or not former
            files[_COMMIT] = commit_sum(source) if is_known else former[0]
        changed = [
            [key for key in files if key in sums and sums[key].sha256 != files[key].sha256]
            for sums in own
        ]
        if own and all(changed):
            key = changed[0][0]
            verb = "rebuilt" if key == next(iter(files)) else "changed"
            sums = own[0][key].sha256, files[key].sha256
            self.rebuilt.append(self._change(code, f"{key} was {verb} {when}", *sums))
        return files

    def _change(self, code: str, what: str, before: str, now: str) -> SettingChange:
        details = [f"SHA-256 {before[:12]} before, {now[:12]} now"]
        source, former = self._sources.get(code), next((b.source for b in self.of(code)), None)
        if source is not None and former is not None and source.label != former.label:
            text = "(the former one: the former ref, and no --update-refs)"
            details.append(f"commit {former.label} before, {source.label} now {text}")
        details += remedies(code)
        return SettingChange(
            self._place_of(code),
            f"player {code!r}:",
            what,
            before,
            now,
            "free" if code in self._accepted else "refused",
            "the results so far are those of another build",
            details=tuple(details),
        )

    def _key(self, name: str) -> str:
        """Return the name of a file in the store: the same for each commit of a program."""
        for source in self._sources.values():
            if name.startswith(f"{source.folder}/"):
                return os.path.relpath(name, source.folder)
        return relative(name, self._directory)

    def _choose(self, code: str, files: dict[str, FileSum], name: str = "") -> Build:
        """Set the present build: a recorded one with these contents, else a new one.

        name  of the engine, "" for any
        """
        self._numbers.pop(code, None)
        source = self._sources.get(code)
        self.current[code] = Build(code, files, name, source=source)
        for number, build in self.recorded.items():
            same = build.player == code and build.label == label(files.values())
            if same and name in ("", build.name):
                self._numbers[code] = number
                is_built = source is not None and source.commit
                kept = source if is_built else build.source
                self.current[code] = msgspec.structs.replace(build, files=files, source=kept)
        return self.current[code]

    def of(self, code: str) -> list[Build]:
        """Return the recorded builds of a player, the newest first."""
        return [build for build in reversed(self.recorded.values()) if build.player == code]

    def shown(self, code: str) -> Build:
        """Return the build of a player for reports: the present one if it has played or was
        checked, else the last."""
        current = self.current.get(code, Build(code))
        is_known = code in self._numbers or current.name
        return current if is_known else next(iter(self.of(code)), current)

    # reports of engines

    def report(self, code: str, name: str, *, is_own: bool, **facts: Any) -> SettingChange | None:
        """Take facts that an engine reported; return a refused change of its name.

        is_own  whether it is no engine of a candidate with another program
        """
        build = self.current.get(code) or self._choose(code, {})
        if is_own and name and build.name and name != build.name:
            is_recorded = (name, build.label) in [(b.name, b.label) for b in self.of(code)]
            if not is_recorded and code not in self._accepted:
                what = f"its engine is {name} now and was {build.name}, with the same files"
                return self._change(code, what, build.label, build.label)
            build = self._choose(code, build.files, name)
        self.current[code] = msgspec.structs.replace(build, name=build.name or name, **facts)
        return None

    def is_own(self, code: str, player: Player) -> bool:
        """Return whether a player of a job has the program of a reported player."""
        program = next(iter(self._paths.get(code, ())), None)
        return any(program in (word, absolute(word, player.cwd)) for word in player.command)

    def number(self, code: str, now: float) -> tuple[int, Build | None]:
        """Return the number of a player's present build, and the build if it has to be stored.

        now  seconds since the epoch
        """
        build = self.current[code]
        if not build.first_seen:
            build = self.current[code] = msgspec.structs.replace(build, first_seen=now)
        if code not in self._numbers:
            self._numbers[code] = 1 + max([*self.recorded, *self.games], default=0)
        number = self._numbers[code]
        is_new = self.recorded.get(number) != build
        self.recorded[number] = build
        return number, build if is_new else None

    # files for workers and hosts

    def sums(self) -> Iterator[tuple[str, str, FileSum]]:
        """Yield name, path and sum of each present file."""
        for code, paths in self._paths.items():
            for name, path in paths.items():
                sum = self.current[code].files[self._key(name)]
                if sum.sha256:
                    yield name, path, sum

    def take_sums(self, found: Mapping[str, str]) -> None:
        """Take the SHA-256 of programs, by name, that only the hosts of a cluster have."""
        for code, paths in self._paths.items() if found else ():
            name, build = next(iter(paths)), self.current[code]
            if name in found and not build.files[self._key(name)].sha256:
                files = {**build.files, self._key(name): FileSum(found[name])}
                self._choose(code, files, build.name)


def competition_files(settings: Any, directory: str) -> dict[str, str]:
    """Return the SHA-256 of opening files and folders of tablebases in canonical settings, by
    name."""
    kind = settings.get("$") if isinstance(settings, dict) else None
    names = [settings["path"]] if kind == "OpeningsSettings" else []
    names += settings["paths"] if kind == "Tablebases" else []
    sums = {name: sum_of(os.path.join(directory, name)).sha256 for name in names}
    if isinstance(settings, dict | list):
        for item in settings.values() if isinstance(settings, dict) else settings:
            sums |= competition_files(item, directory)
    return sums

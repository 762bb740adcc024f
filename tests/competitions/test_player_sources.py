"""Player(git=…): wrong arguments, and their remedies."""

from __future__ import annotations

from pathlib import Path

import pytest

from ringmaster.errors import ControlFileError
from ringmaster.loaded_competition import LoadedCompetition

GIT = 'git="engine", program="engine"'


def load(folder: Path, player: str) -> LoadedCompetition:
    control = folder / "event.ctl"
    control.write_text(
        'competition_type = "playoff"\ngame = "chess"\nnumber_of_games = 2\n'
        f'players = {{"a": Player({player}), "b": Player("b", nodes=1)}}\nnodes = 1\n'
        'matchups = [Matchup("a", "b")]\n'
    )
    return LoadedCompetition(control)


@pytest.mark.parametrize(
    ("player", "message"),
    [
        ("", "players['a'].command: 'command' is missing; expected a command line"),
        (f'"x", {GIT}', "command and git are two programs; expected program, a path within"),
        ('"x", ref="main"', "ref belongs to a player with git; expected git, the folder or URL"),
        ('build="make"', "build belongs to a player with git"),
        ('"x", bench="bench"', "bench belongs to a player with git"),
        ('git="engine"', "'program' is missing; expected a command line"),
        ('git="", program="x"', "'' is not a file name"),
    ],
)
def test_wrong_arguments_are_refused_when_the_file_is_loaded(
    tmp_path: Path, player: str, message: str
) -> None:
    with pytest.raises(ControlFileError, match="error: players") as refused:
        load(tmp_path, player)
    assert message in str(refused.value)


def test_text_that_git_would_run_is_a_folder(tmp_path: Path) -> None:
    loaded = load(tmp_path, 'git="ext::sh -c x", program="x"')
    with pytest.raises(ControlFileError, match=r"there is no folder .*/ext::sh -c x"):
        loaded.build_engines(print)


def test_engine_from_git_is_shipped_with_its_arguments(tmp_path: Path) -> None:
    loaded = load(tmp_path, 'git="engine", program=["src/engine", "--quiet"]')
    player = loaded.setup().checks[0].player
    assert player.command[1:] == ("--quiet",)
    assert player.command[0].endswith("/src/engine")
    assert player.ship

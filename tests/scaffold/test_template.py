"""`ringmaster new`: its control files load and play, and their comments are the settings' help."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from itertools import cycle, product
from pathlib import Path

import pytest

from ringmaster.competitions import type_names
from ringmaster.errors import SettingError, UsageError
from ringmaster.scaffold import engines
from ringmaster.scaffold.template import GAMES, new_control_file, opening_file
from tests.program import ringmaster, shown
from tests.scaffold.loading import event_of

Find = Callable[[str], str | None]

#: Go engines have no evaluation to tune.
EVERY = [pair for pair in product(GAMES, type_names()) if pair != ("go", "texel")]
#: Each type that needs no file besides the control file with a game; every game with three types.
PLAYED = zip(cycle(GAMES), (name for name in type_names() if name != "texel"), strict=False)
FINDS: dict[str, Find] = {"all": lambda name: name, "none": lambda name: None}


def finds_only(*names: str) -> Find:
    return lambda name: name if name in names else None


@pytest.mark.parametrize("installed", FINDS)
@pytest.mark.parametrize(("game", "type_name"), EVERY)
def test_new_control_file_loads_without_a_warning(
    game: str, type_name: str, installed: str, tmp_path: Path
) -> None:
    text = new_control_file(game, type_name, find=FINDS[installed])
    event = event_of(text, tmp_path)
    assert event.control_file.values["game"] == game
    assert event.control_file.competition_type == type_name
    assert event.control_file.warnings == []
    # an engine that crashes loses
    assert ('\nfailures = "loss"\n' in text) == (game != "go")
    prose = " ".join(text.replace("\n#", " ").split())
    for setting in event.competition.table:
        if setting.name in ("move_limit", "hang_timeout", "record_games"):
            assert " ".join(setting.help.split()) in prose


@pytest.mark.parametrize(("game", "type_name"), EVERY)
def test_each_commented_setting_loads(game: str, type_name: str, tmp_path: Path) -> None:
    text = new_control_file(game, type_name, find=FINDS["all"])
    settings = re.findall(r"^#(\w+ = .*(?:\n#(?! ).*)*)", text, re.MULTILINE)
    assert len(settings) > 5
    for setting in settings:
        try:
            event_of(text + setting.replace("\n#", "\n") + "\n", tmp_path)
        except SettingError as error:
            pytest.fail(f"{setting}: {error}")


def test_texel_is_refused_for_go() -> None:
    with pytest.raises(UsageError, match="no evaluation to tune"):
        new_control_file("go", "texel")


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize(("game", "type_name"), [*PLAYED])
def test_control_file_with_the_demo_engines_plays(
    game: str, type_name: str, tmp_path: Path
) -> None:
    control = tmp_path / "first.ctl"
    text = new_control_file(game, type_name, find=FINDS["none"])
    control.write_text(text + "move_limit = 20\n")
    done = ringmaster(control, "run", "-q", "-j", "2", "-g", "2")
    errors = [line for line in done.stderr.splitlines() if not line.startswith("warning:")]
    assert (done.returncode, errors) == (0, [])
    games = shown(control)["games"]
    assert (games["completed"], games["void"]) == (2, 0)


def test_engines_of_the_machine_are_used() -> None:
    text = new_control_file("chess", "playoff", find=finds_only("glaurung", "toga2"))
    assert '"toga2": Player(' in text
    assert 'Matchup("toga2", "glaurung")' in text
    assert "ringmaster.demo" not in text
    text = new_control_file("chess", "playoff", find=finds_only("stockfish"))
    assert 'Matchup("stockfish", "stockfish-weaker")' in text


def test_engine_beside_the_path_is_called_by_its_full_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "games" / "gnugo"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setattr(engines, "GAMES", (str(program.parent),))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert engines.which("gnugo") == str(program)
    monkeypatch.setenv("PATH", str(program.parent))
    assert engines.which("gnugo") == "gnugo"


def test_opening_file_beside_it_is_used(tmp_path: Path) -> None:
    assert opening_file("chess", tmp_path) is None
    for name in ("b.epd", "a.epd", "a.txt", "c.sfen"):
        (tmp_path / name).write_text("")
    assert opening_file("chess", tmp_path) == "a.epd"
    assert opening_file("shogi", tmp_path) == "c.sfen"
    assert opening_file("go", tmp_path) is None
    text = new_control_file("chess", "playoff", find=FINDS["none"], openings="a.epd")
    assert 'openings = Openings("a.epd", order="random")' in text
    assert "#openings" not in text


def test_shogi_players_have_no_clock_but_byoyomi() -> None:
    # Fairy-Stockfish 11.1 takes the other side's clock for its own and loses on time
    text = new_control_file("shogi", "allplayall", find=FINDS["all"])
    controls = re.findall(r'time_control="([^"]*)"', text)
    assert controls
    assert all(control.startswith("0+") for control in controls)


def test_demo_engines_are_run_by_the_python_of_the_ringmaster(tmp_path: Path) -> None:
    event = event_of(new_control_file("go", "playoff", find=FINDS["none"]), tmp_path)
    players = event.control_file.values["players"].values()
    assert {player.values["command"][0] for player in players} == {sys.executable}


@pytest.mark.parametrize(
    ("game", "type_name", "said"),
    [
        ("ches", "playoff", "there is no game 'ches'; choose from chess, shogi, go"),
        ("chess", "gauntlett", "there is no competition type 'gauntlett'; expected"),
    ],
)
def test_unknown_words_are_answered_with_the_choices(game: str, type_name: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        new_control_file(game, type_name)


@pytest.mark.parametrize(
    ("game", "competition", "words", "score"),
    [
        ("chess", ["stockfish", "toga2", "glaurung"], '"glaurung"', '"eval"'),
        ("chess", ["stockfish", "toga2"], '"toga2"', '"depth 1"'),
        ("shogi", ["fairy-stockfish"], '"ringmaster.demo"', '"eval"'),
    ],
)
def test_texel_file_has_an_engine_with_options_that_change_its_scores(
    game: str, competition: list[str], words: str, score: str
) -> None:
    text = new_control_file(game, "texel", find=finds_only(*competition))
    assert words in text
    assert f"\nscore = {score}\n" in text
    assert "games in progress" not in text

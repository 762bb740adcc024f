"""Warnings about names that look like settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.control.samples import ELSEWHERE, PLAYOFF_FILE, TUNER_FILE, load_text


def warned(folder: Path, lines: str, text: str = PLAYOFF_FILE) -> list[tuple[str, str]]:
    loaded = load_text(folder, text + lines, elsewhere=ELSEWHERE)
    assert all(w.severity == "warning" for w in loaded.warnings)
    return [(w.message.split("'")[1], w.expected) for w in loaded.warnings]


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("number_of_game = 3", "number_of_games"),
        ("Komi = 3", "komi"),
        ("boardsize = 3", "board_size"),
        ("boardSize = 3", "board_size"),
        ("recordgames: bool = False", "record_games"),
        ("if True:\n    descripton = 'x'", "description"),
        ("try:\n    pass\nexcept ValueError:\n    descripton = 'x'", "description"),
        ("boardsize, x = 3, 4", "board_size"),
        ("def matchup(): pass", "matchups"),
        ("player = {}", "players"),
        ("boardsize = 3\nboardsize += 1", "board_size"),
    ],
)
def test_unused_name_like_a_setting_is_a_warning(tmp_path: Path, line: str, meant: str) -> None:
    ((_, expected),) = warned(tmp_path, line + "\n")
    assert expected == repr(meant)


def test_misspelt_exploration_coefficient_is_a_warning(tmp_path: Path) -> None:
    text = TUNER_FILE.replace("exploration_coefficient", "exploration_coeficient")
    (warning,) = load_text(tmp_path, text).warnings
    assert str(warning) == (
        f"{tmp_path / 'tune.ctl'}:46:1: warning: 'exploration_coeficient' is not a setting, and "
        "nothing uses it; expected 'exploration_coefficient'\n"
        "   46 | exploration_coeficient = 0.45\n"
        "      | ^^^^^^^^^^^^^^^^^^^^^^"
    )


@pytest.mark.parametrize(
    "lines",
    [
        "number_of_game = 3\nnumber_of_games = number_of_game",
        "boardsize = 9\ndef f():\n    return boardsize",
        "boardsize = 9\n_text = f'{boardsize}'",
        "boardsize = 9\n_text = '%(boardsize)d' % globals()",
        "_komi = 3",
        "import os as koma",
        "from os import path as players_",
        "for komi_ in range(2):\n    pass",
        "unlike_anything = 3",
        "MAX = 3",
        "class Matchups: pass",
        "def helper():\n    boardsize = 9",
        "komi = 3",
        "rounds = 3\nkomi = rounds",
    ],
)
def test_no_warning_about_names_that_are_used_or_unlike_settings(
    tmp_path: Path, lines: str
) -> None:
    assert warned(tmp_path, lines + "\n") == []


def test_setting_of_another_type_is_a_warning(tmp_path: Path) -> None:
    loaded = load_text(tmp_path, PLAYOFF_FILE + "rounds = 3\n", elsewhere=ELSEWHERE)
    (warning,) = loaded.warnings
    assert warning.message == (
        "'rounds' has no meaning when competition_type is 'playoff'; "
        "it is a setting of 'allplayall'"
    )
    assert (warning.line, warning.column, warning.end_column) == (40, 1, 7)


def test_other_types_are_not_asked_about_a_sound_file(tmp_path: Path) -> None:
    class Unasked(dict[str, list[str]]):
        def __contains__(self, key: object) -> bool:
            raise AssertionError(key)

    assert load_text(tmp_path, PLAYOFF_FILE, elsewhere=Unasked()).warnings == []


def test_name_is_warned_of_where_it_stands_in_characters(tmp_path: Path) -> None:
    loaded = load_text(tmp_path, PLAYOFF_FILE + "_é = 'é'; kommi = 3\n")
    (warning,) = loaded.warnings
    assert (warning.column, warning.end_column) == (11, 16)

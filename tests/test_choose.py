"""`ringmaster choose`: the chosen tuner, its reasons, and settings that load."""

from __future__ import annotations

from pathlib import Path

import pytest

from ringmaster.cli import USAGE, run
from ringmaster.commands.choose import FIGURES, RULES
from ringmaster.loaded_competition import LoadedCompetition

PAGE = Path(__file__).parent.parent / "docs" / "choosing.rst"
CASES = [
    ("", "spsa"),
    ("--parameters 1", "spsa"),
    ("--parameters 2", "spsa"),
    ("--parameters 30 --games 50000 --kinds float,integer", "spsa"),
    ("--parameters 4 --opponents", 'spsa with pairing = "reference"'),
    ("--parameters 2 --opponents --kinds float,integer", "clop_tuner"),
    ("--positions --opponents", "texel"),
    ("--kinds integer,categorical", 'optuna_tuner with sampler = "tpe"'),
    ("--kinds conditional --positions", 'optuna_tuner with sampler = "tpe"'),
    ("--kinds categorical --parameters 2 --games 1", 'optuna_tuner with sampler = "tpe"'),
    ("--kinds categorical --parameters 2 --opponents", "mc_tuner"),
]


def printed(options: str, capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    """Return the sentences, in one line, and the settings."""
    assert run(["choose", *options.split()]) == 0
    sentences, _, settings = capsys.readouterr().out.rpartition("\n\n")
    return " ".join(sentences.split()), settings


@pytest.mark.parametrize(("options", "tuner"), CASES)
def test_tuner_follows_from_parameters_and_games(
    options: str, tuner: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert f", use {tuner}. " in printed(options, capsys)[0]


@pytest.mark.parametrize(("options", "tuner"), CASES)
def test_settings_load_at_the_end_of_a_new_control_file(
    options: str, tuner: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = printed(options, capsys)[1]
    control = tmp_path / "tune.ctl"
    assert run(["new", "shogi", tuner.split()[0], str(control)]) == 0
    opponent = 'players["opponent"] = Player("engine", nodes=100)\n'
    control.write_text(control.read_text() + opponent + settings)
    LoadedCompetition(control)


def test_games_bound_those_of_the_settings(capsys: pytest.CaptureFixture[str]) -> None:
    assert "number_of_games = 7000\n" in printed("--games 7000", capsys)[1]
    settings = printed("--games 7000 --kinds categorical", capsys)[1]
    assert settings.endswith("number_of_trials = 152\ngames_per_trial = 46\n")


def test_quoted_figures_are_those_nearest_to_parameters_and_games(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = printed("--parameters 4 --games 2500", capsys)[0]
    assert "after 2,000 games: spsa 0.99, CLOP 2.3, TPE 7.6, CMA-ES 7.7." in text
    text = printed("--parameters 40 --games 1000000", capsys)[0]
    assert "after 10,000 games: spsa 0.31, CLOP 1.5, TPE 6.3, CMA-ES 5.8." in text


def test_least_worth_of_a_parameter_agrees_with_the_planner(
    capsys: pytest.CaptureFixture[str],
) -> None:
    # plan: 9,930 games halve the loss of a parameter worth 2 Elo
    assert "worth 2 Elo or more" in printed("--games 9930", capsys)[0]
    assert "worth 2 Elo or more" in printed("--games 39721 --opponents", capsys)[0]


@pytest.mark.parametrize(
    "options", ["--kinds text", "--parameters 0", "--games many", "tune.ctl", "--what"]
)
def test_wrong_option_is_refused(options: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["choose", *options.split()]) == USAGE
    assert "ringmaster choose" in capsys.readouterr().err


def test_help_lists_the_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["choose", "--help"]) == 0
    assert "--kinds" in capsys.readouterr().out


def test_page_states_all_rules_and_figures() -> None:
    page = " ".join(PAGE.read_text(encoding="utf-8").split())
    rows = [f"{rule.when} ``{rule.type}``" for rule in RULES]
    rows += [f"{landscape} {_row(tuners)}" for landscape, tuners in FIGURES.items()]
    assert [row for row in rows if row not in page] == []


def _row(tuners: dict[str, tuple[float, ...]]) -> str:
    """Return the cells of a row, – for those without a tune."""
    cells = []
    for name in ("spsa", "CLOP", "TPE", "CMA-ES"):
        lost = [f"{elo:g}" for elo in tuners.get(name, ())]
        cells.append(" / ".join(lost) or "–")
    return " ".join(cells)

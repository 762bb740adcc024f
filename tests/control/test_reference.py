"""The reference documentation of a settings table."""

from __future__ import annotations

from typing import Any

import msgspec

from ringmaster.competitions import competition_class, type_names
from ringmaster.control.calls import calls_in
from ringmaster.model.settings import CallOf, Integer, ListOf, Maybe, OneOf, Setting, String
from scripts.make_reference import changes_rst, cluster_rst, reference_rst
from tests.control.samples import MC_TUNER, PLAYOFF, as_dict


def test_every_setting_and_argument_is_documented() -> None:
    text = reference_rst("mc_tuner", MC_TUNER)
    for setting in MC_TUNER:
        assert f"\n``{setting.name}``\n    " in text
        assert f"\n    {setting.help}\n" in text
    for kind in ("Player", "TimeControl", "Parameter", "LOG"):
        assert text.count(f"\n{kind}\n{'-' * len(kind)}\n") == 1
    assert "``startup_gtp_commands``\n" in text


def test_entry_has_type_default_and_change() -> None:
    table = [
        Setting("games", Integer(minimum=1), "How many.", 10, change="refused"),
        Setting("style", OneOf("a", "b"), "Which way."),
        Setting("note", String(), "Anything.", None),
    ]
    assert reference_rst("my_type", table) == (
        "my_type\n=======\n\n"
        "``games``\n"
        "    An integer of at least 1. Default: ``10``.\n\n"
        "    How many.\n\n"
        "    Cannot be changed between runs: the results so far would lose their meaning.\n\n"
        "``style``\n"
        "    'a' or 'b'. Required.\n\n"
        "    Which way.\n\n"
        "    May be changed between runs.\n\n"
        "``note``\n"
        "    A string. Default: not set (``None``).\n\n"
        "    Anything.\n\n"
        "    May be changed between runs.\n"
    )


def test_ways_to_a_cluster_have_their_common_arguments_once() -> None:
    playoff = competition_class("playoff")
    assert playoff is not None
    text = cluster_rst(playoff.table)
    assert text.count("``pin``\n") == text.count("``jobs``\n") == 1
    for kind in ("Cluster", "Cluster.local", "Cluster.slurm", "Cluster.ssh"):
        assert f"\n{kind}\n{'-' * len(kind)}\n" in text
    assert "``pin``\n" not in reference_rst("playoff", playoff.table)


def test_calls_show_their_arguments() -> None:
    text = reference_rst("playoff", PLAYOFF)
    assert "``Matchup(player_1, player_2, board_size=…, komi=…" in text
    assert "A bare value stands for ``TimeControl(text)``." in text
    assert "Default: ``[]``." in text


def test_markup_characters_of_types_are_escaped() -> None:
    assert r"-!$%&\*+.:;<=>?^\_~" in reference_rst("playoff", PLAYOFF)
    assert reference_rst("odd_", [Setting("x", String(), "Help.")]).startswith("odd\\_\n=====\n")


def at_most_doubled(before: Any, now: Any) -> str:
    return ""


def test_settings_are_grouped_by_the_effect_of_a_change() -> None:
    doubled = Setting("x", Integer(), ".", 1, rule=at_most_doubled, limits="It may be doubled.")
    call = CallOf(
        "Part",
        (
            Setting("code", String(), "."),
            Setting("format", String(), ".", change="report"),
            msgspec.structs.replace(doubled, name="size"),
        ),
        as_dict,
    )
    table = [
        Setting("games", Integer(), ".", 10),
        Setting("seed", Integer(), ".", 0, change="refused"),
        Setting("parts", Maybe(ListOf(call)), ".", None, change="refused"),
    ]
    assert changes_rst({"my_type": table}) == (
        "my_type\n~~~~~~~\n\n"
        ".. list-table::\n   :widths: 60 40\n   :header-rows: 1\n\n"
        "   * - Setting\n     - A change between runs\n"
        "   * - ``games``\n     - Applies from the next game on.\n"
        "   * - ``parts[…].format``\n     - Applies at once, to what is reported.\n"
        "   * - ``seed``, ``parts``\n"
        "     - Refused: the results so far would lose their meaning.\n"
        "   * - ``parts[…].size``\n     - It may be doubled.\n"
    )
    text = reference_rst(
        "my_type",
        [doubled],
    )
    assert "    May be changed between runs. It may be doubled.\n" in text


def test_every_rule_of_a_competition_type_documents_its_limits() -> None:
    for name in type_names():
        competition = competition_class(name)
        assert competition is not None
        settings = [
            *competition.table,
            *(s for c in calls_in(competition.table).values() for s in c.settings),
        ]
        for setting in settings:
            assert bool(setting.rule) == bool(setting.limits), f"{name}: {setting.name}"

"""The reference documentation made from a table."""

from __future__ import annotations

from ringmaster.control.reference import reference_rst
from ringmaster.model.settings import Integer, OneOf, Setting, String
from tests.control.samples import MC_TUNER, PLAYOFF


def test_every_setting_and_argument_is_documented() -> None:
    text = reference_rst("mc_tuner", MC_TUNER)
    for setting in MC_TUNER:
        assert f"\n``{setting.name}``\n    " in text
        assert f"\n    {setting.help}\n" in text
    for kind in ("Player", "TimeControl", "Parameter", "LOG"):
        assert text.count(f"\n{kind}\n{'-' * len(kind)}\n") == 1
    assert "``startup_gtp_commands``\n" in text


def test_entry_tells_type_default_and_change() -> None:
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


def test_calls_show_their_arguments() -> None:
    text = reference_rst("playoff", PLAYOFF)
    assert "``Matchup(player_1, player_2, board_size=…, komi=…" in text
    assert "A bare value stands for ``TimeControl(text)``." in text
    assert "Default: ``[]``." in text


def test_markup_characters_of_types_are_escaped() -> None:
    assert r"-!$%&\*+.:;<=>?^\_~" in reference_rst("playoff", PLAYOFF)
    assert reference_rst("odd_", [Setting("x", String(), "Help.")]).startswith("odd\\_\n=====\n")

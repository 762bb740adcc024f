"""The reference documentation of a settings table."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from ringmaster.commands.options import VERBS
from ringmaster.competitions import competition_class, type_names
from ringmaster.control.calls import calls_in
from ringmaster.model.settings import INHERITED, CallOf, Integer, ListOf, Maybe, Setting, String
from scripts import make_reference
from scripts.make_reference import Reference, changes_rst, cluster_rst
from tests.control.samples import as_dict


@cache
def reference() -> Reference:
    tables = {}
    for name in type_names():
        competition = competition_class(name)
        assert competition is not None
        tables[name] = competition.table
    return Reference(tables)


@pytest.mark.parametrize("type_name", type_names())
def test_every_setting_and_argument_has_one_entry(type_name: str) -> None:
    competition = competition_class(type_name)
    assert competition is not None
    common, own = reference().common_rst(), reference().type_rst(type_name)
    for setting in competition.table:
        entries = common.count(f".. setting:: {setting.name}\n")
        entries += own.count(f".. setting:: {type_name}.{setting.name}\n")
        assert entries >= 1, setting.name
        assert setting.help in common + own
    for kind, call in calls_in(competition.table).items():
        for argument in call.settings if not kind.startswith("Cluster") else ():
            anchors = (f"{kind}.{argument.name}", f"{type_name}.{kind}.{argument.name}")
            inherited = argument.default is INHERITED
            assert inherited or any(f".. setting:: {a}\n" in common + own for a in anchors), anchors


def test_pages_of_all_types_and_the_man_page_are_written(tmp_path: Path) -> None:
    make_reference.write(tmp_path)
    written = {path.stem for path in (tmp_path / "reference").iterdir()}
    assert written == {*type_names(), "common", "cluster", "command_line", "changes"}
    manual = (tmp_path / "man" / "ringmaster.1").read_text(encoding="utf-8")
    commands = (tmp_path / "reference" / "command_line.rst").read_text(encoding="utf-8")
    for verb in (verb for group in VERBS.values() for verb in group):
        assert f".SS {verb.label}" in manual.replace("\\-", "-")
        assert f"{verb.label}\n---" in commands


def test_entry_has_value_default_change_and_example() -> None:
    assert (
        ".. setting:: seed\n\n"
        "   Seed of every random decision.\n\n"
        "   :Value: An integer\n"
        "   :Default: ``0``\n"
        "   :Change: Refused: the results so far would lose their meaning.\n"
        "   :Example: ``seed = 7``\n"
    ) in reference().common_rst()


def test_ways_to_a_cluster_have_their_common_arguments_once() -> None:
    playoff = competition_class("playoff")
    assert playoff is not None
    text = cluster_rst(playoff.table)
    assert text.count(".pin\n") == text.count(".jobs\n") == 1
    for kind in ("Cluster", "Cluster.local", "Cluster.slurm", "Cluster.ssh"):
        assert f"\n{kind}(…)\n" in text
    assert ".pin\n" not in reference().type_rst("playoff") + reference().common_rst()


def test_calls_show_their_arguments() -> None:
    text = reference().type_rst("playoff") + reference().common_rst()
    assert "``Matchup(p1, p2" in text
    assert "A bare value stands for ``TimeControl(text)``." in text
    assert ":Default: ``[]``" in text


def test_markup_characters_of_types_are_escaped() -> None:
    assert r"-!$%&\*+.:;<=>?^\_~" in reference().common_rst()


def test_settings_are_grouped_by_the_effect_of_a_change() -> None:
    call = CallOf(
        "Part",
        (
            Setting("code", String(), "."),
            Setting("format", String(), ".", change="report"),
            Setting("size", Integer(), ".", change="played"),
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
        "   * - ``parts[…].format``\n     - Applies at once.\n"
        "   * - ``parts[…].size``\n     - Applies from the next game on, if it gives the values "
        "that were played; refused otherwise.\n"
        "   * - ``seed``, ``parts``\n"
        "     - Refused: the results so far would lose their meaning.\n"
    )

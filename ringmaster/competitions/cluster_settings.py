"""The setting `cluster`: Cluster(…), Cluster.local(…), …; and the resources that games share."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ringmaster.competitions.setting_types import Choice, flag, optional
from ringmaster.errors import SettingError, nearest, shown
from ringmaster.model.cluster import Calibration, Cluster, Kind, Tls, is_address
from ringmaster.model.jobs import resources_of
from ringmaster.model.players import Player
from ringmaster.model.settings import (
    CallOf,
    Context,
    DictOf,
    FileName,
    Float,
    Identifier,
    Integer,
    ListOf,
    Setting,
    SettingPath,
    SettingType,
    String,
)

_SIZE = re.compile(r"(\d+(?:\.\d+)?) *([KMGT]?)(i?)B?", re.ASCII | re.IGNORECASE)


class Bytes(SettingType):
    """A number of bytes, or a text such as "2 GB"."""

    def describe(self) -> str:
        return "a number of bytes, or a text such as '2 GB'"

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        match = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
        if match is not None:
            base = 1024 if match[3] else 1000
            value = round(float(match[1]) * base ** " KMGT".index(match[2].upper() or " "))
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            return context.refuse(
                path, f"{shown(value)} is not an amount of memory", self.describe()
            )
        return value


RESOURCES = DictOf(Identifier(), Integer(minimum=1))

_HOSTS = (
    optional(
        "games",
        Integer(minimum=1),
        'Games at a time on each worker; by default its resource "games", else its threads.',
    ),
    flag("pin", "Give each game its own CPUs (whole cores where there are enough)."),
    optional(
        "game_memory",
        Bytes(),
        "Memory that an engine may allocate; a host plays no more games at a time than it has "
        "such amounts.  Mapped files are not counted.",
    ),
    Setting(
        "ship",
        ListOf(FileName()),
        "Files and folders for every host, such as tablebases; engines find them in place of the "
        "paths in the control file.",
        (),
    ),
    optional(
        "calibrate",
        String(),
        "Code of a UCI or USI player whose engine is timed on each host; time controls are "
        "multiplied by `nps` over the host's nodes a second.",
    ),
    optional("nps", Float(above=0), "Nodes a second for which the time controls are meant."),
    Setting("resources", RESOURCES, "Tokens of each worker for its games, by resource.", {}),
    Setting(
        "reconnect", Float(above=0), "Seconds to wait for a scheduler that does not answer.", 60.0
    ),
    Setting(
        "wait_for_hosts",
        Float(above=0),
        "Seconds without a host that can play, and without a job in a queue, until the run ends.",
        600.0,
    ),
)


_TLS = {
    "tls_ca": "Certificate of the authority",
    "tls_cert": "Own certificate",
    "tls_key": "Own private key",
}


def _call(suffix: str, kind: Kind, own: tuple[Setting, ...], *positional: str) -> CallOf:
    """Return the call that makes a cluster of a kind, with its own arguments first."""
    names = {setting.name for setting in own}
    names -= {"address", "insecure", "share", "priority", *_TLS}

    def build(values: dict[str, Any], context: Context) -> Cluster:
        address = values.get("address", "")
        if kind == "address" and not is_address(address):
            message = f"{shown(address)} is not the address of a scheduler"
            raise SettingError(("address",), message, "an address such as 'tls://node1:8786'")
        tls = [values.get(name) for name in _TLS]
        if any(tls) and not all(tls):
            raise SettingError((), "TLS needs all of tls_ca, tls_cert and tls_key")
        calibrate, nps = values["calibrate"], values["nps"]
        if calibrate is not None and nps is None:
            raise SettingError(
                ("calibrate",),
                "calibration needs `nps`, the nodes a second of the machine that the time "
                "controls are meant for",
                "nps=1_000_000",
            )
        if calibrate is None and nps is not None:
            raise SettingError(("nps",), "nps has no meaning without `calibrate`")
        return Cluster(
            kind=kind,
            address=address,
            options={name: values[name] for name in names if values[name] is not None},
            games=values["games"],
            pin=values["pin"],
            memory=values["game_memory"],
            calibrate=None if calibrate is None else Calibration(calibrate, nps),
            ship=values["ship"],
            tls=Tls(*map(str, tls)) if any(tls) else None,
            insecure=values.get("insecure", False),
            share=values.get("share", 1.0),
            priority=values.get("priority", 0),
            reconnect=values["reconnect"],
            wait_for_hosts=values["wait_for_hosts"],
            resources=values["resources"],
        )

    return CallOf(f"Cluster{suffix}", (*own, *_HOSTS), build, positional=positional)


_PYTHON = optional(
    "python", String(), "The Python with ringmaster on the hosts; by default this one."
)

CLUSTER = Choice(
    _call(
        "",
        "address",
        (
            Setting("address", String(), "The scheduler's address, such as 'tls://node1:8786'."),
            *(
                optional(name, FileName(), f"{what} (PEM), by default as Dask is configured.")
                for name, what in _TLS.items()
            ),
            Setting(
                "share",
                Float(above=0),
                "Share of the games at a time beside other competitions on the cluster: 3 beside "
                "another's 1 plays three of four.  What one cannot use, the others get.",
                1.0,
            ),
            Setting(
                "priority",
                Integer(),
                "Competitions of a higher priority get all games at a time that they can use.",
                0,
            ),
            flag("insecure", "Allow unencrypted connections (tcp://): see :doc:`/cluster`."),
        ),
        "address",
    ),
    _call(
        ".local",
        "local",
        (Setting("workers", Integer(minimum=1), "Number of workers on this machine.", 2),),
        "workers",
    ),
    _call(
        ".slurm",
        "slurm",
        (
            Setting("jobs", Integer(minimum=1), "Number of Slurm jobs, with a worker each."),
            Setting("cores", Integer(minimum=1), "CPUs of a job."),
            Setting("memory", String(), "Memory of a job, such as '16 GB'."),
            optional("walltime", String(), "Time limit of a job, such as '24:00:00'."),
            optional("queue", String(), "Partition."),
            optional("account", String(), "Account that is charged."),
            optional(
                "interface",
                String(),
                "Network interface between this machine and the jobs, such as 'ib0'.",
            ),
            Setting(
                "directives", ListOf(String()), "Further #SBATCH lines, such as '--exclusive'.", ()
            ),
            Setting("prologue", ListOf(String()), "Shell commands before a worker starts.", ()),
            _PYTHON,
        ),
    ),
    _call(
        ".ssh",
        "ssh",
        (
            Setting(
                "hosts",
                ListOf(String(), minimum=1),
                "Machines with a worker each: names that the program `ssh` and its configuration "
                "know, or user@machine.",
            ),
            _PYTHON,
        ),
        "hosts",
    ),
)

#: For every competition type.
CLUSTER_SETTING = optional(
    "cluster",
    CLUSTER,
    "Play on the hosts of a Dask cluster; ``--cluster`` overrides the address.",
    change="report",
)


def available_resources(values: Mapping[str, Any]) -> dict[str, int]:
    """Return the tokens for the games of one host, by resource."""
    own, of_host = values["resources"], values["cluster"].resources if values["cluster"] else {}
    return {**own, **{name: min(n, own.get(name, n)) for name, n in of_host.items()}}


def check_resources(values: Mapping[str, Any], players: Sequence[Player]) -> None:
    """Raise SettingError if there are never enough tokens for a game of these players."""
    for name, needed in resources_of(players).items():
        available = available_resources(values)
        count = available.get(name, 0)
        if needed > count:
            codes = [player.code for player in players if name in player.resources]
            code = next((code for code in codes if code in values["players"]), codes[0])
            message = f"{' v '.join(codes)} needs {needed} of {name!r}, and there are {count}"
            remedy = f"resources = {{{name!r}: {needed}}} at the top level or in Cluster(…)"
            expected = nearest(name, list(available)) if available and not count else remedy
            raise SettingError(("players", code, "resources", name), message, expected)

# SPDX-License-Identifier: GPL-2.0-only
"""Governors replayed on a record of a virtual machine, and on many."""

from __future__ import annotations

import base64
import dataclasses
import shutil
from pathlib import Path
from typing import Any

import dyntick
import pytest
from dyntick import program

RECORD = """
dyntick record --idle -C 1 -o /x.dt -- cyclictest -q --laptop -p 80 -i 1300 -l 300 -t 1 -a 1 >/dev/null 2>&1
echo @record; busybox base64 /x.dt; echo @"""
DEEPEST = """
#include <linux/cpuidle.h>
#ifndef DEEPEST
#define DEEPEST 1
#endif
static int pick(struct cpuidle_driver *drv, struct cpuidle_device *dev, bool *stop_tick) { return DEEPEST; }
static struct cpuidle_governor own = { .name = "own", .rating = 1, .select = pick };
static int __init start(void) { return cpuidle_register_governor(&own); }
postcore_initcall(start);
"""


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A record of a periodic task and its CPU's idle states."""
    if shutil.which("cyclictest") is None:
        pytest.skip("needs cyclictest: apt-get install rt-tests")
    guest = ["lab", "shell", "--virtual", "--machine", "sapphire-rapids", "--governor", "menu", "--tool", "cyclictest"]
    console = program.printed([*guest, "--", "sh", "-c", RECORD]).replace("\r", "")
    file = tmp_path_factory.mktemp("record") / "x.dt"
    file.write_bytes(base64.b64decode(console.partition("@record\n")[2].partition("\n@")[0]))
    return file


@pytest.fixture
def governors(tmp_path: Path) -> dyntick.Governors:
    """Three variants of a governor that always chooses the same state."""
    source = tmp_path / "own.c"
    source.write_text(DEEPEST)
    return dyntick.Governors(sweeps=[f"{source} -DDEEPEST=1..3"], machine="sapphire-rapids", qos=["none", "20us"])


def begin_ray(ray: Any, cores: int, **variables: str) -> None:
    """Begins a cluster of this test's own: without an address Ray connects to one that already runs on this machine."""
    ray.init(address="local", num_cpus=cores, log_to_driver=False, runtime_env={"env_vars": variables})


@pytest.mark.guest
def test_scores_are_a_table(record: Path, governors: dyntick.Governors) -> None:
    found = dyntick.replay(record, governors=governors)
    scores = found.scores
    assert scores.schema == dyntick.SCORES
    rows = scores.to_pylist()
    assert [row["kind"] for row in rows[:6]] == ["governor"] * 6
    assert [row["limit_ns"] for row in rows[:2]] == [None, 20_000]
    assert {len(row["states"]) for row in rows} == {len(found.document["states"])}
    oracle = next(row for row in rows if row["kind"] == "oracle" and row["limit_ns"] is None)
    assert oracle["right"] == oracle["sleeps"] > 200
    assert oracle["energy_low_j"] <= oracle["energy_j"] <= oracle["energy_high_j"] > 0
    delayed = dyntick.replay(record, governors=dataclasses.replace(governors, feedback=True))
    assert delayed.document["feedback"]
    assert {row["energy_j"] for row in delayed.scores.to_pylist() if row["kind"] == "governor"} == {None}
    with pytest.raises(dyntick.InputError, match="has no drivers/cpuidle/governors/none.c"):
        dyntick.replay(record, governors=["none@6.12"])


@pytest.mark.guest
def test_many_traces_are_replayed_by_ray(record: Path, governors: dyntick.Governors, tmp_path: Path) -> None:
    ray = pytest.importorskip("ray", reason="needs Ray: pip install dyntick[fleet]")
    fleet = pytest.importorskip("dyntick.fleet")
    damaged = tmp_path / "damaged.dt"
    damaged.write_bytes(b"none")
    copies = [tmp_path / f"{number}.dt" for number in range(3)]
    for copy in copies:
        shutil.copy(record, copy)
    one_url = copies[0].as_uri()
    traces = [one_url, str(damaged), *map(str, copies[1:])]
    begin_ray(ray, 2, PYTHONPATH=str(Path(dyntick.__file__).parents[1]))
    try:
        found = fleet.replay([one_url.replace("/0.dt", "/0*.dt"), *traces[1:]], governors)
    finally:
        ray.shutdown()
    assert list(found.failures) == [str(damaged)]
    assert "is not a record" in found.failures[str(damaged)]
    own = dyntick.replay(record, governors=governors).scores
    assert found.scores.column("trace").to_pylist() == [
        name for name in traces if name != str(damaged) for _ in range(len(own))
    ]
    for at in range(3):
        assert found.scores.slice(at * len(own), len(own)).drop_columns(["trace"]).equals(own)


def test_another_build_and_a_place_that_cannot_be_written_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ray = pytest.importorskip("ray", reason="needs Ray: pip install dyntick[fleet]")
    main = pytest.importorskip("dyntick.fleet.__main__").main
    words = ["replay", str(tmp_path / "a.dt"), "--governor", "menu@6.12", "--out"]
    assert main([*words, str(tmp_path / "no-such/scores")]) == 2
    assert "cannot write " in capsys.readouterr().err
    begin_ray(ray, 1, PYTHONPATH=str(Path(dyntick.__file__).parents[1]), DYNTICK="/bin/true")
    try:
        assert main([*words, str(tmp_path / "scores")]) == 1
    finally:
        ray.shutdown()
    printed = capsys.readouterr().out
    assert "its /bin/true is another build of dyntick" in printed and "0 of 1 traces" in printed
    assert [file.name for file in tmp_path.iterdir()] == ["scores"]


def test_replay_without_a_governor_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(dyntick.InputError, match="no governor is named; name one"):
        dyntick.replay(tmp_path / "a.dt", governors=[])


@pytest.mark.parametrize("machine", ["all", "sapphire-rapids,epyc-turin"])
def test_replay_on_several_machines_is_refused_at_once(machine: str) -> None:
    with pytest.raises(dyntick.InputError, match="cannot replay on several machines at once"):
        dyntick.Governors(["menu@6.12"], machine=machine)


def test_dumps_of_idle_states_are_judged(tmp_path: Path) -> None:
    for name, entries in {"before": 100, "after": 400}.items():
        state = "/sys/devices/system/cpu/cpu1/cpuidle/state"
        shallow = {"name": "POLL", "latency": 0, "residency": 0, "usage": 5, "time": 10, "above": 0, "below": 5}
        deep = {"name": "C6", "latency": 290, "residency": 800, "usage": entries, "time": entries * 900, "above": 0, "below": 0}
        lines = [f"{state}{at}/{key}:{value}\n" for at, one in enumerate((shallow, deep)) for key, value in one.items()]
        (tmp_path / name).write_text("".join(lines))
    since_boot = dyntick.idle(tmp_path / "after")
    assert since_boot["since_boot"]
    between = dyntick.idle(tmp_path / "before", tmp_path / "after")
    assert [state["entries"] for state in between["cpus"][0]["states"]] == [0, 300]
    with pytest.raises(dyntick.InputError):
        dyntick.idle(tmp_path / "none")


def test_command_keeps_its_own_options_and_outputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The program writes its document to the file of ``--output``; all else is the command's."""
    words = tmp_path / "dyntick"
    words.write_text(
        '#!/bin/sh\nprintf "%s\\n" "$@" > words\necho own; echo error >&2\n'
        'while [ "$1" != --output ]; do shift; done\necho \'{"format": "dyntick-idle"}\' > "$2"\nexit 7\n'
    )
    words.chmod(0o755)
    monkeypatch.setenv("DYNTICK", str(words))
    monkeypatch.chdir(tmp_path)
    dyntick.idle(cpus="2", seconds=0.5, command=["ls", "--json"])
    said = (tmp_path / "words").read_text().split()
    assert said[:7] == ["idle", "--cpu", "2", "--time", "0.5s", "--json", "--output"]
    assert said[8:] == ["--", "ls", "--json"] and not Path(said[7]).exists()
    assert capfd.readouterr() == ("own\n", "error\n")

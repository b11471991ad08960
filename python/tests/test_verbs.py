# SPDX-License-Identifier: GPL-2.0-only
"""The verbs, by the program itself."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import dyntick
import pytest
from conftest import TRACE
from dyntick import program


def test_errors_are_the_programs_own(tmp_path: Path) -> None:
    foreign = tmp_path / "x.dt"
    foreign.write_text("nothing")
    with pytest.raises(dyntick.InputError, match="is not a record") as caught:
        dyntick.explain(foreign)
    assert caught.value.status == 2
    with pytest.raises(dyntick.InputError, match="no study 'no-such'"):
        dyntick.run("no-such")
    with pytest.raises(dyntick.InputError, match="no study 'no-such'"):
        dyntick.Study.from_toml("no-such")


def test_wrong_argument_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(dyntick.InputError, match="^invalid value 'nonsense' for '--at-most <LIMIT>': must be WHAT MOST") as caught:
        dyntick.explain(tmp_path / "x.dt", at_most=["nonsense"])
    assert "\n" not in caught.value.text and caught.value.status == 2


def test_wrong_study_is_named_with_its_line(tmp_path: Path) -> None:
    study = tmp_path / "mine.toml"
    study.write_text("title = 't'\nquestion = 'q'\n[[case]]\nname = 'a'\nkernl = 'x'\n")
    with pytest.raises(dyntick.InputError, match="did you mean 'kernel'") as caught:
        dyntick.run(study, out=tmp_path / "out")
    assert (caught.value.file, caught.value.line) == (str(study), 3)
    study.write_text("title = ")
    with pytest.raises(dyntick.InputError, match="mine.toml"):
        dyntick.Study.from_toml(study)


def test_missing_program_is_an_error_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DYNTICK", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr("sysconfig.get_path", lambda *_: "/nowhere")
    with pytest.raises(dyntick.EnvironmentFault, match="install the package dyntick again"):
        program.path()


def test_files_of_other_tools_are_compared(tmp_path: Path) -> None:
    for name, took in {"before": 20, "after": 10}.items():
        folder = tmp_path / name
        folder.mkdir()
        for run in range(8):
            (folder / f"{run}.txt").write_text(
                f"T: 0 ( 1) P:80 I:1000 C: 9999 Min: {took - 2} Act: 4 Avg: {took + run % 3} Max: {took + 30}\n"
            )
    found = dyntick.compare(tmp_path / "before", tmp_path / "after", unit="us", metrics=["avg"])
    assert found["labels"] == ["before", "after"]
    assert len(found["rows"]) == 1


def test_programs_without_a_reader_are_compared(tmp_path: Path) -> None:
    for name, took in {"before": 20, "after": 10}.items():
        (tmp_path / name).mkdir()
        for run in range(8):
            (tmp_path / name / f"{run}.txt").write_text(f"took {took}.{run} ms\n")
            (tmp_path / f"{name}.json").mkdir(exist_ok=True)
            (tmp_path / f"{name}.json" / f"{run}.json").write_text(f'{{"runs": [{took}.{run}]}}')
    words = dyntick.compare(
        tmp_path / "before", tmp_path / "after", patterns=["time=took ([0-9.]+) ms"], unit="ms", better="lower"
    )
    numbers = dyntick.compare(tmp_path / "before.json", tmp_path / "after.json", paths=["runs.0"], better="higher")
    rows = [found["rows"][0] for found in (words, numbers)]
    assert [(row["metric"], row["unit"], row["better"]) for row in rows] == [("time", "ms", "lower"), ("runs.0", "", "higher")]
    assert dyntick.compare(tmp_path / "before", tmp_path / "after", patterns=["([0-9.]+) ms"], above=["20us", "1ms"])[
        "question"
    ]["limits"] == [20_000, 1_000_000]


def test_command_is_measured_and_prints(capfd: pytest.CaptureFixture[str]) -> None:
    """Without the right to count, the document says so."""
    found = dyntick.stat(["sh", "-c", "echo own; echo --json >&2; exit 7"], at_most=["ticks 1000/s"])
    assert found["command"][0] == "sh" and found["measured_ns"] > 0
    printed = capfd.readouterr()
    assert printed.out == "own\n" and "--json\n" in printed.err
    assert found["counted"] == (found["gate"] is not None and found["gate"]["held"] is not None)
    of_cpu = dyntick.stat(cpus="0", seconds=0.05, events=["ticks"])
    assert [cpu["cpu"] for cpu in of_cpu["cpus"]] == [0]
    with pytest.raises(dyntick.DyntickError, match="^cannot run '/no/such'"):
        dyntick.stat(["/no/such"])
    with pytest.raises(dyntick.InputError, match="neither a command nor a time"):
        dyntick.stat()


def test_trace_is_explained_within_limits(tmp_path: Path) -> None:
    trace, page = tmp_path / "trace.txt", tmp_path / "x.html"
    trace.write_text(TRACE)
    both = dyntick.explain(trace, html=page)
    assert [cpu["cpu"] for cpu in both["cpus"]] == [0, 1] and page.read_text().startswith("<!")
    one = dyntick.explain(trace, cpus="1", at_most=["interruptions 0", "interruptions 9"])
    assert [cpu["cpu"] for cpu in one["cpus"]] == [1]
    # The trace has no event of interrupts from other CPUs, so it cannot keep a limit on all interruptions.
    assert one["gate"] and [limit["held"] for limit in one["gate"]["of"]] == [False, None]
    with pytest.raises(dyntick.InputError, match="has no sched:sched_switch"):
        dyntick.explain(trace, of="app")
    with pytest.raises(dyntick.InputError, match="neither a record nor a command"):
        dyntick.explain()


def test_sleeps_of_a_trace_are_judged_by_a_machine(tmp_path: Path) -> None:
    trace = tmp_path / "trace.txt"
    trace.write_text(TRACE)
    assert dyntick.idle(trace, cpus="1")["judged"]["too_deep"] is None
    judged = dyntick.idle(trace, cpus="1", machine="sapphire-rapids")
    assert [state["name"] for state in judged["cpus"][0]["states"]] == ["POLL", "C1", "C1E", "C6"]
    assert judged["judged"]["too_deep"] == 0
    with pytest.raises(dyntick.InputError, match="no machine 'none'"):
        dyntick.idle(trace, machine="none")


def test_folder_of_a_machine_is_checked(tmp_path: Path) -> None:
    (tmp_path / "proc/sys/kernel").mkdir(parents=True)
    (tmp_path / "proc/cmdline").write_text("nohz_full=1-3 isolcpu=2\n")
    (tmp_path / "proc/sys/kernel/osrelease").write_text("6.12.1\n")
    online = tmp_path / "sys/devices/system/cpu"
    online.mkdir(parents=True)
    for name in ("online", "possible", "present"):
        (online / name).write_text("0-3\n")
    found = dyntick.check(tmp_path)
    assert "parameter-typo" in {finding["rule"] for finding in found["findings"]}


def test_shipped_studies_stay_the_same_as_python_and_back(tmp_path: Path) -> None:
    study = dyntick.Study.from_toml("adaptive-ticks")
    assert study.definition["case"]
    file = tmp_path / "adaptive-ticks.toml"
    file.write_text(study.to_toml())
    again = dyntick.Study.from_toml(file)
    assert (again.definition, again.name, again.folder) == (study.definition, study.name, tmp_path)
    with again.file() as kept:
        assert kept.parent == tmp_path, "relative paths begin there"
    assert sorted(tmp_path.iterdir()) == [file]


def test_interrupt_ends_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's Ctrl-C becomes the program's: it ends in order, and none is left."""
    waiting = tmp_path / "dyntick"
    waiting.write_text("#!/bin/sh\ntrap 'touch ended; exit 130' INT\necho ready >&2\nwhile :; do sleep 0.05; done\n")
    waiting.chmod(0o755)
    monkeypatch.setenv("DYNTICK", str(waiting))
    monkeypatch.chdir(tmp_path)
    # A process that was started in the background ignores it, and its children do, too.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    lines: list[str] = []

    def interrupt(line: str) -> None:
        lines.append(line)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    try:
        with pytest.raises(KeyboardInterrupt):
            program.document(["lab", "run"], "dyntick-lab-run", progress=interrupt)
    finally:
        signal.signal(signal.SIGINT, before)
    assert lines == ["ready"]
    assert (tmp_path / "ended").exists()


@pytest.mark.skipif(os.environ.get("DYNTICK_SCHEMAS") is None, reason="the schemas are in the sources only")
def test_types_are_those_of_the_schemas(tmp_path: Path) -> None:
    """Makes the types once more from the book's schemas: `python documents.py` renews them."""
    import documents

    documents.make(tmp_path)
    own = Path(dyntick.__file__).parent / "documents"
    made = {file.name: file.read_text() for file in tmp_path.glob("*.py")}
    assert made == {file.name: file.read_text() for file in own.glob("*.py")}

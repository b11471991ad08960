# SPDX-License-Identifier: GPL-2.0-only
"""A Ray cluster of several nodes on this machine: its runs are those of a local run, to the byte."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dyntick
import pytest
from dyntick.packing import differing, packed, unpacked
from test_guest import STUDY

ray = pytest.importorskip("ray", reason="needs Ray: pip install dyntick[fleet]")
cluster_utils = pytest.importorskip("ray.cluster_utils")
fleet = pytest.importorskip("dyntick.fleet")
job = pytest.importorskip("dyntick.fleet.job")


@pytest.fixture
def cluster() -> Iterator[Any]:
    """A cluster whose head runs nothing; nodes are added by the test."""
    made = cluster_utils.Cluster(initialize_head=True, connect=False, head_node_args={"num_cpus": 0})
    # Its workers import this package from where this process does.
    path = os.pathsep.join([str(Path(dyntick.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    ray.init(address=made.address, log_to_driver=False, runtime_env={"env_vars": {"PYTHONPATH": path}})
    yield made
    ray.shutdown()
    made.shutdown()


def all_packed(folder: Path) -> dict[str, bytes]:
    return {run.name: packed(run) for run in (folder / "runs").iterdir()}


@pytest.mark.guest
def test_runs_of_a_fleet_are_those_of_one_machine(cluster: Any, tmp_path: Path) -> None:
    cluster.add_node(num_cpus=1)
    cluster.add_node(num_cpus=1)
    lines: list[str] = []
    spread = fleet.run(STUDY, out=tmp_path / "fleet", verify_percent=50, progress=lines.append)
    assert (spread.failures, spread.rulings) == ({}, {"The tick stops.": ["reproduced"]})
    assert [line[:7] for line in lines] == ["1 of 2:", "2 of 2:"]
    (verified,) = spread.verified
    assert (verified.differing, verified.failure) == ({}, None)
    assert spread.core_hours > 0

    local = dyntick.run(STUDY, out=tmp_path / "local")
    mine, theirs = all_packed(tmp_path / "local"), all_packed(tmp_path / "fleet")
    assert mine.keys() == theirs.keys()
    assert {name: differing(mine[name], theirs[name]) for name in mine} == {name: [] for name in mine}
    assert spread.figures.equals(local.figures)
    assert all(run["made_here"] for run in spread.runs)

    # A run that was changed does not count.
    (quiet,) = (tmp_path / "fleet/runs").glob("quiet.*")
    (quiet / "raw/interrupts.after").write_text("changed")
    changed = fleet.run(STUDY, out=tmp_path / "fleet", verify_percent=100, progress=False)
    found = {verified.case: verified.differing for verified in changed.verified}
    assert found == {"ticking": {}, "quiet": {}}
    assert [run.name for run in (tmp_path / "fleet/runs").glob("*.another-*")] == [f"{quiet.name}.another-1"]
    shutil.rmtree(tmp_path / f"fleet/runs/{quiet.name}.another-1")

    # A driver that was killed and is started again runs only what is missing.
    (gone,) = (tmp_path / "fleet/runs").glob("quiet.*")
    gone.rename(tmp_path / "gone")
    lines.clear()
    again = fleet.run(STUDY, out=tmp_path / "fleet", progress=lines.append)
    assert [line.split()[3] for line in lines] == ["quiet"]
    assert differing(packed(gone), packed(tmp_path / "gone")) == []
    assert again.document == spread.document


@pytest.mark.guest
def test_node_that_is_lost_costs_what_it_was_doing(cluster: Any, tmp_path: Path) -> None:
    lost = cluster.add_node(num_cpus=1)
    found: list[Any] = []
    driver = threading.Thread(target=lambda: found.append(fleet.run(STUDY, out=tmp_path, progress=False)))
    driver.start()
    wait_for_guest(lost)
    cluster.add_node(num_cpus=1)
    cluster.remove_node(lost, allow_graceful=False)
    driver.join()
    assert found[0].failures == {}
    assert found[0].rulings == {"The tick stops.": ["reproduced"]}


def wait_for_guest(node: Any) -> None:
    """Waits until a guest runs below a node."""
    above = {info.process.pid for infos in node.all_processes.values() for info in infos}
    while not any(is_below(pid, above) for pid in guests()):
        threading.Event().wait(0.1)


def guests() -> list[int]:
    found: list[int] = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"-kernel" in words and b"qemu-system" in words[0]:
            found.append(int(process.name))
    return found


def is_below(pid: int, above: set[int]) -> bool:
    while pid > 1:
        if pid in above:
            return True
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return False
    return False


def test_cases_run_where_their_tools_are(cluster: Any, tmp_path: Path) -> None:
    empty = tmp_path / "bin"
    empty.mkdir()
    tool = tmp_path / "tools"
    tool.mkdir()
    (tool / "measure").write_text("#!/bin/sh\n")
    (tool / "measure").chmod(0o755)
    cluster.add_node(num_cpus=1)
    cluster.add_node(num_cpus=1, env_vars={"PATH": f"{tool}:{os.environ['PATH']}"})
    found = fleet.Fleet.of(["measure", "sh"])
    assert sorted(sorted(node.tools) for node in found.nodes if node.tools != {"sh"}) == [["measure", "sh"]]
    case = {"id": "a", "clock": "virtual", "tools": [{"name": "measure", "package": None, "installed": False}]}
    assert [sorted(node.tools) for node in found.able(case)] == [["measure", "sh"]]
    with pytest.raises(dyntick.EnvironmentFault, match="cannot run b on any node: none has all of no-such"):
        found.able({"id": "b", "clock": "virtual", "tools": [{"name": "no-such", "package": None, "installed": False}]})


def test_cases_run_where_kvm_or_a_compiler_is() -> None:
    def ability(node: str, kvm: bool, builds: bool) -> Any:
        return fleet.driver.Ability(node, node, "", "", frozenset(), kvm, builds, ())

    both = fleet.Fleet([ability("emulates", False, True), ability("fast", True, False)])
    wall, virtual = ({"id": clock, "clock": clock, "tools": []} for clock in ("wall", "virtual"))
    assert [one.node for one in both.able(wall)] == ["fast"]
    assert [one.node for one in both.able(virtual)] == ["emulates", "fast"]
    assert [one.node for one in both.builders()] == ["emulates"]
    assert [one.node for one in fleet.Fleet(both.nodes[:1]).able(wall)] == ["emulates"], "none has KVM"
    with pytest.raises(dyntick.EnvironmentFault, match="cannot build a kernel on any node"):
        fleet.Fleet(both.nodes[1:]).builders()


def planned(name: str, seconds: float, memory: int = 1, tool: str = "sh") -> Any:
    tools = [{"name": tool, "package": None, "installed": True}]
    needs = {"clock": "virtual", "cpus": 2, "memory": memory, "kernel": "debian:6.12", "builds": False, "tools": tools}
    return {"id": name, "runs": 1, "estimated_s": seconds, **needs}


def test_short_cases_share_a_task_and_the_last_ones_are_alone() -> None:
    def ability(node: str, *tools: str) -> Any:
        return fleet.driver.Ability(node, node, "", "", frozenset(tools), False, False, ())

    both = fleet.Fleet([ability("a", "sh", "measure"), ability("b", "sh")], cores=2)
    work = fleet.driver._Work(None, both)
    cases = [planned("long", 300), *(planned(f"short-{at}", 10) for at in range(20))]
    sizes = [len(task) for task in work.tasks(cases)]
    assert [case for task in work.tasks(cases) for case in task] == cases, "in their order, each once"
    assert sizes[:2] == [1, 5] and sizes[-4:] == [1, 1, 1, 1] and sizes[1:] == sorted(sizes[1:], reverse=True)

    unlike = [planned("a", 1), planned("b", 1, memory=2), planned("c", 1, tool="measure"), planned("d", 1)]
    plenty = fleet.driver._Work(None, fleet.Fleet(both.nodes, cores=0.01))
    assert [[case["id"] for case in task] for task in plenty.tasks(unlike)] == [["a", "d"], ["b"], ["c"]]


def test_case_that_fails_does_not_fail_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that ends without a document if the case `bad` is among those that it is to run."""
    program = tmp_path / "dyntick"
    program.write_text(
        '#!/bin/sh\ncase "$*" in *bad*) echo "dyntick: no memory" >&2; exit 2;; esac\n'
        'echo \'{"format": "dyntick-lab-run", "runs": [{"case": "slow", "repetition": 0, "failure": "it hung"}]}\'\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("DYNTICK", str(program))
    sent = job.Job("mine", None, dyntick.Changes(cases=["all"]), None)
    failures = fleet.driver.node._failures(sent, "mine", ["good", "bad"], tmp_path / "out")
    assert failures == {"slow": "it hung", "bad": "no memory"}


@pytest.mark.parametrize(
    ("address", "error", "words"),
    [
        ("127.0.0.1:1", dyntick.EnvironmentFault, "cannot connect to Ray at 127.0.0.1:1: Connection refused; begin it"),
        ("ray://127.0.0.1:1", dyntick.EnvironmentFault, "cannot connect to Ray at ray://127.0.0.1:1: Connection refused"),
        ("none.invalid:6379", dyntick.EnvironmentFault, "cannot connect to Ray at none.invalid:6379: .*; begin it there"),
        ("nowhere", dyntick.InputError, "cannot connect to Ray at nowhere: .*; name HOST:PORT"),
    ],
)
def test_address_without_ray_is_an_error_at_once(address: str, error: type[Exception], words: str) -> None:
    begin = time.monotonic()
    with pytest.raises(error, match=words):
        fleet.run(STUDY, address=address, progress=False)
    assert time.monotonic() - begin < 20


def test_cluster_with_a_token_says_how_to_use_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> None:
        refused = RuntimeError("ray.exceptions.AuthenticationError: RPC error: InvalidAuthToken")
        raise ConnectionError("Failed to connect to Ray cluster") from refused

    monkeypatch.setattr(ray, "init", refuse)
    with pytest.raises(dyntick.EnvironmentFault, match="it was begun with a token; set RAY_AUTH_MODE=token"):
        fleet.run(STUDY, progress=False)


def test_other_build_of_the_program_is_refused(cluster: Any, tmp_path: Path) -> None:
    other = tmp_path / "dyntick"
    other.write_text(f"#!/bin/sh\nexec {dyntick.program.path()} \"$@\"\n")
    other.chmod(0o755)
    cluster.add_node(num_cpus=1, env_vars={"DYNTICK": str(other)})
    with pytest.raises(dyntick.EnvironmentFault, match="it has another build of dyntick"):
        fleet.Fleet.of([])


def test_runs_are_packed_alike_and_unpacked_whole(tmp_path: Path) -> None:
    run = tmp_path / "run"
    (run / "raw").mkdir(parents=True)
    (run / "raw/trace.cpu0").write_bytes(b"x" * 5000)
    (run / "timing.json").write_text("1")
    contents = packed(run)
    unpacked(contents, tmp_path / "again")
    assert packed(tmp_path / "again") == contents
    (tmp_path / "again/timing.json").write_text("2")
    assert differing(contents, packed(tmp_path / "again")) == []
    (tmp_path / "again/raw/trace.cpu0").write_bytes(b"y" * 5000)
    assert differing(contents, packed(tmp_path / "again")) == ["raw/trace.cpu0"]
    with pytest.raises(Exception):
        unpacked(contents[:2000], tmp_path / "damaged")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again", "run"]


def test_study_takes_the_files_that_it_names(tmp_path: Path) -> None:
    (tmp_path / "patches").mkdir()
    (tmp_path / "patches/fix.patch").write_text("--- a\n")
    study = tmp_path / "mine.toml"
    study.write_text(
        "title = 't'\nquestion = 'q'\n[kernels.mine]\nsource = 'debian:6.12'\nconfig = ['lab']\n"
        "patches = ['patches/fix.patch']\n[[case]]\nname = 'a'\nkernel = 'mine'\n"
    )
    sent = job.Job.of(study, dyntick.Changes())
    assert sent.files == {"patches/fix.patch": b"--- a\n"}
    there = tmp_path / "there"
    assert Path(sent.unpack(there)).read_text() == sent.text
    assert (there / "patches/fix.patch").read_text() == "--- a\n"
    (tmp_path / "linux").mkdir()
    study.write_text(study.read_text().replace("debian:6.12", "./linux"))
    with pytest.raises(dyntick.InputError, match="it needs .*linux of this machine"):
        job.Job.of(study, dyntick.Changes())


def test_kernel_is_built_once_for_all_caches_of_a_laboratory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that counts what it compiles takes the place of dyntick; the caches are of two nodes and a stranger."""
    pytest.importorskip("fsspec", reason="needs fsspec: pip install dyntick[store]")
    program = tmp_path / "dyntick"
    program.write_text(
        "#!/bin/sh\nif ! [ -d $DYNTICK_CACHE/built/0123 ]; then mkdir -p $DYNTICK_CACHE/built/0123\n"
        "echo compiled >> $DYNTICK_CACHE/../compiled; echo image > $DYNTICK_CACHE/built/0123/bzImage; fi\n"
        'echo \'{"format": "dyntick-lab-build", "kernels": [{"key": "0123"}]}\'\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("DYNTICK", str(program))
    study = dyntick.Study({"title": "t", "question": "q", "case": [{"name": "a", "kernel": "own"}]}, name="mine")

    def compiled_for(node: str, secret: bytes) -> int:
        (tmp_path / node).mkdir(exist_ok=True)
        (tmp_path / node / job.SECRET).write_bytes(secret)
        monkeypatch.setenv("DYNTICK_CACHE", str(tmp_path / node))
        sent = job.Job.of(study, dyntick.Changes(), store=str(tmp_path / "store"))
        (kernel,) = fleet.driver.node.prepare(sent, "own", builds=True)
        assert (kernel.place, (tmp_path / node / "built/0123/bzImage").read_text()) == ("built/0123", "image\n")
        return len((tmp_path / "compiled").read_text().splitlines())

    assert compiled_for("first", b"own") == 1
    assert compiled_for("second", b"own") == 1, "it comes from the store"
    assert compiled_for("stranger", b"other") == 2, "a kernel of another laboratory is not believed"
    (stored,) = (tmp_path / "store/kernels").iterdir()
    stored.write_bytes(stored.read_bytes()[:-1] + b"x")
    assert compiled_for("third", b"other") == 3, "it was changed"
    assert compiled_for("fourth", b"other") == 3, "a good one is in its place"


def test_kernel_of_this_machine_is_refused(cluster: Any, tmp_path: Path) -> None:
    cluster.add_node(num_cpus=1)
    with pytest.raises(dyntick.InputError, match="its kernel, host, is of this one"):
        fleet.run(STUDY, changes=dyntick.Changes(kernels=["host"]), out=tmp_path, progress=False)


def test_cluster_file_is_one_of_rays() -> None:
    util = pytest.importorskip("ray.autoscaler._private.util")
    file = Path(dyntick.__file__).parents[2] / "contrib/fleet/cluster.yaml"
    if not file.is_file():
        pytest.skip("the package is installed, without the source tree")
    yaml = pytest.importorskip("yaml")
    config = util.prepare_config(yaml.safe_load(file.read_text()))
    util.validate_config(config)
    assert config["docker"]["image"] and len(config["provider"]["worker_ips"]) == config["max_workers"]

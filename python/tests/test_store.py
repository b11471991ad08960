# SPDX-License-Identifier: GPL-2.0-only
"""Stores that laboratories share: in a folder, in memory, on a full disk, and in an object store."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dyntick
import pytest
from dyntick.packing import differing, packed
from test_guest import STUDY

pytest.importorskip("fsspec", reason="needs fsspec: pip install dyntick[store]")
from dyntick.store import Store  # noqa: E402

QUIET = dyntick.Changes(cases=["quiet"])


@pytest.fixture(params=["folder", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "store") if request.param == "folder" else f"memory://{uuid.uuid4().hex}"


def test_objects_are_stored_read_and_pruned(place: str) -> None:
    store = Store(place)
    assert (store.names("runs"), store.get("runs/a")) == ([], None)
    for name, length in [("runs/a", 1000), ("runs/b", 2000), ("kernels/c", 4000)]:
        store.put(name, b"x" * length)
    store.put("runs/a", b"y" * 500)
    assert (store.names("runs"), store.get("runs/a")) == (["a", "b"], b"y" * 500)
    assert [one.name for one in store.prune(unused_for_days=1)] == []
    assert [one.name for one in store.prune(at_most=10_000)] == []
    removed = store.prune(at_most=2500, keep=["runs/b"])
    assert "runs/b" not in [one.name for one in removed] and sum(one.bytes for one in removed) >= 4000
    assert [one.name for one in store.prune(unused_for_days=-1, keep=["runs"])] == []
    assert "b" in store.names("runs")


def test_no_part_of_an_object_is_left_on_a_full_disk(tmp_path: Path) -> None:
    with full_disk(tmp_path / "disk", "64k") as disk:
        store = Store(str(disk))
        with pytest.raises(dyntick.EnvironmentFault, match="cannot store runs/a in .*: .*No space left"):
            store.put("runs/a", b"x" * (1 << 20))
        assert [path for path in disk.rglob("*") if path.is_file()] == []


def test_place_that_nothing_reaches_is_an_error() -> None:
    with pytest.raises(dyntick.EnvironmentFault, match="cannot use the store nowhere://a"):
        Store("nowhere://a")


class full_disk:
    """A small file system, where this process may mount one."""

    def __init__(self, place: Path, size: str) -> None:
        self.place, self.size = place, size

    def __enter__(self) -> Path:
        self.place.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", f"size={self.size}", "dyntick-test", str(self.place)]
        if os.geteuid() != 0 or subprocess.run(mount, stderr=subprocess.DEVNULL).returncode != 0:
            pytest.skip("needs the right to mount a file system")
        return self.place

    def __exit__(self, *_: object) -> None:
        subprocess.run(["umount", str(self.place)], check=True)


@contextmanager
def another_laboratory(monkeypatch: pytest.MonkeyPatch, place: Path) -> Iterator[None]:
    """Another laboratory: a cache with a secret of its own, and the kernels of this user's. It can boot nothing."""
    place.mkdir()
    for part in dyntick.program.cache().iterdir():
        if part.is_dir() and part.name != "scratch":
            (place / part.name).symlink_to(part)
        elif part.is_file() and not part.name.startswith("seal.secret"):
            shutil.copy(part, place / part.name)
    with monkeypatch.context() as here:
        here.setenv("DYNTICK_CACHE", str(place))
        yield


@pytest.mark.guest
def test_runs_of_another_laboratory_are_taken_and_marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = tmp_path / "store"
    first = dyntick.run(STUDY, changes=QUIET, out=tmp_path / "first", store=store)
    (stored,) = (store / "runs").iterdir()
    assert [run["made_here"] for run in first.runs] == [True]

    with another_laboratory(monkeypatch, tmp_path / "cache"):
        taken = dyntick.run(STUDY, changes=QUIET, out=tmp_path / "taken", store=store)
    assert [run["made_here"] for run in taken.runs] == [False]
    assert taken.figures.equals(first.figures)
    (copy,) = (tmp_path / "taken/runs").iterdir()
    assert differing(packed(copy), packed(stored)) == []

    # A run that was changed is refused, and made here.
    (stored / "raw/interrupts.after").write_text("changed")
    lines: list[str] = []
    made = dyntick.run(STUDY, changes=QUIET, out=tmp_path / "made", store=store, progress=lines.append)
    assert any("in the store is refused" in line and "raw/interrupts.after" in line for line in lines), lines
    assert [run["made_here"] for run in made.runs] == [True]
    (own,) = (tmp_path / "made/runs").iterdir()
    assert differing(packed(own), packed(copy)) == []
    assert differing(packed(store / "runs" / own.name), packed(own)) == []


@pytest.mark.guest
def test_study_goes_on_beside_a_full_store(tmp_path: Path) -> None:
    lines: list[str] = []
    with full_disk(tmp_path / "disk", "64k") as disk:
        run = dyntick.run(STUDY, changes=QUIET, out=tmp_path / "out", store=disk, progress=lines.append)
        assert [path for path in disk.rglob("*") if path.is_file()] == []
    assert [one["made_here"] for one in run.runs] == [True]
    assert any("cannot give the run of quiet to the store" in line and "No space left" in line for line in lines), lines


@pytest.mark.guest
def test_two_studies_at_once_share_a_store(tmp_path: Path) -> None:
    found: list[dyntick.Report] = []

    def run(name: str) -> None:
        found.append(dyntick.run(STUDY, out=tmp_path / name, store=tmp_path / "store"))

    both = [threading.Thread(target=run, args=[name]) for name in ("one", "other")]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    one, other = found
    assert one.figures.equals(other.figures)
    names = sorted(run.name for run in (tmp_path / "store/runs").iterdir())
    assert names == sorted(run.name for run in (tmp_path / "one/runs").iterdir())


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An object store of S3's protocol on this machine."""
    moto_server = pytest.importorskip("moto.server", reason="needs moto: pip install 'moto[s3,server]'")
    s3fs = pytest.importorskip("s3fs", reason="needs s3fs")
    server = moto_server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    for name, value in [
        ("AWS_ENDPOINT_URL", f"http://{host}:{port}"),
        ("AWS_ACCESS_KEY_ID", "testing"),
        ("AWS_SECRET_ACCESS_KEY", "testing"),
        ("AWS_DEFAULT_REGION", "us-east-1"),
    ]:
        monkeypatch.setenv(name, value)
    s3fs.S3FileSystem.clear_instance_cache()
    s3fs.S3FileSystem().mkdir("laboratory")
    yield "s3://laboratory/shared"
    s3fs.S3FileSystem.clear_instance_cache()
    server.stop()


@pytest.mark.guest
def test_object_store_has_the_runs_of_all(bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = dyntick.run(STUDY, changes=QUIET, out=tmp_path / "first", store=bucket)
    store = Store(bucket)
    within = f"runs/{dyntick.program.sha256()[:12]}"
    (name,) = store.names(within)
    (run,) = (tmp_path / "first/runs").iterdir()
    assert name == run.name

    with another_laboratory(monkeypatch, tmp_path / "cache"):
        taken = dyntick.run(STUDY, changes=QUIET, out=tmp_path / "taken", store=bucket)
    assert [one["made_here"] for one in taken.runs] == [False]
    assert taken.figures.equals(first.figures)

    # A poisoned run is replaced.
    shutil.copytree(run, tmp_path / "poisoned")
    (tmp_path / "poisoned/raw/interrupts.after").write_text("changed")
    store.put(f"{within}/{name}", packed(tmp_path / "poisoned"))
    made = dyntick.run(STUDY, changes=QUIET, out=tmp_path / "made", store=bucket)
    assert [one["made_here"] for one in made.runs] == [True]
    assert differing(store.get(f"{within}/{name}"), packed(run)) == []

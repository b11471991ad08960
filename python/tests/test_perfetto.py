# SPDX-License-Identifier: GPL-2.0-only
"""The file of `dyntick explain --perfetto`, read by Perfetto's own package."""

from __future__ import annotations

from pathlib import Path

import dyntick
from conftest import TRACE
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as perfetto


def test_perfetto_reads_slices_details_and_arrows(tmp_path: Path) -> None:
    text, picture = tmp_path / "trace.txt", tmp_path / "x.pftrace"
    text.write_text(TRACE)
    dyntick.explain(text, perfetto=picture)
    trace = perfetto.Trace()
    trace.ParseFromString(picture.read_bytes())

    tracks = {
        packet.track_descriptor.uuid: packet.track_descriptor
        for packet in trace.packet
        if packet.HasField("track_descriptor")
    }
    names = {uuid: track.name for uuid, track in tracks.items()}
    assert sorted(names.values()) == ["CPU 0", "CPU 1", "CPU 1 idle", "Linux"]
    parents = {track.name: names.get(track.parent_uuid) for track in tracks.values()}
    assert parents == {"Linux": None, "CPU 0": "Linux", "CPU 1": "Linux", "CPU 1 idle": "CPU 1"}

    events: dict[int, str] = {}
    notes: dict[int, str] = {}
    texts: dict[int, str] = {}
    slices: list[tuple[str, str, float]] = []
    open_slices: dict[str, list[tuple[str, int]]] = {}
    starts: dict[int, str] = {}
    ends: dict[int, str] = {}
    details: dict[str, dict[str, str]] = {}
    kinds = perfetto.TrackEvent.Type
    # A text is written once, in the order of the file, which is not that of time.
    for data in (packet.interned_data for packet in trace.packet):
        events |= {one.iid: one.name for one in data.event_names}
        notes |= {one.iid: one.name for one in data.debug_annotation_names}
        texts |= {one.iid: one.str.decode() for one in data.debug_annotation_string_values}
    for packet in sorted(trace.packet, key=lambda packet: packet.timestamp):
        if not packet.HasField("track_event"):
            continue
        event, track = packet.track_event, names[packet.track_event.track_uuid]
        stack = open_slices.setdefault(track, [])
        if event.type == kinds.TYPE_SLICE_END:
            name, begin = stack.pop()
            slices.append((track, name, (packet.timestamp - begin) / 1000))
            continue
        name = events[event.name_iid]
        details[name] = {
            notes[note.name_iid]: texts[note.string_value_iid] for note in event.debug_annotations
        }
        starts |= dict.fromkeys(event.flow_ids, track)
        ends |= dict.fromkeys(event.terminating_flow_ids, track)
        if event.type == kinds.TYPE_SLICE_BEGIN:
            stack.append((name, packet.timestamp))
    assert not any(open_slices.values())
    woken = next(name for name, about in details.items() if about.get("cause") == "wakeup:other")
    assert ("CPU 1 idle", "state 2", 104.0) in slices
    assert ("CPU 1", woken, 9.0) in slices
    assert len(slices) == 3
    assert "app [7]" in details[woken]["because"] and details[woken]["fix"]
    assert (starts, ends) == ({1: "CPU 0"}, {1: "CPU 1"})

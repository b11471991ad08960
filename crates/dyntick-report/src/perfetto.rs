// SPDX-License-Identifier: GPL-2.0-only
//! Tracks with slices and arrows between them, as a trace for Perfetto (<https://ui.perfetto.dev>): a file of protocol
//! buffers. Only these few messages of it are needed: `protos/perfetto/trace/trace_packet.proto`,
//! `track_event/track_descriptor.proto`, `track_event/track_event.proto`, `track_event/debug_annotation.proto` and
//! `interned_data/interned_data.proto` of Perfetto 51.

use dyntick_model::Map;
use std::io::{Result, Write};

/// A track: a row of the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Track<'a> {
    /// Its number, which is no other track's and not 0.
    pub id: u64,
    /// The track above it; `None` at the top.
    pub parent: Option<u64>,
    /// Its name.
    pub name: &'a str,
    /// Its place among the tracks of the same parent.
    pub rank: u32,
}

/// The begin of a slice, or an instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Event<'a> {
    /// The number of its track.
    pub track: u64,
    /// The time, ns.
    pub ns: u64,
    /// Its name.
    pub name: &'a str,
    /// Its details: a name and a text each.
    pub notes: &'a [(&'a str, &'a str)],
    /// The arrows that begin here, by their numbers.
    pub starts: &'a [u64],
    /// The arrow that ends here.
    pub ends: Option<u64>,
}

/// A writer of a trace.
pub struct Writer<W> {
    to: W,
    names: Interned,
    notes: Interned,
    texts: Interned,
    /// True after the first event, which resets what is interned.
    has_begun: bool,
}

/// The only sequence of packets: interned texts are those of a sequence.
const SEQUENCE: u64 = 1;

// The numbers of fields.
mod trace {
    pub const PACKET: u32 = 1;
}
mod packet {
    pub const TIMESTAMP: u32 = 8;
    pub const SEQUENCE_ID: u32 = 10;
    pub const TRACK_EVENT: u32 = 11;
    pub const INTERNED_DATA: u32 = 12;
    pub const SEQUENCE_FLAGS: u32 = 13;
    pub const TRACK_DESCRIPTOR: u32 = 60;
    /// Flags: what was interned before is void, and: this needs what is interned.
    pub const CLEARED: u64 = 1;
    pub const NEEDS: u64 = 2;
}
mod descriptor {
    pub const UUID: u32 = 1;
    pub const NAME: u32 = 2;
    pub const PARENT: u32 = 5;
    pub const CHILD_ORDERING: u32 = 11;
    pub const RANK: u32 = 12;
    /// An ordering: by rank.
    pub const EXPLICIT: u64 = 3;
}
mod event {
    pub const NOTES: u32 = 4;
    pub const TYPE: u32 = 9;
    pub const NAME_IID: u32 = 10;
    pub const TRACK: u32 = 11;
    pub const FLOWS: u32 = 47;
    pub const ENDING_FLOWS: u32 = 48;
    /// Types.
    pub const BEGIN: u64 = 1;
    pub const END: u64 = 2;
    pub const INSTANT: u64 = 3;
}
mod note {
    pub const NAME_IID: u32 = 1;
    pub const TEXT_IID: u32 = 17;
}
mod interned {
    pub const EVENT_NAMES: u32 = 2;
    pub const NOTE_NAMES: u32 = 3;
    pub const TEXTS: u32 = 29;
    pub const IID: u32 = 1;
    pub const TEXT: u32 = 2;
}

impl<W: Write> Writer<W> {
    /// Creates a writer of an empty trace.
    pub fn new(to: W) -> Self {
        let new = Interned::default;
        Self { to, names: new(), notes: new(), texts: new(), has_begun: false }
    }

    /// Writes a track, before its events.
    pub fn track(&mut self, track: &Track<'_>) -> Result<()> {
        let mut own = Message::default();
        own.number(descriptor::UUID, track.id);
        own.text(descriptor::NAME, track.name);
        if let Some(parent) = track.parent {
            own.number(descriptor::PARENT, parent);
        }
        own.number(descriptor::CHILD_ORDERING, descriptor::EXPLICIT);
        own.number(descriptor::RANK, track.rank.into());
        let mut packet = Message::default();
        packet.message(packet::TRACK_DESCRIPTOR, &own);
        self.packet(packet)
    }

    /// Begins a slice. The slices of a track lie in one another or side by side, and come in the order of time.
    pub fn begin(&mut self, event: &Event<'_>) -> Result<()> {
        self.event(event::BEGIN, event)
    }

    /// Ends the innermost slice of a track.
    pub fn end(&mut self, track: u64, ns: u64) -> Result<()> {
        let mut own = Message::default();
        own.number(event::TYPE, event::END);
        own.number(event::TRACK, track);
        self.timed(ns, &own, &Message::default())
    }

    /// Writes an instant.
    pub fn instant(&mut self, event: &Event<'_>) -> Result<()> {
        self.event(event::INSTANT, event)
    }

    /// Hands on all that was written.
    pub fn flush(&mut self) -> Result<()> {
        self.to.flush()
    }

    fn event(&mut self, kind: u64, event: &Event<'_>) -> Result<()> {
        let (mut own, mut new) = (Message::default(), Message::default());
        own.number(event::TYPE, kind);
        own.number(event::TRACK, event.track);
        own.number(event::NAME_IID, self.names.of(event.name, interned::EVENT_NAMES, &mut new));
        for (name, text) in event.notes {
            let mut note = Message::default();
            note.number(note::NAME_IID, self.notes.of(name, interned::NOTE_NAMES, &mut new));
            note.number(note::TEXT_IID, self.texts.of(text, interned::TEXTS, &mut new));
            own.message(event::NOTES, &note);
        }
        event.starts.iter().for_each(|flow| own.fixed(event::FLOWS, *flow));
        event.ends.iter().for_each(|flow| own.fixed(event::ENDING_FLOWS, *flow));
        self.timed(event.ns, &own, &new)
    }

    fn timed(&mut self, ns: u64, event: &Message, new: &Message) -> Result<()> {
        let mut packet = Message::default();
        packet.number(packet::TIMESTAMP, ns);
        packet.message(packet::TRACK_EVENT, event);
        if !new.0.is_empty() {
            packet.message(packet::INTERNED_DATA, new);
        }
        let first = if self.has_begun { 0 } else { packet::CLEARED };
        self.has_begun = true;
        packet.number(packet::SEQUENCE_FLAGS, first | packet::NEEDS);
        self.packet(packet)
    }

    fn packet(&mut self, mut packet: Message) -> Result<()> {
        packet.number(packet::SEQUENCE_ID, SEQUENCE);
        let mut trace = Message::default();
        trace.message(trace::PACKET, &packet);
        self.to.write_all(&trace.0)
    }
}

/// Texts that are written once and then stand for a number each.
#[derive(Default)]
struct Interned(Map<String, u64>);

impl Interned {
    /// The number of a text; a new one is also added to `new`, in this field.
    fn of(&mut self, text: &str, field: u32, new: &mut Message) -> u64 {
        if let Some(id) = self.0.get(text) {
            return *id;
        }
        let id = self.0.len() as u64 + 1;
        self.0.insert(text.to_owned(), id);
        let mut own = Message::default();
        own.number(interned::IID, id);
        own.text(interned::TEXT, text);
        new.message(field, &own);
        id
    }
}

/// A message of protocol buffers (<https://protobuf.dev/programming-guides/encoding>).
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    /// Adds a number, 7 bits a byte, the lowest first; all bytes but the last have their highest bit set.
    fn number(&mut self, field: u32, value: u64) {
        self.key(field, 0);
        self.varint(value);
    }

    fn fixed(&mut self, field: u32, value: u64) {
        self.key(field, 1);
        self.0.extend(value.to_le_bytes());
    }

    fn text(&mut self, field: u32, text: &str) {
        self.bytes(field, text.as_bytes());
    }

    fn message(&mut self, field: u32, message: &Message) {
        self.bytes(field, &message.0);
    }

    fn bytes(&mut self, field: u32, bytes: &[u8]) {
        self.key(field, 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
    }

    fn key(&mut self, field: u32, wire_type: u64) {
        self.varint(u64::from(field) << 3 | wire_type);
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_encoded_as_the_specification_shows() {
        let mut message = Message::default();
        message.number(1, 150);
        message.text(2, "testing");
        message.fixed(47, 1);
        let fixed = [0xf9, 0x02, 1, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(message.0, [&[0x08, 0x96, 0x01, 0x12, 0x07][..], b"testing", &fixed].concat());
    }

    #[test]
    fn text_is_written_once() {
        let mut file = Vec::new();
        let mut writer = Writer::new(&mut file);
        writer.track(&Track { id: 7, parent: None, name: "CPU 1", rank: 0 }).unwrap();
        let slice =
            Event { track: 7, ns: 5, name: "a tick", notes: &[("fix", "none known")], ..Event::default() };
        for ns in [5, 9] {
            writer.begin(&Event { ns, ..slice }).unwrap();
            writer.end(7, ns + 1).unwrap();
        }
        let count = |text: &str| file.windows(text.len()).filter(|part| *part == text.as_bytes()).count();
        assert_eq!((count("CPU 1"), count("a tick"), count("fix"), count("none known")), (1, 1, 1, 1));
    }
}

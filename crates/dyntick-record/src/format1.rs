// SPDX-License-Identifier: GPL-2.0-only
//! Records of format 1, which an earlier dyntick wrote: a gzipped tar with the complete trace of each CPU in a piece.
//! They are read into memory, as far as it reaches.

use crate::accept::{MOST_CPUS, accept_size};
use crate::trouble::{LONGEST_TEXT, LONGEST_VERSION, Trouble, json};
use crate::{About, Record, Trace};
use dyntick_model::text::{clean_line, shortened};
use dyntick_snapshot::archive::{self, Limits, Receiver, Wanted};
use dyntick_trace::{Metadata, Recording};
use std::collections::BTreeMap;
use std::io::Read;

const VERSION: &str = "1";
const VERSION_PIECE: &str = "dyntick-record";
const ABOUT: &str = "about.json";
const METADATA: &str = "trace.json";
const RAW: &str = "trace.cpu";

/// What a record may hold, if it fits into memory. Its raw pages grow with the length of the recording, so no
/// number of bytes is too many by itself; but a page of a single event and zeros shrinks to a hundredth, and
/// not to less.
const LIMITS: Limits = Limits { free: 64 << 20, ratio: 200, total: u64::MAX, pieces: 3 + MOST_CPUS as usize };

/// How much of a record this machine has memory for, bytes.
pub(crate) fn fits_into_memory() -> u64 {
    const OF_MEMORY: u64 = 64;
    (dyntick_system::memory() / OF_MEMORY).max(LIMITS.free)
}

/// Reads such a record from its bytes.
///
/// # Errors
/// Where it is no record, is damaged, or is of another format.
pub(crate) fn read(source: impl Read) -> Result<Record, Trouble> {
    read_within(source, Limits { total: fits_into_memory(), ..LIMITS })
}

fn read_within(source: impl Read, limits: Limits) -> Result<Record, Trouble> {
    let mut reading = Reading::default();
    archive::read(source, VERSION_PIECE, limits, &mut reading)?;
    reading.finish().map_err(Trouble::Damaged)
}

/// A record of which some pieces have been read, in the order in which they are written.
#[derive(Default)]
struct Reading {
    about: Option<About>,
    metadata: Option<Metadata>,
    raw: BTreeMap<u32, Vec<u8>>,
}

impl Receiver for Reading {
    type Error = Trouble;

    fn wants(&mut self, name: &str) -> Wanted {
        match name {
            VERSION_PIECE => Wanted::Read(LONGEST_VERSION),
            ABOUT | METADATA => Wanted::Read(LONGEST_TEXT),
            _ => match (self.cpu(name), &self.metadata) {
                (Some(_), _) => Wanted::Read(LIMITS.total),
                (None, Some(_)) => Wanted::Refuse("it does not belong to such a record".to_owned()),
                (None, None) => Wanted::Refuse(format!("it comes before {METADATA}")),
            },
        }
    }

    fn take(&mut self, name: &str, bytes: Vec<u8>) -> Result<(), Trouble> {
        let damaged = |reason: String| Trouble::Damaged(format!("{name}: {reason}"));
        match name {
            VERSION_PIECE => {
                let version = String::from_utf8_lossy(&bytes);
                if version != VERSION {
                    return Err(Trouble::Version(clean_line(&shortened(&version, 20))));
                }
            }
            ABOUT => {
                accept_size(&bytes).map_err(damaged)?;
                self.about = Some(json(&bytes).map_err(damaged)?);
            }
            METADATA => self.metadata = Some(json(&bytes).map_err(damaged)?),
            _ => {
                let cpu = self.cpu(name);
                self.raw.extend(cpu.map(|cpu| (cpu, bytes)));
            }
        }
        Ok(())
    }
}

impl Reading {
    /// The CPU whose raw trace has this name, if there was one.
    fn cpu(&self, name: &str) -> Option<u32> {
        let cpu = name.strip_prefix(RAW)?.parse().ok()?;
        let known = self.metadata.as_ref()?.stats.contains_key(&cpu);
        (known && name == format!("{RAW}{cpu}")).then_some(cpu)
    }

    fn finish(self) -> Result<Record, String> {
        let about = self.about.ok_or_else(|| format!("{ABOUT} is missing"))?;
        let metadata = self.metadata.ok_or_else(|| format!("{METADATA} is missing"))?;
        match metadata.stats.keys().find(|cpu| !self.raw.contains_key(cpu)) {
            Some(cpu) => Err(format!("{RAW}{cpu} is missing")),
            None => Ok(Record { about, trace: Trace::of(Recording { metadata, raw: self.raw }) }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::path::Path;

    const ABOUT_TEXT: &str = r#"{"cpus":"1","window_ns":[1,2],"command":[],"machine":{"kernel":"6.12.95",
        "command_line":"","hz":250,"cpus":{"online":"0-1","nohz_full":"","isolated":"","rcu_nocbs":""},
        "clocksource":{"current":"tsc","available":[]},"irqs":{}},"threads":{},
        "owners":{"cpu_timers":{},"perf_events":{},"quotas":{}},
        "counts":[{"interrupts":"","steal":{},"smis":{}},{"interrupts":"","steal":{},"smis":{}}],"notes":[]}"#;
    const METADATA_TEXT: &str = r#"{"page_size":4096,"formats":{},"symbols":{},
        "stats":{"1":{"entries":0,"lost":0}},"missing_events":[]}"#;

    fn packed(pieces: &[(&str, &[u8])]) -> Vec<u8> {
        let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        for (name, bytes) in pieces {
            let mut header = tar::Header::new_gnu();
            header.set_size(bytes.len() as u64);
            archive.append_data(&mut header, name, *bytes).unwrap();
        }
        archive.into_inner().unwrap().finish().unwrap()
    }

    fn record(more: &[(&str, &[u8])]) -> Result<Record, String> {
        let whole: [(&str, &[u8]); 3] = [
            (VERSION_PIECE, VERSION.as_bytes()),
            (ABOUT, ABOUT_TEXT.as_bytes()),
            (METADATA, METADATA_TEXT.as_bytes()),
        ];
        read(&[&whole, more].concat())
    }

    fn read(pieces: &[(&str, &[u8])]) -> Result<Record, String> {
        Record::read_from(&packed(pieces)[..], Path::new("x.dt")).map_err(|error| error.to_string())
    }

    #[test]
    fn the_pieces_of_a_record_and_no_others() {
        let page = vec![0; 4096];
        assert_eq!(record(&[("trace.cpu1", &page)]).unwrap().trace.pages_of(1).unwrap(), page);
        assert_eq!(record(&[]).unwrap_err(), "x.dt is damaged: trace.cpu1 is missing");
        for name in ["trace.cpu2", "trace.cpu01", "trace.cpu+1", "extra"] {
            let said = record(&[("trace.cpu1", &page), (name, b"x")]).unwrap_err();
            assert_eq!(said, format!("x.dt is damaged: {name}: it does not belong to such a record"));
        }
        let early = read(&[(VERSION_PIECE, b"1"), ("trace.cpu1", &page)]).unwrap_err();
        assert_eq!(early, "x.dt is damaged: trace.cpu1: it comes before trace.json");
        let twice = record(&[("trace.cpu1", &page), ("trace.cpu1", &page)]).unwrap_err();
        assert_eq!(twice, "x.dt is damaged: trace.cpu1: it occurs twice");
    }

    #[test]
    fn a_bomb_is_refused_before_it_unfolds() {
        let zeros = vec![0; 2 << 20];
        let (about, metadata) = (ABOUT_TEXT.as_bytes(), METADATA_TEXT.as_bytes());
        let bytes =
            packed(&[(VERSION_PIECE, b"1"), (ABOUT, about), (METADATA, metadata), ("trace.cpu1", &zeros)]);
        let limits = Limits { free: 1 << 20, ratio: 20, ..LIMITS };
        let read = read_within(&bytes[..], limits).map_err(|trouble| trouble.at(Path::new("x.dt")));
        let said = read.map(|_| ()).unwrap_err().to_string();
        assert!(said.starts_with("x.dt is damaged: trace.cpu1: "), "{said}");
        assert!(said.contains("bytes of it unpack to more than"), "{said}");
    }

    #[test]
    fn a_piece_that_says_what_cannot_be_is_named() {
        let about = ABOUT_TEXT.replace("[1,2]", "[2,1]");
        let said = read(&[(VERSION_PIECE, b"1"), (ABOUT, about.as_bytes())]).unwrap_err();
        assert_eq!(said, "x.dt is damaged: about.json: window_ns: the end (1) is before the begin (2)");
        let metadata = METADATA_TEXT.replace("4096", "16");
        let said = read(&[(VERSION_PIECE, b"1"), (METADATA, metadata.as_bytes())]).unwrap_err();
        assert!(said.starts_with("x.dt is damaged: trace.json: page_size: 16 "), "{said}");
    }

    #[test]
    fn another_format_is_told_before_anything_else() {
        let said = read(&[(VERSION_PIECE, b"2"), ("piece-of-tomorrow", b"")]).unwrap_err();
        assert!(said.contains("has format 2"), "{said}");
        let said = read(&[(VERSION_PIECE, b"2\n|sh")]).unwrap_err();
        assert!(said.contains("has format 2 |sh"), "one line: {said}");
    }
}

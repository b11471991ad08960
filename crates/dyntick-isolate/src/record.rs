// SPDX-License-Identifier: GPL-2.0-only
//! The lines of a journal, and their meaning if some are damaged. Pure, except for the boot ID.

use crate::system::{Task, TaskId};
use crate::{Change, Subject};
use dyntick_model::CpuList;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Deserializer;

/// The version of the format.
pub(crate) const VERSION: u32 = 1;

/// The first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The version of its format.
    pub version: u32,
    /// The ID of the boot (`/proc/sys/kernel/random/boot_id`).
    pub boot: String,
    /// The PID of its writer.
    pub pid: u32,
    /// The start of the writer, in clock ticks since boot.
    pub start: u64,
    /// The isolated CPUs.
    pub cpus: CpuList,
    /// The CPUs that were online.
    pub online: CpuList,
    /// The isolated command.
    pub command: Vec<String>,
}

impl Header {
    pub(crate) fn writer(&self) -> TaskId {
        TaskId { tid: self.pid as i32, start: self.start }
    }
}

/// Any other line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    /// A change that may have been made.
    Change {
        /// The purpose of the change.
        subject: Subject,
        /// The change.
        #[serde(flatten)]
        change: Change,
    },
    /// A setting of another program or the kernel that a step of the restoration resets.
    Adopt {
        /// The thread ID.
        tid: i32,
        /// The thread's start.
        start: u64,
        /// Its name.
        comm: String,
        /// Its CPUs.
        cpus: CpuList,
    },
}

impl Record {
    /// Makes a record to keep the affinity of this thread.
    pub fn adopt(task: &Task) -> Self {
        let Task { id, comm, cpus, .. } = task.clone();
        Record::Adopt { tid: id.tid, start: id.start, comm, cpus }
    }
}

/// The content of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    /// Its first line.
    pub header: Header,
    /// The records, in their order.
    pub records: Vec<Record>,
    /// The numbers of lines with an incomplete record, whose change was not made.
    pub cut: Vec<usize>,
    /// The numbers of lines that may have been a change, but are unreadable.
    pub unreadable: Vec<usize>,
}

impl Contents {
    /// Reads the lines; `None` if there is no complete one.
    ///
    /// # Errors
    /// The first line, if it is not of this version.
    ///
    /// A line is skipped only if it cannot have been a change. A change is made after its line was written with its
    /// end, so an incomplete record was never executed. That is the last line without its end, and the text before
    /// another record on one line (earlier versions appended to an incomplete line). Complete records that lost their
    /// line's end are read. Any other unreadable line was damaged after it was written, and may have been a setting. It
    /// does not stop the restoration, but the machine is then not known to be restored.
    pub(crate) fn parse(text: &[u8]) -> Result<Option<Self>, String> {
        let Some(end) = text.iter().rposition(|byte| *byte == b'\n') else { return Ok(None) };
        let mut lines = text[..end].split(|byte| *byte == b'\n');
        let first = lines.next().unwrap_or_default();
        let foreign = || String::from_utf8_lossy(first).into_owned();
        let header: Header = serde_json::from_slice(first).map_err(|_| foreign())?;
        if header.version != VERSION {
            return Err(foreign());
        }
        let mut contents = Self { header, records: Vec::new(), cut: Vec::new(), unreadable: Vec::new() };
        for (line, number) in lines.zip(2..) {
            contents.add(line, number);
        }
        Ok(Some(contents))
    }

    fn add(&mut self, line: &[u8], number: usize) {
        if let Ok(record) = serde_json::from_slice(line) {
            return self.records.push(record);
        }
        let mut stream = Deserializer::from_slice(line).into_iter::<Record>();
        self.records.extend(stream.by_ref().map_while(Result::ok));
        let rest = &line[stream.byte_offset()..];
        let Some((before, record)) = last_record(rest) else {
            if line.is_empty() || !rest.is_empty() {
                self.unreadable.push(number);
            }
            return;
        };
        self.records.push(record);
        if is_cut(before) { self.cut.push(number) } else { self.unreadable.push(number) }
    }
}

/// The beginning of each record. No text in a record contains it, since quotes in texts are escaped.
const BEGIN: &[u8] = b"{\"record\":";

/// The record at the end of a line, and the text before it.
fn last_record(line: &[u8]) -> Option<(&[u8], Record)> {
    let last = line.windows(BEGIN.len()).rposition(|bytes| bytes == BEGIN)?;
    let record = serde_json::from_slice(&line[last..]).ok()?;
    Some((&line[..last], record))
}

/// Returns true for a record without its end. A complete unknown record may be of a later version.
fn is_cut(before: &[u8]) -> bool {
    let is_whole =
        Deserializer::from_slice(before).into_iter::<IgnoredAny>().next().is_some_and(|one| one.is_ok());
    before.starts_with(b"{") && !is_whole
}

/// The file with the ID of this boot.
pub(crate) const BOOT: &str = "/proc/sys/kernel/random/boot_id";

/// The ID of this boot.
///
/// # Errors
/// If there is none: a journal could then not be distinguished from one of another boot.
pub(crate) fn boot() -> std::io::Result<String> {
    match std::fs::read_to_string(BOOT)?.trim() {
        "" => Err(std::io::ErrorKind::UnexpectedEof.into()),
        number => Ok(number.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adopt(tid: i32, comm: &str) -> Record {
        Record::Adopt { tid, start: 7, comm: comm.into(), cpus: CpuList::first(2) }
    }

    fn line(value: &impl Serialize) -> String {
        serde_json::to_string(value).unwrap()
    }

    fn parse(lines: &[&str]) -> Contents {
        let header = Header {
            version: VERSION,
            boot: boot().unwrap(),
            pid: 1,
            start: 2,
            cpus: CpuList::from_iter([3]),
            online: CpuList::first(4),
            command: vec![],
        };
        let text = [&[line(&header).as_str()], lines].concat().join("\n") + "\n";
        Contents::parse(text.as_bytes()).unwrap().unwrap()
    }

    /// Names may contain anything, even the beginning of a record.
    #[test]
    fn record_after_an_incomplete_one_is_read() {
        let (one, two) = (adopt(1, "a"), adopt(2, r#"{"record":"adopt"}"#));
        let (half, whole) = (line(&one), line(&two));
        for length in 1..half.len() {
            let mixed = half[..length].to_owned() + &whole;
            let contents = parse(&[&half, &mixed, &half]);
            assert_eq!(contents.records, [one.clone(), two.clone(), one.clone()], "{mixed}");
            assert_eq!((contents.cut, contents.unreadable), (vec![3], vec![]), "{mixed}");
        }
        let twice = half[..30].to_owned() + &half[..20] + &whole;
        assert_eq!(parse(&[&twice]).records, [two]);
    }

    #[test]
    fn all_complete_records_on_one_line_are_read() {
        let (one, two) = (adopt(1, r#"{"record":"#), adopt(2, "b"));
        let glued = parse(&[&(line(&one) + &line(&two) + &line(&one))]);
        assert_eq!(glued.records, [one.clone(), two.clone(), one.clone()]);
        assert_eq!((glued.cut, glued.unreadable), (vec![], vec![]));
        let with_half = parse(&[&(line(&one) + &line(&two)[..9] + &line(&two))]);
        assert_eq!((with_half.records, with_half.cut), (vec![one.clone(), two], vec![2]));
        let unknown = parse(&[&(line(&one) + r#"{"record":"later"}"# + &line(&one))]);
        assert_eq!((unknown.records.len(), unknown.cut, unknown.unreadable), (2, vec![], vec![2]));
        let damaged = parse(&[&(line(&one) + "x")]);
        assert_eq!((damaged.records, damaged.unreadable), (vec![one], vec![2]));
    }

    #[test]
    fn unreadable_line_hides_no_other() {
        let whole = line(&adopt(1, "a"));
        let cut = &whole[..20];
        let contents = parse(&["", &whole, cut, "\u{fffd}", r#"{"record":"later"}"#, &whole]);
        assert_eq!(contents.records.len(), 2);
        assert_eq!((contents.cut, contents.unreadable), (vec![], vec![2, 4, 5, 6]));
    }
}

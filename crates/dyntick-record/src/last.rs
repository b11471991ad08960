// SPDX-License-Identifier: GPL-2.0-only
//! A recording that keeps only the last seconds, and takes snapshots of them.

use crate::buffers::{Control, Piece, SELDOM, Sink};
use crate::detect::Detector;
use crate::recording::Recording;
use crate::ring::{Keep, Kept, Ring};
use crate::trigger::Trigger;
use crate::{LastSeconds, Record, RecordError, context};
use dyntick_observe::thread::now_ns;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

/// The name of a snapshot: `quiet.1.dt` for `quiet.dt`.
pub fn snapshot_name(file: &Path, number: u32) -> PathBuf {
    let mut name = file.file_stem().map(OsString::from).unwrap_or_default();
    name.push(format!(".{number}"));
    if let Some(extension) = file.extension() {
        name.push(".");
        name.push(extension);
    }
    file.with_file_name(name)
}

/// The longest delay, ns, until a met condition is known. Buffers are emptied ten times a second; the rest is for a
/// machine under load.
const KNOWN_AFTER_NS: u64 = 1_000_000_000;

/// Records, and returns the file with the last seconds.
pub(crate) fn record<T>(
    recording: &Recording<'_>,
    last: &LastSeconds,
    during: impl FnOnce(&Control) -> T,
) -> Result<(File, T), RecordError> {
    let options = recording.options;
    let ns = last.last.as_nanos().try_into().unwrap_or(u64::MAX);
    let more_ns = if last.when.any() { KNOWN_AFTER_NS } else { 0 };
    let keep = Keep { ns, more_ns, bytes: options.most_bytes };
    let lost = || lost(recording);
    let ring = Ring::new(&options.folder, keep, recording.packer()?, &lost, now_ns());
    let ring = ring.map_err(RecordError::Write)?;
    let control = Control::default();
    // The window has no end yet.
    let context = context::of(&recording.about((0, u64::MAX), &control, None));
    let formats = recording.session.formats()?;
    let detector = last
        .when
        .any()
        .then(|| Detector::new(last.when, &options.cpus, &recording.online, &context, &formats));
    let detector = detector.transpose()?;
    let soon = detector.as_ref().map(|_| SELDOM);
    let (to, snapshots) = sync_channel(1);
    let sink = Last { ring, detector, keep, left: last.most_snapshots, to, control: &control };
    std::thread::scope(|scope| {
        let written = |kept: &Kept, trigger| written(recording, &control, kept, trigger);
        let keeping = move || keep_all(last, &snapshots, written);
        std::thread::Builder::new().spawn_scoped(scope, keeping).map_err(RecordError::Thread)?;
        let (sink, (_, end), result) = recording.traced(sink, soon, &control, during)?;
        let Last { mut ring, to, .. } = sink;
        // Dropping the sender ends the thread that keeps snapshots.
        drop(to);
        let kept = ring.kept(end, end).map_err(RecordError::Write)?;
        Ok((written(&kept, None)?, result))
    })
}

/// The number of events that each CPU has lost so far.
fn lost(recording: &Recording<'_>) -> BTreeMap<u32, u64> {
    let lost = |cpu| Some((cpu, recording.session.stats(cpu).ok()?.lost));
    recording.online.iter().filter_map(lost).collect()
}

/// A ring, and the detector of reasons for a snapshot of it.
struct Last<'a> {
    ring: Ring<'a>,
    detector: Option<Detector<'a>>,
    keep: Keep,
    /// The number of snapshots that conditions may still cause.
    left: u32,
    to: SyncSender<(Kept, Trigger)>,
    control: &'a Control,
}

impl Sink for Last<'_> {
    fn take(&mut self, piece: Piece) -> std::io::Result<()> {
        let found = match (&piece, &mut self.detector) {
            (Piece::Pages { cpu, pages, .. }, Some(detector)) => {
                detector.take(*cpu, pages);
                detector.is_full().then(|| detector.look(u64::MAX)).flatten()
            }
            (Piece::Complete(until), Some(detector)) => detector.look(*until),
            _ => None,
        };
        if let Piece::Pages { cpu, pages, read_ns } = &piece {
            // On a busy machine they may come here long after that.
            self.ring.take(*cpu, pages, *read_ns)?;
        }
        if let Some(trigger) = found {
            self.on_condition(trigger)?;
        }
        match piece {
            Piece::Wanted(at) => self.snapshot(Trigger::Signal, at).map(drop),
            _ => Ok(()),
        }
    }

    fn is_full(&self) -> bool {
        false
    }
}

impl Last<'_> {
    /// The next snapshot has nothing of this one, because the ring is filled again before it.
    fn on_condition(&mut self, trigger: Trigger) -> std::io::Result<()> {
        if !self.snapshot(trigger, now_ns())? {
            return Ok(());
        }
        self.left = self.left.saturating_sub(1);
        match &mut self.detector {
            Some(detector) if self.left > 0 => {
                detector.not_before(now_ns().saturating_add(self.keep.ns));
            }
            _ => {
                self.detector = None;
                self.control.enough.store(true, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    /// Takes a snapshot; returns false if earlier ones are still being written.
    fn snapshot(&mut self, trigger: Trigger, now_ns: u64) -> std::io::Result<bool> {
        let kept = self.ring.kept(trigger.at_ns().unwrap_or(now_ns), now_ns)?;
        match self.to.try_send((kept, trigger)) {
            Ok(()) => Ok(true),
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => Ok(false),
        }
    }
}

/// Keeps snapshots until the channel is closed.
fn keep_all(
    last: &LastSeconds,
    snapshots: &Receiver<(Kept, Trigger)>,
    written: impl Fn(&Kept, Option<Trigger>) -> Result<File, RecordError>,
) {
    for (number, (kept, trigger)) in (1..).zip(snapshots) {
        let path = snapshot_name(&last.file, number);
        (last.taken)(&path, &written(&kept, Some(trigger)).and_then(|file| keep(file, &path)));
    }
}

fn keep(file: File, path: &Path) -> Result<Record, RecordError> {
    let record = Record::stored(file).map_err(|trouble| RecordError::Damaged(trouble.to_string()))?;
    record.save_unasked(path)?;
    Ok(record)
}

/// Opens the record in a kept file.
fn written(
    recording: &Recording<'_>,
    control: &Control,
    kept: &Kept,
    trigger: Option<Trigger>,
) -> Result<File, RecordError> {
    recording.look();
    let mut about = recording.about(kept.window_ns, control, trigger);
    let seconds = (kept.window_ns.1 - kept.window_ns.0) as f64 / 1e9;
    let cut = format!("only the last {seconds:.1} s fit into the size limit (record --max-size)");
    about.notes.extend(kept.is_cut.then_some(cut));
    let mut metadata = recording.metadata(&kept.addresses)?;
    for (cpu, stats) in &mut metadata.stats {
        stats.lost = stats.lost.saturating_sub(kept.lost_before.get(cpu).copied().unwrap_or(0));
    }
    let file = dyntick_system::unnamed_in(&recording.options.folder).map_err(RecordError::Write)?;
    kept.write(file, about, &metadata).map_err(RecordError::Write)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_snapshots_have_a_number() {
        let name = |file: &str, number| snapshot_name(Path::new(file), number).display().to_string();
        assert_eq!(name("/x/quiet.dt", 1), "/x/quiet.1.dt");
        assert_eq!(name("quiet", 12), "quiet.12");
        assert_eq!(name("a.b.dt", 2), "a.b.2.dt");
    }
}

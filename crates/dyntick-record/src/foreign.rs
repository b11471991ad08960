// SPDX-License-Identifier: GPL-2.0-only
//! Traces of other tools as records: their pages are packed into an unnamed file, as if they were recorded now, so that
//! everything that reads a record reads them too.

use crate::stored::{BLOCK, Packer, Writer};
use crate::trouble::Trouble;
use crate::{About, Record};
use dyntick_explain::Recorded;
use dyntick_import::{
    Bytes, HEAD, ImportError, Imported, Kind, Layout, Sink, read_perf, read_text, read_trace_dat, recognise,
};
use dyntick_model::{Clock, CpuList, KernelVersion};
use dyntick_observe::facts::{Clocksource, Counts, Cpus, Machine, Owners, SchedExt};
use dyntick_trace::{CpuStats, Metadata, Scanner, address_of, lacking, resolve};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Result, Seek};
use std::os::unix::fs::FileExt;

/// The tool that made a trace, and what the trace lacks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Source {
    /// The format of the file and its tool, in words.
    pub format: String,
    /// The trace clock; null if the file does not name it.
    pub clock: Option<String>,
    /// The number of records of each event, by `system:name`.
    pub events: BTreeMap<String, u64>,
    /// The limits of the findings, in words, to be read first: what the file does not have.
    pub limits: Vec<String>,
}

/// A trace that another tool made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Foreign {
    /// The tool, and what the trace lacks.
    pub source: Source,
    /// The names of tasks, of which no more is known.
    pub names: BTreeMap<i32, String>,
    /// True if it shows which CPUs may stop their tick while they are busy.
    pub adaptive_known: bool,
}

impl Record {
    /// Leaves out what interrupted other CPUs than these; what these others did still explains.
    ///
    /// # Errors
    /// The CPUs in words of which there is nothing.
    pub fn only(&mut self, cpus: &CpuList) -> std::result::Result<(), String> {
        let missing = cpus.difference(&self.about.cpus);
        if cpus.is_empty() || !missing.is_empty() {
            return Err(format!("CPU {missing} is not in it: it has CPU {}", self.about.cpus));
        }
        self.about.cpus = cpus.clone();
        Ok(())
    }
}

impl About {
    /// The events that the trace can show. Another tool's may have been recorded without any of them.
    pub fn recorded(&self) -> Recorded {
        match &self.foreign {
            Some(foreign) => Recorded::Only(foreign.source.events.keys().cloned().collect()),
            None => Recorded::All,
        }
    }
}

/// The bytes of a file on the disk.
struct OnDisk<'a> {
    file: &'a File,
    length: u64,
}

impl Bytes for OnDisk<'_> {
    fn length(&self) -> u64 {
        self.length
    }

    fn read_at(&self, at: u64, buffer: &mut [u8]) -> Result<()> {
        self.file.read_exact_at(buffer, at)
    }
}

/// The reason for which a trace is not read, without the file's name.
pub(crate) enum Refused {
    /// A failed operation on the file, or on the temporary one.
    Io(&'static str, Error),
    /// The trace itself.
    Import(ImportError),
    /// The record that was made of it.
    Record(Trouble),
}

/// Reads the trace of another tool; `None` if it is none that is known.
///
/// # Errors
/// A damaged trace or one that cannot be read, and a lack of space for the temporary file.
pub(crate) fn read(file: &File) -> std::result::Result<Option<Record>, Refused> {
    let io = |what| move |error: Error| Refused::Io(what, error);
    let length = file.metadata().map_err(io("read"))?.len();
    let mut head = vec![0; length.min(HEAD as u64) as usize];
    file.read_exact_at(&mut head, 0).map_err(io("read"))?;
    let temporary =
        || dyntick_system::unnamed_in(&std::env::temp_dir()).map_err(io("make a temporary file for"));
    let mut trace;
    let mut pages;
    match recognise(&head) {
        Some(kind) => {
            pages = Pages::new(temporary()?).map_err(io("keep the pages of"))?;
            trace = import(file, kind, &mut pages).map_err(Refused::Import)?;
        }
        None => {
            // A file of another kind is none of these, however it is compressed.
            let Some((mut unpacked, kind)) = unpacked(file, length) else { return Ok(None) };
            pages = Pages::new(temporary()?).map_err(io("keep the pages of"))?;
            if kind == Kind::Text {
                trace = read_text(&mut unpacked, &mut pages).map_err(Refused::Import)?;
            } else {
                let mut whole = temporary()?;
                std::io::copy(&mut unpacked, &mut whole).map_err(io("unpack"))?;
                trace = import(&whole, kind, &mut pages).map_err(Refused::Import)?;
            }
        }
    }
    if trace.kallsyms.is_empty() && trace.symbols.is_empty() {
        name_functions(&mut trace);
    }
    let file = pages.finish(trace).map_err(Refused::Import)?;
    Record::stored(file).map(Some).map_err(Refused::Record)
}

fn import(file: &File, kind: Kind, pages: &mut Pages) -> std::result::Result<Imported, ImportError> {
    let bytes = OnDisk { file, length: file.metadata()?.len() };
    match kind {
        Kind::TraceDat => read_trace_dat(&bytes, pages),
        Kind::Perf => read_perf(&bytes, pages),
        Kind::Text => {
            let mut file = file;
            file.rewind()?;
            read_text(&mut BufReader::new(file), pages)
        }
    }
}

/// The names of this machine's functions, which root alone may read with their addresses.
const KALLSYMS: &str = "/proc/kallsyms";

/// Names the functions of a file without names by the running kernel, if it is the same boot of the same kernel: one of
/// its symbols is then at the same random address.
fn name_functions(trace: &mut Imported) {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let is_here = trace.kernel_text.as_ref().is_some_and(|(symbol, address)| {
        let found = File::open(KALLSYMS).and_then(|file| address_of(symbol, file));
        *address != 0 && found.is_ok_and(|found| found == Some(*address))
    });
    if is_here && trace.release.as_ref() == Some(&release) {
        trace.kallsyms = std::fs::read(KALLSYMS).unwrap_or_default();
    }
    if trace.kallsyms.is_empty() {
        trace.notes.push(
            "it has no names of functions, and this is not the boot that it was recorded in: ticks, timers and calls have \
             no names; explain the output of perf script of the machine that was recorded instead"
                .to_owned(),
        );
    }
}

/// The maximum of unpacked bytes for each byte of a compressed file: texts shrink to a thirtieth at most.
const MOST_UNPACKED: u64 = 300;
/// The same for any file, so that a short one may be alike in all.
const AT_LEAST: u64 = 16 << 20;
/// The memory that unpacking xz may take, bytes: the file says how much it needs. `xz -9` needs 65 MiB.
const XZ_MEMORY: u64 = 256 << 20;

/// Opens a compressed trace and recognises it; `None` if it is not compressed, or no trace.
fn unpacked(mut file: &File, length: u64) -> Option<(Box<dyn BufRead + '_>, Kind)> {
    file.rewind().ok()?;
    let mut packed = BufReader::new(file);
    let magic: Vec<u8> = packed.fill_buf().ok()?.iter().take(6).copied().collect();
    let unpacked: Box<dyn Read> = match magic[..] {
        [0xfd, b'7', b'z', b'X', b'Z', 0] => {
            let decoder = liblzma::stream::Stream::new_stream_decoder(XZ_MEMORY, 0).ok()?;
            Box::new(liblzma::read::XzDecoder::new_stream(packed, decoder))
        }
        [0x1f, 0x8b, ..] => Box::new(flate2::read::MultiGzDecoder::new(packed)),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Box::new(zstd::Decoder::with_buffer(packed).ok()?),
        _ => return None,
    };
    let limit = length.saturating_mul(MOST_UNPACKED).max(AT_LEAST);
    let mut limited = Limited { unpacked, left: limit };
    let mut head = Vec::new();
    Read::take(&mut limited, HEAD as u64).read_to_end(&mut head).ok()?;
    let kind = recognise(&head)?;
    Some((Box::new(BufReader::new(std::io::Cursor::new(head).chain(limited))), kind))
}

/// Unpacked bytes up to a limit.
struct Limited<R> {
    unpacked: R,
    left: u64,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let read = self.unpacked.read(buffer)?;
        self.left = self.left.checked_sub(read as u64).ok_or_else(|| {
            Error::new(
                ErrorKind::InvalidData,
                format!("it unpacks to more than {MOST_UNPACKED} times its size, the limit: unpack it first"),
            )
        })?;
        Ok(read)
    }
}

/// The pages on their way into a record.
struct Pages {
    writer: Writer,
    /// None before the layout is known.
    packer: Option<Packer>,
    layout: Layout,
    /// The pages of each CPU that do not fill a block yet.
    blocks: BTreeMap<u32, Vec<u8>>,
}

impl Sink for Pages {
    fn layout(&mut self, layout: &Layout) -> Result<()> {
        let scanner = Scanner::new(&layout.formats).map_err(Error::other)?;
        self.packer = Some(Packer::new(scanner, layout.page_size)?);
        self.layout = layout.clone();
        Ok(())
    }

    fn pages(&mut self, cpu: u32, pages: &[u8]) -> Result<()> {
        let size = BLOCK.max(self.layout.page_size);
        let block = self.blocks.entry(cpu).or_default();
        let mut full = Vec::new();
        for page in pages.chunks(self.layout.page_size) {
            block.extend_from_slice(page);
            if block.len() >= size {
                full.push(std::mem::take(block));
            }
        }
        full.iter().try_for_each(|block| self.write(cpu, block))
    }
}

impl Pages {
    /// Creates the pages of a record in an unnamed file.
    fn new(file: File) -> Result<Self> {
        let (layout, blocks) = (Layout::default(), BTreeMap::new());
        Ok(Self { writer: Writer::new(file, u64::MAX)?, packer: None, layout, blocks })
    }

    fn write(&mut self, cpu: u32, block: &[u8]) -> Result<()> {
        let packer = self.packer.as_mut().ok_or_else(|| Error::other("pages came before their layout"))?;
        self.writer.block(&packer.pack(cpu, block)?)?;
        match self.writer.ended() {
            None => Ok(()),
            Some(_) => Err(Error::new(ErrorKind::StorageFull, "no space for its pages in $TMPDIR, or /tmp")),
        }
    }

    /// Writes the last pages and what is known beside them.
    fn finish(mut self, trace: Imported) -> std::result::Result<File, ImportError> {
        for (cpu, block) in std::mem::take(&mut self.blocks) {
            if !block.is_empty() {
                self.write(cpu, &block)?;
            }
        }
        if trace.seen.times.is_empty() {
            return Err(ImportError::Unsupported(
                "it has no events: record with the command of `dyntick record --print trace-cmd`".to_owned(),
            ));
        }
        let mut symbols = trace.symbols.clone();
        if let Some(packer) = &self.packer {
            symbols.extend(resolve(packer.addresses(), &trace.kallsyms[..])?);
        }
        let Layout { page_size, formats } = self.layout;
        let stats = trace.stats.clone();
        let metadata = Metadata { page_size, formats, symbols, stats, missing_events: Vec::new() };
        if let Some(problem) = metadata.problem() {
            return Err(ImportError::Unsupported(problem));
        }
        Ok(self.writer.finish(about(trace), &metadata)?)
    }
}

/// The facts of a record about a trace: those that the trace does not have are not known.
fn about(trace: Imported) -> About {
    let cpus: CpuList = trace.stats.keys().copied().collect();
    let online = trace.cpus.map_or_else(CpuList::default, CpuList::first).union(&cpus);
    let release = trace.release.as_deref().and_then(|release| release.parse().ok());
    let kernel = release.unwrap_or_else(KernelVersion::unknown);
    let adaptive: Option<CpuList> = trace.seen.adaptive.as_ref().map(|cpus| cpus.iter().copied().collect());
    let limits = limits(&trace, &kernel, adaptive.as_ref());
    let machine = Machine {
        kernel,
        architecture: trace.architecture.clone().unwrap_or_default(),
        command_line: String::new(),
        hz: 0,
        cpus: Cpus { online, nohz_full: adaptive.clone().unwrap_or_default(), ..Cpus::default() },
        clocksource: Clocksource::default(),
        sched_ext: SchedExt::default(),
        clock: Clock::Wall,
        irqs: BTreeMap::new(),
        settings: Default::default(),
    };
    About {
        cpus,
        window_ns: window(&trace),
        command: Vec::new(),
        process: None,
        machine,
        recorder: None,
        threads: BTreeMap::new(),
        owners: Owners::default(),
        counts: (Counts::default(), Counts::default()),
        offline: CpuList::default(),
        notes: Vec::new(),
        ended: None,
        mappings: BTreeMap::new(),
        trigger: None,
        idle: None,
        foreign: Some(Foreign {
            source: Source { format: trace.source, clock: trace.clock, events: trace.seen.events, limits },
            names: trace.names,
            adaptive_known: adaptive.is_some(),
        }),
    }
}

/// The CPUs whose first events were overwritten: they lost events, but none between those that are there.
fn wrapped(trace: &Imported) -> impl Iterator<Item = u32> {
    let lost =
        trace.stats.iter().filter(|(_, stats): &(&u32, &CpuStats)| stats.lost > 0).map(|(cpu, _)| *cpu);
    lost.filter(|cpu| !trace.seen.gaps.contains(cpu))
}

/// The time that all CPUs cover: where buffers were overwritten, each begins at another time.
fn window(trace: &Imported) -> (u64, u64) {
    let times = || trace.seen.times.values();
    let first = times().map(|(first, _)| *first).min().unwrap_or(0);
    let last = times().map(|(_, last)| *last).max().unwrap_or(0);
    let begins = trace
        .seen
        .times
        .iter()
        .filter(|(cpu, _)| trace.overwritten || wrapped(trace).any(|own| own == **cpu));
    let begin = begins.map(|(_, (first, _))| *first).fold(first, u64::max);
    // The end is not in the window.
    (begin.min(last), last.saturating_add(1))
}

/// The limits of the findings, in a few lines.
fn limits(trace: &Imported, kernel: &KernelVersion, adaptive: Option<&CpuList>) -> Vec<String> {
    let adaptive = match adaptive {
        Some(cpus) if cpus.is_empty() => "no CPU of nohz_full= is seen in it".to_owned(),
        Some(cpus) => format!("its timer:tick_stop shows CPU {cpus} in nohz_full="),
        None => "it does not show which CPUs are in nohz_full=".to_owned(),
    };
    let kernel = if kernel.is_known() { "" } else { "kernel, " };
    let mut limits = vec![format!(
        "This is {}, not a record of dyntick. The machine's {kernel}command line, settings, counters and processes \
         are not in it: a fix may be in force there already, and a cause that only they show is missing; {adaptive}.",
        trace.source
    )];
    let lacking = lacking(|event| trace.seen.events.contains_key(event));
    limits.extend(lacking.map(|(events, unknown)| {
        format!("It has no events {events}: if there were any, these are not known: {unknown}.")
    }));
    let mut notes = trace.notes.clone();
    let wrapped: CpuList = wrapped(trace).collect();
    if !wrapped.is_empty() {
        notes.push(format!(
            "the buffer of CPU {wrapped} was overwritten, so the time before its first event is left out"
        ));
    }
    if trace.unreadable > 0 {
        notes.push(format!("{} of its events have a form that is not known", trace.unreadable));
    }
    if !notes.is_empty() {
        limits.push(format!("Notes on the file: {}.", notes.join("; ")));
    }
    limits
}

#[cfg(test)]
mod tests {
    use crate::Record;
    use std::io::Write;
    use std::path::Path;

    const TRACE_DAT: &[u8] = include_bytes!("../../dyntick-import/tests/fixtures/trace-cmd-3.1.6-zstd.dat");
    const PERF: &[u8] = include_bytes!("../../dyntick-import/tests/fixtures/perf-6.1-pipe.data");
    const TEXT: &str = "# tracer: nop
          app-7       [001] d..2.     1.000001: sched_switch: prev_comm=app prev_pid=7 prev_prio=120 prev_state=R ==> \
        next_comm=other next_pid=8 next_prio=120
          other-8     [001] d..2.     1.500001: sched_switch: prev_comm=other prev_pid=8 prev_prio=120 prev_state=S \
        ==> next_comm=app next_pid=7 next_prio=120
          app-7       [001] ...1.     2.000001: softirq_raise: vec=9 [action=RCU]
";

    fn opened(bytes: &[u8]) -> Result<Record, String> {
        Record::read_from(bytes, Path::new("x")).map_err(|error| error.to_string())
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn xz(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 1);
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn file_of_trace_cmd_is_explained() {
        for bytes in [TRACE_DAT.to_vec(), gzip(TRACE_DAT)] {
            let record = opened(&bytes).unwrap();
            assert_eq!(record.about.cpus.to_string(), "0-1");
            assert_eq!((record.about.machine.kernel.major, record.about.machine.hz), (6, 0));
            let findings = record.explain().unwrap().findings();
            let ticks = findings.cpus[0].ticks.unwrap();
            assert!(ticks > 3, "{ticks}");
            let source = findings.source.unwrap();
            assert_eq!(source.events["sched:sched_switch"], 14);
            assert!(
                source.limits[0].contains("it does not show which CPUs are in nohz_full="),
                "{:?}",
                source.limits
            );
            assert!(source.limits[1].contains("timer:tick_stop"), "{:?}", source.limits);
            assert!(findings.notes.is_empty(), "{:?}", findings.notes);
            // A tick of a busy CPU has no cause where it is not known which CPUs may stop theirs.
            assert!(findings.cpus[0].section.causes.iter().all(|cause| cause.cause != "not-adaptive"));
        }
    }

    /// Timer interrupts of a task, without the events of hrtimers and of switches.
    #[test]
    fn events_that_were_not_recorded_did_not_fail_to_occur() {
        let interrupt = |ms: u32| {
            format!(
                "app-7 [001] d.h1. 1.{ms:03}000: local_timer_entry: vector=236\n\
                 app-7 [001] d.h1. 1.{ms:03}002: local_timer_exit: vector=236\n"
            )
        };
        let text = format!("# tracer: nop\n{}{}", interrupt(1), interrupt(5));
        let record = opened(text.as_bytes()).unwrap();
        let findings = record.explain().unwrap().findings();
        let cpu = &findings.cpus[0];
        assert_eq!((cpu.section.interruptions, cpu.ticks, cpu.ticks_per_second), (2, None, None));
        let causes: Vec<String> = cpu.section.causes.iter().map(|cause| cause.cause.to_string()).collect();
        assert_eq!(causes, ["unknown"]);
        assert_eq!(record.explain_of("7".parse().unwrap()).unwrap().findings().ledger, None);
        let expiry = "app-7 [001] d.h1. 1.006000: hrtimer_expire_entry: hrtimer=0xff function=f now=1\n";
        let with_expiry = opened((text + expiry).as_bytes()).unwrap();
        assert_eq!(with_expiry.explain().unwrap().findings().cpus[0].ticks, Some(0));
    }

    #[test]
    fn file_of_perf_without_names_says_so() {
        let findings = opened(PERF).unwrap().explain().unwrap().findings();
        let limits = findings.source.unwrap().limits.join(" ");
        assert!(limits.contains("it has no names of functions"), "{limits}");
        assert_eq!(findings.kernel, "6.12.117+deb12-amd64");
    }

    /// CPU 0 has older events than CPU 1, whose begin is missing.
    #[test]
    fn window_begins_where_all_cpus_have_events() {
        let line = |cpu: u32, ms: u32| {
            format!("app-7 [00{cpu}] d..2. 1.{ms:03}000: softirq_raise: vec=9 [action=RCU]\n")
        };
        let lines = line(0, 1) + &line(1, 5) + &line(0, 9);
        let window = |text: &str| opened(text.as_bytes()).unwrap().about.window_ns;
        let head = "# tracer: nop\n# entries-in-buffer/entries-written: 3/3   #P:2\n";
        assert_eq!(window(&(head.to_owned() + &lines)), (1_001_000_000, 1_009_000_001));
        let overwritten = head.replace("3/3", "3/8");
        assert_eq!(window(&(overwritten + &lines)), (1_005_000_000, 1_009_000_001));
    }

    #[test]
    fn texts_are_explained_however_they_are_compressed() {
        let zstd = zstd::bulk::compress(TEXT.as_bytes(), 1).unwrap();
        for bytes in [TEXT.as_bytes().to_vec(), gzip(TEXT.as_bytes()), xz(TEXT.as_bytes()), zstd] {
            let mut record = opened(&bytes).unwrap();
            assert_eq!(record.only(&"2".parse().unwrap()).unwrap_err(), "CPU 2 is not in it: it has CPU 1");
            record.only(&"1".parse().unwrap()).unwrap();
            let findings = record.explain().unwrap().findings();
            assert_eq!((findings.kernel.as_str(), findings.cpus[0].section.other_tasks), ("unknown", 1));
            assert_eq!(findings.cpus[0].section.other_tasks_ns, 500_000_000);
        }
    }

    #[test]
    fn files_that_are_no_traces_are_refused() {
        let said = |bytes: &[u8]| opened(bytes).map(|_| ()).unwrap_err();
        assert!(said(b"hello").contains("no trace of a known tool"));
        let none = said(b"# tracer: function\n");
        assert!(none.starts_with("cannot read x: it has no events: record with"), "{none}");
        let cut = said(&TRACE_DAT[..20_000]);
        assert!(cut.starts_with("cannot read x: it is damaged at byte "), "{cut}");
        let bomb = [TEXT.as_bytes(), &b"\n".repeat(32 << 20)].concat();
        assert!(said(&gzip(&bomb)).contains("300 times its size"), "{}", said(&gzip(&bomb)));
    }
}

// SPDX-License-Identifier: GPL-2.0-only
//! A line of a trace: `comm-PID [CPU] flags seconds: event: fields` of ftrace, and `comm PID [CPU] seconds:
//! group:event: fields` of perf. Names of tasks may have spaces, dashes and brackets, so a line is read from the CPU in
//! brackets that a time follows.

/// CPU numbers end before this (`NR_CPUS` on x86 is at most 8192).
const MOST_CPUS: u32 = 8192;

/// The tool that prints a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// The `trace` file of tracefs, with flags.
    Tracefs,
    /// `trace-cmd report`.
    Report,
    /// `perf script`.
    Perf,
}

impl Style {
    /// The format in words.
    pub fn name(self) -> &'static str {
        match self {
            Style::Tracefs => "the text of a trace file of tracefs",
            Style::Report => "the text of trace-cmd report",
            Style::Perf => "the text of perf script",
        }
    }
}

/// An event as a line has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    pub style: Style,
    pub comm: &'a str,
    pub pid: i32,
    pub cpu: u32,
    /// The flags of `include/linux/trace_events.h` for interrupts; `None` if the line has none.
    pub flags: Option<u8>,
    pub ns: u64,
    /// True if its time has ns and not only µs.
    pub has_ns: bool,
    /// The name, with `group:` only of perf.
    pub event: &'a str,
    pub details: &'a str,
}

impl<'a> Line<'a> {
    /// Parses a line; `None` if it is not of an event.
    pub fn parse(line: &'a str) -> Option<Self> {
        let mut from = 0;
        while let Some(bracket) = line[from..].find('[') {
            let at = from + bracket;
            if let Some(found) = Self::parse_at(line, at) {
                return Some(found);
            }
            from = at + 1;
        }
        None
    }

    /// Parses a line whose CPU may begin at a bracket.
    fn parse_at(line: &'a str, at: usize) -> Option<Self> {
        let (cpu, behind) = line[at + 1..].split_once(']')?;
        let cpu = number(cpu).and_then(|cpu| u32::try_from(cpu).ok()).filter(|cpu| *cpu < MOST_CPUS)?;
        let behind = behind.strip_prefix([' ', '\t'])?.trim_start();
        let (first, rest) = behind.split_once([' ', '\t'])?;
        let (flags, time, rest) = match first.strip_suffix(':') {
            Some(time) => (None, time, rest),
            None => {
                let (time, rest) = rest.trim_start().split_once([' ', '\t'])?;
                (Some(flags(first)?), time.strip_suffix(':')?, rest)
            }
        };
        let (ns, has_ns) = time_of(time)?;
        let (comm, pid, is_perf) = task(&line[..at])?;
        let mut rest = rest.trim_start();
        if is_perf {
            // The period of the sample may come first.
            if let Some((_, behind)) = rest.split_once(' ').filter(|(period, _)| number(period).is_some()) {
                rest = behind.trim_start();
            }
        }
        let (event, details) = event_of(rest)?;
        let style = match (is_perf, flags) {
            (true, _) => Style::Perf,
            (false, Some(_)) => Style::Tracefs,
            (false, None) => Style::Report,
        };
        Some(Self { style, comm, pid, cpu, flags, ns, has_ns, event, details })
    }
}

/// A number without sign. Unlike `parse`, it takes no `+`.
fn number(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

/// Reads the column of flags: interrupts off, rescheduling, context, depth of preemption, and from 5.14 on of
/// migration (`kernel/trace/trace_output.c: trace_print_lat_fmt`).
fn flags(column: &str) -> Option<u8> {
    let is_column = (4..=6).contains(&column.len()) && column.is_ascii();
    let context = *column.as_bytes().get(2).filter(|_| is_column)?;
    Some(match context {
        b'Z' => 0x48,
        b'z' => 0x40,
        b'H' => 0x18,
        b'h' => 0x08,
        b's' => 0x10,
        b'.' => 0,
        _ => return None,
    })
}

/// Reads `seconds.fraction` as ns.
fn time_of(text: &str) -> Option<(u64, bool)> {
    let (seconds, fraction) = text.split_once('.')?;
    let ns = match fraction.len() {
        6 => number(fraction)? * 1000,
        9 => number(fraction)?,
        _ => return None,
    };
    Some((number(seconds)?.checked_mul(1_000_000_000)?.checked_add(ns)?, fraction.len() == 9))
}

/// Reads the task before the CPU: `comm-PID` of ftrace, with the process in parentheses behind it if that is recorded,
/// and `comm PID` or `comm PID/TID` of perf. The last is true for perf.
fn task(text: &str) -> Option<(&str, i32, bool)> {
    let mut text = text.trim();
    if let Some((before, process)) = text.strip_suffix(')').and_then(|text| text.rsplit_once('(')) {
        let is_process = process.trim().bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        text = if is_process { before.trim_end() } else { text };
    }
    if let Some((comm, numbers)) = text.rsplit_once([' ', '\t']) {
        let tid = numbers.rsplit('/').next().and_then(pid_of);
        if let Some(tid) = tid.filter(|_| numbers.split('/').all(|part| pid_of(part).is_some())) {
            return Some((comm.trim(), tid, true));
        }
    }
    let (comm, pid) = text.rsplit_once('-')?;
    Some((comm, pid_of(pid)?, false))
}

fn pid_of(text: &str) -> Option<i32> {
    number(text).and_then(|pid| i32::try_from(pid).ok())
}

/// Reads `event: details`; the name of perf's events has a colon itself.
fn event_of(text: &str) -> Option<(&str, &str)> {
    let end = text.find(": ").or_else(|| text.ends_with(':').then(|| text.len() - 1))?;
    let event = &text[..end];
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_:.-".contains(c);
    let details = text.get(end + 2..).unwrap_or_default().trim();
    (!event.is_empty() && event.chars().all(is_name)).then_some((event, details))
}

/// A line that is not of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Remark {
    /// Events of a CPU that were lost before the next.
    Lost { cpu: u32, count: u64 },
    /// The head of tracefs.
    Entries { kept: u64, written: u64, cpus: Option<u32> },
    /// The number of CPUs.
    Cpus(u32),
}

impl Remark {
    /// Parses a line; `None` if it says nothing that is read.
    pub fn parse(line: &str) -> Option<Self> {
        let line = line.trim();
        if let Some(entries) = line.strip_prefix("# entries-in-buffer/entries-written:") {
            let mut words = entries.split_ascii_whitespace();
            let (kept, written) = words.next()?.split_once('/')?;
            let cpus = words.next().and_then(|cpus| cpus.strip_prefix("#P:")?.parse().ok());
            let cpus = cpus.filter(|cpus| *cpus <= MOST_CPUS);
            return Some(Remark::Entries { kept: number(kept)?, written: number(written)?, cpus });
        }
        if let Some(cpus) = line.strip_prefix("cpus=") {
            return number(cpus)
                .and_then(|cpus| u32::try_from(cpus).ok())
                .filter(|cpus| *cpus <= MOST_CPUS)
                .map(Remark::Cpus);
        }
        lost(line)
    }
}

/// Reads `CPU:1 [LOST 7 EVENTS]` of tracefs, `CPU:1 [7 EVENTS DROPPED]` of trace-cmd, and the line of perf's
/// `--show-lost-events`, `comm PID [CPU] time: PERF_RECORD_LOST lost 7`.
fn lost(line: &str) -> Option<Remark> {
    if let Some((before, count)) = line.split_once("PERF_RECORD_LOST lost ") {
        let (_, cpu) = before.rsplit_once('[')?;
        let (cpu, _) = cpu.split_once(']')?;
        return lost_of(cpu, count);
    }
    let (cpu, rest) = line.strip_prefix("CPU:")?.trim_start().split_once([' ', '\t'])?;
    let rest = rest.trim().strip_prefix('[')?.strip_suffix(']')?;
    let count = match (rest.strip_prefix("LOST "), rest.strip_suffix("EVENTS DROPPED")) {
        (Some(count), _) => count.strip_suffix(" EVENTS")?,
        (_, Some("")) => "1",
        (_, Some(count)) => count,
        _ => return None,
    };
    lost_of(cpu, count)
}

fn lost_of(cpu: &str, count: &str) -> Option<Remark> {
    let cpu = number(cpu.trim()).and_then(|cpu| u32::try_from(cpu).ok()).filter(|cpu| *cpu < MOST_CPUS)?;
    Some(Remark::Lost { cpu, count: number(count.trim())? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> (Style, &str, i32, u32, Option<u8>, u64, &str, &str) {
        let Line { style, comm, pid, cpu, flags, ns, event, details, .. } = Line::parse(line).unwrap();
        (style, comm, pid, cpu, flags, ns, event, details)
    }

    #[test]
    fn lines_of_every_tool() {
        assert_eq!(
            parsed(
                "          <idle>-0       [001] d.h1.    30.822830: csd_function_entry: func=do_sync_core, csd=x"
            ),
            (
                Style::Tracefs,
                "<idle>",
                0,
                1,
                Some(8),
                30_822_830_000,
                "csd_function_entry",
                "func=do_sync_core, csd=x"
            )
        );
        assert_eq!(
            parsed("           sleep-139   [000]     7.312935: irq_work_exit:   vector=246"),
            (Style::Report, "sleep", 139, 0, None, 7_312_935_000, "irq_work_exit", "vector=246")
        );
        assert_eq!(
            parsed("     migration/0    23/24 [000]     1.924334123:   1  sched:sched_switch: a=b"),
            (Style::Perf, "migration/0", 24, 0, None, 1_924_334_123, "sched:sched_switch", "a=b")
        );
        assert_eq!(parsed(" a [1] b-c-7 (  7) [012] d..2 1.000001: x: y [000] 1.0").1, "a [1] b-c");
        assert_eq!(parsed(" two words  7 [012] 1.000001: s:x: ").1, "two words");
        for line in
            ["", "x-1 [000] 1.5: x: y", "x-1 [9999] 1.000001: x:", "\tffff do_idle+0x1 ([kernel.kallsyms])"]
        {
            assert_eq!(Line::parse(line), None, "{line}");
        }
    }

    #[test]
    fn lost_events_and_heads() {
        let parse = Remark::parse;
        assert_eq!(parse("CPU:1 [LOST 72 EVENTS]"), Some(Remark::Lost { cpu: 1, count: 72 }));
        assert_eq!(parse("CPU:3 [12 EVENTS DROPPED]"), Some(Remark::Lost { cpu: 3, count: 12 }));
        let line = "perf  136 [001]  8.171: PERF_RECORD_LOST lost 94";
        assert_eq!(parse(line), Some(Remark::Lost { cpu: 1, count: 94 }));
        let head = "# entries-in-buffer/entries-written: 615/7312   #P:2";
        assert_eq!(parse(head), Some(Remark::Entries { kept: 615, written: 7312, cpus: Some(2) }));
        assert_eq!(
            (parse("cpus=2"), parse("cpus=99999999"), parse("# x")),
            (Some(Remark::Cpus(2)), None, None)
        );
    }
}

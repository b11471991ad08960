// SPDX-License-Identifier: GPL-2.0-only
//! The functions that the kernel has, those that it lets be traced, and those with similar names.

use super::{CallsError, Function};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};

const KALLSYMS: &str = "/proc/kallsyms";
/// The functions that have a place for a tracer (`Documentation/trace/ftrace.rst`).
const TRACEABLE: &str = "/sys/kernel/tracing/available_filter_functions";

/// The number of names that are suggested.
const SUGGESTED: usize = 4;

/// An error where one of these functions is not there, or is several. Where the kernel does not list its
/// functions nothing is said.
pub fn ensure_known(functions: &[Function]) -> Result<(), CallsError> {
    let names: Vec<&str> = functions.iter().map(|function| function.name.as_str()).collect();
    let Ok(counts) = File::open(KALLSYMS).and_then(|file| counts(&names, file)) else { return Ok(()) };
    for (name, count) in names.into_iter().zip(counts) {
        let name = name.to_owned();
        match count {
            0 => return Err(CallsError::Unknown { near: suggestions(&name), name }),
            1 => {}
            count => return Err(CallsError::Ambiguous { name, count }),
        }
    }
    Ok(())
}

/// Returns the reason why the kernel refused to trace a function; none if its list does not show one.
pub fn not_traceable(name: &str) -> Option<CallsError> {
    let listed = names_of_traceable(File::open(TRACEABLE).ok()?).ok()?;
    let is_listed = listed.contains(name);
    let near = near(name, listed.iter().map(String::as_str));
    (!listed.is_empty() && !is_listed).then(|| CallsError::NotTraceable { name: name.to_owned(), near })
}

/// Counts the functions of each of these names in a text like `/proc/kallsyms`.
fn counts(names: &[&str], kallsyms: impl Read) -> std::io::Result<Vec<usize>> {
    let mut counts = vec![0; names.len()];
    each_line(kallsyms, |line| {
        let Some(found) = function(line) else { return };
        names.iter().zip(&mut counts).for_each(|(name, count)| *count += usize::from(*name == found));
    })?;
    Ok(counts)
}

/// Returns similar names of functions that can be traced, or, if these are not listed, of all functions.
fn suggestions(name: &str) -> Vec<String> {
    let traceable = File::open(TRACEABLE).and_then(names_of_traceable).unwrap_or_default();
    let all = || {
        let mut names = BTreeSet::new();
        let read = File::open(KALLSYMS)
            .and_then(|file| each_line(file, |line| names.extend(function(line).map(str::to_owned))));
        read.map(|()| names).unwrap_or_default()
    };
    let names = if traceable.is_empty() { all() } else { traceable };
    near(name, names.iter().map(String::as_str))
}

/// The first word of each line.
fn names_of_traceable(list: impl Read) -> std::io::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    each_line(list, |line| names.extend(line.split_ascii_whitespace().next().map(str::to_owned)))?;
    Ok(names)
}

/// The name in a line such as `ffffffff81000000 t name [module]`; none of what is no function.
fn function(line: &str) -> Option<&str> {
    let mut words = line.split_ascii_whitespace();
    let kind = words.nth(1)?;
    words.next().filter(|_| matches!(kind, "t" | "T" | "w" | "W"))
}

/// The names that are similar to this one, the nearest first: those that the compiler made of it
/// (`name.isra.0`), then by the number of different letters, at most a quarter.
fn near<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let most = (name.len() / 4).max(1);
    let distance = |other: &str| match other.strip_prefix(name) {
        Some(rest) if rest.starts_with('.') => Some(0),
        _ if other.len().abs_diff(name.len()) > most => None,
        _ => Some(strsim::osa_distance(name, other)).filter(|distance| (1..=most).contains(distance)),
    };
    let mut near: Vec<(usize, &str)> =
        names.filter_map(|other| distance(other).map(|distance| (distance, other))).collect();
    near.sort_unstable();
    near.into_iter().take(SUGGESTED).map(|(_, name)| name.to_owned()).collect()
}

/// Calls `of` with each line; one that is no text is as good as none.
fn each_line(text: impl Read, mut of: impl FnMut(&str)) -> std::io::Result<()> {
    let mut reader = BufReader::with_capacity(1 << 16, text);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        std::str::from_utf8(&line).ok().into_iter().for_each(&mut of);
        line.clear();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "0000000000000000 A hrtimer_interrupt_data\nffffffff81000000 T hrtimer_interrupt\n\
        ffffffff81000100 t twice\nffffffff81000200 t twice\t[module]\nffffffff81000300 d datum\nx\n";

    #[test]
    fn functions_are_counted_by_their_whole_name() {
        let names = ["hrtimer_interrupt", "twice", "datum", "hrtimer", "twice"];
        assert_eq!(counts(&names, TEXT.as_bytes()).unwrap(), [1, 2, 0, 0, 2]);
    }

    #[test]
    fn the_nearest_names_first() {
        let names = [
            "hrtimer_interrupts",
            "hrtimer_init",
            "hrtimer_interrupt",
            "hrtimer_interupt.isra.0",
            "nmi_enter",
        ];
        let near = |name| near(name, names.into_iter());
        let found = near("hrtimer_interupt");
        assert_eq!(found, ["hrtimer_interupt.isra.0", "hrtimer_interrupt", "hrtimer_interrupts"]);
        assert!(near("schedule").is_empty());
        assert_eq!(near("nmi_entr"), ["nmi_enter"]);
    }

    #[test]
    fn the_list_of_the_traceable_has_modules_and_flags() {
        let names = names_of_traceable("do_idle\nfuse_open [fuse]\n\n".as_bytes()).unwrap();
        assert_eq!(names.into_iter().collect::<Vec<_>>(), ["do_idle", "fuse_open"]);
    }
}

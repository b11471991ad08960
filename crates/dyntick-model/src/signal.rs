// SPDX-License-Identifier: GPL-2.0-only
//! The names of signals.

/// The standard signals in the order of their numbers, from 1 on (`include/uapi/asm-generic/signal.h`; x86 and arm64
/// have the same).
const NAMES: [&str; 31] = [
    "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE",
    "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ",
    "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
];

/// The name of a signal, e.g. `SIGURG`; those of the C library's threads and real-time signals have their number.
pub fn signal_name(number: u32) -> String {
    match number.checked_sub(1).and_then(|at| NAMES.get(at as usize)) {
        Some(name) => format!("SIG{name}"),
        None => format!("signal {number}"),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn signals_have_names() {
        assert_eq!([19, 23, 33, 0].map(super::signal_name), ["SIGSTOP", "SIGURG", "signal 33", "signal 0"]);
    }
}

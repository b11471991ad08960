// SPDX-License-Identifier: GPL-2.0-only
//! The limit on the size of files (`ulimit -f`): one that is met is an error of a write, and not the end of dyntick.

/// From now on a write beyond the limit fails with EFBIG (setrlimit(2)), so that a verb ends in order and
/// puts back what it has changed. The signal is handled and not ignored, for programs that dyntick starts
/// inherit what is ignored.
pub fn is_an_error() {
    // SAFETY: the structure lives across the call; the handler does nothing.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = nothing as extern "C" fn(_) as usize;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(libc::SIGXFSZ, &action, std::ptr::null_mut());
    }
}

extern "C" fn nothing(_: libc::c_int) {}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn the_signal_ends_programs_that_are_started_and_not_this_one() {
        super::is_an_error();
        // SAFETY: a signal to this thread, which is handled.
        unsafe { libc::raise(libc::SIGXFSZ) };
        let status = std::process::Command::new("sh").args(["-c", "kill -XFSZ $$"]).status().unwrap();
        assert_eq!(status.signal(), Some(libc::SIGXFSZ));
    }
}

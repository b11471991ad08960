// SPDX-License-Identifier: GPL-2.0-only
//! The limit on the size of files (`ulimit -f`): exceeding it fails a write, and does not kill dyntick.

/// Makes a write beyond the limit fail with EFBIG (setrlimit(2)), so that a verb ends in order and restores its
/// changes. The signal is handled rather than ignored, since programs that dyntick starts would inherit that.
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
    fn signal_kills_started_programs_and_not_this_one() {
        super::is_an_error();
        // SAFETY: a signal to this thread, which is handled.
        unsafe { libc::raise(libc::SIGXFSZ) };
        let status = std::process::Command::new("sh").args(["-c", "kill -XFSZ $$"]).status().unwrap();
        assert_eq!(status.signal(), Some(libc::SIGXFSZ));
    }
}

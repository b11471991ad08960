// SPDX-License-Identifier: GPL-2.0-only
//! Ctrl-C while guests run.

use crate::output;
use anyhow::Result;
use std::path::Path;

/// From now on SIGINT and SIGTERM end this process with a word about the runs that are whole. Guests and builds end with it, by the
/// kernel (`lab/programs.rs`). Call it before any other thread is started.
pub fn say_what_is_kept(runs: &Path) -> Result<()> {
    // SAFETY: the set is initialised before it is used, and the thread has its own copy.
    let set = unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGINT);
        libc::sigaddset(&mut set, libc::SIGTERM);
        libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
        set
    };
    let runs = runs.to_owned();
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        let mut signal = 0;
        // SAFETY: both live across the call.
        while unsafe { libc::sigwait(&set, &mut signal) } != 0 {}
        let kept = runs.display();
        output::note(format_args!(
            "stopped: complete runs are kept in {kept}; the same command continues from there"
        ));
        // SAFETY: async-signal-safe calls; the signal's own action ends the process, as who started it expects.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::pthread_sigmask(libc::SIG_UNBLOCK, &set, std::ptr::null_mut());
            libc::raise(signal);
        }
    })?;
    Ok(())
}

// SPDX-License-Identifier: GPL-2.0-only
//! The signals to this process while it runs a command: they end it in order, and reach the command. They have this one
//! owner: a thread that waits for the same signals elsewhere would take them from its handler.

use dyntick_system::signals::heard;
use std::sync::atomic::{AtomicI32, Ordering};

static RECEIVED: AtomicI32 = AtomicI32::new(0);
static COMMAND: AtomicI32 = AtomicI32::new(0);

/// Keeps the signals that would end this process, and passes them on to the command. Call it before anything is changed
/// or started.
pub fn keep_signals() {
    for signal in heard(&[libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP]) {
        // SAFETY: the structure lives across the call; the handler does only what a handler may.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handle as extern "C" fn(_, _, _) as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
}

/// The first signal that arrived, if any.
pub fn received() -> Option<i32> {
    Some(RECEIVED.load(Ordering::SeqCst)).filter(|signal| *signal != 0)
}

/// Passes signals on to this process from now on; 0 for none.
pub(crate) fn pass_on_to(pid: i32) {
    COMMAND.store(pid, Ordering::SeqCst);
    // Passes on a signal that arrived just before.
    if let (Some(signal), true) = (received(), pid != 0) {
        // SAFETY: a system call.
        unsafe { libc::kill(pid, signal) };
    }
}

extern "C" fn handle(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    let _ = RECEIVED.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst);
    let command = COMMAND.load(Ordering::SeqCst);
    // The terminal sends signals to the complete foreground group, so the command has it already.
    // SAFETY: the kernel gives a valid structure; kill(2) may be called in a handler.
    unsafe {
        if command != 0 && (*info).si_code <= 0 {
            libc::kill(command, signal);
        }
    }
}

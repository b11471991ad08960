// SPDX-License-Identifier: GPL-2.0-only
//! Memory of eBPF programs and maps on kernels before 5.11, which count it against RLIMIT_MEMLOCK
//! (`bpf_charge_memlock` in `kernel/bpf/syscall.c`); 64 KiB by default.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// As long as it is there this process may lock any memory, if it may raise the limit; then its limit is what it was,
/// so that a command that is started inherits that one.
pub struct AnyLocked(Rlimit);

impl AnyLocked {
    /// Raises the limit from now on.
    pub fn begin() -> Self {
        let before = getrlimit(Resource::Memlock);
        // Newer kernels need none of it, and where it is refused loading says so.
        let _ = setrlimit(Resource::Memlock, Rlimit { current: None, maximum: None });
        Self(before)
    }
}

impl Drop for AnyLocked {
    fn drop(&mut self) {
        let _ = setrlimit(Resource::Memlock, self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_what_it_was() {
        let before = getrlimit(Resource::Memlock);
        let raised = {
            let _any = AnyLocked::begin();
            getrlimit(Resource::Memlock)
        };
        assert!(raised == before || raised.current.is_none());
        assert_eq!(getrlimit(Resource::Memlock), before);
    }
}

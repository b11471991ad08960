// SPDX-License-Identifier: GPL-2.0-only
//! Ctrl-C while guests run.

use crate::output;
use anyhow::Result;
use dyntick_system::signals;
use std::path::Path;

/// From now on SIGINT and SIGTERM end this process with a note about the complete runs. The kernel ends guests and
/// builds with it (`lab/programs.rs`). Call it before any other thread is started.
pub fn say_what_is_kept(runs: &Path) -> Result<()> {
    let runs = runs.to_owned();
    signals::read_by_thread(&[libc::SIGINT, libc::SIGTERM], move |signal| {
        let kept = runs.display();
        output::note(format_args!(
            "stopped: complete runs are kept in {kept}; the same command continues from there"
        ));
        signals::end_by(signal);
        false
    })?;
    Ok(())
}

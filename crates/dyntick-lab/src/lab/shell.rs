// SPDX-License-Identifier: GPL-2.0-only
//! A guest that executes a command or a shell, and is not kept.

use super::Lab;
use crate::error::LabError;
use crate::image::Share;
use crate::plan;
use crate::qemu::Accelerator;
use dyntick_guest::{Job, SHELL_STATUS, Shell};
use dyntick_study::Case;

impl Lab<'_> {
    /// Starts a guest that executes a command. Its console is on this terminal if it is interactive, and only shown
    /// there otherwise; `share` is copied into it. Returns the exit status of the command, or `None` if the guest was
    /// ended otherwise.
    ///
    /// # Errors
    /// A case that cannot be prepared, or a guest that failed.
    pub fn shell(
        &self,
        case: &Case,
        shell: Shell,
        interactive: bool,
        share: Option<&Share>,
    ) -> Result<Option<u8>, LabError> {
        let prepared = self.prepare_with(case, 0, share)?;
        let how = match prepared.plan.accelerator {
            Accelerator::Kvm => "on KVM",
            Accelerator::Icount | Accelerator::EmulatedThreads => "without KVM, about ten seconds",
        };
        self.say(&format!("booting Linux {} {how} …", prepared.plan.release));
        let folder = self.scratch()?;
        let inputs = prepared.inputs(folder.path(), &|_| ());
        let job = Job { shell: Some(shell), ..plan::job(case, None)? };
        let archive = self.executor.shell(&prepared.plan, &inputs, &job, interactive)?;
        let status = archive.as_ref().and_then(|archive| archive.get(SHELL_STATUS));
        Ok(status.and_then(|text| std::str::from_utf8(text).ok()?.parse().ok()))
    }
}

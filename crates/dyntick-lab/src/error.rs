// SPDX-License-Identifier: GPL-2.0-only
//! The reasons for which a case has no run, and the part that is at fault.

use crate::emulator::EmulatorError;
use crate::image::ImageError;
use crate::qemu::{Failure, QemuError, RunError};
use crate::store::StoreError;
use dyntick_kernels::build::BuildError;
use dyntick_kernels::cache::CacheError;
use dyntick_kernels::find::KernelError;

/// The reason for which a case has no run.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The kernel cannot do what the case asks for.
    #[error("case '{case}' cannot run:\n  {}", problems.join("\n  "))]
    Impossible {
        /// The case.
        case: String,
        /// The reasons, each with its fix.
        problems: Vec<String>,
    },
    /// The case has no stored run, and none is to be made.
    #[error("not run yet, or the study was changed since")]
    NotRun,
    /// No kernel.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// No QEMU.
    #[error(transparent)]
    Qemu(#[from] QemuError),
    /// No emulator of idle states.
    #[error(transparent)]
    Emulator(#[from] EmulatorError),
    /// No image.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// The guest failed.
    #[error("{failure}")]
    Guest {
        /// The cause.
        failure: Failure,
        /// The last lines of its console.
        console_tail: Vec<String>,
    },
    /// The virtual machine could not be run.
    #[error(transparent)]
    Run(RunError),
    /// The run could not be kept.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The cache.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// Another run of the same case could not be prepared, for a reason that holds for all.
    #[error("not tried: the case could not be prepared, see its first run")]
    NotTried,
    /// Another error whose message is too long to be held for thousands of runs.
    #[error("{words}")]
    Shortened {
        /// The beginning of the message.
        words: String,
        /// The fault of the error.
        fault: Fault,
        /// The last lines of the guest's console.
        console_tail: Vec<String>,
    },
}

/// The part that is at fault if a case did not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A guest failed.
    Guest,
    /// The kernel refuses a setting of the case, was built without an option that the case needs, or cannot be built.
    Kernel,
    /// The rest of the input, or this machine.
    Here,
}

impl From<RunError> for LabError {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Guest(failure) => Self::Guest { failure, console_tail: Vec::new() },
            error => Self::Run(error),
        }
    }
}

impl LabError {
    /// Shortens a long message, for an error that is held with thousands of others.
    pub(crate) fn shortened(self) -> Self {
        const MOST: usize = 4096;
        let words = self.to_string();
        if words.len() <= MOST {
            return self;
        }
        let (fault, console_tail) = (self.fault(), self.console_tail().to_vec());
        Self::Shortened { words: beginning(&words, MOST), fault, console_tail }
    }

    /// The last lines of the guest's console, if a guest failed.
    pub fn console_tail(&self) -> &[String] {
        match self {
            Self::Guest { console_tail, .. } | Self::Shortened { console_tail, .. } => console_tail,
            _ => &[],
        }
    }

    /// The file of the setting that the guest's kernel refuses.
    pub fn refused_path(&self) -> Option<&str> {
        match self {
            Self::Guest { failure: Failure::Refused { path, .. }, .. } => path.as_deref(),
            _ => None,
        }
    }

    /// The part that is at fault.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Impossible { .. } | Self::Guest { failure: Failure::Refused { .. }, .. } => Fault::Kernel,
            Self::Guest { .. } => Fault::Guest,
            Self::Kernel(KernelError::Build(BuildError::Failed { .. }) | KernelError::FailedBefore(_)) => {
                Fault::Kernel
            }
            Self::Shortened { fault, .. } => *fault,
            _ => Fault::Here,
        }
    }

    /// Returns true if a guest wrote the message, which has no limit then.
    pub fn is_said_by_guest(&self) -> bool {
        matches!(self, Self::Guest { .. } | Self::Shortened { .. })
    }

    /// The message without the name of the case.
    pub fn reason(&self) -> String {
        match self {
            Self::Impossible { problems, .. } => problems.join("\n"),
            error => error.to_string(),
        }
    }
}

/// The beginning of a long text.
fn beginning(text: &str, characters: usize) -> String {
    let shown: String = text.chars().take(characters).collect();
    format!("{shown}\n… ({} bytes in all)", text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fault_is_of_the_kernel_the_guest_or_the_input() {
        let guest = |failure: Failure| LabError::from(RunError::from(failure)).fault();
        assert_eq!(guest(Failure::Refused { reason: "x".into(), path: None }), Fault::Kernel);
        assert_eq!(guest(Failure::Agent("x".into())), Fault::Guest);
        assert_eq!(guest(Failure::NeverSpoke), Fault::Guest);
        let impossible = LabError::Impossible { case: "a".into(), problems: vec!["no".into(), "nor".into()] };
        assert_eq!((impossible.fault(), impossible.reason()), (Fault::Kernel, "no\nnor".to_owned()));
        assert_eq!(LabError::NotRun.fault(), Fault::Here);
    }

    #[test]
    fn long_messages_are_shortened() {
        let guest = |words: String| LabError::from(RunError::from(Failure::Agent(words)));
        let short = guest("no".into()).shortened();
        assert!(matches!(short, LabError::Guest { .. }));
        let long = guest("é".repeat(10_000)).shortened();
        let words = long.to_string();
        assert!(long.fault() == Fault::Guest && words.len() < 9000, "{} bytes", words.len());
        assert!(words.ends_with("bytes in all)"), "{words}");
    }
}

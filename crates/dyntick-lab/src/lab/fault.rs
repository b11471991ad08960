// SPDX-License-Identifier: GPL-2.0-only
//! Whose fault it is that a case did not run.

use super::LabError;
use crate::qemu::{Failure, RunError};
use dyntick_kernels::build::BuildError;
use dyntick_kernels::find::KernelError;

/// What is at fault where a case did not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A guest failed.
    Guest,
    /// The kernel is not what the case asks for: a setting that it refuses, an option that it was built without, or
    /// it cannot be built.
    Kernel,
    /// The rest of the input, or this machine.
    Here,
}

impl LabError {
    /// What is at fault.
    pub fn fault(&self) -> Fault {
        match self {
            LabError::Run(RunError::Guest(Failure::Refused(_))) | LabError::Impossible { .. } => {
                Fault::Kernel
            }
            LabError::Run(RunError::Guest(_)) => Fault::Guest,
            LabError::Kernel(
                KernelError::Build(BuildError::Failed { .. }) | KernelError::FailedBefore(_),
            ) => Fault::Kernel,
            LabError::Shortened { fault, .. } => *fault,
            _ => Fault::Here,
        }
    }

    /// Whether it is said by a guest, whose words have no limit.
    pub fn is_said_by_guest(&self) -> bool {
        matches!(self, LabError::Run(RunError::Guest(_)) | LabError::Shortened { .. })
    }

    /// Why, where the case is named beside it.
    pub fn reason(&self) -> String {
        match self {
            LabError::Impossible { problems, .. } => problems.join("\n"),
            error => error.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_that_cannot_is_told_from_a_guest_that_fails_and_from_the_input() {
        let guest = |failure: Failure| LabError::from(RunError::from(failure)).fault();
        assert_eq!(guest(Failure::Refused("x".into())), Fault::Kernel);
        assert_eq!(guest(Failure::Agent("x".into())), Fault::Guest);
        assert_eq!(guest(Failure::NeverSpoke), Fault::Guest);
        let impossible = LabError::Impossible { case: "a".into(), problems: vec!["no".into(), "nor".into()] };
        assert_eq!((impossible.fault(), impossible.reason()), (Fault::Kernel, "no\nnor".to_owned()));
        assert_eq!(LabError::NotRun.fault(), Fault::Here);
    }
}

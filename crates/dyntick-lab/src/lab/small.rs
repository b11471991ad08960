// SPDX-License-Identifier: GPL-2.0-only
//! The cases of a study whose memory cannot hold their guest image, before any of them is run.

use super::Lab;
use super::present::{first_of, nothing_was_run};
use crate::image::{self, ImageError};
use crate::qemu;
use dyntick_study::Case;
use std::collections::BTreeMap;

/// Cases whose memory is too small.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.words())]
pub struct TooSmall {
    cases: Vec<Small>,
    /// The number of cases that have enough.
    others: usize,
}

/// Cases that have as much memory, and need as much.
#[derive(Debug)]
struct Small {
    ids: Vec<String>,
    error: qemu::RunError,
}

/// The reason for which the memory of cases cannot be judged, or is too small.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// Some cases have too little.
    #[error(transparent)]
    TooSmall(#[from] TooSmall),
    /// A program of the image cannot be read.
    #[error(transparent)]
    Image(#[from] ImageError),
}

impl TooSmall {
    fn words(&self) -> String {
        let lines: Vec<String> =
            self.cases.iter().map(|small| format!("{}: {}", first_of(&small.ids), small.error)).collect();
        let rest = nothing_was_run(self.others, "has enough memory", "have enough memory");
        format!("{}\n{rest}", lines.join("\n"))
    }
}

impl Lab<'_> {
    /// Refuses cases whose memory is below what this program and their tools take. Kernel modules come on top; their
    /// size is known once the image is built.
    ///
    /// # Errors
    /// All cases with too little memory, or a tool that cannot be read.
    pub fn ensure_memory(&self, cases: &[Case]) -> Result<(), MemoryError> {
        let own = image::program_bytes(&self.init)?;
        let mut bytes_of_tools: BTreeMap<&[String], u64> = BTreeMap::new();
        let mut small: BTreeMap<(u64, u64), Small> = BTreeMap::new();
        for case in cases {
            let tools = match bytes_of_tools.get(&case.tools[..]) {
                Some(bytes) => *bytes,
                None => image::programs(&case.tools)?.bytes,
            };
            bytes_of_tools.insert(&case.tools, tools);
            if let Err(error) = qemu::ensure_room(own + tools, case.memory) {
                let alike = small.entry((tools, case.memory));
                alike.or_insert(Small { ids: Vec::new(), error }).ids.push(case.id.clone());
            }
        }
        if small.is_empty() {
            return Ok(());
        }
        let cases_with_less: usize = small.values().map(|small| small.ids.len()).sum();
        let others = cases.len() - cases_with_less;
        Err(TooSmall { cases: small.into_values().collect(), others }.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_that_need_as_much_share_a_line() {
        let error = qemu::ensure_room(26 << 20, 300 << 20).unwrap_err();
        let cases = vec![Small { ids: ["a", "b"].map(str::to_owned).to_vec(), error }];
        let words = TooSmall { cases, others: 1 }.to_string();
        assert_eq!(
            words,
            "\
a, b: the guest image has 26 MiB, so the guest needs at least `memory = \"308M\"`, and has 300 MiB
nothing was run, and no report was written (1 case has enough memory: name it with --case)"
        );
    }
}

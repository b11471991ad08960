// SPDX-License-Identifier: GPL-2.0-only
//! The CPU's own counter of system management interrupts.

use crate::LatencyError;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// `MSR_SMI_COUNT`, of Intel CPUs from Nehalem on (Intel SDM vol. 4); its upper half is reserved.
const SMI_COUNT: u64 = 0x34;

/// The counter of one CPU.
#[derive(Debug)]
pub(crate) struct Smi {
    registers: File,
    before: u64,
}

impl Smi {
    /// Starts to count.
    pub fn open(cpu: u32) -> Result<Self, LatencyError> {
        let refused = |source| LatencyError::Smi { cpu, source };
        let registers = File::open(format!("/dev/cpu/{cpu}/msr")).map_err(refused)?;
        let before = read(&registers).map_err(refused)?;
        Ok(Self { registers, before })
    }

    /// The number of interrupts since the last call.
    pub fn since(&mut self) -> u64 {
        let now = read(&self.registers).unwrap_or(self.before);
        let since = now.wrapping_sub(self.before) & 0xffff_ffff;
        self.before = now;
        since
    }
}

fn read(registers: &File) -> std::io::Result<u64> {
    let mut value = [0; 8];
    registers.read_exact_at(&mut value, SMI_COUNT)?;
    Ok(u64::from_le_bytes(value) & 0xffff_ffff)
}

// SPDX-License-Identifier: GPL-2.0-only
//! The limit for the exit latency of idle states (`Documentation/power/pm_qos_interface.rst`).

use std::fs::{File, OpenOptions};
use std::io::{self, Write};

/// The device file through which a limit is requested.
pub const PATH: &str = "/dev/cpu_dma_latency";

/// A request that no CPU enters an idle state with a longer exit latency. The kernel removes it when this is dropped or
/// the process ends.
#[derive(Debug)]
pub struct PowerLimit(#[allow(dead_code)] File);

/// Sets the limit, us.
pub fn hold(limit_us: i32) -> io::Result<PowerLimit> {
    let mut file = OpenOptions::new().write(true).open(PATH)?;
    file.write_all(&limit_us.to_ne_bytes())?;
    Ok(PowerLimit(file))
}

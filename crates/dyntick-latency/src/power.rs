// SPDX-License-Identifier: GPL-2.0-only
//! The limit for the exit latency of idle states (`Documentation/power/pm_qos_interface.rst`).

use std::fs::{File, OpenOptions};
use std::io::{self, Write};

/// Where it is asked for.
pub const PATH: &str = "/dev/cpu_dma_latency";

/// No CPU enters an idle state that takes longer to leave than this allows. The kernel forgets the
/// limit when this is dropped, and also when the process is killed.
#[derive(Debug)]
pub struct PowerLimit(#[allow(dead_code)] File);

/// Sets the limit, us.
pub fn hold(limit_us: i32) -> io::Result<PowerLimit> {
    let mut file = OpenOptions::new().write(true).open(PATH)?;
    file.write_all(&limit_us.to_ne_bytes())?;
    Ok(PowerLimit(file))
}

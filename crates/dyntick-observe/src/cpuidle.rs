// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's own accounts of idle states (`/sys/devices/system/cpu/cpuN/cpuidle/stateM`), each number with
//! the time at which it was read: a CPU goes on sleeping and waking meanwhile.

use crate::thread::now_ns;
use dyntick_model::{CpuList, Reading, StateReading};
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The numbers that the kernel counts, by the names of their files. `time` is in us, rounded down.
pub const COUNTERS: [&str; 5] = ["usage", "time", "above", "below", "rejected"];

/// Reads the states of these CPUs, the shallowest first; those without states are left out. Needs no privilege.
pub fn read(cpus: &CpuList) -> BTreeMap<u32, Vec<StateReading>> {
    let folder = |cpu| PathBuf::from(format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle"));
    let states = cpus.iter().map(|cpu| (cpu, states_in(&folder(cpu))));
    states.filter(|(_, states)| !states.is_empty()).collect()
}

fn states_in(folder: &Path) -> Vec<StateReading> {
    (0..).map_while(|number| state_in(&folder.join(format!("state{number}")))).collect()
}

fn state_in(folder: &Path) -> Option<StateReading> {
    let text = |name: &str| Some(std::fs::read_to_string(folder.join(name)).ok()?.trim().to_owned());
    let number = |name: &str| text(name).and_then(|text| text.parse().ok()).unwrap_or(0);
    let counter = |name: &&str| Some(((*name).to_owned(), reading(&folder.join(name))?));
    Some(StateReading {
        name: text("name")?,
        latency_us: number("latency"),
        residency_us: number("residency"),
        disabled: number("disable") != 0,
        counters: COUNTERS.iter().filter_map(counter).collect(),
    })
}

/// Opened before the time is taken, so that it brackets the reading closely.
fn reading(path: &Path) -> Option<Reading> {
    let file = File::open(path).ok()?;
    let mut text = [0; 32];
    let from_ns = now_ns();
    let length = file.read_at(&mut text, 0).ok()?;
    let to_ns = now_ns();
    let value = std::str::from_utf8(&text[..length]).ok()?.trim().parse().ok()?;
    Some(Reading { value, from_ns, to_ns })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_in_their_order_with_what_the_kernel_has() {
        let folder = tempfile::tempdir().unwrap();
        let write = |state: usize, name: &str, text: &str| {
            let place = folder.path().join(format!("state{state}"));
            std::fs::create_dir_all(&place).unwrap();
            std::fs::write(place.join(name), text).unwrap();
        };
        for (name, text) in [("name", "POLL\n"), ("usage", "12\n"), ("time", "345\n"), ("disable", "1\n")] {
            write(0, name, text);
        }
        for (name, text) in
            [("name", "C6\n"), ("latency", "290\n"), ("residency", "800\n"), ("rejected", "3\n")]
        {
            write(1, name, text);
        }
        let states = states_in(folder.path());
        assert_eq!((states.len(), states[0].disabled, states[1].latency_us), (2, true, 290));
        assert_eq!(states[0].counters.keys().collect::<Vec<_>>(), ["time", "usage"]);
        let rejected = states[1].counters["rejected"];
        assert!(rejected.value == 3 && rejected.from_ns <= rejected.to_ns && rejected.from_ns > 0);
    }

    #[test]
    fn a_cpu_without_states_is_left_out() {
        assert!(read(&CpuList::from_iter([8000])).is_empty());
    }
}

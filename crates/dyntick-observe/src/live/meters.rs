// SPDX-License-Identifier: GPL-2.0-only
//! The machine's own counters, in files: idle states, CPU times, interrupts, SMIs.

use crate::interrupts::Interrupts;
use crate::thread::now_ns;
use dyntick_model::{CpuList, NANOS_PER_SEC};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The machine's own counters at one moment, or between two ([`Meters::since`]).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Meters {
    /// When they were read, ns on CLOCK_MONOTONIC; of a difference, how long it lasted.
    pub ns: u64,
    /// The counters by CPU.
    pub cpus: BTreeMap<u32, CpuMeters>,
    /// The counters that could not be read, and their needs.
    pub missing: Vec<Missing>,
    all_interrupts: Interrupts,
}

/// The counters of one CPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuMeters {
    /// Its idle states, the shallowest first (`/sys/devices/system/cpu/cpuN/cpuidle`).
    pub idle: Vec<IdleState>,
    /// The use of its time (`/proc/stat`).
    pub times: CpuTimes,
    /// System management interrupts: the firmware took the CPU, unseen by the kernel (MSR 0x34 of Intel's
    /// processors, SDM volume 4, MSR_SMI_COUNT).
    pub smis: Option<u64>,
    /// Interrupts by row of `/proc/interrupts`; only those that came, and only of a difference.
    pub interrupts: BTreeMap<String, u64>,
}

/// An idle state (`Documentation/ABI/testing/sysfs-devices-system-cpu`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IdleState {
    /// Its name.
    pub name: String,
    /// The number of times that it was entered.
    pub usage: u64,
    /// The time in it, us.
    pub time_us: u64,
    /// The number of times that a shallower state would have been right.
    pub above: u64,
    /// The number of times that a deeper state would have been right.
    pub below: u64,
}

/// Times of one CPU, ns, in the resolution of `/proc/stat` (10 ms on most machines).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuTimes {
    /// User code, guests included.
    pub user_ns: u64,
    /// The kernel, without interrupts.
    pub system_ns: u64,
    /// Idle, waiting for disks included.
    pub idle_ns: u64,
    /// Interrupts and softirqs; 0 on kernels that do not account for them.
    pub interrupts_ns: u64,
    /// Taken by the hypervisor while the CPU had work.
    pub steal_ns: u64,
}

/// Something that cannot be known here.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Missing {
    /// The name of the counter.
    pub what: String,
    /// Its needs: a capability, a module, a kind of machine.
    pub needs: String,
}

impl Meters {
    /// Reads the counters of these CPUs. None needs root but those of SMIs.
    pub fn read(cpus: &CpuList) -> Self {
        let mut meters = Meters { ns: now_ns(), ..Meters::default() };
        let times = cpu_times(&std::fs::read_to_string("/proc/stat").unwrap_or_default());
        for cpu in cpus.iter() {
            let idle = idle_states(Path::new(&format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle")));
            let smis = smis(cpu);
            let times = times.get(&cpu).copied().unwrap_or_default();
            if idle.is_empty() {
                meters.lacks("idle states", "a cpuidle driver, which is missing on this machine");
            }
            if let Err(needs) = smis {
                meters.lacks("SMIs", needs);
            }
            let counters = CpuMeters { idle, times, smis: smis.ok(), ..CpuMeters::default() };
            meters.cpus.insert(cpu, counters);
        }
        meters.all_interrupts =
            Interrupts::parse(&std::fs::read_to_string("/proc/interrupts").unwrap_or_default());
        meters
    }

    fn lacks(&mut self, what: &str, needs: &str) {
        let missing = Missing { what: what.to_owned(), needs: needs.to_owned() };
        if !self.missing.contains(&missing) {
            self.missing.push(missing);
        }
    }

    /// Returns the counts since `earlier`.
    pub fn since(&self, earlier: &Meters) -> Meters {
        let mut cpus: BTreeMap<u32, CpuMeters> = self
            .cpus
            .iter()
            .filter_map(|(cpu, now)| Some((*cpu, now.since(earlier.cpus.get(cpu)?))))
            .collect();
        for (row, cpu, count) in self.all_interrupts.since(&earlier.all_interrupts) {
            if let Some(cpu) = cpus.get_mut(&cpu).filter(|_| count > 0) {
                cpu.interrupts.insert(row, count);
            }
        }
        Meters {
            ns: self.ns.saturating_sub(earlier.ns),
            cpus,
            missing: self.missing.clone(),
            all_interrupts: Interrupts::default(),
        }
    }
}

impl Meters {
    /// Adds another difference, as of a second run.
    pub fn add(&mut self, other: &Meters) {
        self.ns += other.ns;
        for (cpu, more) in &other.cpus {
            self.cpus.entry(*cpu).or_default().add(more);
        }
    }
}

impl CpuMeters {
    /// Adds what another counted, also of another CPU with the same idle states.
    pub fn add(&mut self, other: &CpuMeters) {
        if self.idle.is_empty() {
            self.idle = other
                .idle
                .iter()
                .map(|state| IdleState { name: state.name.clone(), ..IdleState::default() })
                .collect();
        }
        for (sum, more) in self.idle.iter_mut().zip(&other.idle) {
            sum.usage += more.usage;
            sum.time_us += more.time_us;
            sum.above += more.above;
            sum.below += more.below;
        }
        self.times.user_ns += other.times.user_ns;
        self.times.system_ns += other.times.system_ns;
        self.times.idle_ns += other.times.idle_ns;
        self.times.interrupts_ns += other.times.interrupts_ns;
        self.times.steal_ns += other.times.steal_ns;
        self.smis = match (self.smis, other.smis) {
            (Some(sum), Some(more)) => Some(sum + more),
            (sum, more) => sum.or(more),
        };
        for (row, count) in &other.interrupts {
            *self.interrupts.entry(row.clone()).or_default() += count;
        }
    }

    fn since(&self, earlier: &CpuMeters) -> CpuMeters {
        let idle = self.idle.iter().zip(&earlier.idle).map(|(now, then)| IdleState {
            name: now.name.clone(),
            usage: now.usage.saturating_sub(then.usage),
            time_us: now.time_us.saturating_sub(then.time_us),
            above: now.above.saturating_sub(then.above),
            below: now.below.saturating_sub(then.below),
        });
        let (now, then) = (self.times, earlier.times);
        CpuMeters {
            idle: idle.collect(),
            times: CpuTimes {
                user_ns: now.user_ns.saturating_sub(then.user_ns),
                system_ns: now.system_ns.saturating_sub(then.system_ns),
                idle_ns: now.idle_ns.saturating_sub(then.idle_ns),
                interrupts_ns: now.interrupts_ns.saturating_sub(then.interrupts_ns),
                steal_ns: now.steal_ns.saturating_sub(then.steal_ns),
            },
            smis: self.smis.zip(earlier.smis).map(|(now, then)| now.saturating_sub(then)),
            interrupts: BTreeMap::new(),
        }
    }
}

fn idle_states(folder: &Path) -> Vec<IdleState> {
    let state = |number: usize| {
        let folder = folder.join(format!("state{number}"));
        let text = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
        let value = |name: &str| text(name).and_then(|text| text.trim().parse().ok()).unwrap_or(0);
        Some(IdleState {
            name: text("name")?.trim().to_owned(),
            usage: value("usage"),
            time_us: value("time"),
            above: value("above"),
            below: value("below"),
        })
    };
    (0..).map_while(state).collect()
}

/// Parses the lines `cpuN user nice system idle iowait irq softirq steal guest guest_nice` of `/proc/stat`.
pub(super) fn cpu_times(text: &str) -> BTreeMap<u32, CpuTimes> {
    let tick_ns = NANOS_PER_SEC / rustix::param::clock_ticks_per_second().max(1);
    let line = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let cpu = words.next()?.strip_prefix("cpu")?.parse().ok()?;
        let values: Vec<u64> = words.filter_map(|word| word.parse::<u64>().ok()).collect();
        let of = |places: &[usize]| -> u64 {
            places.iter().filter_map(|place| values.get(*place)).sum::<u64>() * tick_ns
        };
        // Guest time is part of user time already.
        let times = CpuTimes {
            user_ns: of(&[0, 1]),
            system_ns: of(&[2]),
            idle_ns: of(&[3, 4]),
            interrupts_ns: of(&[5, 6]),
            steal_ns: of(&[7]),
        };
        Some((cpu, times))
    };
    text.lines().filter_map(line).collect()
}

/// The count of SMIs since the processor was reset, or what reading it needs.
fn smis(cpu: u32) -> Result<u64, &'static str> {
    const MSR_SMI_COUNT: u64 = 0x34;
    let file = File::open(format!("/dev/cpu/{cpu}/msr")).map_err(|error| match error.kind() {
        std::io::ErrorKind::PermissionDenied => "root, or CAP_SYS_RAWIO and access to /dev/cpu/N/msr",
        _ => "the module msr (modprobe msr)",
    })?;
    let mut value = [0; 8];
    file.read_exact_at(&mut value, MSR_SMI_COUNT).map_err(|_| "a processor that counts SMIs (Intel)")?;
    // The upper half is reserved.
    Ok(u64::from_le_bytes(value) & 0xffff_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_by_cpu() {
        let times = cpu_times("cpu  9 9 9 9\ncpu1 1 2 3 4 5 6 7 8 9 10\nintr 5\n");
        let tick = NANOS_PER_SEC / rustix::param::clock_ticks_per_second();
        let expected = CpuTimes {
            user_ns: 3 * tick,
            system_ns: 3 * tick,
            idle_ns: 9 * tick,
            interrupts_ns: 13 * tick,
            steal_ns: 8 * tick,
        };
        assert_eq!(times, [(1, expected)].into());
    }

    #[test]
    fn states_in_their_order() {
        let folder = tempfile::tempdir().unwrap();
        for (number, name) in ["POLL", "C1"].iter().enumerate() {
            let state = folder.path().join(format!("state{number}"));
            std::fs::create_dir(&state).unwrap();
            std::fs::write(state.join("name"), format!("{name}\n")).unwrap();
            std::fs::write(state.join("usage"), format!("{}\n", number + 7)).unwrap();
        }
        let states = idle_states(folder.path());
        assert_eq!((states[0].name.as_str(), states[1].name.as_str(), states[1].usage), ("POLL", "C1", 8));
    }

    #[test]
    fn reads_this_machine() {
        let cpus = CpuList::first(1);
        let before = Meters::read(&cpus);
        std::thread::sleep(std::time::Duration::from_millis(30));
        let grown = Meters::read(&cpus).since(&before);
        assert!(grown.ns >= 30_000_000);
        assert!(grown.cpus[&0].interrupts.values().sum::<u64>() > 0, "{grown:?}");
        assert!(grown.missing.iter().all(|missing| !missing.needs.is_empty()));
    }
}

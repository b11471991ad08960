// SPDX-License-Identifier: GPL-2.0-only
//! The CPUs on which dyntick itself runs: not those that it measures.

use crate::facts::Cpus;
use dyntick_model::CpuList;
use dyntick_system::{affinity, run_on};

/// The affinity that this thread had, for what it starts.
#[derive(Clone)]
pub struct Place {
    before: CpuList,
    /// The CPUs that dyntick runs on now.
    pub cpus: CpuList,
}

/// Moves this thread, and all that it starts from now on, to CPUs that are not measured and not
/// isolated. Where all are measured it keeps off the isolated ones, and where all are isolated it stays.
pub fn keep_off(measured: &CpuList) -> std::io::Result<Place> {
    let before = affinity(None)?;
    let all = Cpus::read("").unwrap_or_default();
    for cpus in candidates(&all.online, measured, &all.isolated.union(&all.nohz_full)) {
        // A cpuset may forbid all of them.
        if !cpus.is_empty() && run_on(None, &cpus).is_ok() {
            return Ok(Place { before, cpus });
        }
    }
    Ok(Place { cpus: before.clone(), before })
}

impl Place {
    /// Gives this thread its CPUs back; for a child between fork and exec, as it only does a system call.
    pub fn give_back(&self) -> std::io::Result<()> {
        run_on(None, &self.before)
    }
}

fn candidates(online: &CpuList, measured: &CpuList, isolated: &CpuList) -> [CpuList; 3] {
    let others = online.difference(measured);
    [others.difference(isolated), others, online.difference(isolated)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_place_first() {
        let list = |text: &str| text.parse::<CpuList>().unwrap();
        let places = |online: &str, measured: &str, isolated: &str| {
            candidates(&list(online), &list(measured), &list(isolated)).map(|cpus| cpus.to_string())
        };
        assert_eq!(places("0-3", "3", "2-3"), ["0-1", "0-2", "0-1"]);
        assert_eq!(places("0-3", "0-3", "2-3"), ["", "", "0-1"]);
    }

    #[test]
    fn moves_and_comes_back() {
        std::thread::spawn(|| {
            let before = affinity(None).unwrap();
            let place = keep_off(&CpuList::first(1)).unwrap();
            let online: CpuList =
                std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap().parse().unwrap();
            assert!(online.len() == 1 || !place.cpus.contains(0), "{}", place.cpus);
            place.give_back().unwrap();
            assert_eq!(affinity(None).unwrap(), before);
        })
        .join()
        .unwrap();
    }
}

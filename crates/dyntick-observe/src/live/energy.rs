// SPDX-License-Identifier: GPL-2.0-only
//! The energy counters of the processor packages (RAPL).

use super::Missing;
use crate::thread::now_ns;
use std::path::Path;

/// Where the kernel shows them (`Documentation/power/powercap/powercap.rst`).
const FOLDER: &str = "/sys/class/powercap";

/// The counters at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Energy {
    ns: u64,
    zones: Vec<Zone>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Zone {
    name: String,
    microjoules: u64,
    /// Where the counter begins anew.
    range: u64,
}

/// The mean power of one package between two moments.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Power {
    /// As the kernel names it: `package-0`, `psys`.
    pub name: String,
    /// Watts.
    pub watts: f64,
}

impl Energy {
    /// Reads the counters, or says what reading them needs.
    pub fn read() -> Result<Self, Missing> {
        Self::read_in(Path::new(FOLDER))
    }

    fn read_in(folder: &Path) -> Result<Self, Missing> {
        let missing = |needs: &str| Missing { what: "power".to_owned(), needs: needs.to_owned() };
        let mut zones = Vec::new();
        let mut refused = false;
        let mut entries: Vec<_> = std::fs::read_dir(folder).into_iter().flatten().flatten().collect();
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            // `intel-rapl:0` is a package (AMD's too), `intel-rapl:0:0` a part of it.
            let name = entry.file_name().to_string_lossy().into_owned();
            if !name.starts_with("intel-rapl:") || name.matches(':').count() != 1 {
                continue;
            }
            match zone(&entry.path()) {
                Ok(zone) => zones.extend(zone),
                Err(error) => refused |= error.kind() == std::io::ErrorKind::PermissionDenied,
            }
        }
        match (zones.is_empty(), refused) {
            (false, _) => Ok(Self { ns: now_ns(), zones }),
            (true, true) => Err(missing("root, to read /sys/class/powercap/*/energy_uj")),
            (true, false) => {
                Err(missing("a processor with energy counters (RAPL), which this machine does not show"))
            }
        }
    }

    /// The power of each package since `earlier`; those that were not there then are left out.
    pub fn since(&self, earlier: &Energy) -> Vec<Power> {
        let seconds = self.ns.saturating_sub(earlier.ns) as f64 / dyntick_model::NANOS_PER_SEC as f64;
        let power = |now: &Zone| {
            let then = earlier.zones.iter().find(|zone| zone.name == now.name)?;
            let used = match now.microjoules >= then.microjoules {
                true => now.microjoules - then.microjoules,
                false => (now.range - then.microjoules.min(now.range)) + now.microjoules,
            };
            Some(Power { name: now.name.clone(), watts: used as f64 / 1e6 / seconds })
        };
        if seconds > 0.0 { self.zones.iter().filter_map(power).collect() } else { Vec::new() }
    }
}

/// A zone; none where its files hold no numbers.
fn zone(folder: &Path) -> std::io::Result<Option<Zone>> {
    let text = |name: &str| std::fs::read_to_string(folder.join(name));
    let number = |name: &str| text(name).map(|text| text.trim().parse::<u64>().ok());
    let (Some(microjoules), Some(range)) = (number("energy_uj")?, number("max_energy_range_uj")?) else {
        return Ok(None);
    };
    Ok(Some(Zone { name: text("name")?.trim().to_owned(), microjoules, range }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(microjoules: u64) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let zone = |name: &str, files: [(&str, &str); 3]| {
            std::fs::create_dir(folder.path().join(name)).unwrap();
            for (file, text) in files {
                std::fs::write(folder.path().join(name).join(file), text).unwrap();
            }
        };
        let energy = microjoules.to_string();
        let files = |name| [("name", name), ("energy_uj", energy.as_str()), ("max_energy_range_uj", "1000")];
        zone("intel-rapl:0", files("package-0\n"));
        zone("intel-rapl:0:0", files("core\n"));
        folder
    }

    #[test]
    fn packages_only_and_over_the_end_of_the_counter() {
        let read = |microjoules, ns| Energy { ns, ..Energy::read_in(machine(microjoules).path()).unwrap() };
        let (then, now) = (read(900, 0), read(100, 1_000_000));
        let power = now.since(&then);
        assert_eq!(power.len(), 1, "{power:?}");
        assert_eq!(power[0].name, "package-0");
        // 100 + 100 uJ in 1 ms.
        assert!((power[0].watts - 0.2).abs() < 1e-12, "{power:?}");
    }

    #[test]
    fn a_machine_without_says_so() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Energy::read_in(folder.path()).unwrap_err().what, "power");
    }
}

// SPDX-License-Identifier: GPL-2.0-only
//! The energy counters of the processor packages and their parts (RAPL).

use super::Missing;
use crate::thread::now_ns;
use dyntick_model::NANOS_PER_SEC;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The folder of the zones (`Documentation/power/powercap/powercap.rst`).
const FOLDER: &str = "/sys/class/powercap";

/// More zones are not read: a package has five at most, and a machine eight packages.
const MOST_ZONES: usize = 256;
/// More of a file is not read, bytes.
const LONGEST_TEXT: u64 = 64;

/// The energy that was used since a moment, for each zone.
pub struct EnergyMeter {
    folder: PathBuf,
    last: Reading,
    /// Since [`EnergyMeter::taken`] was called, uJ by zone.
    used: BTreeMap<String, u64>,
    since_ns: u64,
}

/// The counters at one moment.
struct Reading {
    ns: u64,
    zones: Vec<Zone>,
}

/// A counter: a package, a part of one, or the platform.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Zone {
    /// The name of its folder, e.g. `intel-rapl:0:1`.
    id: String,
    name: String,
    microjoules: u64,
    /// The value at which the counter wraps.
    range: u64,
}

/// The energy of one zone over some time.
#[derive(Clone, Debug, PartialEq)]
pub struct Power {
    /// The kernel's name: `package-0`, `core`, `uncore`, `dram`, `psys`.
    pub name: String,
    /// The zone that it is a part of, where it is.
    pub part_of: Option<String>,
    /// The energy used, uJ.
    pub microjoules: u64,
    /// Over which time, ns.
    pub ns: u64,
}

impl EnergyMeter {
    /// The longest time between two readings of a meter: up to 2 kW the smallest counters (AMD's, 65 kJ) then begin
    /// anew at most once in between.
    pub const INTERVAL: Duration = Duration::from_secs(30);

    /// Begins, or says what reading the counters needs.
    pub fn start() -> Result<Self, Missing> {
        Self::start_in(Path::new(FOLDER))
    }

    fn start_in(folder: &Path) -> Result<Self, Missing> {
        let last = Reading::read(folder)?;
        Ok(Self { folder: folder.to_owned(), since_ns: last.ns, last, used: BTreeMap::new() })
    }

    /// Adds what was used since it was read before. A counter that cannot be read now is read the next time.
    pub fn read(&mut self) {
        let Ok(now) = Reading::read(&self.folder) else { return };
        for zone in &now.zones {
            let Some(then) = self.last.zones.iter().find(|then| then.id == zone.id) else { continue };
            let sum = self.used.entry(zone.id.clone()).or_default();
            *sum = sum.saturating_add(zone.since(then));
        }
        self.last = now;
    }

    /// Returns the energy of each zone since the begin, or since the last call; packages before their parts.
    pub fn taken(&mut self) -> Vec<Power> {
        self.read();
        let ns = self.last.ns.saturating_sub(self.since_ns);
        let power = |zone: &Zone| {
            let microjoules = self.used.get(&zone.id).copied()?;
            Some(Power { name: zone.name.clone(), part_of: self.whole_of(zone), microjoules, ns })
        };
        let taken = self.last.zones.iter().filter_map(power).collect();
        (self.used, self.since_ns) = (BTreeMap::new(), self.last.ns);
        taken
    }

    /// The name of the zone that has this one as its part: `intel-rapl:0` has `intel-rapl:0:1`.
    fn whole_of(&self, zone: &Zone) -> Option<String> {
        let (whole, _) = zone.id.rsplit_once(':')?;
        self.last.zones.iter().find(|zone| zone.id == whole).map(|zone| zone.name.clone())
    }
}

impl Power {
    /// Watts; none over no time.
    pub fn watts(&self) -> Option<f64> {
        let seconds = self.ns as f64 / NANOS_PER_SEC as f64;
        (self.ns > 0).then(|| self.joules() / seconds)
    }

    /// Joules.
    pub fn joules(&self) -> f64 {
        self.microjoules as f64 / 1e6
    }

    /// A unique name on the machine: `package-0/core`.
    pub fn full_name(&self) -> String {
        self.part_of.iter().chain([&self.name]).map(String::as_str).collect::<Vec<_>>().join("/")
    }

    /// The name of turbostat's column for such a zone (turbostat(8)); none for one that it does not know.
    pub fn column(&self) -> Option<&'static str> {
        match self.name.as_str() {
            "core" => Some("CorWatt"),
            "uncore" => Some("GFXWatt"),
            "dram" => Some("RAMWatt"),
            "psys" => Some("SysWatt"),
            name => name.starts_with("package-").then_some("PkgWatt"),
        }
    }
}

impl Reading {
    fn read(folder: &Path) -> Result<Self, Missing> {
        let (mut zones, mut refused) = (Vec::new(), false);
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut ids: Vec<String> = names.filter(|id| is_zone(id)).take(MOST_ZONES).collect();
        ids.sort();
        let ns = now_ns();
        for id in ids {
            match zone(&folder.join(&id), id) {
                Ok(zone) => zones.extend(zone),
                Err(error) => refused |= error.kind() == std::io::ErrorKind::PermissionDenied,
            }
        }
        let needs = match (zones.is_empty(), refused) {
            (false, _) => return Ok(Self { ns, zones }),
            (true, true) => "root: /sys/class/powercap/*/energy_uj is readable by root only",
            (true, false) => {
                "energy counters in /sys/class/powercap: a processor with RAPL (Intel, AMD), the module \
                 intel_rapl_msr (modprobe intel_rapl_msr; also for AMD); virtual machines have none"
            }
        };
        Err(Missing { what: "power".to_owned(), needs: needs.to_owned() })
    }
}

/// Returns true if a folder is a zone: `intel-rapl:0` is a package (AMD's too) and `intel-rapl:0:0` a part of it.
/// `intel-rapl-mmio:0` is the same counter once more.
fn is_zone(id: &str) -> bool {
    let numbers = id.strip_prefix("intel-rapl:").map(|rest| rest.split(':'));
    numbers.is_some_and(|mut numbers| {
        numbers.all(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

impl Zone {
    /// Returns the energy since then, uJ, if the counter wrapped at most once.
    fn since(&self, then: &Zone) -> u64 {
        if self.microjoules >= then.microjoules {
            self.microjoules - then.microjoules
        } else {
            self.range.saturating_sub(then.microjoules).saturating_add(self.microjoules)
        }
    }
}

/// A zone; none where its files do not hold a name and numbers.
fn zone(folder: &Path, id: String) -> std::io::Result<Option<Zone>> {
    let text = |name: &str| -> std::io::Result<Option<String>> {
        let mut bytes = Vec::new();
        File::open(folder.join(name))?.take(LONGEST_TEXT).read_to_end(&mut bytes)?;
        Ok(String::from_utf8(bytes).ok().map(|text| text.trim_end().to_owned()))
    };
    let number = |name| Ok::<_, std::io::Error>(text(name)?.and_then(|text| text.parse::<u64>().ok()));
    let (Some(microjoules), Some(range)) = (number("energy_uj")?, number("max_energy_range_uj")?) else {
        return Ok(None);
    };
    let of_names = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let name = text("name")?.filter(|name| !name.is_empty() && name.bytes().all(of_names));
    Ok(name.map(|name| Zone { id, name, microjoules, range }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(folder: &Path, id: &str, files: [(&str, &[u8]); 3]) {
        std::fs::create_dir_all(folder.join(id)).unwrap();
        files.iter().for_each(|(file, bytes)| std::fs::write(folder.join(id).join(file), bytes).unwrap());
    }

    /// A machine of one package whose counters, of 1000 uJ each, are at these values.
    fn machine(folder: &Path, package: u64, core: u64) {
        let zone = |id: &str, name: &str, energy: u64| {
            let energy = format!("{energy}\n");
            let files: [(&str, &[u8]); 3] = [
                ("name", name.as_bytes()),
                ("energy_uj", energy.as_bytes()),
                ("max_energy_range_uj", b"1000\n"),
            ];
            set(folder, id, files);
        };
        zone("intel-rapl:0", "package-0\n", package);
        zone("intel-rapl:0:0", "core\n", core);
        // The same once more, and no zone at all.
        zone("intel-rapl-mmio:0", "package-0\n", package);
        zone("intel-rapl", "control\n", package);
    }

    fn used(taken: &[Power]) -> Vec<(&str, Option<&str>, u64)> {
        taken.iter().map(|zone| (zone.name.as_str(), zone.part_of.as_deref(), zone.microjoules)).collect()
    }

    #[test]
    fn packages_and_parts_over_the_end_of_the_counter() {
        let folder = tempfile::tempdir().unwrap();
        machine(folder.path(), 900, 10);
        let mut meter = EnergyMeter::start_in(folder.path()).unwrap();
        // Twice round: each time it is read in between.
        for package in [100, 950, 50] {
            machine(folder.path(), package, 20);
            meter.read();
        }
        let taken = meter.taken();
        assert_eq!(used(&taken), [("package-0", None, 200 + 850 + 100), ("core", Some("package-0"), 10)]);
        assert!(taken[0].ns > 0);
        machine(folder.path(), 60, 20);
        assert_eq!(used(&meter.taken()), [("package-0", None, 10), ("core", Some("package-0"), 0)]);
    }

    #[test]
    fn watts_are_joules_in_seconds() {
        let zone =
            |name: &str, ns| Power { name: name.to_owned(), part_of: None, microjoules: 3_000_000, ns };
        assert_eq!(zone("package-0", 2_000_000_000).watts(), Some(1.5));
        assert_eq!(zone("package-0", 0).watts(), None);
        let names = ["package-1", "package-0-die-1", "core", "uncore", "dram", "psys", "gpu"];
        let columns = names.map(|name| zone(name, 1).column());
        let turbostats = ["PkgWatt", "PkgWatt", "CorWatt", "GFXWatt", "RAMWatt", "SysWatt"].map(Some);
        assert_eq!(columns[..6], turbostats);
        assert_eq!(columns[6], None);
    }

    #[test]
    fn what_is_no_counter_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let good: [(&str, &[u8]); 3] =
            [("name", b"package-0"), ("energy_uj", b"5"), ("max_energy_range_uj", b"1000")];
        let long = [b'9'; 4096];
        let with = |file: &'static str, bytes| {
            good.map(|(name, text)| (name, if name == file { bytes } else { text }))
        };
        set(folder.path(), "intel-rapl:0", with("name", b"\x1b[2Jpackage"));
        set(folder.path(), "intel-rapl:1", with("name", b""));
        set(folder.path(), "intel-rapl:2", with("energy_uj", b"-5"));
        set(folder.path(), "intel-rapl:3", with("energy_uj", &long));
        set(folder.path(), "intel-rapl:4", with("max_energy_range_uj", b"\xff\xff"));
        set(folder.path(), "intel-rapl:5:", good);
        set(folder.path(), "intel-rapl:x", good);
        let error = EnergyMeter::start_in(folder.path()).err().unwrap();
        assert!(error.what == "power" && error.needs.contains("intel_rapl_msr"), "{error:?}");

        // A counter beyond its range, and one that went away.
        set(folder.path(), "intel-rapl:6", with("energy_uj", b"18446744073709551615"));
        set(folder.path(), "intel-rapl:7", good);
        let mut meter = EnergyMeter::start_in(folder.path()).unwrap();
        set(folder.path(), "intel-rapl:6", with("energy_uj", b"7"));
        std::fs::remove_dir_all(folder.path().join("intel-rapl:7")).unwrap();
        assert_eq!(used(&meter.taken()), [("package-0", None, 7)]);
    }

    #[test]
    fn no_more_zones_than_a_machine_has() {
        let folder = tempfile::tempdir().unwrap();
        for zone in 0..MOST_ZONES + 10 {
            let files: [(&str, &[u8]); 3] =
                [("name", b"package-0"), ("energy_uj", b"5"), ("max_energy_range_uj", b"1000")];
            set(folder.path(), &format!("intel-rapl:{zone}"), files);
        }
        assert_eq!(Reading::read(folder.path()).unwrap().zones.len(), MOST_ZONES);
    }
}

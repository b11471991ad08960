// SPDX-License-Identifier: GPL-2.0-only
//! Compiling a configured kernel, with its progress.

use super::BuildError;
use super::products;
use super::program::Builder;
use super::run::essence;
use dyntick_model::KernelConfig;
use std::time::{Duration, Instant};

/// A compiled kernel.
pub struct Compiled {
    /// `uname -r`.
    pub release: String,
    /// The uncompressed kernel where it has a PVH entry, else the bzImage.
    pub image: &'static str,
    /// True if there are modules.
    pub modules: bool,
    /// The number of its objects.
    pub objects: u32,
}

/// The time between two notes of the state of this build, which others read while they wait.
const STEP: Duration = Duration::from_secs(2);

/// The longest time without a report.
const MINUTE: Duration = Duration::from_secs(60);

/// Compiles. `estimate` is the number of objects that a like kernel took.
pub fn compile(
    builder: &Builder<'_>,
    config: &KernelConfig,
    estimate: u32,
    progress: &dyn Fn(&str),
) -> Result<Compiled, BuildError> {
    let modules = config.is_enabled("MODULES") && config.iter().any(|(_, value)| value == "m");
    let image = if config.is_enabled("PVH") { "vmlinux" } else { "bzImage" };
    let targets = [Some(image), modules.then_some("modules")];
    let targets: Vec<&str> = targets.into_iter().flatten().collect();
    progress("compiling the kernel");
    let objects = compile_targets(builder, &targets, estimate, progress)?;
    let release =
        builder.run("ask the kernel for its release", builder.make(&["-s", "kernelrelease"]), &[])?;
    let place = if image == "vmlinux" { "vmlinux" } else { "arch/x86/boot/bzImage" };
    Ok(Compiled { release: products::release(&release)?, image: place, modules, objects })
}

/// Runs make, and counts the objects that it names.
fn compile_targets(
    builder: &Builder<'_>,
    targets: &[&str],
    estimate: u32,
    progress: &dyn Fn(&str),
) -> Result<u32, BuildError> {
    let failed = |message: String| BuildError::Failed { what: "compile the kernel".to_owned(), message };
    let (mut objects, begun, mut noted) = (0_u32, Instant::now(), Instant::now());
    let mut reports = Reports::of(estimate);
    let (ended, errors) = builder
        .follow(builder.make(targets), |line| {
            if !is_object(line) {
                return;
            }
            objects = objects.saturating_add(1);
            if let Some(report) = reports.after(objects, begun.elapsed()) {
                progress(&report);
            }
            if noted.elapsed() >= STEP {
                noted = Instant::now();
                builder.space.note(&so_far(objects, estimate, begun.elapsed()));
            }
        })
        .map_err(|error| failed(error.to_string()))?;
    if ended.success() { Ok(objects) } else { Err(failed(essence(&errors))) }
}

/// The reports of a compilation: each tenth of it, and at least one a minute.
struct Reports {
    estimate: u32,
    tenth: u32,
    told: Duration,
}

impl Reports {
    fn of(estimate: u32) -> Self {
        Self { estimate: estimate.max(1), tenth: 0, told: Duration::ZERO }
    }

    /// The report for this number of objects and this time, if one is due.
    fn after(&mut self, objects: u32, elapsed: Duration) -> Option<String> {
        let tenth = (u64::from(objects) * 10 / u64::from(self.estimate)).min(10) as u32;
        let is_due = tenth > self.tenth || elapsed.saturating_sub(self.told) >= MINUTE;
        is_due.then(|| {
            (self.tenth, self.told) = (tenth, elapsed);
            so_far(objects, self.estimate, elapsed)
        })
    }
}

/// The part that is compiled, with the time that the rest takes at the same pace.
fn so_far(objects: u32, estimate: u32, elapsed: Duration) -> String {
    let Some(rest) = estimate.checked_sub(objects).filter(|rest| *rest > 0) else {
        return format!("compiled {objects} objects");
    };
    let percent = u64::from(objects) * 100 / u64::from(estimate);
    let left = match elapsed.mul_f64(f64::from(rest) / f64::from(objects.max(1))).as_secs() {
        seconds @ ..100 => format!("{seconds} s"),
        seconds => format!("{} min", (seconds + 30) / 60),
    };
    format!("compiled {percent} %, about {left} left")
}

/// True for lines such as `  CC      kernel/fork.o` and `  AS [M]  x.o`.
fn is_object(line: &str) -> bool {
    matches!(line.split_whitespace().next(), Some("CC" | "AS"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_counted() {
        assert!(is_object("  CC      kernel/fork.o") && is_object("  AS [M]  x.o"));
        assert!(!is_object("  LD      vmlinux") && !is_object(""));
        let after = Duration::from_secs(60);
        assert_eq!(so_far(200, 1200, after), "compiled 16 %, about 5 min left");
        assert_eq!(so_far(1000, 1200, after), "compiled 83 %, about 12 s left");
        assert_eq!(so_far(1400, 1200, after), "compiled 1400 objects");
    }

    #[test]
    fn each_tenth_is_reported_and_each_minute() {
        let reports = |seconds_an_object: f64| {
            let mut reports = Reports::of(1000);
            let at = |objects: u32| Duration::from_secs_f64(f64::from(objects) * seconds_an_object);
            (1..=1000).filter_map(|objects| reports.after(objects, at(objects))).collect::<Vec<_>>()
        };
        let fast = reports(0.1);
        assert_eq!(fast.len(), 10, "{fast:?}");
        assert_eq!(
            (fast[0].as_str(), fast[9].as_str()),
            ("compiled 10 %, about 90 s left", "compiled 1000 objects")
        );
        assert!(reports(1.0).len() < 30, "slow builds have a report a minute");
    }
}

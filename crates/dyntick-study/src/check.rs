// SPDX-License-Identifier: GPL-2.0-only
//! The check of a case against its kernel, reported before anything boots (invariant 12).

use super::Case;
use dyntick_model::isolation::flags_and_list;
use dyntick_model::parameters::{Meant, meant, with_option};
use dyntick_model::shipped::FRAGMENTS;
use dyntick_model::{Clock, CpuList, Flag, KernelConfig, Spec, cpus_of};
use std::fmt;

/// A request of a case, the option that it needs, and a kernel that has the option.
struct Need {
    asked: &'static str,
    option: &'static str,
    kernel: &'static str,
}

const fn need(asked: &'static str, option: &'static str, kernel: &'static str) -> Need {
    Need { asked, option, kernel }
}

/// A kernel that has all options that parameters need.
const HAS_ALL: &str = "debian:6.12";

/// Systems of trace events that only some kernels have (`kernel/rcu/Kconfig.debug`,
/// `kernel/trace/Kconfig`).
const EVENTS: [Need; 2] =
    [need("rcu:", "RCU_TRACE", ""), need("osnoise:", "OSNOISE_TRACER", "debian:6.12-rt")];

/// The one event of `rcu:` that needs no option.
const PLAIN_RCU_EVENT: &str = "rcu:rcu_utilization";

/// The option of the scheduler's files. From 6.15 on every kernel has them, and no configuration names it.
const SCHED_DEBUG: &str = "SCHED_DEBUG";

/// Returns true if a kernel lacks an option that it could have.
fn lacks(config: &KernelConfig, need: &Need) -> bool {
    if need.option == SCHED_DEBUG { config.is_off(SCHED_DEBUG) } else { !config.is_enabled(need.option) }
}

/// Folders of files that a case may write or read.
const FOLDERS: [Need; 2] = [
    need("/sys/kernel/debug/sched/", SCHED_DEBUG, "debian:6.12"),
    need("/sys/kernel/debug/", "DEBUG_FS", "debian:6.12"),
];

/// The options that the emulator of idle states needs.
const MACHINE: [Need; 3] = [
    need("", "CPU_IDLE", "debian:6.12"),
    need("", "MODULES", "debian:6.12"),
    need("", "X86_LOCAL_APIC", "debian:6.12"),
];

/// The options that a disk with ext4 needs.
const DISK: [Need; 4] = [
    need("", "PCI", "debian:6.12"),
    need("", "VIRTIO_PCI", "debian:6.12"),
    need("", "VIRTIO_BLK", "debian:6.12"),
    need("", "EXT4_FS", "debian:6.12"),
];

/// The configuration fragment that has all of it.
const DISK_FRAGMENT: &str = "virtio-disk";

/// Idle governors; no kernel of Debian has the last.
const GOVERNORS: [Need; 4] = [
    need("menu", "CPU_IDLE_GOV_MENU", "debian:6.12"),
    need("ladder", "CPU_IDLE_GOV_LADDER", "debian:6.12"),
    need("haltpoll", "CPU_IDLE_GOV_HALTPOLL", "debian:6.12"),
    need("teo", "CPU_IDLE_GOV_TEO", ""),
];

/// The options that the agent itself needs.
const AGENT_NEEDS: [&str; 7] =
    ["BLK_DEV_INITRD", "BINFMT_ELF", "DEVTMPFS", "DEVMEM", "EVENT_TRACING", "SERIAL_8250_CONSOLE", "CGROUPS"];

/// Everything that this kernel cannot honour, in words with the fix; empty where it can do all.
/// Where its configuration is not known, only what no kernel could do is shown.
pub fn against_kernel(case: &Case, config: &KernelConfig) -> Vec<String> {
    let mut problems = against_itself(case);
    if config.is_empty() {
        return problems;
    }
    problems.extend(parameters(case, config));
    problems.extend(events(case, config));
    problems.extend(files(case, config));
    problems.extend(partitions(case, config));
    problems.extend(cpus(case, config));
    problems.extend(idle(case, config));
    problems.extend(of_disk(case, config));
    problems.extend(AGENT_NEEDS.iter().filter(|option| !config.is_enabled(option)).map(|option| {
        format!(
            "{} was built without CONFIG_{option}, which every guest of the laboratory needs: choose another \
             kernel, or build this one with {option}=y",
            case.kernel
        )
    }));
    problems
}

/// The message about a missing option, with its remedy.
fn lack(case: &Case, what: &str, need: &Need) -> String {
    let option = need.option;
    let fix = match (&case.recipe, need.kernel) {
        (Some(_), _) => format!("add {} to the config of [kernels.{}]", fragment_with(option), case.kernel),
        (None, "") => format!("build a kernel with {option}=y"),
        (None, kernel) => format!("choose {kernel}, which has it, or build a kernel with {option}=y"),
    };
    let is = if case.recipe.is_some() { "is" } else { "was" };
    format!("{what} on {}, which {is} built without CONFIG_{option}: {fix}", case.kernel)
}

/// The shortest fragment that comes with dyntick and sets this option, as a recipe names it.
fn fragment_with(option: &str) -> String {
    let line = format!("CONFIG_{option}=y");
    let has = |text: &str| text.lines().any(|set| set == line);
    let texts = FRAGMENTS.names().into_iter().filter_map(|name| Some((FRAGMENTS.find(name)?.1, name)));
    let shortest = texts.filter(|(text, _)| has(text)).min_by_key(|(text, _)| text.len());
    shortest.map_or_else(|| format!("a fragment with {line}"), |(_, name)| format!("\"{name}\""))
}

fn parameters(case: &Case, config: &KernelConfig) -> Vec<String> {
    let mut problems = Vec::new();
    let needs = with_option().map(|(asked, option)| need(asked, option, HAS_ALL));
    for need in needs.filter(|need| !config.is_enabled(need.option)) {
        if let Some(value) = case.append.get(need.asked) {
            problems.push(lack(case, &format!("'{}' does nothing", written(need.asked, value)), &need));
        }
    }
    let isolation = case.append.get("isolcpus").unwrap_or_default();
    if isolation.split(',').any(|flag| flag == "nohz") && !config.is_enabled("NO_HZ_FULL") {
        let what = format!("the flag nohz of 'isolcpus={isolation}' does nothing");
        problems.push(lack(case, &what, &need("isolcpus", "NO_HZ_FULL", HAS_ALL)));
    }
    problems
}

/// A boot parameter that is none of the kernel's, and like one of them. The kernel ignores it, or hands it to init.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misspelt {
    parameter: String,
    meant: Meant,
}

impl fmt::Display for Misspelt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { parameter, meant } = self;
        write!(f, "'{parameter}' is not a kernel parameter: {meant}")
    }
}

/// The parameters of a case that look misspelt.
pub fn misspelt(case: &Case) -> Vec<Misspelt> {
    let name = |parameter: &str| parameter.split_once('=').map_or(parameter, |(name, _)| name).to_owned();
    let found = |parameter: &str| {
        meant(&name(parameter)).map(|meant| Misspelt { parameter: parameter.to_owned(), meant })
    };
    case.append.iter().filter_map(found).collect()
}

/// Returns true if a case boots a kernel of the user's own, which may have parameters that no other has.
pub fn may_be_patched(case: &Case) -> bool {
    case.recipe.is_some() || matches!(case.kernel.parse(), Ok(Spec::Path(_)))
}

fn written(parameter: &str, value: &str) -> String {
    if value.is_empty() { parameter.to_owned() } else { format!("{parameter}={value}") }
}

fn events(case: &Case, config: &KernelConfig) -> Vec<String> {
    let lacking = EVENTS.iter().filter(|need| !config.is_enabled(need.option));
    lacking
        .flat_map(|need| {
            let asked = case.events.iter().filter(|event| event.starts_with(need.asked));
            let special = asked.filter(|event| *event != PLAIN_RCU_EVENT);
            special.map(|event| lack(case, &format!("there is no trace event '{event}'"), need))
        })
        .collect()
}

fn files(case: &Case, config: &KernelConfig) -> Vec<String> {
    case.write
        .keys()
        .chain(&case.read)
        .filter_map(|path| {
            let in_folder = |need: &&Need| path.starts_with(need.asked) && lacks(config, need);
            let need = FOLDERS.iter().find(in_folder)?;
            Some(lack(case, &format!("there is no file '{path}'"), need))
        })
        .collect()
}

fn partitions(case: &Case, config: &KernelConfig) -> Option<String> {
    const CPUSETS: Need = need("", "CPUSETS", "debian:6.12");
    let asked = case.tasks.iter().any(|task| task.partition.is_some());
    (asked && !config.is_enabled(CPUSETS.option))
        .then(|| lack(case, "there are no cpuset partitions", &CPUSETS))
}

fn idle(case: &Case, config: &KernelConfig) -> Vec<String> {
    let machine = case.machine.iter().flat_map(|machine| {
        MACHINE.iter().map(move |need| (format!("there are no idle states of {}", machine.name), need))
    });
    let governor = case.governor.iter().flat_map(|governor| {
        let needs = GOVERNORS.iter().filter(move |need| need.asked == governor);
        needs.map(move |need| (format!("there is no idle governor '{governor}'"), need))
    });
    let lacking = machine.chain(governor).filter(|(_, need)| !config.is_enabled(need.option));
    lacking.map(|(what, need)| lack(case, &what, need)).collect()
}

fn of_disk(case: &Case, config: &KernelConfig) -> Vec<String> {
    let lacking = DISK.iter().filter(|need| case.disk.is_some() && !config.is_enabled(need.option));
    let answer = |need: &Need| match &case.recipe {
        // One fragment has all that it needs.
        Some(_) => format!(
            "there is no disk on {}, which was built without CONFIG_{}: add {DISK_FRAGMENT} to the config of [kernels.{}]",
            case.kernel, need.option, case.kernel
        ),
        None => lack(case, "there is no disk", need),
    };
    lacking.map(answer).collect()
}

fn cpus(case: &Case, config: &KernelConfig) -> Option<String> {
    let limit = match config.get("NR_CPUS").and_then(|limit| limit.parse::<u32>().ok()) {
        _ if !config.is_enabled("SMP") => 1,
        Some(limit) => limit,
        None => return None,
    };
    (case.cpus > limit).then(|| {
        format!(
            "{} supports {limit} CPUs (CONFIG_NR_CPUS), the case asks for {}: lower cpus, or build a kernel \
             with a higher NR_CPUS",
            case.kernel, case.cpus
        )
    })
}

/// The CPUs of `isolcpus=`, if all its flags are some.
fn isolated(value: &str, possible: u32) -> Result<CpuList, String> {
    let (flags, list) = flags_and_list(value);
    let Some(wrong) = flags.into_iter().find(|flag| Flag::of(flag).is_none()) else {
        return cpus_of(list, possible).map_err(|error| error.to_string());
    };
    Err(match Flag::meant(wrong) {
        Some(flag) => format!("'{wrong}' is not a flag of isolcpus=: '{}' was probably meant", flag.word()),
        None => format!(
            "'{wrong}' is not a flag of isolcpus=: its flags are {}",
            Flag::ALL.map(Flag::word).join(", ")
        ),
    })
}

/// The settings that no kernel could honour.
fn against_itself(case: &Case) -> Vec<String> {
    let line = &case.append;
    let listed = |name| line.cpus(name, case.cpus).map(|cpus| cpus.map_err(|error| error.to_string()));
    let lists = ["nohz_full", "rcu_nocbs", "irqaffinity"].map(|name| (name, listed(name)));
    let isolated = line.get("isolcpus").map(|value| isolated(value, case.cpus));
    let mut problems: Vec<String> = disk_problems(case);
    problems.extend(RESERVED.iter().filter_map(|reserved| refused(case, reserved)));
    for (name, cpus) in lists.into_iter().chain([("isolcpus", isolated)]) {
        let value = line.get(name).unwrap_or_default();
        match cpus {
            Some(Ok(cpus)) => problems.extend(impossible_cpus(case, name, value, &cpus)),
            Some(Err(error)) => problems.push(format!("'{name}={value}': {error}")),
            None => {}
        }
    }
    problems
}

/// Parameters that the laboratory itself gives, with what they are for.
const RESERVED: [(&str, &str); 4] = [
    ("memmap", "it reserves the memory that the agent shares with the host"),
    ("console", "the run's console is the serial port"),
    ("rdinit", "the agent is the guest's first program"),
    ("init", "the agent is the guest's first program"),
];

fn refused(case: &Case, (name, why): &(&str, &str)) -> Option<String> {
    let value = case.append.get(name)?;
    Some(format!("'{}' is set by the laboratory ({why}): remove it from append", written(name, value)))
}

fn impossible_cpus(case: &Case, parameter: &str, value: &str, cpus: &CpuList) -> Option<String> {
    let guest = CpuList::first(case.cpus);
    let beyond = cpus.difference(&guest);
    if !beyond.is_empty() {
        return Some(format!(
            "'{parameter}={value}' names CPU {beyond}, but the guest has only {guest}: raise cpus, or remove them"
        ));
    }
    // The kernel then keeps the boot CPU out by itself, with no more than a warning.
    (parameter == "nohz_full" && guest.difference(cpus).is_empty()).then(|| {
        format!(
            "'{parameter}={value}' leaves no housekeeping CPU for timekeeping: write nohz_full={}",
            guest.difference(&CpuList::first(1))
        )
    })
}

const MIB: u64 = 1 << 20;

/// ext4 has a journal from 8 MiB on, which then takes half.
const LEAST_DISK: u64 = 16 * MIB;

/// The largest disk of a guest, bytes.
const MOST_DISK: u64 = 8 << 30;

/// The parameter that keeps the kernel from its PCI bus, where the disk is.
const PCI_OFF: (&str, &str) = ("pci", "off");

/// Everything that is wrong with the disk of this case, in words with the fix; nothing where it has none.
pub fn disk_problems(case: &Case) -> Vec<String> {
    let Some(bytes) = case.disk else { return Vec::new() };
    let mut problems = Vec::new();
    if !(LEAST_DISK..=MOST_DISK).contains(&bytes) || bytes % MIB != 0 {
        problems.push(format!(
            "disk: {bytes} bytes are not a valid size; give a multiple of 1M from {}M to {}G, as \"256M\"",
            LEAST_DISK / MIB,
            MOST_DISK >> 30
        ));
    }
    if case.clock == Clock::Virtual {
        problems.push(
            "disk: its requests complete in real time, which virtual time does not have: set clock = \"wall\", or use \
             modules = [\"null_blk\"], a disk in memory whose requests complete by the guest's own timers"
                .to_owned(),
        );
    }
    let (parameter, off) = PCI_OFF;
    if case.append.get(parameter) == Some(off) {
        problems.push(format!("disk: it is on the PCI bus, so remove {parameter}={off} from append"));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_model::CommandLine;

    fn case(append: &str) -> Case {
        Case { append: CommandLine::parse(append), ..Case::new("c", "debian:6.1") }
    }

    fn config(options: &[&str]) -> KernelConfig {
        let lines: String =
            AGENT_NEEDS.iter().chain(options).map(|option| format!("CONFIG_{option}=y\n")).collect();
        KernelConfig::parse(&(lines + "CONFIG_SMP=y\nCONFIG_NR_CPUS=4\n"))
    }

    fn only_problem(case: &Case, options: &[&str]) -> String {
        let mut problems = against_kernel(case, &config(options));
        assert_eq!(problems.len(), 1, "{problems:?}");
        problems.remove(0)
    }

    #[test]
    fn what_the_kernel_would_silently_ignore() {
        let lazy = case("rcutree.enable_rcu_lazy=1");
        assert_eq!(
            only_problem(&lazy, &[]),
            "'rcutree.enable_rcu_lazy=1' does nothing on debian:6.1, which was built without CONFIG_RCU_LAZY: \
             choose debian:6.12, which has it, or build a kernel with RCU_LAZY=y"
        );
        assert_eq!(against_kernel(&lazy, &config(&["RCU_LAZY"])), [] as [String; 0]);
        for (parameter, option) in with_option() {
            let asked = case(&format!("{parameter}=1"));
            assert!(only_problem(&asked, &[]).contains(&format!("CONFIG_{option}:")));
            assert_eq!(against_kernel(&asked, &config(&[option])), [] as [String; 0]);
        }
        assert!(
            only_problem(&case("isolcpus=nohz,domain,1"), &["CPU_ISOLATION"]).contains("CONFIG_NO_HZ_FULL")
        );
    }

    #[test]
    fn a_parameter_that_is_none_is_found_before_anything_boots() {
        let found = misspelt(&case("isolcpus=domain,1 nohz_ful=1 quiet dyntick.x=1"));
        let of = Misspelt { parameter: "nohz_ful=1".into(), meant: Meant::Parameter("nohz_full") };
        assert_eq!(found, [of]);
    }

    #[test]
    fn a_kernel_made_to_order_is_fixed_where_it_is_described() {
        let own = Case { kernel: "mine".into(), recipe: Some(Default::default()), ..case("nohz_full=1") };
        let answer = only_problem(&own, &[]);
        assert!(answer.ends_with("add \"no-hz-full\" to the config of [kernels.mine]"), "{answer}");
        let own = Case { append: CommandLine::parse("rcutree.enable_rcu_lazy=1"), ..own };
        let answer = only_problem(&own, &[]);
        assert!(answer.ends_with("add \"rcu-lazy\" to the config of [kernels.mine]"), "{answer}");
    }

    #[test]
    fn an_unknown_configuration_is_not_judged() {
        assert_eq!(against_kernel(&case("nohz_full=1"), &KernelConfig::default()), [] as [String; 0]);
    }

    #[test]
    fn what_no_kernel_could_do() {
        let answer = |append: &str, word: &str| {
            let options = ["NO_HZ_FULL", "RCU_NOCB_CPU", "CPU_ISOLATION"];
            let problem = only_problem(&case(append), &options);
            assert!(problem.contains(word), "{append}: {problem}");
        };
        answer("nohz_full=1-5", "names CPU 2-5");
        answer("nohz_full=0-1", "write nohz_full=1");
        answer("nohz_full=all", "housekeeping");
        answer("nohz_full=1-x", "'1-x' is not a CPU");
        answer("isolcpus=domain,managed_irq,3", "names CPU 3");
        answer("isolcpus=domian,1", "'domian' is not a flag of isolcpus=: 'domain' was probably meant");
        answer(
            "isolcpus=domain,managed_irg,1",
            "'managed_irg' is not a flag of isolcpus=: 'managed_irq' was",
        );
        answer(
            "isolcpus=domain,quiet,1",
            "'quiet' is not a flag of isolcpus=: its flags are nohz, domain, managed_irq",
        );
        answer("isolcpus=domain,1-x", "'1-x' is not a CPU");
        answer("memmap=1M$16M", "set by the laboratory");
        answer("console=tty0", "remove it from append");
        assert_eq!(
            against_kernel(&case("rcu_nocbs=all isolcpus=1-N"), &config(&["RCU_NOCB_CPU", "CPU_ISOLATION"])),
            [] as [String; 0]
        );
    }

    #[test]
    fn what_is_not_built_in() {
        let mut case = case("");
        case.cpus = 8;
        assert!(only_problem(&case, &[]).contains("CONFIG_NR_CPUS"));
        case.cpus = 2;
        case.events = vec!["rcu:rcu_utilization".into(), "rcu:rcu_grace_period".into()];
        assert!(only_problem(&case, &[]).contains("'rcu:rcu_grace_period'"));
        case.events.clear();
        case.write.insert("/sys/kernel/debug/sched/fair_server/cpu1/runtime".into(), "0".into());
        let with_files = |line: &str| {
            let options: String = config(&["DEBUG_FS"])
                .iter()
                .map(|(name, value)| format!("CONFIG_{name}={value}\n"))
                .collect();
            against_kernel(&case, &KernelConfig::parse(&(options + line)))
        };
        assert!(with_files("# CONFIG_SCHED_DEBUG is not set\n")[0].contains("CONFIG_SCHED_DEBUG"));
        assert_eq!(with_files(""), [] as [String; 0], "the option is gone from 6.15 on");
    }

    #[test]
    fn a_disk_needs_a_bus_a_driver_and_a_file_system() {
        let disk = |disk| Case { disk, clock: dyntick_model::Clock::Wall, ..case("") };
        assert_eq!(against_kernel(&disk(None), &config(&[])), [] as [String; 0]);
        let all: Vec<&str> = DISK.iter().map(|need| need.option).collect();
        let with = disk(Some(64 << 20));
        assert_eq!(against_kernel(&with, &config(&all)), [] as [String; 0]);
        for (position, lacking) in all.iter().enumerate() {
            let others = [&all[..position], &all[position + 1..]].concat();
            assert!(only_problem(&with, &others).contains(&format!("CONFIG_{lacking}: choose debian:6.12")));
        }
        let own = Case { kernel: "mine".into(), recipe: Some(Default::default()), ..with.clone() };
        let answer = only_problem(&own, &all[1..]);
        assert!(answer.ends_with("add virtio-disk to the config of [kernels.mine]"), "{answer}");
        // A run's folder may say what no study can.
        let virtual_time = Case { clock: dyntick_model::Clock::Virtual, ..with };
        assert!(only_problem(&virtual_time, &all).contains("null_blk"));
    }

    #[test]
    fn a_kernel_without_what_the_agent_needs() {
        let problems = against_kernel(&case(""), &KernelConfig::parse("CONFIG_SMP=y\n"));
        assert_eq!(problems.len(), AGENT_NEEDS.len());
    }

    fn with_disk(disk: u64) -> Case {
        Case { disk: Some(disk), clock: Clock::Wall, ..Case::new("c", "debian:6.12") }
    }

    #[test]
    fn sizes_that_a_disk_may_have() {
        for right in [LEAST_DISK, 256 * MIB, MOST_DISK] {
            assert_eq!(disk_problems(&with_disk(right)), [] as [String; 0]);
        }
        for wrong in [0, LEAST_DISK - MIB, 256 * MIB + 512, MOST_DISK + MIB, u64::MAX] {
            let message = disk_problems(&with_disk(wrong));
            assert!(
                message.len() == 1 && message[0].contains("a multiple of 1M from 16M to 8G"),
                "{message:?}"
            );
        }
        assert_eq!(disk_problems(&Case { disk: None, ..with_disk(0) }), [] as [String; 0]);
    }

    #[test]
    fn virtual_time_has_no_disk_but_null_blk() {
        let message = disk_problems(&Case { clock: Clock::Virtual, ..with_disk(LEAST_DISK) });
        assert!(
            message.len() == 1 && message[0].contains("clock = \"wall\"") && message[0].contains("null_blk"),
            "{message:?}"
        );
    }

    #[test]
    fn without_the_bus_there_is_no_disk() {
        let message =
            disk_problems(&Case { append: CommandLine::parse("quiet pci=off"), ..with_disk(LEAST_DISK) });
        assert!(message.len() == 1 && message[0].contains("remove pci=off"), "{message:?}");
        assert_eq!(
            disk_problems(&Case { append: CommandLine::parse("pci=nomsi"), ..with_disk(LEAST_DISK) }),
            [] as [String; 0]
        );
    }
}

// SPDX-License-Identifier: GPL-2.0-only
//! Whether a kernel can do what a case asks of it, told before anything boots.

use super::Case;
use crate::guest::Work;
use dyntick_model::{CpuList, KernelConfig};

/// Parameters that an option must be there for. Without it the kernel ignores them silently.
/// Read in `kernel/time/tick-sched.c`, `kernel/rcu/tree_nocb.h`, `kernel/sched/isolation.c`,
/// `kernel/sched/core.c` of 6.1 and 6.12.
const NEEDS: [(&str, &str); 7] = [
    ("nohz_full", "NO_HZ_FULL"),
    ("rcu_nocbs", "RCU_NOCB_CPU"),
    ("rcutree.enable_rcu_lazy", "RCU_LAZY"),
    ("isolcpus", "CPU_ISOLATION"),
    ("preempt", "PREEMPT_DYNAMIC"),
    ("psi", "PSI"),
    ("threadirqs", "IRQ_FORCED_THREADING"),
];

/// What the agent itself cannot do without.
const AGENT_NEEDS: [&str; 6] =
    ["BLK_DEV_INITRD", "BINFMT_ELF", "DEVTMPFS", "DEVMEM", "EVENT_TRACING", "SERIAL_8250_CONSOLE"];

/// Everything that this kernel cannot honour, in words; empty where it can. A kernel whose
/// configuration is not known is not judged.
pub fn against_kernel(case: &Case, config: &KernelConfig) -> Vec<String> {
    let mut problems = against_itself(case);
    if config.is_empty() {
        return problems;
    }
    for (parameter, option) in NEEDS {
        if let Some(value) = case.append.get(parameter).filter(|_| !config.is_enabled(option)) {
            problems.push(format!(
                "'{parameter}={value}' does nothing on {}, which was built without CONFIG_{option}: \
                 choose a kernel that has it, or leave the parameter out",
                case.kernel
            ));
        }
    }
    for option in AGENT_NEEDS.iter().filter(|option| !config.is_enabled(option)) {
        problems.push(format!(
            "{} was built without CONFIG_{option}, which a guest of the laboratory needs: choose another kernel",
            case.kernel
        ));
    }
    let limit = config.get("NR_CPUS").and_then(|limit| limit.parse::<u32>().ok());
    if let Some(limit) = limit.filter(|limit| case.cpus > *limit) {
        problems.push(format!(
            "{} supports {limit} CPUs (CONFIG_NR_CPUS), the case asks for {}",
            case.kernel, case.cpus
        ));
    }
    problems
}

/// What no kernel could honour.
fn against_itself(case: &Case) -> Vec<String> {
    let mut problems = Vec::new();
    let guest = CpuList::first(case.cpus);
    if let Some(text) = case.append.get("nohz_full").filter(|text| !text.is_empty()) {
        match text.parse::<CpuList>() {
            Ok(cpus) if !cpus.difference(&guest).is_empty() => problems
                .push(format!("nohz_full={text} names CPUs beyond the guest's {guest}: give it more (cpus = …)")),
            Ok(cpus) if guest.difference(&cpus).is_empty() => problems.push(format!(
                "nohz_full={text} leaves no CPU that keeps the time (a housekeeping CPU): leave at least CPU 0 out"
            )),
            Ok(_) => {}
            Err(error) => problems.push(format!("nohz_full={text}: {error}")),
        }
    }
    for words in case.tasks.iter().filter_map(|task| match &task.work {
        Work::Tool(words) => Some(words),
        _ => None,
    }) {
        problems.extend(missing_tool(case, words));
    }
    problems.extend(case.script.iter().filter_map(|script| missing_tool(case, &script.run)));
    problems
}

fn missing_tool(case: &Case, words: &[String]) -> Option<String> {
    let Some(program) = words.first() else { return Some("a task names no program (run = [])".to_owned()) };
    (!case.tools.contains(program))
        .then(|| format!("'{program}' would not be in the guest: add it to tools = […]"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::parse;
    use std::path::Path;

    fn case(extra: &str) -> Case {
        let text = format!("title='t'\nquestion='q'\n[[case]]\nname='c'\nkernel='debian:6.12'\n{extra}");
        parse::study(Path::new("s.toml"), &text).unwrap().cases.remove(0)
    }

    fn config(options: &[&str]) -> KernelConfig {
        let lines: String =
            AGENT_NEEDS.iter().chain(options).map(|option| format!("CONFIG_{option}=y\n")).collect();
        KernelConfig::parse(&(lines + "CONFIG_NR_CPUS=4\n"))
    }

    #[test]
    fn what_the_kernel_would_silently_ignore() {
        let case = case("append='nohz_full=1'");
        assert_eq!(against_kernel(&case, &config(&["NO_HZ_FULL"])), [] as [String; 0]);
        let problems = against_kernel(&case, &config(&[]));
        assert_eq!(problems.len(), 1);
        assert!(problems[0].contains("CONFIG_NO_HZ_FULL"), "{problems:?}");
        assert_eq!(
            against_kernel(&case, &KernelConfig::default()),
            [] as [String; 0],
            "unknown is not judged"
        );
    }

    #[test]
    fn what_no_kernel_could_do() {
        let told = |extra: &str, word: &str| {
            let problems = against_kernel(&case(extra), &config(&["NO_HZ_FULL"]));
            assert!(problems.len() == 1 && problems[0].contains(word), "{extra}: {problems:?}");
        };
        told("append='nohz_full=1-5'", "beyond");
        told("append='nohz_full=0-1'", "housekeeping");
        told("cpus=8", "NR_CPUS");
        told("[[case.task]]\ncpu='1'\nrun=['stress-ng']", "tools");
    }
}

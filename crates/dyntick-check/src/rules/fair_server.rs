// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "fair-server",
    title: "The deadline server for fair tasks runs on an isolated CPU",
    severity: Severity::Warning,
    reads: &[FAIR_SERVER],
    source: "kernel/sched/fair.c: enqueue_task_fair; kernel/sched/deadline.c: dl_server_timer (6.12)",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let armed = |cpu: &u32| {
        let (_, runtime) = machine.of_cpu(FAIR_SERVER, *cpu);
        runtime.is_some_and(|runtime| runtime != "0")
    };
    // 7.2 charges the running task first and was measured to disturb nobody.
    let on: CpuList = machine.of_target(&machine.nohz_full).iter().filter(armed).collect();
    if on.is_empty() || machine.since(7, 2) {
        return Vec::new();
    }
    let (severity, effect) = match machine.since(6, 13) {
        false => (
            Severity::Warning,
            "While a SCHED_OTHER task runs there, about once a second the server starts: two inter-processor \
             interrupts and one tick (measured on 6.12.95 and 6.12.117). FIFO tasks do not start it.",
        ),
        true => (
            Severity::Note,
            "On 6.12 it costs a running SCHED_OTHER task two inter-processor interrupts and a tick a second, on 7.2 \
             nothing; this version lies between and was not measured.",
        ),
    };
    let (file, _) = machine.of_cpu(FAIR_SERVER, on.iter().next().unwrap_or(0));
    let names: Vec<String> = on.iter().map(|cpu| cpu.to_string()).collect();
    let command = format!(
        "for c in {}; do echo 0 > /sys/kernel/debug/sched/fair_server/cpu$c/runtime; done",
        names.join(" ")
    );
    let finding = RULE.finding(severity, format!("the fair server is armed on {}", cpus(&on))).on(&on);
    vec![finding.seen(machine.evidence(&file)).so(effect).command(command).advice(
        "where that is refused as busy: on 6.12 any read of kernel.sched_rt_runtime_us loses the account that is \
         checked; sysctl -w kernel.sched_rt_runtime_us=-1 first, and leave it so",
    )]
}

// SPDX-License-Identifier: GPL-2.0-only
//! Reads the text of tracefs's `trace` file, for the fixtures of the tests.

use dyntick_model::{Event, EventKind, Interrupt, Softirq, Symbol, TickDependency, Within};
use std::collections::BTreeMap;
use std::io::Read;

/// The events of a fixture in tests/data, and the names of the threads in it.
pub fn read(name: &str) -> (Vec<Event>, BTreeMap<i32, Symbol>) {
    let path = format!("{}/tests/data/{name}.txt.gz", env!("CARGO_MANIFEST_DIR"));
    let file = std::fs::File::open(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap();
    let mut events: Vec<Event> = text.lines().filter_map(event).collect();
    events.sort_by_key(|event| event.ts);
    (events, text.lines().filter_map(thread).collect())
}

/// The thread at the begin of a line.
fn thread(line: &str) -> Option<(i32, Symbol)> {
    let (comm, pid) = line.split_once(" [")?.0.trim().rsplit_once('-')?;
    Some((pid.parse().ok()?, comm.into()))
}

/// Parses `  comm-pid  [cpu] flags  seconds.micros: name: fields`; `None` for other lines.
fn event(line: &str) -> Option<Event> {
    let (head, rest) = line.split_once(" [")?;
    let (cpu, rest) = rest.split_once("] ")?;
    let (flags, rest) = rest.trim_start().split_once(' ')?;
    let (ts, rest) = rest.trim_start().split_once(": ")?;
    let (name, fields) = rest.split_once(": ").unwrap_or((rest.trim_end_matches(':'), ""));
    let (seconds, fraction) = ts.split_once('.')?;
    let ns: u64 = fraction.parse::<u64>().ok()? * 10u64.pow(9 - fraction.len() as u32);
    Some(Event {
        ts: seconds.parse::<u64>().ok()? * 1_000_000_000 + ns,
        cpu: cpu.parse().ok()?,
        pid: head.trim().rsplit_once('-')?.1.parse().ok()?,
        within: within(flags),
        kind: kind(name, fields)?,
    })
}

/// The context letter, after those for disabled interrupts and for rescheduling.
fn within(flags: &str) -> Within {
    match flags.chars().nth(2) {
        Some('h' | 'H' | 'z' | 'Z') => Within::Interrupt,
        Some('s') => Within::Softirq,
        _ => Within::Task,
    }
}

fn kind(name: &str, f: &str) -> Option<EventKind> {
    use EventKind::*;
    Some(match name {
        "irq_handler_entry" => IrqEntry { irq: number(f, "irq")? as u32, name: symbol(f, "name")? },
        "irq_handler_exit" => IrqExit { irq: number(f, "irq")? as u32 },
        "softirq_raise" => SoftirqRaise { softirq: softirq(f)? },
        "softirq_entry" => SoftirqEntry { softirq: softirq(f)? },
        "softirq_exit" => SoftirqExit { softirq: softirq(f)? },
        "tick_stop" => TickStop {
            success: field(f, "success")? == "1",
            dependency: dependency(field(f, "dependency")?)?,
        },
        "hrtimer_start" => HrtimerStart {
            timer: address(f, "hrtimer")?,
            function: symbol(f, "function")?,
            expires: number(f, "expires")? as i64,
            soft: number(f, "expires")? as i64,
        },
        "hrtimer_cancel" => HrtimerCancel { timer: address(f, "hrtimer")? },
        "hrtimer_expire_entry" => {
            HrtimerEntry { timer: address(f, "hrtimer")?, function: symbol(f, "function")?, now: 0 }
        }
        "hrtimer_expire_exit" => HrtimerExit { timer: address(f, "hrtimer")? },
        "timer_start" => TimerStart {
            timer: address(f, "timer")?,
            function: symbol(f, "function")?,
            expires: number(f, "expires")?,
            flags: timer_flags(f),
        },
        "timer_expire_entry" => TimerEntry { timer: address(f, "timer")?, function: symbol(f, "function")? },
        "timer_expire_exit" => TimerExit { timer: address(f, "timer")? },
        "workqueue_queue_work" => WorkQueued {
            work: address(f, "work struct")?,
            function: symbol(f, "function")?,
            // -1, which is no CPU, for unbound work.
            target: field(f, "cpu")?.parse::<i64>().ok()? as u32,
        },
        "workqueue_execute_start" => {
            let (work, function) = f.strip_prefix("work struct ")?.split_once(": function ")?;
            WorkStart { work: u64::from_str_radix(work, 16).ok()?, function: function.into() }
        }
        "workqueue_execute_end" => {
            let work = f.strip_prefix("work struct ")?.split(':').next()?;
            WorkEnd { work: u64::from_str_radix(work, 16).ok()? }
        }
        "sched_switch" => switch(f)?,
        "sched_wakeup" | "sched_wakeup_new" => SchedWakeup {
            pid: number(f, "pid")? as i32,
            comm: symbol(f, "comm")?,
            target: number(f, "target_cpu")? as u32,
        },
        "ipi_send_cpu" => IpiSend {
            target: number(f, "cpu")? as u32,
            callsite: symbol(f, "callsite")?,
            callback: symbol(f, "callback").filter(|name| &**name != "0x0"),
        },
        "csd_function_entry" => CsdEntry { function: symbol(f, "func")? },
        "csd_function_exit" => CsdExit { function: symbol(f, "func")? },
        _ => match (name.strip_suffix("_entry"), name.strip_suffix("_exit")) {
            (Some(name), _) => InterruptEntry { source: vector(name)? },
            (_, Some(name)) => InterruptExit { source: vector(name)? },
            _ => return None,
        },
    })
}

fn vector(name: &str) -> Option<Interrupt> {
    Some(match name {
        "local_timer" => Interrupt::Timer,
        "reschedule" => Interrupt::Reschedule,
        "call_function" => Interrupt::FunctionCall,
        "call_function_single" => Interrupt::FunctionCallSingle,
        "irq_work" => Interrupt::IrqWork,
        "x86_platform_ipi" | "spurious_apic" | "error_apic" | "thermal_apic" | "threshold_apic" => {
            Interrupt::Other
        }
        _ => return None,
    })
}

fn switch(f: &str) -> Option<EventKind> {
    let (prev, next) = f.split_once(" ==> ")?;
    let state = match field(prev, "prev_state")? {
        "R" => 0,
        "R+" => 0x100,
        _ => 1,
    };
    Some(EventKind::SchedSwitch {
        prev: number(prev, "prev_pid")? as i32,
        prev_comm: symbol(prev, "prev_comm")?,
        prev_state: state,
        next: number(next, "next_pid")? as i32,
        next_comm: symbol(next, "next_comm")?,
    })
}

/// The value of `key=` at the begin of the fields or after a blank; it ends at a blank or a comma.
fn field<'a>(fields: &'a str, key: &str) -> Option<&'a str> {
    let key = format!("{key}=");
    let start =
        if fields.starts_with(&key) { key.len() } else { fields.find(&format!(" {key}"))? + key.len() + 1 };
    let value = &fields[start..];
    Some(value[..value.find([' ', ',']).unwrap_or(value.len())].trim())
}

fn symbol(fields: &str, key: &str) -> Option<Symbol> {
    field(fields, key).map(Symbol::from)
}

fn number(fields: &str, key: &str) -> Option<u64> {
    field(fields, key)?.parse().ok()
}

fn address(fields: &str, key: &str) -> Option<u64> {
    u64::from_str_radix(field(fields, key)?, 16).ok()
}

fn softirq(fields: &str) -> Option<Softirq> {
    Softirq::from_number(number(fields, "vec")? as u32)
}

fn dependency(name: &str) -> Option<TickDependency> {
    (0..7).map(|bit| if bit == 0 { 0 } else { 1 << (bit - 1) }).find_map(|mask| {
        TickDependency::from_mask(mask).ok().filter(|dependency| dependency.kernel_name() == name)
    })
}

/// The flags of `flags=D|P|I`: deferrable, pinned, interrupts disabled.
fn timer_flags(fields: &str) -> u32 {
    let flag = |letter, value| field(fields, "flags").is_some_and(|f| f.contains(letter)).then_some(value);
    [flag('D', 0x8_0000), flag('P', 0x10_0000), flag('I', 0x20_0000)].into_iter().flatten().sum()
}

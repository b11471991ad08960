// SPDX-License-Identifier: GPL-2.0-only
//! The values of an event's fields in its text. Mostly a text has `field=value`; the others follow the event's own
//! print format (`include/trace/events/*.h`, 6.1 to 7.2), or that of a plugin of libtraceevent.

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value<'a> {
    Number(u64),
    /// A function by its name, or by its address where it has no name.
    Function(&'a str),
    Text(&'a str),
    /// The words of a mask of CPUs, the highest first: hexadecimal, of 32 bits.
    Mask(&'a str),
}

/// The form in which a field is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Number,
    Function,
    Text,
    Mask,
}

/// Returns the form of a field, by its name.
pub(super) fn form(field: &str) -> Form {
    match field {
        "comm" | "prev_comm" | "next_comm" | "newcomm" | "name" => Form::Text,
        "function" | "func" | "callsite" | "callback" | "handler" => Form::Function,
        "cpumask" => Form::Mask,
        _ => Form::Number,
    }
}

/// Finds the value of a field of an event; `None` if the text does not have it.
pub(super) fn value<'a>(event: &str, field: &str, text: &'a str) -> Option<Value<'a>> {
    let (_, name) = event.split_once(':')?;
    match (name, field) {
        ("sched_switch", _) if !text.contains("prev_comm=") => switch_of_plugin(field, text),
        ("sched_wakeup" | "sched_wakeup_new" | "sched_waking", _) if !text.contains("comm=") => {
            wakeup_of_plugin(field, text)
        }
        ("sched_switch", "prev_state") => state(after(text, "prev_state=")?).map(Value::Number),
        ("sched_process_fork", "parent_pid") => plain(after(text, "pid=")?),
        ("tick_stop", "dependency") => dependency(after(text, "dependency=")?).map(Value::Number),
        ("timer_start", "flags") => Some(Value::Number(timer_flags(text))),
        ("cpu_idle_miss", "below") => Some(Value::Number(u64::from(after(text, "type=")? == "below"))),
        ("sys_enter" | "sys_exit", "id") => plain(text.strip_prefix("NR ")?.split([' ', '=']).next()?),
        ("contention_begin" | "contention_end", "lock_addr") => pointer(text.split(' ').next()?),
        ("itimer_state", "value_sec") => plain(after(text, "it_value=")?.split_once('.')?.0),
        ("itimer_state", "value_nsec") => plain(after(text, "it_value=")?.split_once('.')?.1),
        ("nmi_handler", "handler") => Some(Value::Function(text.split_once("()")?.0)),
        ("nmi_handler", "delta_ns") => plain(text.split_once("delta_ns: ")?.1.split(' ').next()?),
        ("page_fault_user" | "page_fault_kernel", "address" | "ip") => {
            // A symbol stands for an address that is not needed.
            Some(pointer(after(text, &format!("{field}="))?).unwrap_or(Value::Number(0)))
        }
        (_, "work") => pointer(after(text, "work struct=").or_else(|| after(text, "work struct "))?),
        (_, "function") if name.ends_with("_execute_start") => {
            let found = after(text, "function ").or_else(|| after(text, "function="));
            found.map(Value::Function)
        }
        (_, "hrtimer" | "timer") => pointer(after(text, &format!("{field}="))?),
        ("irq_handler_entry", "name") => Some(Value::Text(behind(text, "name=")?)),
        _ => general(field, text),
    }
}

fn general<'a>(field: &str, text: &'a str) -> Option<Value<'a>> {
    let key = format!("{field}=");
    match form(field) {
        Form::Function => after(text, &key).map(Value::Function),
        Form::Mask => after(text, &key).map(Value::Mask),
        Form::Text => Some(Value::Text(up_to_next_key(behind(text, &key)?))),
        Form::Number => plain(after(text, &key)?),
    }
}

/// The text behind a key that begins a word.
fn behind<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let mut from = 0;
    while let Some(found) = text[from..].find(key) {
        let at = from + found;
        if at == 0 || text.as_bytes()[at - 1] == b' ' {
            return text.get(at + key.len()..);
        }
        from = at + key.len();
    }
    None
}

/// The word behind a key.
fn after<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let rest = behind(text, key)?;
    let word = rest.split(' ').next().unwrap_or(rest);
    Some(word.trim_end_matches([',', ':']))
}

/// A text that may have spaces, up to the next ` key=`.
fn up_to_next_key(text: &str) -> &str {
    let is_key = |word: &str| {
        let key = word.split_once('=').map_or("", |(key, _)| key);
        !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    };
    let mut at = 0;
    while let Some(space) = text[at..].find(' ') {
        let end = at + space;
        if is_key(text[end + 1..].split(' ').next().unwrap_or_default()) {
            return &text[..end];
        }
        at = end + 1;
    }
    text
}

/// A decimal number, with a sign or not, or a hexadecimal one with `0x`.
fn plain(text: &str) -> Option<Value<'static>> {
    let number = match (text.strip_prefix("0x"), text.strip_prefix('-')) {
        (Some(digits), _) => u64::from_str_radix(digits, 16).ok(),
        (_, Some(_)) => text.parse::<i64>().ok().map(|number| number as u64),
        _ => text.parse().ok(),
    };
    number.map(Value::Number)
}

/// An address: hexadecimal, also without `0x` (%p), or hidden.
fn pointer(text: &str) -> Option<Value<'static>> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let is_hidden = text.starts_with("(____ptrval____)") || text == "(null)" || text == "(nil)";
    let address = if is_hidden { Some(0) } else { u64::from_str_radix(digits, 16).ok() };
    address.map(Value::Number)
}

/// The states of a task by their letters (`include/trace/events/sched.h`).
fn state(text: &str) -> Option<u64> {
    let letters = text.strip_suffix('+').unwrap_or(text);
    let preempted = if letters.len() < text.len() { 0x100 } else { 0 };
    let bit = |letter: &str| {
        Some(match letter {
            "R" => 0x00,
            "S" => 0x01,
            "D" => 0x02,
            "T" => 0x04,
            "t" => 0x08,
            "X" => 0x10,
            "Z" => 0x20,
            "P" => 0x40,
            "I" => 0x80,
            _ => return None,
        })
    };
    let bits = letters.split('|').map(bit).sum::<Option<u64>>()?;
    Some(bits | preempted)
}

fn dependency(name: &str) -> Option<u64> {
    (0..6).map(|bit| 1u32 << bit).chain([0]).find_map(|mask| {
        let known = dyntick_model::TickDependency::from_mask(mask).ok()?;
        (known.kernel_name() == name).then_some(u64::from(mask))
    })
}

/// The flags of a timer (`include/linux/timer.h`), from its CPU, its place in the wheel, and the letters of its flags.
fn timer_flags(text: &str) -> u64 {
    let number = |key: &str| after(text, key).and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
    let letters = after(text, "flags=").unwrap_or_default().split('|');
    let bit = |letter: &str| match letter {
        "M" => 0x0004_0000,
        "D" => 0x0008_0000,
        "P" => 0x0010_0000,
        "I" => 0x0020_0000,
        _ => 0,
    };
    letters.map(bit).fold(number("cpu=") & 0x3ffff | (number("idx=") & 0x3ff) << 22, |all, bit| all | bit)
}

/// A switch as a plugin of libtraceevent prints it: `comm:pid [priority] state ==> comm:pid [priority]`.
fn switch_of_plugin<'a>(field: &str, text: &'a str) -> Option<Value<'a>> {
    let (prev, next) = text.split_once(" ==> ")?;
    let task = |text: &'a str| text.rsplit_once(" [")?.0.rsplit_once(':');
    match field {
        "prev_comm" => Some(Value::Text(task(prev)?.0)),
        "next_comm" => Some(Value::Text(task(next)?.0)),
        "prev_pid" => plain(task(prev)?.1),
        "next_pid" => plain(task(next)?.1),
        "prev_state" => state(prev.rsplit_once("] ")?.1.trim()).map(Value::Number),
        _ => None,
    }
}

/// A wake-up as a plugin prints it: `comm:pid [priority] success=1 CPU:001`.
fn wakeup_of_plugin<'a>(field: &str, text: &'a str) -> Option<Value<'a>> {
    let (comm, pid) = text.split_once(" [")?.0.rsplit_once(':')?;
    match field {
        "comm" => Some(Value::Text(comm)),
        "pid" => plain(pid),
        "target_cpu" => plain(text.split_once("CPU:")?.1.split(' ').next()?),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::Value::*;
    use super::*;

    #[test]
    fn values_of_every_form() {
        let switch = "prev_comm=two words prev_pid=7 prev_prio=120 prev_state=R+ ==> next_comm=a=b next_pid=0 next_prio=120";
        let of = |field| value("sched:sched_switch", field, switch).unwrap();
        assert_eq!((of("prev_comm"), of("next_comm")), (Text("two words"), Text("a=b")));
        assert_eq!((of("prev_pid"), of("prev_state")), (Number(7), Number(0x100)));
        let plugin = "a:b:7 [120] D ==> swapper/0:0 [120]";
        let of = |field| value("sched:sched_switch", field, plugin).unwrap();
        assert_eq!((of("prev_comm"), of("prev_state"), of("next_pid")), (Text("a:b"), Number(2), Number(0)));
        let waking = "x:9 [120] success=1 CPU:003";
        assert_eq!(value("sched:sched_wakeup", "target_cpu", waking), Some(Number(3)));
        let queue = "work struct=0xff80 function=vmstat_shepherd workqueue=events req_cpu=8192 cpu=1";
        assert_eq!(value("workqueue:workqueue_queue_work", "work", queue), Some(Number(0xff80)));
        assert_eq!(value("workqueue:workqueue_queue_work", "cpu", queue), Some(Number(1)));
        let start = "work struct 0xff80: function vmstat_shepherd";
        let of = |field| value("workqueue:workqueue_execute_start", field, start).unwrap();
        assert_eq!((of("work"), of("function")), (Number(0xff80), Function("vmstat_shepherd")));
        let stop = "success=0 dependency=RCU_EXP";
        assert_eq!(value("timer:tick_stop", "dependency", stop), Some(Number(0x20)));
        let timer = "timer=0xa function=f expires=9 [timeout=1] bucket_expiry=9 cpu=3 idx=2 flags=D|P|I";
        assert_eq!(value("timer:timer_start", "flags", timer), Some(Number(3 | 2 << 22 | 0x0038_0000)));
        assert_eq!(value("irq:irq_handler_entry", "name", "irq=1 name=a b"), Some(Text("a b")));
        let fork = "comm=x pid=7 child_comm=y child_pid=8";
        assert_eq!(value("sched:sched_process_fork", "parent_pid", fork), Some(Number(7)));
        assert_eq!(value("sched:sched_process_fork", "child_pid", fork), Some(Number(8)));
        let csd = "func=do_sync_core, csd=(____ptrval____)";
        assert_eq!(value("csd:csd_function_entry", "func", csd), Some(Function("do_sync_core")));
        assert_eq!(value("timer:hrtimer_cancel", "hrtimer", "hrtimer=00000000ab"), Some(Number(0xab)));
        assert_eq!(value("raw_syscalls:sys_exit", "id", "NR 35 = 0"), Some(Number(35)));
        assert_eq!(value("sched:sched_wakeup", "pid", "comm=x pid=? prio=1"), None);
    }
}

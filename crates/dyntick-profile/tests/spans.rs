// SPDX-License-Identifier: GPL-2.0-only
//! Streams of a made-up kernel, written with the plugin's own writer.

use dyntick_profile::stream::{Reader, Writer};
use dyntick_profile::symbols::Symbols;
use dyntick_profile::{Key, Kind, MOST_HELD, Phase, compare, phases, phases_with_calls};
use proptest::prelude::*;

const USER: u64 = 0x40_0000;
const BASE: u64 = 0xffff_ffff_8100_0000;
const NAMES: [&str; 9] = [
    "entry_SYSCALL_64",
    "__x64_sys_getppid",
    "asm_exc_page_fault",
    "handle_mm_fault",
    "asm_sysvec_apic_timer_interrupt",
    "native_irq_return_iret",
    "__switch_to_asm",
    "do_idle",
    "schedule",
];

fn at(name: &str) -> u64 {
    BASE + 0x100 * NAMES.iter().position(|other| *other == name).unwrap() as u64
}

fn symbols() -> Symbols {
    let lines = NAMES.map(|name| format!("{:x} T {name}\n", at(name)));
    Symbols::parse(&lines.concat())
}

/// Writes blocks as (function, instructions) on a CPU; "user" is user mode.
fn blocks(writer: &mut Writer, cpu: u64, blocks: &[(&str, u64)]) {
    for (name, instructions) in blocks {
        writer.block(cpu, if *name == "user" { USER } else { at(name) }, *instructions);
    }
}

fn one_phase(mut writer: Writer) -> Phase {
    let phases = phases(writer.take().as_slice(), &symbols()).unwrap();
    assert_eq!(phases.len(), 1);
    phases.into_iter().next().unwrap()
}

fn calls_of(name: &str, written: &[(&str, u64)]) -> Vec<u64> {
    let mut writer = Writer::default();
    writer.on(0);
    blocks(&mut writer, 1, &[("user", 1)]);
    blocks(&mut writer, 1, written);
    writer.off(0);
    let phases =
        phases_with_calls(writer.take().as_slice(), &symbols(), &[name.to_owned()], MOST_HELD).unwrap();
    let key = Key { cpu: 1, kind: format!("{name}()") };
    phases[0].profile.calls.get(&key).map_or(Vec::new(), |kind| kind.spans.clone())
}

#[test]
fn a_call_lasts_until_its_caller_goes_on() {
    let call = [
        ("entry_SYSCALL_64", 3),
        ("__x64_sys_getppid", 5),
        ("schedule", 7),
        ("do_idle", 11),
        ("schedule", 13),
    ];
    let back = [("__x64_sys_getppid", 17), ("user", 1)];
    assert_eq!(calls_of("schedule", &[&call[..], &back].concat()), [31], "with what it calls");
    assert_eq!(calls_of("do_idle", &[&call[..], &back].concat()), [11]);
    let twice = [&call[..], &call[1..], &back].concat();
    assert_eq!(calls_of("schedule", &twice), [31, 31]);
    assert_eq!(calls_of("schedule", &call), [] as [u64; 0], "it had not ended");
    assert_eq!(calls_of("no_such_function", &twice), [] as [u64; 0]);
}

#[test]
fn an_interrupt_is_no_part_of_a_call() {
    let mut writer = Writer::default();
    writer.on(0);
    blocks(
        &mut writer,
        1,
        &[("user", 1), ("entry_SYSCALL_64", 3), ("__x64_sys_getppid", 5), ("schedule", 7)],
    );
    blocks(
        &mut writer,
        1,
        &[("asm_sysvec_apic_timer_interrupt", 100), ("do_idle", 50), ("native_irq_return_iret", 1)],
    );
    writer.block(1, at("schedule") + 8, 13);
    blocks(&mut writer, 1, &[("__x64_sys_getppid", 17), ("user", 1)]);
    writer.off(0);
    let phases =
        phases_with_calls(writer.take().as_slice(), &symbols(), &["schedule".to_owned()], MOST_HELD).unwrap();
    let spans: Vec<u64> = phases[0].profile.calls.values().flat_map(|kind| kind.spans.clone()).collect();
    assert_eq!(spans, [20]);
}

fn recorded(write: impl FnOnce(&mut Writer)) -> Phase {
    let mut writer = Writer::default();
    writer.on(0);
    write(&mut writer);
    writer.off(0);
    one_phase(writer)
}

fn kind(phase: &Phase, cpu: u64, kind: &str) -> Kind {
    let key = Key { cpu, kind: kind.to_owned() };
    let all = phase.profile.entries.iter().chain(&phase.profile.wake_ups);
    all.into_iter()
        .find(|(other, _)| **other == key)
        .unwrap_or_else(|| panic!("{:#?}", phase.profile))
        .1
        .clone()
}

#[test]
fn a_system_call_goes_by_its_own_name() {
    let phase = recorded(|writer| {
        for _ in 0..3 {
            blocks(writer, 0, &[("user", 5), ("entry_SYSCALL_64", 20), ("__x64_sys_getppid", 7)]);
        }
        blocks(writer, 0, &[("user", 5)]);
    });
    let calls = kind(&phase, 0, "__x64_sys_getppid");
    assert_eq!(calls.spans, [27, 27, 27]);
    assert_eq!(calls.functions["__x64_sys_getppid"], 21);
    assert_eq!(phase.profile.user, 20);
    assert_eq!(phase.profile.instructions(), 20 + 81);
}

#[test]
fn a_page_fault_in_a_system_call_is_a_span_of_its_own() {
    let phase = recorded(|writer| {
        blocks(writer, 0, &[("user", 1), ("entry_SYSCALL_64", 20), ("__x64_sys_getppid", 7)]);
        writer.undone(0);
        writer.exception(0, at("__x64_sys_getppid") + 4);
        blocks(
            writer,
            0,
            &[("asm_exc_page_fault", 9), ("handle_mm_fault", 100), ("native_irq_return_iret", 1)],
        );
        blocks(writer, 0, &[("__x64_sys_getppid", 3), ("user", 1)]);
    });
    assert_eq!(kind(&phase, 0, "asm_exc_page_fault from the kernel").spans, [110]);
    let call = kind(&phase, 0, "__x64_sys_getppid");
    assert_eq!(call.spans, [20 + 6 + 3], "the instruction that faulted did not complete");
    assert_eq!(phase.profile.instructions(), 1 + 110 + 29 + 1);
}

#[test]
fn an_interrupt_before_the_first_instruction_behind_a_return_is_from_user_mode() {
    let phase = recorded(|writer| {
        blocks(writer, 0, &[("user", 1), ("entry_SYSCALL_64", 20), ("__x64_sys_getppid", 7)]);
        writer.exception(0, USER);
        blocks(
            writer,
            0,
            &[("asm_sysvec_apic_timer_interrupt", 50), ("native_irq_return_iret", 1), ("user", 1)],
        );
    });
    assert_eq!(kind(&phase, 0, "__x64_sys_getppid").spans, [27]);
    assert_eq!(kind(&phase, 0, "asm_sysvec_apic_timer_interrupt from user mode").spans, [51]);
}

/// The wake-up begins on the idle CPU and ends in the task, which slept in a system call.
#[test]
fn a_wake_up_runs_across_the_switch() {
    const IDLE: u64 = 1;
    const TASK: u64 = 2;
    let phase = recorded(|writer| {
        blocks(
            writer,
            1,
            &[("user", 2), ("entry_SYSCALL_64", 20), ("__x64_sys_getppid", 7), ("schedule", 30)],
        );
        writer.switch(1, TASK, IDLE);
        blocks(writer, 1, &[("__switch_to_asm", 10), ("do_idle", 40)]);
        writer.exception(1, at("do_idle") + 8);
        blocks(writer, 1, &[("asm_sysvec_apic_timer_interrupt", 50), ("native_irq_return_iret", 1)]);
        blocks(writer, 1, &[("do_idle", 5), ("schedule", 30)]);
        writer.switch(1, IDLE, TASK);
        blocks(writer, 1, &[("__switch_to_asm", 10), ("__x64_sys_getppid", 4), ("user", 3)]);
    });
    assert_eq!(
        kind(&phase, 1, "wake-up by asm_sysvec_apic_timer_interrupt").spans,
        [50 + 1 + 5 + 30 + 10 + 4]
    );
    assert_eq!(
        kind(&phase, 1, "__x64_sys_getppid").spans,
        [20 + 7 + 30 + 10 + 4],
        "without the time of others"
    );
    assert_eq!(kind(&phase, 1, "asm_sysvec_apic_timer_interrupt from the kernel").spans, [51]);
    assert_eq!(kind(&phase, 1, "idle loop and kernel threads").spans, [10 + 40 + 5 + 30]);
}

#[test]
fn what_the_recording_cuts_off_is_not_whole() {
    let phase = recorded(|writer| {
        blocks(writer, 0, &[("user", 1), ("entry_SYSCALL_64", 20), ("__x64_sys_getppid", 7)]);
    });
    assert_eq!(kind(&phase, 0, "__x64_sys_getppid (incomplete)").spans, [27]);
}

#[test]
fn a_stream_that_ends_without_off_is_refused() {
    let mut writer = Writer::default();
    writer.on(0);
    blocks(&mut writer, 0, &[("user", 1)]);
    writer.mark(0, 1);
    assert!(phases(writer.take().as_slice(), &symbols()).is_err());
}

proptest! {
    /// Every instruction is counted once, whatever happens in which order.
    #[test]
    fn functions_add_up_to_spans_and_spans_to_all(
        events in prop::collection::vec((0u8..6, 0u64..3, 0..NAMES.len() + 1, 1u64..50), 0..200)
    ) {
        let mut instructions = 0;
        let phase = recorded(|writer| {
            for (event, cpu, name, count) in events {
                match event {
                    0 => writer.switch(cpu, count % 4, name as u64 % 4),
                    1 => writer.exception(cpu, if count % 2 == 0 { USER } else { BASE }),
                    2 => writer.mark(cpu, count),
                    _ => {
                        let address = NAMES.get(name).map_or(USER, |name| at(name));
                        writer.block(cpu, address, count);
                        instructions += count;
                    }
                }
            }
        });
        prop_assert_eq!(phase.profile.instructions(), instructions);
        for kind in phase.profile.entries.values().chain(phase.profile.wake_ups.values()) {
            prop_assert_eq!(kind.instructions(), kind.functions.values().sum::<u64>());
        }
    }

    #[test]
    fn differences_add_up(
        a in prop::collection::btree_map("[a-f]", 0u64..1000, 0..6),
        b in prop::collection::btree_map("[a-f]", 0u64..1000, 0..6),
    ) {
        let kind = |functions: &std::collections::BTreeMap<String, u64>| Kind {
            spans: vec![functions.values().sum()],
            functions: functions.iter().map(|(name, sum)| (name.as_str().into(), *sum)).collect(),
        };
        let difference = compare(&kind(&a).sums(), &kind(&b).sums());
        let sum: f64 = difference.rows.iter().map(|row| row.more).sum();
        prop_assert_eq!(sum, difference.b - difference.a);
    }

    #[test]
    fn any_bytes_are_read_or_refused(tail in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut bytes = Writer::default().take();
        bytes.extend(&tail);
        let _ = phases(bytes.as_slice(), &symbols());
        let _ = phases(tail.as_slice(), &symbols());
    }

    #[test]
    fn repetitions_come_back(times in 1u64..100) {
        let mut writer = Writer::default();
        writer.on(0);
        (0..times).for_each(|_| writer.block(0, USER, 3));
        writer.off(0);
        let bytes = writer.take();
        prop_assert!(bytes.len() < 40);
        prop_assert!(Reader::new(bytes.as_slice()).unwrap().all(|record| record.is_ok()));
        prop_assert_eq!(one_phase_of(&bytes).profile.user, 3 * times);
    }
}

fn one_phase_of(bytes: &[u8]) -> Phase {
    phases(bytes, &symbols()).unwrap().remove(0)
}

/// A stream of numbers that no plugin writes, as in a file made by hand: `words` behind the head of a stream.
fn forged(words: &[u64]) -> Result<Vec<dyntick_profile::Phase>, dyntick_profile::stream::Error> {
    let mut bytes = b"dyntprof\x01\0\0\0".to_vec();
    for word in words {
        let mut number = *word;
        while number >= 0x80 {
            bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
    }
    dyntick_profile::phases(bytes.as_slice(), &dyntick_profile::symbols::Symbols::default())
}

#[test]
fn impossible_numbers_are_damage() {
    use dyntick_profile::stream::{Error, format::*};
    let word = |control: u64| (control << 1) | 1;
    let (on, define) = (word(ON), word(DEFINE));
    let most = u64::MAX >> 1;
    for words in [
        &[on, define, 2, most][..],
        &[on, define, 2, 1 << 40, word(REPEAT), 1 << 40],
        &[on, word(UNDONE)],
        &[on, word(CPU), 8192],
    ] {
        assert!(matches!(forged(words), Err(Error::Damaged(_))), "{words:?}");
    }
    assert!(
        matches!(forged(&[on, word(CPU), 8191, define, 2, 5, word(OFF), 5]), Ok(phases) if phases.len() == 1)
    );
}

#[test]
fn blocks_and_phases_without_end_are_refused() {
    use dyntick_profile::stream::{Error, format::*};
    let word = |control: u64| (control << 1) | 1;
    let blocks = [word(DEFINE), 2, 1].repeat(1 << 21);
    for words in [[vec![word(ON)], blocks].concat(), vec![word(ON); 1 << 21]] {
        assert_eq!(forged(&words).err(), Some(Error::TooMuch));
    }
}

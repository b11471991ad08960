// SPDX-License-Identifier: GPL-2.0-only
//! Governors of Debian's kernel and small ones, compiled and run as a user's would be.

use crate::{
    Compiler, Decision, Define, Governor, Ground, Inputs, Lengths, Part, Program, ReplayError, Setting,
    Settings, Sorter, SourceFile, Spec,
};
use dyntick_idle::{Miss, State, States};
use dyntick_kernels::build::governors::{GOVERNORS, unpacked};
use dyntick_kernels::cache::Cache;
use dyntick_model::CpuList;
use dyntick_system::confine::Walls;

const HZ: u32 = 250;
const TICK_NS: i64 = 4_000_000;

fn state(name: &str, exit_us: u64, residency_us: u64) -> State {
    State {
        name: name.to_owned(),
        exit_latency_ns: exit_us * 1000,
        target_residency_ns: residency_us * 1000,
        leaving_ns: exit_us * 1000,
        polling: name == "POLL",
        disabled: false,
    }
}

/// Sapphire Rapids.
fn states() -> States {
    States(vec![state("POLL", 0, 0), state("C1", 1, 1), state("C1E", 2, 4), state("C6", 290, 800)])
}

/// Sleeps of one CPU, each so long, ns, with a timer at its end.
fn timers(idle_ns: impl Iterator<Item = u64>) -> Vec<Decision> {
    let mut now = 1_000_000_000;
    let sleep = |idle_ns| {
        let select_ns = now;
        now += idle_ns + 100_000;
        Decision {
            select_ns,
            wake_ns: select_ns + idle_ns,
            exit_ns: select_ns + idle_ns + 2000,
            residency_ns: idle_ns + 2000,
            seen: Lengths { sleep_length_ns: idle_ns as i64, delta_tick_ns: (idle_ns as i64).min(TICK_NS) },
            ..Decision::default()
        }
    };
    idle_ns.map(sleep).collect()
}

fn own(name: &str, select: &str) -> Governor {
    let text = format!(
        "#include <linux/cpuidle.h>\n#include <linux/module.h>\n{select}\n\
         static struct cpuidle_governor own = {{ .name = \"own\", .rating = 1, .select = pick }};\n\
         static int __init start(void) {{ return cpuidle_register_governor(&own); }}\n\
         postcore_initcall(start);\n"
    );
    let file = SourceFile { name: "own.c".to_owned(), text };
    Governor {
        name: name.to_owned(),
        origin: String::new(),
        main: "own.c".to_owned(),
        files: vec![file],
        defines: Vec::new(),
        stand_in: None,
    }
}

const PICK: &str = "static int pick(struct cpuidle_driver *drv, struct cpuidle_device *dev, bool *stop)";

/// Prints the reason if this machine cannot confine a program.
fn has_walls() -> bool {
    Walls::new().inspect_err(|error| eprintln!("skipped: {error}")).is_ok()
}

/// A compiled governor, and the cache that it is in.
struct Compiled {
    program: Program,
    cache: tempfile::TempDir,
}

impl std::ops::Deref for Compiled {
    type Target = Program;

    fn deref(&self) -> &Program {
        &self.program
    }
}

fn compile(governor: &Governor, hz: u32) -> Result<Compiled, ReplayError> {
    let cache = tempfile::tempdir()?;
    let program = Compiler::new(Cache::at(cache.path()))?.compile(governor, hz)?;
    Ok(Compiled { program, cache })
}

fn inputs(decisions: &[Decision]) -> Inputs {
    let mut sorter = Sorter::new(&states(), HZ, Settings::new(), false).unwrap();
    decisions.iter().for_each(|decision| sorter.add(decision.clone()).unwrap());
    sorter.finish().unwrap()
}

fn choices(program: &Program, decisions: &[Decision]) -> Result<Vec<Part>, ReplayError> {
    choices_within(program, decisions, Decision::NO_LIMIT)
}

fn choices_within(
    program: &Program,
    decisions: &[Decision],
    limit_ns: i64,
) -> Result<Vec<Part>, ReplayError> {
    let input = inputs(decisions).seen;
    let mut parts = Vec::new();
    program.run(&input, limit_ns, false)?.each_part(&input, |_, part| parts.push(part.clone()))?;
    Ok(parts)
}

fn chosen(parts: &[Part]) -> Vec<usize> {
    parts.iter().filter(|part| !part.is_cut).map(|part| part.state).collect()
}

/// The time at which the program of a governor was compiled.
fn made(program: &Program) -> std::time::SystemTime {
    program.path.metadata().unwrap().modified().unwrap()
}

#[test]
fn a_governor_is_compiled_once_and_a_damaged_one_again() {
    if !has_walls() {
        return;
    }
    let governor = own("deepest", &format!("{PICK} {{ return 3; }}"));
    let first = compile(&governor, HZ).unwrap();
    let compiled_at = made(&first);
    let again = || Compiler::new(Cache::at(first.cache.path())).unwrap();
    let same = again().compile(&governor, HZ).unwrap();
    assert_eq!((&same.path, made(&same)), (&first.path, compiled_at));

    let other = |governor: &Governor, hz| again().compile(governor, hz).unwrap().path;
    assert_ne!(other(&governor, 1000), first.path);
    let mut defined = governor.clone();
    defined.defines.push(Define { name: "MARGIN".to_owned(), value: "1".to_owned() });
    assert_ne!(other(&defined, HZ), first.path);
    assert_ne!(other(&own("deepest", &format!("{PICK} {{ return 2; }}")), HZ), first.path);

    let whole = std::fs::read(&first.path).unwrap();
    for bytes in [&whole[..1000], b"#!/bin/sh\nexit 0\n", b""] {
        std::fs::write(&first.path, bytes).unwrap();
        let anew = again().compile(&governor, HZ).unwrap();
        let parts = choices(&anew, &timers([1_000_000].into_iter())).unwrap();
        assert_eq!(chosen(&parts), [3]);
    }
    let before = made(&first);
    std::fs::remove_file(first.path.with_file_name("sha256")).unwrap();
    let anew = again().compile(&governor, HZ).unwrap();
    assert!(made(&anew) > before && anew.path.with_file_name("sha256").exists());
}

#[test]
fn a_governor_of_the_users_own_is_run() {
    if !has_walls() {
        return;
    }
    let always = own("deepest", &format!("{PICK} {{ return drv->state_count - 1; }}"));
    let program = compile(&always, HZ).unwrap();
    let parts = choices(&program, &timers([10_000, 20_000, 30_000_000].into_iter())).unwrap();
    assert_eq!(chosen(&parts), [3, 3, 3]);
    assert!(parts.iter().all(|part| part.stop_tick && !part.asked && !part.is_cut), "{parts:?}");
}

#[test]
fn a_tick_that_goes_on_and_the_limit_of_polling_cut_a_sleep() {
    if !has_walls() {
        return;
    }
    let poll = own("poll", &format!("{PICK} {{ return dev->poll_time_limit ? 1 : 0; }}"));
    // The first target residency of 10 µs is that of C6, 800 µs; a sixteenth of a tick is 250 µs.
    let parts = choices(&compile(&poll, HZ).unwrap(), &timers([1_000_000].into_iter())).unwrap();
    let begin = 1_000_000_000;
    let seen: Vec<_> = parts.iter().map(|part| (part.select_ns - begin, part.state, part.is_cut)).collect();
    assert_eq!(seen, [(0, 0, true), (250_000, 1, false)]);

    let ticking = own("ticking", &format!("{PICK} {{ *stop = false; return 2; }}"));
    let program = compile(&ticking, HZ).unwrap();
    let mut sleep = timers([9_000_000].into_iter());
    // The tick went on in the record, too, and did not wake the CPU.
    assert_eq!(choices(&program, &sleep).unwrap().len(), 1);
    sleep[0].tick_was_off = true;
    let parts = choices(&program, &sleep).unwrap();
    let seen: Vec<_> = parts.iter().map(|part| (part.select_ns - begin, part.is_cut)).collect();
    assert_eq!(seen, [(0, true), (4_000_000, true), (8_000_000, false)]);
}

#[test]
fn crashes_and_loops_name_the_decision() {
    if !has_walls() {
        return;
    }
    let at = |third: &str| {
        let select = format!("static int count; {PICK} {{ if (++count == 3) {{ {third} }} return 0; }}");
        let program = compile(&own("bad", &select), HZ).unwrap();
        choices(&program, &timers([10_000; 5].into_iter())).unwrap_err().to_string()
    };
    assert_eq!(
        at("*(volatile int *)8 = 1;"),
        "bad crashed at decision 3 (SIGSEGV: an access to memory that is not its own)"
    );
    assert_eq!(at("for (;;) barrier();"), "bad did not return from decision 3 within a second of CPU time");
    assert_eq!(at("return 7;"), "bad chose state 7 at decision 3, which does not exist");
    let system_call = "long r; __asm__ volatile(\"syscall\" : \"=a\"(r) : \"a\"(39L) : \"rcx\", \"r11\", \"memory\"); return r;";
    if cfg!(target_arch = "x86_64") {
        assert!(at(system_call).starts_with("bad crashed at decision 3 (SIGSYS"), "{}", at(system_call));
    }
}

#[test]
fn a_name_that_is_missing_is_reported() {
    if !has_walls() {
        return;
    }
    let says = |select: &str| match compile(&own("own", select), HZ) {
        Ok(_) => panic!("{select} was compiled"),
        Err(error) => error.to_string(),
    };
    let error = says(&format!("{PICK} {{ return cpu_temperature(dev->cpu); }}"));
    assert!(
        error.contains("it needs 'cpu_temperature' of the kernel (own.c:3)") && error.contains("--stand-in"),
        "{error}"
    );
    let mut helped = own("own", &format!("{PICK} {{ return cpu_temperature(dev->cpu); }}"));
    helped.stand_in = Some("static inline int cpu_temperature(int cpu) { return cpu + 2; }".to_owned());
    let parts = choices(&compile(&helped, HZ).unwrap(), &timers([10_000].into_iter())).unwrap();
    assert_eq!(chosen(&parts), [2]);
    let mut unregistered = own("own", &format!("{PICK} {{ return 0; }}"));
    unregistered.files[0].text = "int x;".to_owned();
    let error = compile(&unregistered, HZ).err().unwrap().to_string();
    assert!(error.contains("registers no governor"), "{error}");
}

/// The CPUs share a counter: it shows the order in which they are asked.
#[test]
fn decisions_of_all_cpus_are_in_order_of_time() {
    if !has_walls() {
        return;
    }
    let select = format!(
        "static int asked; static DEFINE_PER_CPU(int, mine); \
         {PICK} {{ (*this_cpu_ptr(&mine))++; return per_cpu(mine, dev->cpu) == 2 ? 3 : asked++ % 3; }}"
    );
    let sleep = |cpu, select_ns| Decision {
        cpu,
        select_ns,
        wake_ns: select_ns + 10,
        exit_ns: select_ns + 20,
        seen: Lengths { sleep_length_ns: 10, delta_tick_ns: 10 },
        ..Decision::default()
    };
    let program = compile(&own("shared", &select), HZ).unwrap();
    let all = [sleep(0, 100), sleep(0, 300), sleep(7, 50), sleep(3000, 200)];
    // In order of time: CPU 7, CPU 0, CPU 3000, CPU 0 again.
    let parts = choices(&program, &all).unwrap();
    assert_eq!(chosen(&parts), [0, 1, 2, 3]);
}

fn debians(name: &str) -> Compiled {
    let cache = Cache::of_user().unwrap();
    let source = unpacked("debian:6.12", &cache, &|_| ()).unwrap();
    let path = source.tree.join(GOVERNORS).join(format!("{name}.c"));
    compile(&Governor::read(&format!("{name}@6.12"), &path).unwrap(), HZ).unwrap()
}

/// Long sleeps with a timer at their end are for the deepest state, short ones for a shallow one.
#[test]
fn governors_of_debians_kernel_choose_as_they_are_known_to() {
    if !has_walls() {
        return;
    }
    let long = timers(std::iter::repeat_n(20_000_000, 40));
    let short = timers(std::iter::repeat_n(20_000, 40));
    for name in ["menu", "teo", "ladder"] {
        let program = debians(name);
        let of = |decisions: &[Decision]| chosen(&choices(&program, decisions).unwrap());
        let (long, short) = (of(&long), of(&short));
        assert_eq!((long.len(), short.len()), (40, 40), "{name}");
        assert_eq!(long[39], 3, "{name}: {long:?}");
        let is_shallow = short[30..].iter().all(|state| *state < 3);
        assert!(is_shallow || name == "ladder", "{name}: {short:?}");
        // A limit of 20 µs excludes C6, whatever the governor.
        let decisions = timers(std::iter::repeat_n(20_000_000, 40));
        let limited = chosen(&choices_within(&program, &decisions, 20_000).unwrap());
        assert!(limited.iter().all(|state| *state < 3), "{name}: {limited:?}");
    }
    // Ladder climbs after four long sleeps in a state, and one suffices to leave polling.
    let ladder = debians("ladder");
    assert_eq!(chosen(&choices(&ladder, &long).unwrap())[..10], [1, 1, 1, 2, 2, 2, 2, 3, 3, 3]);
    let haltpoll = debians("haltpoll");
    assert_eq!(chosen(&choices(&haltpoll, &short).unwrap()).len(), 40);
}

/// The counts of the runner are those of the choices, one by one.
#[test]
fn the_runner_counts_what_it_chose() {
    if !has_walls() {
        return;
    }
    let mut decisions = timers((0..4000).map(|number: u64| 1000 << (number * 7 % 16)));
    decisions.iter_mut().enumerate().for_each(|(number, decision)| {
        decision.chosen = Some((number % 4) as u8);
        decision.got_tick = number % 3 == 0;
        if number % 7 == 0 {
            // An interrupt comes long before the timer, so that the state may be too deep.
            let early_ns = decision.idle_ns() / 40 * 39;
            decision.wake_ns -= early_ns;
            decision.exit_ns -= early_ns;
            decision.residency_ns -= early_ns;
        }
        decision.cpu = u32::from(number >= 3000);
    });
    let (states, cpus) = (states(), CpuList::first(1));
    // CPU 1 has no C6.
    let settings = [(1, Setting { disabled: 8, ..Setting::default() })].into();
    let mut sorter = Sorter::new(&states, HZ, settings, false).unwrap();
    decisions.iter().for_each(|decision| sorter.add(decision.clone()).unwrap());
    let input = sorter.finish().unwrap().seen;
    for (name, limit_ns) in [("menu", Decision::NO_LIMIT), ("teo", Decision::NO_LIMIT), ("menu", 20_000)] {
        let outcome = debians(name).run(&input, limit_ns, false).unwrap();
        let ground =
            Ground { input: &input, states: &states, machine: None, cpus: &cpus, window: (0, u64::MAX) };
        let score = ground.score(&outcome).unwrap();
        let mut parts = Vec::new();
        outcome.each_part(&input, |record, part| parts.push((*record, part.clone()))).unwrap();
        let (mut too_deep, mut too_shallow, mut right, mut same, mut chosen) = (0, 0, 0, 0, [0; 4]);
        for (place, (record, part)) in parts.iter().enumerate() {
            let decision = &decisions[part.decision as usize];
            let is_same = decision.chosen == Some(part.state as u8) && part.select_ns == decision.select_ns;
            let slept_ns = match parts.get(place + 1) {
                Some((_, next)) if part.is_cut => next.select_ns - part.select_ns,
                _ if is_same => decision.residency_ns,
                _ => decision.wake_ns - part.select_ns + states.0[part.state].leaving_ns,
            };
            match states.judge(part.state, slept_ns) {
                Some(Miss::Above) => too_deep += 1,
                Some(Miss::Below) => too_shallow += 1,
                None => {}
            }
            chosen[part.state] += 1;
            if !part.is_cut {
                same += u64::from(is_same);
                right += u64::from(ground.oracle_of(record, limit_ns) == part.state);
            }
        }
        assert_eq!((score.decisions, score.choices), (4000, parts.len() as u64), "{name}");
        assert_eq!(score.states, chosen, "{name}");
        assert_eq!((score.too_deep, score.too_shallow), (too_deep, too_shallow), "{name}");
        assert_eq!((score.right, score.same, score.known), (right, same, 4000), "{name}");
        assert!(parts.iter().all(|(record, part)| record.cpu() == 0 || part.state < 3), "{name}");
        assert!(right > 1000 && too_deep > 0, "{name}: {score:?}");
    }
}

/// CPU 1 sleeps until CPU 0, which chose C6 and not C1 as recorded, wakes it; then both sleep until timers.
#[test]
fn a_choice_delays_what_follows_it() {
    if !has_walls() {
        return;
    }
    let governor = own("deepest", &format!("{PICK} {{ return dev->cpu == 0 ? 3 : 2; }}"));
    let program = compile(&governor, HZ).unwrap();
    let begin = 1_000_000_000;
    let sleep = |cpu, select_us: u64, idle_us: u64, waker| {
        let (select_ns, leaving_ns) = (begin + select_us * 1000, 1000);
        let wake_ns = select_ns + idle_us * 1000;
        Decision {
            cpu,
            select_ns,
            wake_ns,
            exit_ns: wake_ns + leaving_ns,
            residency_ns: idle_us * 1000 + leaving_ns,
            seen: Lengths { sleep_length_ns: 50_000_000, delta_tick_ns: TICK_NS },
            chosen: Some(if cpu == 0 { 1 } else { 2 }),
            waker,
            ..Decision::default()
        }
    };
    let decisions = [
        sleep(0, 0, 100, None),
        sleep(1, 10, 110, Some(0)),
        sleep(0, 150, 1000, None),
        sleep(1, 200, 950, None),
    ];
    let (states, cpus) = (states(), CpuList::first(2));
    let input = inputs(&decisions).seen;
    let ground = Ground { input: &input, states: &states, machine: None, cpus: &cpus, window: (0, u64::MAX) };
    let of = |feedback| {
        let outcome = program.run(&input, Decision::NO_LIMIT, feedback).unwrap();
        let mut parts = outcome.cut_parts();
        let mut slept_us = Vec::new();
        while let Some(part) = parts.next().unwrap() {
            slept_us.push(part.unwrap().duration_ns / 1000);
        }
        (slept_us, ground.score(&outcome).unwrap())
    };
    let (none, score) = of(false);
    assert_eq!((none.len(), score.too_deep, score.same), (0, 1, 2));
    // C6 takes 290 µs to leave, and C1 one: CPU 0 is 289 µs late, and so is the wake-up of CPU 1. The timers are not.
    let (slept_us, score) = of(true);
    assert_eq!(slept_us, [100 + 290, 110 + 289 + 1, 1000 - 289 + 290, 950 - 289 + 1]);
    assert_eq!((score.states, score.same, score.decisions), (vec![0, 0, 2, 2], 2, 4));
}

/// A patch that comes with dyntick by both of its names, and one whose function the stand-in does not have.
#[test]
fn a_patched_governor_is_compiled() {
    if !has_walls() {
        return;
    }
    let cache = Cache::of_user().unwrap();
    let load = |text: &str| text.parse::<Spec>().unwrap().load(&cache, &|_| ());
    let text = |governor: &Governor| {
        let main = governor.files.iter().find(|file| file.name == governor.main).unwrap();
        main.text.clone()
    };
    let plain = load("menu@6.12").unwrap();
    assert!(plain.origin.starts_with("Debian package linux-source-6.12 "), "{}", plain.origin);
    let patched = load("menu@6.12+menu-stopped-margin-25").unwrap();
    assert_ne!(text(&plain), text(&patched));
    assert_eq!(text(&patched), text(&load("menu@6.12+menu-stopped-margin-25.cocci").unwrap()));
    let decisions = timers([20_000_000; 30].into_iter());
    assert_eq!(chosen(&choices(&compile(&patched, HZ).unwrap(), &decisions).unwrap()).len(), 30);
    let error = compile(&load("menu@6.12+menu-predict-event").unwrap(), HZ).err().unwrap().to_string();
    assert!(error.contains("it needs 'trace_menu_predict' of the kernel (menu.c:"), "{error}");
    let error = load("menu@6.12+no-such-patch").unwrap_err().to_string();
    assert!(error.contains("no-such-patch"), "{error}");
}

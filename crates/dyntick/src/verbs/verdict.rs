// SPDX-License-Identifier: GPL-2.0-only
//! The words of a verdict: the first lines of a report. The rules behind it are in [`dyntick_record::verdict`].

use super::ledger::Who;
use dyntick_model::Fix;
use dyntick_record::verdict::{Change, Loss, Verdict};
use dyntick_record::{Ledger, PROBE};
use dyntick_report::{Block, numbers};

/// The subject of a verdict.
pub enum Subject<'a> {
    /// The threads of a command, by its name.
    Threads(&'a Who, &'a Ledger),
    /// CPUs: their name, their interrupted share of the time, and that of other programs.
    Cpus(String, f64, f64),
}

/// The verdict: what was lost, the change that pays, and what is not worth one.
pub fn blocks(verdict: &Verdict, subject: &Subject<'_>) -> Vec<Block> {
    let mut blocks = vec![Block::Paragraph(lost(verdict, subject))];
    blocks.extend(verdict.worth.as_ref().map(worth));
    let nothing = if verdict.worth.is_none() { nothing(verdict) } else { None };
    let rest: Vec<String> = nothing.into_iter().chain(verdict.not_worth.as_ref().map(not_worth)).collect();
    if !rest.is_empty() {
        blocks.push(Block::Paragraph(rest.join(" ")));
    }
    blocks
}

/// The loss in one paragraph.
pub fn lost(verdict: &Verdict, subject: &Subject<'_>) -> String {
    let mut text = match subject {
        Subject::Threads(who, ledger) => of_threads(who, ledger),
        Subject::Cpus(cpus, interrupted, tasks) => format!(
            "{cpus} interrupted for {} of the time; other programs had {} of it.",
            numbers::percent(*interrupted),
            numbers::percent(*tasks)
        ),
    };
    let first = match subject {
        Subject::Threads(..) => "Most of it",
        Subject::Cpus(..) => "The largest cause",
    };
    for (number, loss) in verdict.losses.iter().enumerate() {
        text += &format!(" {}, {}: {}.", if number == 0 { first } else { "Then" }, amount(loss), loss.what);
    }
    if let Some(loss) = &verdict.interruptions {
        text += &format!(
            " Besides, the measured CPUs were interrupted for {}, whichever task ran: {}.",
            numbers::percent(loss.share),
            amount(loss)
        );
    }
    if let Some(share) = verdict.unseen_share {
        text += &format!(
            " It spent {} of its time on CPUs that were not recorded: record those too, or keep it here (taskset -c).",
            numbers::percent(share)
        );
    }
    text
}

fn of_threads(who: &Who, ledger: &Ledger) -> String {
    let mut text = format!(
        "{who} lost {} of {} time: {} of the {} in which {} did not sleep.",
        numbers::percent(ledger.lost_share),
        who.its(),
        numbers::duration(ledger.lost_ns as f64),
        numbers::duration(ledger.awake_ns as f64),
        who.it(),
    );
    for probe in ledger.parts.iter().filter(|part| part.part == PROBE) {
        text += &format!(
            " It was {}, {} times; that time is a part of the time that it ran.",
            probe.title,
            numbers::count(probe.count)
        );
    }
    // A wait that is no loss by itself, and may be one: for a lock, e.g.
    for wait in ledger.doubtful_waits() {
        let time = numbers::duration(wait.ns.unwrap_or(0) as f64);
        text += &format!(" Besides, it {}: {time} in all.", wait.title);
    }
    text
}

/// The time of a loss, its pieces, and the longest.
fn amount(loss: &Loss) -> String {
    let time = loss.ns.map_or("an unknown time".to_owned(), |ns| numbers::duration(ns as f64));
    let pieces = (loss.count > 0).then(|| format!(" in {}", numbers::counted(loss.count, "piece")));
    let longest = loss.longest_ns.filter(|_| loss.count > 1);
    let longest = longest.map(|ns| format!(", the longest {}", numbers::duration(ns as f64)));
    [Some(time), pieces, longest].into_iter().flatten().collect()
}

fn worth(change: &Change) -> Block {
    let purpose = |when: &str| format!("Worth doing, {when}");
    match &change.change {
        Fix::Advice(words) => Block::Paragraph(format!("Worth doing: {words}.")),
        Fix::Command(command) => Block::Command(purpose("now and without a reboot"), command.clone()),
        boot => Block::Command(purpose("with a reboot"), boot.to_string()),
    }
}

/// The reason for which no change is shown; `None` if nothing was lost at all.
fn nothing(verdict: &Verdict) -> Option<String> {
    let bar = verdict.bar;
    if verdict.losses.is_empty() {
        None
    } else if !verdict.losses.iter().any(|loss| bar.is_exceeded_by(loss)) {
        let longest = numbers::duration(bar.longest_ns as f64);
        // In virtual time the pieces' durations say nothing.
        let is_known = verdict.losses.iter().any(|loss| loss.longest_ns.is_some());
        let pieces = if is_known { format!(", and no piece takes {longest}") } else { String::new() };
        Some(format!(
            "Nothing here is worth a change: no cause has {} % of the time{pieces}.",
            bar.share * 100.0
        ))
    } else if verdict.needs_cpus {
        Some(
            "What helps depends on the CPUs that must be quiet: name some of them, and not all, with -C. With \
             dyntick isolate -C LIST -- COMMAND they are the command's alone."
                .to_owned(),
        )
    } else {
        Some("No single change is known that would remove it.".to_owned())
    }
}

fn not_worth(loss: &Loss) -> String {
    let what = if loss.tick { "the tick" } else { &loss.what };
    let against = loss.fix.as_ref().map_or(String::new(), |fix| format!(" (against it: {fix})"));
    format!("Not worth a change: {what}, {} of the time{against}.", numbers::percent(loss.share))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_record::verdict::Bar;

    fn text(verdict: &Verdict, subject: &Subject<'_>) -> String {
        let document = dyntick_report::Document { blocks: blocks(verdict, subject), ..Default::default() };
        dyntick_report::terminal(&document, 100, false)
    }

    #[test]
    fn verdict_is_a_few_plain_lines() {
        let loss = |what: &str, ns, share, fix| Loss {
            part: "",
            what: what.to_owned(),
            ns: Some(ns),
            share,
            count: 109,
            longest_ns: Some(8_020_000),
            tick: false,
            fix,
        };
        let change =
            Change { against: "x".into(), change: Fix::Command("dyntick isolate -C 1 -- app".into()) };
        let tick = Fix::Advice("this kernel has no CONFIG_NO_HZ_FULL".to_owned());
        let verdict = Verdict {
            losses: vec![
                loss("ready to run, while other tasks had the CPU: cc1, gcc", 512_000_000, 0.36, None),
                loss("interrupted on its CPU", 80_000_000, 0.05, None),
            ],
            of_threads: true,
            interruptions: None,
            worth: Some(change),
            not_worth: Some(Loss { tick: true, ..loss("Periodic tick", 7_000_000, 0.005, Some(tick)) }),
            bar: Bar { share: 0.01, longest_ns: 1_000_000 },
            needs_cpus: false,
            unseen_share: Some(0.92),
        };
        let ledger =
            Ledger { lost_ns: 592_000_000, awake_ns: 1_411_600_000, lost_share: 0.42, ..Ledger::default() };
        insta::assert_snapshot!("command", text(&verdict, &Subject::Threads(&Who::named("app"), &ledger)));
        let quiet = Verdict {
            losses: vec![Loss { longest_ns: Some(20_000), ..loss("the tick", 7_000_000, 0.005, None) }],
            bar: verdict.bar,
            ..Verdict::default()
        };
        insta::assert_snapshot!("quiet", text(&quiet, &Subject::Cpus("CPU 1 was".to_owned(), 0.005, 0.0)));
    }
}

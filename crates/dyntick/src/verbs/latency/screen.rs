// SPDX-License-Identifier: GPL-2.0-only
//! The figures during the measurement.

use super::arguments::Arguments;
use super::print::{self, Values};
use super::why::Why;
use crate::output;
use anyhow::Result;
use dyntick_formats::cyclictest::Unit;
use dyntick_latency::{Plan, Running, Shared, Wake};
use std::time::Duration;

/// The interval between updates of the figures. More would not be readable, and each costs a wake-up.
const REFRESH: Duration = Duration::from_millis(100);

/// The output while the threads run.
pub struct Screen<'a> {
    arguments: &'a Arguments,
    unit: Unit,
    values: Vec<Values>,
    /// True if the status lines are updated, which files and pipes do not get.
    live: bool,
    printed: bool,
    max: u64,
}

impl<'a> Screen<'a> {
    pub fn new(arguments: &'a Arguments, plan: &Plan) -> Self {
        let live = !arguments.quiet && !arguments.verbose && output::is_terminal();
        let values = vec![Values::default(); plan.threads.len()];
        Self { arguments, unit: print::unit(arguments), values, live, printed: false, max: 0 }
    }

    /// Prints until the measurement ends or a signal ends it.
    pub fn follow(&mut self, running: &Running, mut why: Option<&mut Why>) -> Result<()> {
        let refresh = (self.live || self.arguments.verbose).then_some(REFRESH);
        while !running.ended() {
            match running.wait(refresh) {
                Wake::Signal(_) => return Ok(()),
                Wake::Status => self.print_current_status(running),
                Wake::Bell => {
                    if let Some(why) = &mut why {
                        why.look(running);
                    }
                }
                Wake::Timeout => self.refresh(running.plan(), running.shared())?,
            }
        }
        Ok(())
    }

    fn print_current_status(&self, running: &Running) {
        let lines = print::statuses(running.plan(), running.shared(), self.unit);
        const RULE: &str = "#---------------------------\n";
        output::aside(format_args!("{RULE}# cyclictest current status:\n{lines}{RULE}"));
    }

    fn refresh(&mut self, plan: &Plan, shared: &Shared) -> Result<()> {
        if self.arguments.verbose {
            return self.print_values(shared);
        }
        let max = shared.threads.iter().map(|counts| counts.max()).max().unwrap_or(0);
        if self.arguments.refresh_on_max && max <= self.max {
            return Ok(());
        }
        self.max = max;
        self.print_statuses(plan, shared)
    }

    fn print_statuses(&mut self, plan: &Plan, shared: &Shared) -> Result<()> {
        let back = if self.printed { format!("\u{1b}[{}A", plan.threads.len() + 2) } else { String::new() };
        self.printed = true;
        let heading = print::heading(plan.policy);
        output::rendered(format_args!("{back}{heading}{}", print::statuses(plan, shared, self.unit)))
    }

    fn print_values(&mut self, shared: &Shared) -> Result<()> {
        let mut text = String::new();
        for (number, (values, counts)) in self.values.iter_mut().zip(&shared.threads).enumerate() {
            values.lines(number, counts, self.arguments.oscope, self.unit, &mut text);
        }
        output::text(text)
    }

    /// Prints the last figures of the threads.
    pub fn end(&mut self, plan: &Plan, shared: &Shared) -> Result<()> {
        if self.arguments.verbose {
            self.print_values(shared)?;
        }
        match (self.arguments.quiet, self.arguments.verbose) {
            // A histogram has the figures in its foot.
            (true, _) if plan.bins > 0 => Ok(()),
            (true, _) => output::text(print::statuses(plan, shared, self.unit)),
            (false, true) => Ok(()),
            (false, false) => self.print_statuses(plan, shared),
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-only
//! All tests of this crate from outside, in one executable: explanations.

mod both;
mod causes_page;
mod fixes_page;
mod real_traces;
mod rules_of_the_tick;
mod texts;
mod the_commands_own;
mod timers_of_others;
mod trace;
mod what_a_trace_lacks;
mod what_the_scheduler_needs;
mod who_acted;

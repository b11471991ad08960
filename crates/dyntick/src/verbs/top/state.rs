// SPDX-License-Identifier: GPL-2.0-only
//! The choices of the user, and the keys that change them.

use clap::ValueEnum;
use dyntick_contract::top::{Cpu, Sample};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// The order of the CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Order {
    /// CPU number.
    #[default]
    Cpu,
    /// Most ticks first.
    Ticks,
    /// Most interruptions first.
    Interruptions,
    /// Longest time interrupted first.
    Time,
    /// Least idle first.
    Busy,
}

/// The content of the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Page {
    /// The CPUs, and below them the causes of the chosen one.
    #[default]
    Cpus,
    /// One CPU.
    Detail,
    /// The keys.
    Help,
}

/// The choices of the user.
#[derive(Debug, Default)]
pub struct State {
    /// The order of the CPUs.
    pub order: Order,
    /// The content of the screen.
    pub page: Page,
    /// True if the figures are paused.
    pub paused: bool,
    /// The number of the chosen CPU.
    pub cpu: u32,
    /// The index of its cause that is explained.
    pub cause: usize,
    /// The text that CPUs and causes must contain; lower case.
    pub filter: String,
    /// True if keys go to the filter.
    pub typing: bool,
}

/// The program's reaction to a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// Draw again.
    Draw,
    /// Quit.
    Quit,
}

/// The keys, as help shows them.
pub const KEYS: [(&str, &str); 12] = [
    ("Up Down PgUp PgDn", "select a CPU; on its page, a cause"),
    ("Enter", "show the selected CPU with all its causes and idle states"),
    ("Esc", "back"),
    ("F4 \\", "show only CPUs and causes that contain a text; Esc clears it"),
    ("F6 > <", "next or previous sort order of the CPUs"),
    ("N", "sort by number"),
    ("K", "sort by ticks"),
    ("I", "sort by interruptions"),
    ("P", "sort by time interrupted"),
    ("B", "sort by busy time"),
    ("Z Space", "pause or resume"),
    ("F10 q", "quit"),
];

impl State {
    /// Handles a key.
    pub fn key(&mut self, key: KeyEvent, sample: &Sample) -> Then {
        if key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL) {
            return Then::Quit;
        }
        if self.typing {
            self.type_filter(key.code);
            return Then::Draw;
        }
        match key.code {
            KeyCode::Char('q') | KeyCode::F(10) => return Then::Quit,
            KeyCode::Char('?' | 'h') | KeyCode::F(1) if self.page == Page::Help => self.back(),
            KeyCode::Char('?' | 'h') | KeyCode::F(1) => self.page = Page::Help,
            KeyCode::Esc => self.back(),
            KeyCode::Enter if self.page == Page::Cpus => self.page = Page::Detail,
            KeyCode::Char('\\' | '/') | KeyCode::F(3 | 4) => self.typing = true,
            KeyCode::Char('>' | '.') | KeyCode::F(6) => self.next_order(1),
            KeyCode::Char('<' | ',') => self.next_order(-1),
            KeyCode::Char('N') => self.order = Order::Cpu,
            KeyCode::Char('K') => self.order = Order::Ticks,
            KeyCode::Char('I') => self.order = Order::Interruptions,
            KeyCode::Char('P') => self.order = Order::Time,
            KeyCode::Char('B') => self.order = Order::Busy,
            KeyCode::Char('Z' | ' ') => self.paused = !self.paused,
            KeyCode::Up | KeyCode::Char('k') => self.go(-1, sample),
            KeyCode::Down | KeyCode::Char('j') => self.go(1, sample),
            KeyCode::PageUp => self.go(-PAGE, sample),
            KeyCode::PageDown => self.go(PAGE, sample),
            KeyCode::Home => self.go(isize::MIN, sample),
            KeyCode::End => self.go(isize::MAX, sample),
            _ => {}
        }
        Then::Draw
    }

    fn type_filter(&mut self, code: KeyCode) {
        match code {
            KeyCode::Char(letter) => self.filter.extend(letter.to_lowercase()),
            KeyCode::Backspace => {
                self.filter.pop();
            }
            KeyCode::Enter => self.typing = false,
            KeyCode::Esc => {
                self.filter.clear();
                self.typing = false;
            }
            _ => {}
        }
        self.cause = 0;
    }

    fn back(&mut self) {
        match self.page {
            Page::Cpus => self.filter.clear(),
            _ => self.page = Page::Cpus,
        }
        self.cause = 0;
    }

    fn next_order(&mut self, step: isize) {
        let all = Order::value_variants();
        let at = all.iter().position(|order| *order == self.order).unwrap_or(0);
        self.order = all[(at as isize + step).rem_euclid(all.len() as isize) as usize];
    }

    fn go(&mut self, step: isize, sample: &Sample) {
        let moved = |at: usize, number: usize| {
            (at as isize).saturating_add(step).clamp(0, number.saturating_sub(1) as isize) as usize
        };
        if self.page == Page::Detail {
            let causes = self.chosen(sample).map_or(0, |cpu| self.causes(cpu).len());
            self.cause = moved(self.cause, causes);
            return;
        }
        let cpus = self.cpus(sample);
        let at = cpus.iter().position(|cpu| cpu.cpu == self.cpu).unwrap_or(0);
        if let Some(cpu) = cpus.get(moved(at, cpus.len())) {
            (self.cpu, self.cause) = (cpu.cpu, 0);
        }
    }

    /// The visible CPUs, in their order; equal ones are sorted by number.
    pub fn cpus<'a>(&self, sample: &'a Sample) -> Vec<&'a Cpu> {
        let mut cpus: Vec<&Cpu> = sample.cpus.iter().filter(|cpu| self.shows(cpu)).collect();
        let rank = |cpu: &Cpu| match self.order {
            Order::Cpu => 0.0,
            Order::Ticks => -cpu.ticks(),
            Order::Interruptions => -cpu.interruptions_per_s,
            Order::Time => -cpu.interrupted.unwrap_or(0.0),
            Order::Busy => cpu.idle,
        };
        cpus.sort_by(|a, b| rank(a).total_cmp(&rank(b)));
        cpus
    }

    /// The chosen CPU; the first visible one if it is not among them.
    pub fn chosen<'a>(&self, sample: &'a Sample) -> Option<&'a Cpu> {
        let cpus = self.cpus(sample);
        cpus.iter().find(|cpu| cpu.cpu == self.cpu).or(cpus.first()).copied()
    }

    /// The visible causes of a CPU; all, if the filter matches its number.
    pub fn causes<'a>(&self, cpu: &'a Cpu) -> Vec<&'a dyntick_contract::top::Cause> {
        let all = self.is_named(cpu);
        cpu.causes.iter().filter(|cause| all || self.fits(&cause.name)).collect()
    }

    fn shows(&self, cpu: &Cpu) -> bool {
        self.is_named(cpu) || cpu.causes.iter().any(|cause| self.fits(&cause.name))
    }

    /// Returns true if the filter matches the CPU itself: `cpu3`, `3`, or nothing.
    fn is_named(&self, cpu: &Cpu) -> bool {
        self.filter.is_empty() || self.filter.trim_start_matches("cpu").trim() == cpu.cpu.to_string()
    }

    fn fits(&self, name: &str) -> bool {
        name.to_lowercase().contains(&self.filter)
    }
}

/// The step of PgUp and PgDn.
const PAGE: isize = 10;

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_contract::top::{Cause, Role};

    fn cause(name: &str) -> Cause {
        let name = name.to_owned();
        Cause {
            name,
            cause: None,
            is_part: false,
            per_s: 1.0,
            share: None,
            mean_ns: None,
            meaning: None,
            fix: None,
        }
    }

    fn sample() -> Sample {
        let cpu = |cpu, ticks_per_s, causes: &[&str]| Cpu {
            cpu,
            role: Role::Housekeeping,
            ticks_per_s: Some(ticks_per_s),
            local_timer_per_s: ticks_per_s,
            causes: causes.iter().map(|name| cause(name)).collect(),
            ..Cpu::default()
        };
        let cpus = vec![cpu(0, 10.0, &["tick", "softirq SCHED"]), cpu(1, 250.0, &["tick"]), cpu(2, 0.0, &[])];
        Sample { seconds: 1.0, cpus, ..Sample::default() }
    }

    fn press(state: &mut State, keys: &[KeyCode]) -> Then {
        let sample = sample();
        keys.iter().map(|key| state.key(KeyEvent::new(*key, KeyModifiers::NONE), &sample)).last().unwrap()
    }

    fn shown(state: &State) -> Vec<u32> {
        state.cpus(&sample()).iter().map(|cpu| cpu.cpu).collect()
    }

    #[test]
    fn cpus_are_sorted_in_each_order() {
        let mut state = State::default();
        press(&mut state, &[KeyCode::Char('K')]);
        assert_eq!(shown(&state), [1, 0, 2]);
        press(&mut state, &[KeyCode::Char('<')]);
        assert_eq!((state.order, shown(&state)), (Order::Cpu, vec![0, 1, 2]));
        press(&mut state, &[KeyCode::Char('<')]);
        assert_eq!(state.order, Order::Busy);
    }

    #[test]
    fn selection_moves_in_the_visible_order() {
        let mut state = State::default();
        press(&mut state, &[KeyCode::Char('K'), KeyCode::Home]);
        assert_eq!(state.cpu, 1);
        press(&mut state, &[KeyCode::Down, KeyCode::Down, KeyCode::Down]);
        assert_eq!(state.cpu, 2);
        press(&mut state, &[KeyCode::PageUp]);
        assert_eq!(state.cpu, 1);
    }

    #[test]
    fn filter_matches_causes_and_cpus() {
        let mut state = State::default();
        let text = |text: &str| text.chars().map(KeyCode::Char).collect::<Vec<_>>();
        press(&mut state, &[KeyCode::Char('\\')]);
        press(&mut state, &text("SCHEDq"));
        press(&mut state, &[KeyCode::Backspace, KeyCode::Enter]);
        assert_eq!((state.filter.as_str(), shown(&state)), ("sched", vec![0]));
        assert_eq!(state.causes(&sample().cpus[0]).len(), 1);
        press(&mut state, &[KeyCode::Esc, KeyCode::Char('\\')]);
        press(&mut state, &text("cpu2"));
        assert_eq!(shown(&state), [2]);
    }

    #[test]
    fn keys_open_and_close_pages() {
        let mut state = State::default();
        press(&mut state, &[KeyCode::Enter, KeyCode::Down, KeyCode::Down]);
        assert_eq!((state.page, state.cause), (Page::Detail, 1));
        press(&mut state, &[KeyCode::Esc, KeyCode::F(1)]);
        assert_eq!((state.page, state.cause), (Page::Help, 0));
        press(&mut state, &[KeyCode::F(1)]);
        assert_eq!(state.page, Page::Cpus, "what opens the help closes it");
        press(&mut state, &[KeyCode::F(1)]);
        assert_eq!(press(&mut state, &[KeyCode::Esc, KeyCode::Char('q')]), Then::Quit);
        assert_eq!(state.page, Page::Cpus);
    }
}

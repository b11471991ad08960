// SPDX-License-Identifier: GPL-2.0-only
//! The screen: its layout and its style.

use super::state::{KEYS, Page, State};
use clap::ValueEnum;
use dyntick_contract::labels;
use dyntick_contract::top::{Cause, Cpu, Role, Sample};
use dyntick_model::text::clean_line;
use dyntick_report::numbers;
use dyntick_system::hotplug;
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Cell, Paragraph, Row, Table, TableState, Wrap};

/// The state to draw.
pub struct View<'a> {
    /// A description of the machine, on one line.
    pub machine: &'a str,
    /// The interval that is shown.
    pub sample: &'a Sample,
    /// The user's choices.
    pub state: &'a State,
    /// True for colours.
    pub colours: bool,
}

/// The ticks per second above which a nohz_full CPU is highlighted: 6.12's scheduler alone causes one every second.
const MANY_TICKS: f64 = 1.5;

/// The number of lines for the causes of the chosen CPU below a long list of CPUs.
const CAUSES: u16 = 12;

/// The width from which on the list of CPUs has their idle states.
const WIDE: u16 = 110;

/// Draws the screen.
pub fn draw(frame: &mut Frame<'_>, view: &View<'_>) {
    let [head, body, foot] =
        Layout::vertical([Constraint::Length(2), Constraint::Min(3), Constraint::Length(1)])
            .areas(frame.area());
    frame.render_widget(Paragraph::new(view.head()), head);
    match (view.state.page, view.state.chosen(view.sample)) {
        (Page::Help, _) => frame.render_widget(help(view.sample), body),
        (Page::Detail, Some(cpu)) => view.detail(frame, body, cpu),
        (_, cpu) => view.overview(frame, body, cpu),
    }
    frame.render_widget(Paragraph::new(view.foot()), foot);
    clean_cells(frame.buffer_mut());
}

/// Cleans the names of tasks, devices and functions, which are drawn in many places, in the final buffer.
fn clean_cells(buffer: &mut Buffer) {
    for cell in &mut buffer.content {
        let symbol = cell.symbol();
        // Cleaning changes no other single byte.
        if !matches!(symbol.as_bytes(), [b' '..=b'~']) {
            let cleaned = clean_line(symbol);
            cell.set_symbol(&cleaned);
        }
    }
}

/// A name with the width that it is drawn with.
fn name(text: &str) -> String {
    clean_line(text)
}

impl View<'_> {
    fn head(&self) -> Vec<Line<'static>> {
        let mut first = vec![Span::raw(format!("dyntick top  {}", self.machine))];
        if self.state.paused {
            first.push(Span::styled("  PAUSED", self.style(Color::Yellow).add_modifier(Modifier::BOLD)));
        }
        let mut shown = vec![format!("over {:.1} s", self.sample.seconds)];
        shown.extend(self.sample.power.iter().map(|power| format!("{} {:.2} W", power.name, power.watts)));
        if self.sample.source_note.is_some() {
            shown.push("from trace events (F1)".to_owned());
        }
        shown.extend(hotplug::note(&self.sample.offline));
        let lost = self.sample.lost;
        if lost.events() > 0 {
            shown.push(format!("{} events lost", numbers::count(lost.events())));
        }
        if lost.unnamed > 0 {
            shown.push(format!("{} without a name", numbers::count(lost.unnamed)));
        }
        let lacks = self.sample.missing.iter().map(|missing| missing.what.as_str());
        let lacks: Vec<&str> = lacks.collect();
        if !lacks.is_empty() {
            shown.push(format!("not available: {} (F1)", lacks.join(", ")));
        }
        vec![Line::from(first), Line::from(Span::styled(shown.join("  |  "), self.style(Color::DarkGray)))]
    }

    fn foot(&self) -> Line<'static> {
        if self.state.typing {
            return Line::from(format!("filter: {}_", self.state.filter));
        }
        let order = self.state.order.to_possible_value();
        let order = order.map(|value| value.get_name().to_owned()).unwrap_or_default();
        let mut text = format!("F1 help  Enter detail  F4 filter  F6 sort: {order}  Z pause  F10 quit");
        if !self.state.filter.is_empty() {
            text += &format!("  [filter: {}, Esc clears]", self.state.filter);
        }
        Line::from(Span::styled(text, Style::default().add_modifier(Modifier::REVERSED)))
    }

    fn overview(&self, frame: &mut Frame<'_>, area: Rect, cpu: Option<&Cpu>) {
        let cpus = self.state.cpus(self.sample);
        // The list gets the lines that it needs, as long as the causes keep theirs.
        let lines = (cpus.len() as u16 + 1).min(area.height.saturating_sub(CAUSES)).max(2);
        let [list, below] = Layout::vertical([Constraint::Length(lines), Constraint::Min(1)]).areas(area);
        self.list(frame, list, &cpus);
        if let Some(cpu) = cpu {
            self.causes(frame, below, cpu);
        }
    }

    fn list(&self, frame: &mut Frame<'_>, area: Rect, cpus: &[&Cpu]) {
        // On a narrow screen the main cause is more useful than the idle states, which the page of a CPU has.
        let idle = area.width >= WIDE && self.sample.cpus.iter().any(|cpu| !cpu.idle_states.is_empty());
        let mut columns = vec![figures("CPU", 3), text("isolation", Constraint::Length(9))];
        columns.extend([
            figures(self.sample.ticks_heading(), 7),
            figures("intr/s", 7),
            figures("time", 7),
            figures("tasks", 7),
            figures("idle", 7),
            figures("faults/s", 8),
        ]);
        if idle {
            columns.extend([figures("above/s", 7), figures("below/s", 7)]);
            columns.push(text("idle states", Constraint::Max(24)));
        }
        columns.push(text("main cause", Constraint::Min(16)));
        let table = table(&columns, cpus.iter().map(|cpu| self.row(cpu, idle)))
            .row_highlight_style(Style::default().add_modifier(Modifier::REVERSED));
        let chosen = self.state.chosen(self.sample);
        let at = cpus.iter().position(|cpu| chosen.is_some_and(|chosen| chosen.cpu == cpu.cpu));
        frame.render_stateful_widget(table, area, &mut TableState::default().with_selected(at));
    }

    fn row(&self, cpu: &Cpu, idle: bool) -> Row<'static> {
        let full = matches!(cpu.role, Role::NohzFull | Role::IsolatedNohzFull);
        let ticks = match (full, cpu.ticks() > MANY_TICKS) {
            (true, true) => self.style(Color::Red).add_modifier(Modifier::BOLD),
            (true, false) => self.style(Color::Green),
            (false, _) => Style::default(),
        };
        let mut cells = vec![
            figure(cpu.cpu.to_string()),
            Cell::from(role(cpu.role)).style(self.style(Color::Cyan)),
            figure(numbers::rate(cpu.ticks())).style(ticks),
            figure(numbers::rate(cpu.interruptions_per_s)),
            figure(cpu.interrupted.map(numbers::percent).unwrap_or_default()),
            figure(cpu.user_tasks.map(numbers::percent).unwrap_or_default()),
            figure(numbers::percent(cpu.idle)),
            figure(cpu.page_faults_per_s.map(numbers::rate).unwrap_or_default()),
        ];
        if idle {
            let sum = |of: fn(&dyntick_contract::top::IdleState) -> f64| cpu.idle_states.iter().map(of).sum();
            cells.push(figure(numbers::rate(sum(|state| state.above_per_s))));
            cells.push(figure(numbers::rate(sum(|state| state.below_per_s))));
            cells.push(Cell::from(idle_states(cpu)));
        }
        cells.push(Cell::from(most(cpu)));
        Row::new(cells)
    }

    fn detail(&self, frame: &mut Frame<'_>, area: Rect, cpu: &Cpu) {
        let states = match cpu.idle_states.len() as u16 {
            0 => 0,
            states => states + 2,
        };
        let [above, below] = Layout::vertical([Constraint::Min(6), Constraint::Length(states)]).areas(area);
        self.causes(frame, above, cpu);
        if states == 0 {
            return;
        }
        let rows = cpu.idle_states.iter().map(|state| {
            Row::new([
                Cell::from(state.name.clone()),
                figure(numbers::percent(state.share)),
                figure(numbers::rate(state.per_s)),
                figure(numbers::rate(state.above_per_s)),
                figure(numbers::rate(state.below_per_s)),
            ])
        });
        let mut columns = vec![text("idle state", Constraint::Length(16))];
        columns.extend(["time", "per s", "above/s", "below/s"].map(|name| figures(name, 9)));
        frame.render_widget(table(&columns, rows).block(Block::new().borders(Borders::TOP)), below);
    }

    fn causes(&self, frame: &mut Frame<'_>, area: Rect, cpu: &Cpu) {
        let causes = self.state.causes(cpu);
        let [title, list, meaning] =
            Layout::vertical([Constraint::Length(3), Constraint::Min(1), Constraint::Length(3)]).areas(area);
        frame.render_widget(Paragraph::new(self.cpu_lines(cpu)), title);
        let rows = causes.iter().map(|cause| {
            Row::new([
                Cell::from(format!("{}{}", if cause.is_part { "  " } else { "" }, name(&cause.name))),
                figure(numbers::rate(cause.per_s)),
                figure(cause.share.map(numbers::percent).unwrap_or_default()),
                figure(cause.mean_ns.map(numbers::duration).unwrap_or_default()),
            ])
        });
        let mut columns = vec![text("interruption", Constraint::Fill(1))];
        columns.extend([figures("per s", 9), figures("time", 8), figures("mean", 10)]);
        let detail = self.state.page == Page::Detail;
        let at = self.state.cause.min(causes.len().saturating_sub(1));
        let mark = if detail { Modifier::REVERSED } else { Modifier::empty() };
        let table = table(&columns, rows).row_highlight_style(Style::default().add_modifier(mark));
        let selected = (detail && !causes.is_empty()).then_some(at);
        frame.render_stateful_widget(table, list, &mut TableState::default().with_selected(selected));
        // Unless the user has chosen one, the cause with the most time and a meaning is explained.
        let shown = if detail {
            causes.get(at).copied()
        } else {
            causes.iter().find(|cause| cause.meaning.is_some()).copied()
        };
        let text = shown.map(words).unwrap_or_default();
        frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: true }), meaning);
    }

    /// The first lines of a CPU's part of the screen: its interruptions, and why its tick is kept.
    fn cpu_lines(&self, cpu: &Cpu) -> Vec<Line<'static>> {
        let bold = Style::default().add_modifier(Modifier::BOLD);
        let mut spans = vec![Span::styled(format!("CPU {}", cpu.cpu), bold)];
        if let (Some(interrupted), Some(unattributed)) = (cpu.interrupted, cpu.unattributed) {
            let (time, unknown) = (numbers::percent(interrupted), numbers::percent(unattributed));
            spans
                .push(Span::raw(format!(": interrupted {time} of the time, {unknown} of that unattributed")));
        }
        if cpu.steal > 0.0 {
            spans.push(Span::raw(format!("; steal {}", numbers::percent(cpu.steal))));
        }
        if let Some(smis) = cpu.smis_per_s.filter(|smis| *smis > 0.0) {
            spans.push(Span::styled(format!("; SMIs {}/s", numbers::rate(smis)), self.style(Color::Red)));
        }
        let why = cpu.tick_kept.map(|dependency| format!("tick kept: {}", labels::kept_because(dependency)));
        let why = Line::from(Span::styled(why.unwrap_or_default(), self.style(Color::Red)));
        vec![Line::default(), Line::from(spans), why]
    }

    fn style(&self, colour: Color) -> Style {
        if self.colours { Style::default().fg(colour) } else { Style::default() }
    }
}

/// A figure, right-aligned.
fn figure(text: String) -> Cell<'static> {
    Cell::from(Line::from(text).right_aligned())
}

/// A column of a table: its name, its width, and true for figures.
type Column = (&'static str, Constraint, bool);

fn text(name: &'static str, width: Constraint) -> Column {
    (name, width, false)
}

fn figures(name: &'static str, width: u16) -> Column {
    (name, Constraint::Length(width), true)
}

fn table<'a>(columns: &[Column], rows: impl Iterator<Item = Row<'a>>) -> Table<'a> {
    let head = columns
        .iter()
        .map(|(name, _, is_figure)| if *is_figure { figure((*name).to_owned()) } else { Cell::from(*name) });
    let head = Row::new(head).style(Style::default().add_modifier(Modifier::BOLD));
    Table::new(rows, columns.iter().map(|(_, width, _)| *width)).header(head)
}

/// The isolation of a CPU, in a word.
pub fn role(role: Role) -> &'static str {
    match role {
        Role::Housekeeping => "",
        Role::Isolated => "isolated",
        Role::NohzFull => "nohz_full",
        Role::IsolatedNohzFull => "iso+nohz",
    }
}

/// The idle states with the most time: `C6 71 %  C1E 12 %`.
fn idle_states(cpu: &Cpu) -> String {
    let mut states: Vec<_> = cpu.idle_states.iter().filter(|state| state.share >= 0.001).collect();
    states.sort_by(|a, b| b.share.total_cmp(&a.share));
    let shown = states.iter().take(3).map(|state| format!("{} {:.0}%", state.name, state.share * 100.0));
    shown.collect::<Vec<_>>().join(" ")
}

/// The cause with the most time: the largest part of the largest group.
fn most(cpu: &Cpu) -> String {
    let mut causes = cpu.causes.iter();
    let Some(whole) = causes.next() else { return String::new() };
    let shown = causes.next().filter(|next| next.is_part).unwrap_or(whole);
    name(&shown.name)
}

fn words(cause: &Cause) -> Vec<Line<'static>> {
    let Some(meaning) = cause.meaning else { return Vec::new() };
    let mut lines = vec![Line::from(format!("{}: {meaning}.", name(&cause.name)))];
    lines.extend(cause.fix.as_ref().map(|fix| Line::from(format!("Fix: {fix}"))));
    lines
}

fn help(sample: &Sample) -> Paragraph<'static> {
    let mut lines = vec![Line::default()];
    lines.extend(KEYS.iter().map(|(keys, what)| Line::from(format!("  {keys:<18} {what}"))));
    let words = [
        "",
        "  intr/s  interrupts, softirqs and runs of kernel threads per second; user tasks are not counted",
        "  time    share of the time that they took      tasks  share that user tasks took; idle: of idle time",
        "  LOC/s   in place of ticks/s if nothing is counted: all local timer interrupts",
        "  above   idle states that were too deep        below  that were too shallow, per second",
        "  Ticks in red: the CPU is nohz_full and still ticks.",
    ];
    lines.extend(words.map(Line::from));
    lines.extend(sample.source_note.iter().map(|note| Line::from(format!("  {note}"))));
    let lacks =
        sample.missing.iter().map(|lack| format!("  Not available: {}; needs {}.", lack.what, lack.needs));
    lines.extend(lacks.map(Line::from));
    Paragraph::new(lines).wrap(Wrap { trim: false })
}

#[cfg(test)]
mod tests {
    use super::super::state::Order;
    use super::*;
    use dyntick_contract::top::{IdleState, Power};
    use dyntick_model::Fix;
    use dyntick_model::TickDependency;
    use dyntick_observe::live::{Lost, Missing};
    use ratatui::{Terminal, backend::TestBackend};

    fn cause(name: &str, is_part: bool, per_s: f64, share: f64) -> Cause {
        Cause {
            name: name.to_owned(),
            cause: None,
            is_part,
            per_s,
            share: Some(share),
            mean_ns: Some(share / per_s * 1e9),
            meaning: is_part.then_some("The scheduler's periodic interrupt"),
            fix: is_part.then(|| Fix::Boot("nohz_full=N".to_owned())),
        }
    }

    fn sample() -> Sample {
        let state = |name: &str, share, above_per_s| IdleState {
            name: name.to_owned(),
            share,
            per_s: 100.0,
            above_per_s,
            below_per_s: 0.0,
        };
        let busy = Cpu {
            cpu: 3,
            role: Role::IsolatedNohzFull,
            ticks_per_s: Some(250.0),
            local_timer_per_s: 262.0,
            tick_kept: Some(TickDependency::Sched),
            interruptions_per_s: 256.0,
            page_faults_per_s: Some(12.0),
            interrupted: Some(0.004),
            user_tasks: Some(0.996),
            uncounted: Some(0.0),
            unattributed: Some(0.0),
            causes: vec![
                cause("local timer interrupts (LOC)", false, 250.0, 0.003),
                cause("tick", true, 250.0, 0.003),
            ],
            ..Cpu::default()
        };
        let idle = Cpu {
            cpu: 0,
            ticks_per_s: Some(20.0),
            local_timer_per_s: 31.0,
            interruptions_per_s: 100.0,
            page_faults_per_s: Some(72_695.0),
            interrupted: Some(0.001),
            user_tasks: Some(0.02),
            uncounted: Some(0.009),
            unattributed: Some(0.5),
            idle: 0.97,
            steal: 0.01,
            idle_states: vec![state("C1E", 0.1, 0.0), state("C6", 0.87, 12.0)],
            ..Cpu::default()
        };
        Sample {
            seconds: 1.0,
            cpus: vec![idle, busy],
            power: vec![Power { name: "package-0".to_owned(), watts: 12.345 }],
            source: Some("tracefs"),
            source_note: Some("Counted from trace events (tracefs).".to_owned()),
            lost: Lost { recursion: 1, overrun: 2, ..Lost::default() },
            offline: Default::default(),
            missing: vec![Missing { what: "SMIs".to_owned(), needs: "the module msr".to_owned() }],
        }
    }

    fn drawn(state: &State) -> Terminal<TestBackend> {
        let mut terminal = Terminal::new(TestBackend::new(110, 24)).unwrap();
        let sample = sample();
        let view =
            View { machine: "Linux 6.12.95, 2 CPUs, nohz_full 3", sample: &sample, state, colours: false };
        terminal.draw(|frame| draw(frame, &view)).unwrap();
        terminal
    }

    #[test]
    fn names_are_cleaned_for_the_terminal() {
        let mut sample = sample();
        let evil = "\u{1b}]0;PWN\u{7}\nX\u{9b}\u{202e}";
        for cpu in &mut sample.cpus {
            cpu.causes.iter_mut().for_each(|cause| cause.name = evil.to_owned());
            cpu.idle_states.iter_mut().for_each(|state| state.name = evil.to_owned());
        }
        sample.power[0].name = evil.to_owned();
        sample.missing[0].what = evil.to_owned();
        for page in [Page::Cpus, Page::Detail, Page::Help] {
            for cpu in [0, 3] {
                let state = State { page, cpu, filter: evil.to_owned(), ..State::default() };
                let state = if page == Page::Help { state } else { State { filter: String::new(), ..state } };
                let mut terminal = Terminal::new(TestBackend::new(110, 24)).unwrap();
                let view = View { machine: evil, sample: &sample, state: &state, colours: false };
                terminal.draw(|frame| draw(frame, &view)).unwrap();
                let raw = |c: char| c.is_control() || c == '\u{202e}';
                for cell in &terminal.backend().buffer().content {
                    assert!(!cell.symbol().contains(raw), "{:?} on {page:?}", cell.symbol());
                }
            }
        }
    }

    #[test]
    fn main_cause_is_shown_on_80_columns() {
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
        let (sample, state) = (sample(), State::default());
        let view = View { machine: "Linux", sample: &sample, state: &state, colours: false };
        terminal.draw(|frame| draw(frame, &view)).unwrap();
        let screen = terminal.backend().to_string();
        assert!(screen.contains("main cause") && screen.contains("12.0 tick"), "{screen}");
        assert!(!screen.contains("above/s"), "{screen}");
    }

    #[test]
    fn pages_are_drawn() {
        let on = |page| State { page, cpu: 3, ..State::default() };
        insta::assert_snapshot!("overview", drawn(&on(Page::Cpus)).backend());
        insta::assert_snapshot!("detail", drawn(&State { cpu: 0, ..on(Page::Detail) }).backend());
        insta::assert_snapshot!("help", drawn(&on(Page::Help)).backend());
        let typing = State { filter: "tick".to_owned(), typing: true, order: Order::Ticks, ..on(Page::Cpus) };
        insta::assert_snapshot!("filter", drawn(&typing).backend());
    }
}

// SPDX-License-Identifier: GPL-2.0-only
//! The figures of the short report: what a study is about decides them, and each has a name and a unit.

use super::titles::{Titled, Titles};
use dyntick_lab::judgement::{Compared, Found};
use dyntick_lab::lab::CaseResult;
use dyntick_lab::lookup::{figure_of, unit_of};
use dyntick_lab::store::Run;
use dyntick_report::{Cell, Verdict, numbers};
use dyntick_stats::Summary;
use dyntick_study::Study;
use dyntick_study::claims::{Condition, DIGITS, Failed, number};
use dyntick_study::figure::Figure;
use dyntick_study::figure::table::{
    CPUIDLE, ENERGY, IDLE, LATENCY_AT_NS, LATENCY_AVG_NS, LATENCY_CYCLES, LATENCY_MAX_NS, LATENCY_MIN_NS,
    LATENCY_OVERFLOWS, LOCAL_TIMER, LOCAL_TIMER_PER_S, PACKAGE_NS, POWER, SCRIPT_S, TICKS, TICKS_PER_S,
    TICKS_SHARE_OF_HZ, WAKEUP,
};

/// The parts of the short report.
pub struct Material<'a> {
    /// The study.
    pub study: &'a Study,
    /// The names of its cases.
    pub titles: &'a Titles,
    /// All results, including those of cases without a run.
    pub results: &'a [CaseResult],
    /// The verdicts on the claims.
    pub verdicts: &'a [Verdict],
    /// The runs that are no perturbed ones.
    pub runs: &'a [Titled<'a>],
    /// The number of perturbed ones.
    pub perturbed: usize,
    /// The effects of the axes of matrices.
    pub effects: &'a [Found],
    /// The pairs of cases that are compared.
    pub comparisons: &'a [Compared],
    /// The ids of the cases that were not run.
    pub not_run: &'a [&'a str],
    /// The checks of claims that do not hold.
    pub failed: Vec<&'a Failed>,
    /// That runs are from elsewhere.
    pub of_others: Option<String>,
}

impl Material<'_> {
    /// The figures of the short report.
    pub fn measures(&self) -> Vec<Measure> {
        let runs: Vec<&Run> = self.runs.iter().map(Titled::run).collect();
        let mut all = measures(self.study, &runs);
        put_first(&mut all, &self.failed);
        all.retain(|measure| runs.iter().any(|run| (measure.of)(run).is_some()));
        all
    }

    /// The measures that the study's claims judge; all if there are none.
    pub fn judged<'m>(&self, measures: &[&'m Measure]) -> Vec<&'m Measure> {
        of_claims(&self.study.judged, measures)
    }
}

/// The measures that are about one of these figures, in their order; all if none is.
fn of_claims<'m>(judged: &[String], measures: &[&'m Measure]) -> Vec<&'m Measure> {
    let is_judged = |measure: &&&Measure| judged.iter().any(|figure| measure.is_about(figure));
    let of_claims: Vec<&Measure> = measures.iter().filter(is_judged).copied().collect();
    if of_claims.is_empty() { measures.to_vec() } else { of_claims }
}

/// Puts the figures that claims failed by before the others, each with its limit if it has only one: a rate beside the
/// limit of a count would be no evidence.
fn put_first(measures: &mut Vec<Measure>, failed: &[&Failed]) {
    let plain = failed.iter().filter(|one| one.check.against.is_none() && one.check.cpu.is_none());
    let mut limits: Vec<(&str, Vec<Condition>)> = Vec::new();
    for check in plain.map(|one| &one.check) {
        let wanted = check.is.into_iter();
        match limits.iter_mut().find(|(figure, _)| *figure == check.figure) {
            Some((_, limits)) => limits.extend(wanted),
            None => limits.push((&check.figure, wanted.collect())),
        }
    }
    for (figure, limits) in limits.into_iter().take(MOST_SINGLE).rev() {
        let mut measure = match measures.iter().position(|measure| measure.figure == figure) {
            Some(at) => measures.remove(at),
            None => single(figure),
        };
        if let Some(first) = limits.first().filter(|first| limits.iter().all(|limit| limit == *first)) {
            measure.header = format!("{} ({first})", measure.header);
        }
        measures.insert(0, measure);
    }
}

/// A difference below this share of the mean is none.
pub const LEAST_DIFFERENCE: f64 = 0.001;

/// The words for such a difference.
pub const NO_DIFFERENCE: &str = "no difference";

/// Figures with a name of their own.
const NAMES: [(&str, &str); 12] = [
    ("power:total", "power, modelled"),
    ("power:cores", "power of cores, modelled"),
    ("power:package", "power of package, modelled"),
    ("energy:total", "energy, modelled"),
    ("ticks_per_s", "ticks"),
    ("local_timer_per_s", "timer irqs"),
    ("script_s", "script"),
    ("interrupted_ns", "interrupted"),
    ("latency_avg_ns", "mean latency"),
    ("latency_max_ns", "longest latency"),
    ("latency_ns:p99", "latency p99"),
    ("ticks_share_of_hz", "ticks, share of HZ"),
];

/// The name of a figure.
pub fn named(figure: &str) -> String {
    if let Some((_, name)) = NAMES.iter().find(|(known, _)| *known == figure) {
        return (*name).to_owned();
    }
    match figure.split_once(':') {
        Some(("tool", metric)) => metric.strip_suffix("/s").unwrap_or(metric).replace('/', " "),
        Some(("span" | "span_median", kind)) => kind.to_owned(),
        Some(("spans", kind)) => format!("calls of {kind}"),
        Some(("function", name)) => format!("calls of {name}"),
        Some(("latency_ns", quantile)) => format!("latency {quantile}"),
        _ => figure.to_owned(),
    }
}

/// A level of a factor by its label, with the factor if the label is a number.
pub fn option(factor: &str, level: &str) -> String {
    if level.chars().any(char::is_alphabetic) { level.to_owned() } else { format!("{factor} {level}") }
}

/// A value with its unit.
pub fn with_unit(value: f64, unit: &str) -> String {
    match unit {
        "" | "1" => number(value),
        "ns" => numbers::duration(value),
        unit => format!("{} {unit}", number(value)),
    }
}

/// Returns true if two values differ by less than is worth a word.
pub fn are_alike(a: f64, b: f64) -> bool {
    (b - a).abs() < LEAST_DIFFERENCE * (a.abs() + b.abs()) / 2.0 || a == b
}

/// A difference in per cent of the first value; the difference itself if that is 0.
pub fn relative(difference: f64, percent: Option<f64>) -> Cell {
    Cell::signed(match percent {
        Some(percent) => Cell::Share(percent / 100.0),
        None => Cell::Rounded(difference, DIGITS),
    })
}

/// The number of single figures of claims that get a column, in addition to the groups.
const MOST_SINGLE: usize = 4;

/// The unit of modelled power.
const MODELLED: &str = "W, modelled";

/// The function from a run to a column's value; `None` if it was not measured.
type OfRun = Box<dyn Fn(&Run) -> Option<f64>>;

/// One column.
pub struct Measure {
    /// The header.
    pub header: String,
    /// The unit, or the one of several: `p99`.
    pub unit: String,
    /// True if a value is followed by the unit, and the name does not have it.
    has_unit: bool,
    /// The figure; empty if the value is made of several.
    figure: String,
    /// The figure that the value is a rate or a share of, if it is one.
    of_figure: String,
    of: OfRun,
    cell: fn(f64) -> Cell,
}

impl Measure {
    fn figure(name: &str, header: &str, unit: &str, cell: fn(f64) -> Cell) -> Self {
        let figure = name.to_owned();
        let name = figure.clone();
        let of = Box::new(move |run: &Run| figure_of(run, &name, None));
        Self {
            header: header.to_owned(),
            unit: unit.to_owned(),
            has_unit: ["1/s", "s"].contains(&unit),
            figure,
            of_figure: String::new(),
            of,
            cell,
        }
    }

    /// The same as the rate of a count.
    fn rate_of(self, count: &Figure) -> Self {
        Self { of_figure: count.name.to_owned(), ..self }
    }

    /// Takes the unit of a figure that a tool printed, which the runs know.
    fn take_unit(&mut self, runs: &[&Run]) {
        // Times are printed with a unit of their own, and counts have none.
        let of_tool = Figure::named(&self.figure).is_some_and(|figure| figure.unit.is_none());
        let mut units = runs.iter().map(|run| unit_of(run, &self.figure));
        let unit = units.find(|unit| !unit.is_empty()).filter(|unit| of_tool && *unit != "1");
        if let Some(unit) = unit {
            (self.unit, self.has_unit) = (unit.to_owned(), true);
        }
    }

    /// Returns true if the value is this figure, or a rate or share of it.
    fn is_about(&self, figure: &str) -> bool {
        self.figure == figure || self.of_figure == figure
    }

    /// The value for these runs of one case; `None` if it was not measured.
    pub fn of<'r>(&self, runs: impl IntoIterator<Item = &'r Run>) -> Option<Summary> {
        let values: Vec<f64> = runs.into_iter().filter_map(|run| (self.of)(run)).collect();
        Summary::of(&values)
    }

    /// One value, or the mean of several with its standard deviation.
    pub fn cell(&self, of: Option<&Summary>) -> Cell {
        match of {
            Some(all) if all.count > 1 => {
                format!("{} ± {}", (self.cell)(all.mean), (self.cell)(all.deviation)).into()
            }
            one => Cell::known(one.map(|one| (self.cell)(one.mean))),
        }
    }

    /// The excess of `b` over `a`, also in per cent; for a share in percentage points.
    pub fn difference(&self, a: f64, b: f64) -> String {
        // A count has no sign of its own.
        let more = match (Cell::signed((self.cell)((b - a).abs())).to_string(), b < a) {
            (more, false) => more,
            (less, true) => less.replacen('+', "-", 1),
        };
        match (self.cell)(a) {
            Cell::Share(_) => format!("{} points", Cell::signed(Cell::Fixed(100.0 * (b - a), 1))),
            _ if a == 0.0 || a == b => more,
            _ => format!("{more} ({})", Cell::signed(Cell::Share((b - a) / a.abs()))),
        }
    }

    /// The name in one line.
    pub fn name(&self) -> String {
        format!("{} {}", self.header, self.unit).trim_end().to_owned()
    }

    /// The name with what its unit says beside the unit, and the unit alone.
    pub fn name_and_unit(&self) -> (String, &str) {
        if self.has_unit {
            (self.header.clone(), &self.unit)
        } else if self.unit == MODELLED {
            (format!("{}, modelled", self.header), "W")
        } else {
            (self.name(), "")
        }
    }
}

/// Figures that are shown together.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Group {
    Ticks,
    Latency,
    States,
    Wakeup,
    Power,
    Script,
}

/// The subject of a study: first the figures of its claims and effects in their order, then those that its cases
/// measure.
fn measures(study: &Study, runs: &[&Run]) -> Vec<Measure> {
    let mut groups: Vec<Group> = claimed(study).filter_map(group_of).collect();
    groups.extend(measured(runs));
    if groups.is_empty() || groups.iter().all(|group| *group == Group::Script) {
        groups.push(Group::Ticks);
    }
    let mut seen = Vec::new();
    groups.retain(|group| {
        !seen.contains(group) && {
            seen.push(*group);
            true
        }
    });
    let mut measures: Vec<Measure> = groups.into_iter().flat_map(|group| of_group(group, runs)).collect();
    let is_known =
        |name: &str| runs.is_empty() || runs.iter().any(|run| figure_of(run, name, None).is_some());
    let mut singles = singles(study, &measures, &is_known);
    singles.iter_mut().for_each(|single| single.take_unit(runs));
    // A study of effects is about their figures, and what its cases measure besides comes after them.
    let at = if study.claims.is_empty() { 0 } else { measures.len() };
    measures.splice(at..at, singles);
    measures
}

/// The first figures of claims and effects that are known and belong to no group. Figures that claims judge come first,
/// and may be of a group that does not show them.
fn singles(study: &Study, of_groups: &[Measure], is_known: &dyn Fn(&str) -> bool) -> Vec<Measure> {
    let judged = study.judged.iter().map(String::as_str);
    let others = claimed(study).filter(|name| group_of(name).is_none());
    let mut names: Vec<&str> = Vec::new();
    for name in judged.chain(others).filter(|name| !of_groups.iter().any(|measure| measure.is_about(name))) {
        if names.len() < MOST_SINGLE && !names.contains(&name) && is_known(name) {
            names.push(name);
        }
    }
    names.into_iter().map(single).collect()
}

/// A figure that belongs to no group.
fn single(name: &str) -> Measure {
    let is_time = Figure::named(name).is_some_and(|figure| figure.unit == Some("ns"));
    Measure::figure(name, &named(name), "", if is_time { Cell::Duration } else { rounded })
}

fn rounded(value: f64) -> Cell {
    Cell::Rounded(value, DIGITS)
}

fn claimed(study: &Study) -> impl Iterator<Item = &str> {
    let checks = study.claims.iter().flat_map(|claim| claim.checks.iter().chain(&claim.evidence));
    let of_effects = study.effects.iter().flat_map(|effects| &effects.figures);
    let of_claims = checks.map(|check| check.figure.as_str());
    of_claims.chain(study.judged.iter().map(String::as_str)).chain(of_effects.map(String::as_str))
}

fn group_of(name: &str) -> Option<Group> {
    let figure = Figure::named(name)?;
    let among = |figures: &[&Figure]| figures.iter().any(|one| one.name == figure.name);
    let groups: [(Group, &[&Figure]); 6] = [
        (Group::Ticks, &[&TICKS, &TICKS_PER_S, &TICKS_SHARE_OF_HZ, &LOCAL_TIMER, &LOCAL_TIMER_PER_S]),
        (
            Group::Latency,
            &[
                &LATENCY_MIN_NS,
                &LATENCY_AVG_NS,
                &LATENCY_MAX_NS,
                &LATENCY_AT_NS,
                &LATENCY_CYCLES,
                &LATENCY_OVERFLOWS,
            ],
        ),
        (Group::States, &[&IDLE, &CPUIDLE]),
        (Group::Wakeup, &[&WAKEUP]),
        (Group::Power, &[&ENERGY, &POWER, &PACKAGE_NS]),
        (Group::Script, &[&SCRIPT_S]),
    ];
    groups.into_iter().find(|(_, figures)| among(figures)).map(|(group, _)| group)
}

/// The measurements of the cases, except interruptions.
fn measured(runs: &[&Run]) -> Vec<Group> {
    let some = |has: fn(&Run) -> bool| runs.iter().any(|run| has(run));
    let mut groups = Vec::new();
    if some(|run| run.analysis.latency.is_some()) {
        groups.push(Group::Latency);
    }
    if some(|run| run.analysis.idle.is_some()) {
        groups.extend([Group::States, Group::Wakeup]);
    }
    if some(|run| run.analysis.idle.as_ref().is_some_and(|idle| idle.energy.is_some())) {
        groups.push(Group::Power);
    }
    if some(|run| run.plan.case.script.as_ref().is_some_and(|script| !script.in_window)) {
        groups.push(Group::Script);
    }
    groups
}

fn of_group(group: Group, runs: &[&Run]) -> Vec<Measure> {
    let duration = Cell::Duration;
    let latency = |point: &str, unit| Measure::figure(point, "latency", unit, duration);
    match group {
        Group::Ticks => vec![
            Measure::figure(LOCAL_TIMER_PER_S.name, "timer irqs", "1/s", Cell::Rate).rate_of(&LOCAL_TIMER),
            Measure::figure(TICKS_PER_S.name, "ticks", "1/s", Cell::Rate).rate_of(&TICKS),
        ],
        Group::Latency => vec![
            latency(LATENCY_MIN_NS.name, "min"),
            latency(LATENCY_AVG_NS.name, "avg"),
            latency(&format!("{}:p99", LATENCY_AT_NS.name), "p99"),
            latency(LATENCY_MAX_NS.name, "max"),
        ],
        Group::States => states(runs),
        Group::Wakeup => [("p50", "p50"), ("p99", "p99")]
            .map(|(key, unit)| Measure::figure(&format!("{}:{key}", WAKEUP.name), "wake-up", unit, duration))
            .into(),
        Group::Power => {
            let watts = |part: &str, header: &str| {
                let name = format!("{}:{part}", POWER.name);
                Measure::figure(&name, header, MODELLED, |watts| Cell::Rounded(watts, DIGITS))
            };
            vec![watts("cores", "measured cores"), watts("total", "all power")]
        }
        Group::Script => vec![Measure::figure(SCRIPT_S.name, "script", "s", |s| Cell::Rounded(s, DIGITS))],
    }
}

/// The share of the measured CPUs' time in each state that one of these runs was in, and how often it missed.
fn states(runs: &[&Run]) -> Vec<Measure> {
    let mut names: Vec<&str> = Vec::new();
    for state in runs.iter().filter_map(|run| run.analysis.idle.as_ref()).flat_map(|idle| &idle.states.0) {
        let entered = || runs.iter().any(|run| resident(run, &state.name).is_some_and(|share| share > 0.0));
        if !names.contains(&state.name.as_str()) && entered() {
            names.push(&state.name);
        }
    }
    let share = |name: &&str| {
        let state = (*name).to_owned();
        let of = Box::new(move |run: &Run| resident(run, &state));
        let of_figure = format!("{}:{name}:resident", IDLE.name);
        Measure {
            header: (*name).to_owned(),
            unit: "time".to_owned(),
            has_unit: false,
            figure: String::new(),
            of_figure,
            of,
            cell: Cell::Share,
        }
    };
    let count = |what: &str| {
        Measure::figure(&format!("{}:{what}", IDLE.name), what, "", |count| Cell::Count(count.round() as u64))
    };
    names.iter().map(share).chain([count("above"), count("below")]).collect()
}

fn resident(run: &Run, state: &str) -> Option<f64> {
    let (begin, end) = run.analysis.outcome.window_ns;
    let cpu_ns = (end - begin) as f64 * run.plan.case.measured_cpus.len() as f64;
    Some(figure_of(run, &format!("{}:{state}:resident", IDLE.name), None)? / cpu_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_study::claims::Check;

    #[test]
    fn figures_have_names_that_are_read() {
        let names =
            ["power:total", "tool:stress-ng/matrix/bogo-ops/s", "spans:hrtimer_interrupt()", "cause:rcu"]
                .map(named);
        assert_eq!(
            names,
            ["power, modelled", "stress-ng matrix bogo-ops", "calls of hrtimer_interrupt()", "cause:rcu"]
        );
        assert_eq!(
            [with_unit(1.8512, "W"), with_unit(3.0, ""), with_unit(1500.0, "ns")],
            ["1.85 W", "3", "1.5 µs"]
        );
    }

    #[test]
    fn a_level_that_is_a_number_has_its_option() {
        assert_eq!([option("hz", "1000"), option("nohz_full", "ticks")], ["hz 1000", "ticks"]);
    }

    #[test]
    fn differences_below_a_thousandth_are_none() {
        assert!(are_alike(612.925, 612.6) && are_alike(0.0, 0.0) && are_alike(-1.0, -1.0));
        assert!(!are_alike(612.0, 613.0) && !are_alike(0.0, 0.001) && !are_alike(1.0, -1.0));
        assert_eq!(
            [relative(2.0, Some(50.0)), relative(2.0, None)].map(|cell| cell.to_string()),
            ["+50.0 %", "+2"]
        );
    }

    #[test]
    fn figure_that_a_claim_failed_by_comes_first_with_its_limit() {
        let failed = |figure: &str, is: &str, cpu: Option<u32>| Failed {
            case: "a".into(),
            check: Check {
                case: "a".into(),
                figure: figure.into(),
                cpu,
                against: None,
                is: Some(is.parse().unwrap()),
            },
            value: Some(10.0),
            runs: 1,
        };
        let headers = |failed: &[Failed]| {
            let mut all = of_group(Group::Ticks, &[]);
            put_first(&mut all, &failed.iter().collect::<Vec<_>>());
            all.iter().map(Measure::name).collect::<Vec<_>>()
        };
        assert_eq!(headers(&[]), ["timer irqs 1/s", "ticks 1/s"]);
        let count = failed("ticks", "<= 1", None);
        assert_eq!(headers(std::slice::from_ref(&count)), ["ticks (<= 1)", "timer irqs 1/s", "ticks 1/s"]);
        let rate = failed("ticks_per_s", "< 2", None);
        assert_eq!(headers(&[rate]), ["ticks (< 2) 1/s", "timer irqs 1/s"]);
        let other = failed("ticks", "> 100", None);
        assert_eq!(headers(&[count, other])[0], "ticks", "two limits are no header");
        assert_eq!(headers(&[failed("ticks", "<= 1", Some(1))]).len(), 2, "the table has no CPU of its own");
    }

    #[test]
    fn answer_has_the_figures_that_claims_judge() {
        let all: Vec<Measure> =
            [Group::Ticks, Group::Latency].into_iter().flat_map(|group| of_group(group, &[])).collect();
        let all: Vec<&Measure> = all.iter().collect();
        let names = |judged: &[&str]| {
            let judged: Vec<String> = judged.iter().map(|name| (*name).to_owned()).collect();
            of_claims(&judged, &all).iter().map(|measure| measure.name()).collect::<Vec<_>>()
        };
        assert_eq!(names(&["latency_ns:p99", "tool:median"]), ["latency p99"]);
        assert_eq!(
            names(&["latency_max_ns", "ticks"]),
            ["ticks 1/s", "latency max"],
            "a rate is about a count"
        );
        assert_eq!(names(&["tool:median"]).len(), all.len(), "no run has it");
        assert_eq!(names(&[]).len(), all.len(), "there are no claims");
    }

    #[test]
    fn judged_figures_are_measures_before_mere_evidence() {
        let text = "title='t'\nquestion='q'\n[[case]]\nname='a'\nkernel='host'\n[[claim]]\ntext='c'\n\
                    check=[{case='a',figure='context_switches',is='> 0'},{case='a',figure='softirq:RCU',is='> 0'}]\n\
                    evidence=[{case='a',figure='interrupts:LOC'}]\n[[claim]]\ntext='d'\n\
                    check=[{case='a',figure='tick_cause:fair-server',is='> 0'},{case='a',figure='ticks',is='> 0'}]\n";
        let study = Study::parse(std::path::Path::new("s.toml"), text)
            .unwrap_or_else(|problems| panic!("{problems}"));
        let ticks = of_group(Group::Ticks, &[]);
        let names = |is_known: &dyn Fn(&str) -> bool| {
            singles(&study, &ticks, is_known).iter().map(Measure::name).collect::<Vec<_>>()
        };
        let expected = ["context_switches", "softirq:RCU", "tick_cause:fair-server", "interrupts:LOC"];
        assert_eq!(names(&|_| true), expected);
        assert_eq!(
            names(&|name| name != "softirq:RCU"),
            ["context_switches", "tick_cause:fair-server", "interrupts:LOC"]
        );
        // Claims that the command line leaves without their cases are about these figures still.
        let mut given = dyntick_study::Given::default();
        given.set("measure=1s").unwrap();
        let changed = Study::parse_given(std::path::Path::new("s.toml"), text, &given);
        assert_eq!(changed.unwrap_or_else(|problems| panic!("{problems}")).judged, study.judged);
    }

    fn measure(cell: fn(f64) -> Cell) -> Measure {
        Measure::figure(TICKS_PER_S.name, "ticks", "1/s", cell)
    }

    #[test]
    fn differences_are_signed_and_those_of_shares_in_points() {
        assert_eq!(measure(Cell::Rate).difference(250.0, 1.0), "-249 (-99.6 %)");
        assert_eq!(measure(Cell::Rate).difference(0.0, 2.0), "+2.0");
        assert_eq!(measure(Cell::Share).difference(0.2, 0.9), "+70.0 points");
        let count = |count: f64| Cell::Count(count.round() as u64);
        assert_eq!(measure(count).difference(8.0, 1.0), "-7 (-87.5 %)");
        assert_eq!(measure(Cell::Share).difference(0.2, 0.19999), "0.0 points");
        assert_eq!(measure(Cell::Duration).difference(1000.0, 1500.0), "+500 ns (+50.0 %)");
    }

    #[test]
    fn differences_of_all_figures_have_a_sign() {
        let groups =
            [Group::Ticks, Group::Latency, Group::States, Group::Wakeup, Group::Power, Group::Script];
        let text = "title='t'\nquestion='q'\n[[case]]\nname='a'\nkernel='host'\n[[claim]]\ntext='c'\n\
                    check=[{case='a',figure='interrupts:LOC',is='> 0'},{case='a',figure='tick_cause:fair-server',is='> 0'}]\n";
        let study = Study::parse(std::path::Path::new("s.toml"), text)
            .unwrap_or_else(|problems| panic!("{problems}"));
        let all: Vec<Measure> = groups
            .into_iter()
            .flat_map(|group| of_group(group, &[]))
            .chain(singles(&study, &[], &|_| true))
            .collect();
        assert!(all.len() >= 12);
        for measure in all {
            let [less, more] = [measure.difference(9.0, 0.0), measure.difference(9.0, 12.0)];
            assert!(less.starts_with("-9") && more.starts_with("+3"), "{}: {less}, {more}", measure.header);
        }
    }

    #[test]
    fn figures_belong_to_what_they_are_about() {
        assert!(
            group_of("idle:C6:usage") == Some(Group::States) && group_of("power:total") == Some(Group::Power)
        );
        assert!(group_of("wakeup:C6:p99") == Some(Group::Wakeup) && group_of("ticks") == Some(Group::Ticks));
        assert!(group_of("latency_ns:p99") == Some(Group::Latency) && group_of("cause:rcu").is_none());
    }

    #[test]
    fn repeated_runs_have_their_deviation() {
        let message = |values: &[f64]| measure(Cell::Rate).cell(Summary::of(values).as_ref()).to_string();
        assert_eq!([message(&[2.0]), message(&[1.0, 3.0]), message(&[])], ["2.0", "2.0 ± 1.4", "–"]);
    }
}

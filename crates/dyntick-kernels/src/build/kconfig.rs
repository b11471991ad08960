// SPDX-License-Identifier: GPL-2.0-only
//! The Kconfig files of a source: enough of them to say why an option was not accepted.

use dyntick_model::KernelConfig;
use dyntick_model::text::shortened;
use std::path::Path;

/// A place where an option is defined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The option.
    pub option: String,
    /// File and line.
    pub place: String,
    /// Its conditions: `depends on` of itself and of the menus around it, and `if` around it.
    pub depends: Vec<String>,
    /// The options that it selects.
    pub selects: Vec<String>,
}

/// All options of an x86 source tree.
pub fn definitions(tree: &Path) -> Vec<Definition> {
    let mut all = Vec::new();
    let mut budget = BUDGET;
    let other_arch = |path: &Path| path.starts_with("arch") && !path.starts_with("arch/x86");
    for entry in walkdir::WalkDir::new(tree).sort_by_file_name().into_iter().flatten() {
        let name = entry.file_name().to_string_lossy();
        let path = entry.path().strip_prefix(tree).unwrap_or(entry.path());
        if name.starts_with("Kconfig")
            && entry.file_type().is_file()
            && (!other_arch(path) || path == Path::new("arch/Kconfig"))
        {
            let text = dyntick_system::read_regular(entry.path(), LARGEST).unwrap_or_default();
            all.extend(within(&mut budget, &path.to_string_lossy(), &String::from_utf8_lossy(&text)));
            if budget == 0 {
                break;
            }
        }
    }
    all
}

/// The largest Kconfig file of Linux has some 100 KB.
const LARGEST: u64 = 1 << 20;

/// The limit of what is kept of a source's Kconfig files, bytes; those of Linux take some 2 MiB. Each option has its
/// own copy of those around it, so that a small untrusted file could take any memory.
const BUDGET: usize = 64 << 20;

/// The menus and conditions around a line.
enum Around {
    If(String),
    Menu(Vec<String>),
}

/// The options of one file (`Documentation/kbuild/kconfig-language.rst`).
#[cfg(test)]
pub(super) fn parse(file: &str, text: &str) -> Vec<Definition> {
    within(&mut usize::MAX.clone(), file, text)
}

/// The options of one file, as many as the budget has bytes for. It is used up where there are more.
fn within(budget: &mut usize, file: &str, text: &str) -> Vec<Definition> {
    let mut found: Vec<Definition> = Vec::new();
    let mut around: Vec<Around> = Vec::new();
    // Whether `depends on` belongs to the option at the end of `found`, or to the menu around.
    let mut in_option = false;
    let mut in_help = false;
    for (number, line) in joined(text) {
        let indented = line.starts_with([' ', '\t']) || line.is_empty();
        in_help &= indented;
        if in_help {
            continue;
        }
        let (word, rest) = line.trim().split_once([' ', '\t']).unwrap_or((line.trim(), ""));
        let rest = rest.trim();
        let kept = match word {
            "config" | "menuconfig" => size(&around) + rest.len() + file.len(),
            "depends" | "select" | "if" | "menu" | "choice" => rest.len() + size_of::<Definition>(),
            _ => 0,
        };
        match budget.checked_sub(kept) {
            Some(left) => *budget = left,
            None => {
                *budget = 0;
                return found;
            }
        }
        match word {
            "help" => in_help = true,
            "config" | "menuconfig" => {
                in_option = true;
                found.push(Definition {
                    option: rest.to_owned(),
                    place: format!("{file}:{number}"),
                    depends: conditions(&around),
                    selects: Vec::new(),
                });
            }
            "menu" | "choice" => {
                in_option = false;
                around.push(Around::Menu(Vec::new()));
            }
            "if" if !indented => around.push(Around::If(rest.to_owned())),
            "endmenu" | "endchoice" | "endif" => {
                in_option = false;
                around.pop();
            }
            "depends" => {
                let condition = rest.trim_start_matches("on").trim().to_owned();
                match (in_option, found.last_mut(), around.last_mut()) {
                    (true, Some(option), _) => option.depends.push(condition),
                    (false, _, Some(Around::Menu(conditions))) => conditions.push(condition),
                    _ => {}
                }
            }
            "select" if in_option => {
                let selected = rest.split_whitespace().next().unwrap_or_default().to_owned();
                found.last_mut().into_iter().for_each(|option| option.selects.push(selected.clone()));
            }
            _ => {}
        }
    }
    found
}

/// The memory that the conditions around an option take, bytes.
fn size(around: &[Around]) -> usize {
    let of = |condition: &String| condition.len() + size_of::<String>();
    let all = around.iter().map(|around| match around {
        Around::If(condition) => of(condition),
        Around::Menu(conditions) => conditions.iter().map(of).sum(),
    });
    all.sum::<usize>() + size_of::<Definition>()
}

fn conditions(around: &[Around]) -> Vec<String> {
    let of = |around: &Around| match around {
        Around::If(condition) => vec![condition.clone()],
        Around::Menu(conditions) => conditions.clone(),
    };
    around.iter().flat_map(of).collect()
}

/// Lines with their numbers; one that ends in a backslash goes on in the next.
fn joined(text: &str) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    let mut goes_on = false;
    for (number, line) in text.lines().enumerate() {
        let plain = line.trim_end().trim_end_matches('\\');
        match lines.last_mut() {
            Some((_, last)) if goes_on => {
                last.truncate(last.trim_end().len());
                last.extend([" ", plain.trim()]);
            }
            _ => lines.push((number + 1, plain.to_owned())),
        }
        goes_on = line.trim_end().ends_with('\\');
    }
    lines
}

/// A condition with the value of each option in it: `EXPERT (y) && ARCH_SUPPORTS_RT (n)`. Some characters of
/// it and of each value: an untrusted text names the same long value any number of times.
pub fn with_values(condition: &str, config: &KernelConfig) -> String {
    const LONGEST: usize = 1000;
    const LONGEST_VALUE: usize = 40;
    let mut text = String::new();
    let mut word = String::new();
    for c in condition.chars().take(LONGEST).chain(['\n']) {
        if c.is_ascii_alphanumeric() || c == '_' {
            word.push(c);
            continue;
        }
        text += &word;
        if word.starts_with(|c: char| c.is_ascii_uppercase()) {
            text += &format!(" ({})", shortened(config.get(&word).unwrap_or("n"), LONGEST_VALUE));
        }
        word.clear();
        text.push(c);
    }
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "menu \"Timers\"\n\tdepends on GENERIC\n\nif NO_HZ_COMMON\nconfig NO_HZ_FULL\n\tbool \"x\"\n\
        \tdepends on SMP && \\\n\t\tHAVE_CTX\n\tselect RCU_NOCB_CPU if X\n\thelp\n\t  if you depend on it\n\
        \t  config is hard\nendif\nconfig OTHER\n\tbool\nendmenu\nconfig LAST\n\tdepends on OTHER\n";

    #[test]
    fn options_with_all_that_surrounds_them() {
        let found = parse("Kconfig", TEXT);
        let names: Vec<&str> = found.iter().map(|definition| definition.option.as_str()).collect();
        assert_eq!(names[0], "NO_HZ_FULL");
        assert_eq!(found[0].place, "Kconfig:5");
        assert_eq!(found[0].depends, ["GENERIC", "NO_HZ_COMMON", "SMP && HAVE_CTX"]);
        assert_eq!(found[0].selects, ["RCU_NOCB_CPU"]);
        let of = |name: &str| found.iter().find(|definition| definition.option == name).unwrap();
        assert_eq!(of("OTHER").depends, ["GENERIC"]);
        assert_eq!(of("LAST").depends, ["OTHER"]);
    }

    #[test]
    fn conditions_with_values() {
        let config = KernelConfig::parse("CONFIG_SMP=y\nCONFIG_N=4\n");
        assert_eq!(with_values("SMP && !(RT || N >= 2)", &config), "SMP (y) && !(RT (n) || N (4) >= 2)");
        assert_eq!(with_values("", &config), "");
    }

    #[test]
    fn conditions_of_conditions_have_an_end() {
        let text = format!("{}{}", "if A\n".repeat(30_000), "config X\n".repeat(30_000));
        let found = within(&mut BUDGET.clone(), "Kconfig", &text);
        assert!(!found.is_empty() && found.len() < 1000, "{}", found.len());
        for line in ["\tdepends on A\n", "\tselect A\n", "menu\n"] {
            let mut budget = 1 << 20;
            within(&mut budget, "Kconfig", &format!("config X\n{}", line.repeat(30_000)));
            assert_eq!(budget, 0, "{line:?}");
        }
        let mut budget = BUDGET;
        let plain = within(&mut budget, "Kconfig", &"config X\n".repeat(30_000));
        assert!(plain.len() == 30_000 && budget > BUDGET / 2, "as many as Linux has leave most of it");
    }
}

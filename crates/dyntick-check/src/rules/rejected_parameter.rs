// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use crate::machine::has_name;
use dyntick_model::parameters;

pub(super) static RULE: Rule = Rule {
    id: "rejected-parameter",
    title: "A parameter that the kernel's log rejects or does not know",
    severity: Severity::Error,
    reads: &[CMDLINE, KERNEL_LOG],
    source: "init/main.c: do_early_param, obsolete_checksetup, print_unknown_bootoptions; kernel/params.c: parse_args; \
             kernel/module/main.c: unknown_module_param_cb",
    find,
};

/// The kernel's complaints about one parameter: the text before its name, the text behind it, and their meaning.
const COMPLAINTS: &[(&str, &str, &str)] = &[
    ("Malformed early option '", "'", "the kernel calls it malformed"),
    ("invalid for parameter `", "'", "the kernel calls its value invalid"),
    ("too large for parameter `", "'", "the kernel calls its value too large"),
    ("Parameter ", " is obsolete, ignored", "the kernel calls it obsolete"),
    ("", ": incorrect CPU range", "the kernel calls its CPUs incorrect"),
];

/// Words of the command line that are read elsewhere, and listed nevertheless: by the boot loader and programs, by the
/// code before `start_kernel` (`arch/x86/boot`, `drivers/firmware/efi/libstub`), or by `cmdline_find_option` (6.12,
/// 7.2).
const READ_ELSEWHERE: &[&str] = &[
    "BOOT_IMAGE",
    "splash",
    "nosplash",
    "single",
    "emergency",
    "rescue",
    "text",
    "fastboot",
    "forcefsck",
    "nokaslr",
    "no5lvl",
    "acpi_rsdp",
    "edd",
    "vga",
    "video",
    "efi",
    "earlyprintk",
    "fred",
    "forcepae",
    "no387",
    "nofxsr",
    "noxsave",
    "noxsaveopt",
    "noxsaves",
    "nousershstk",
    "mem_encrypt",
    "microcode",
    "dis_ucode_ldr",
    "split_lock_detect",
    "tsx",
    "spectre_v2",
    "spectre_v2_user",
    "nospectre_v2",
    "spec_store_bypass_disable",
    "nospec_store_bypass_disable",
];

/// The limit of findings; a log may have any number of lines.
const MOST: usize = 20;

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    // Other rules know more about their parameters.
    let others = [
        &refused_parameter::RULE,
        &conflicting_isolation::RULE,
        &empty_list::RULE,
        &unsupported_parameter::RULE,
        &parameter_typo::RULE,
        &unknown_value::RULE,
        &foreign_architecture::RULE,
        &foreign_parameter::RULE,
    ];
    let explained: Vec<Evidence> = others
        .iter()
        .flat_map(|rule| (rule.find)(machine))
        .flat_map(|finding| finding.evidence)
        .filter(|seen| seen.file == CMDLINE)
        .collect();
    let is_left = |word: &&str| !explained.iter().any(|seen| seen.value == *word);
    let left: Vec<&str> = machine.line.iter().filter(is_left).collect();
    let complaints = COMPLAINTS.iter().flat_map(|complaint| complained(machine, complaint, &left));
    let modules = of_modules(machine, &left);
    let mut findings: Vec<Finding> = complaints.chain(modules).take(MOST).collect();
    findings.extend(listed(machine, &left));
    findings
}

/// The parameters about which the log has one kind of complaint.
fn complained<'a>(
    machine: &'a Machine<'_>,
    (before, behind, why): &'a (&'static str, &'static str, &'static str),
    left: &'a [&'a str],
) -> impl Iterator<Item = Finding> {
    let text = if before.is_empty() { behind } else { before };
    machine.logged(text).filter_map(move |line| {
        let name = if before.is_empty() { line } else { line.split_once(before)?.1 };
        let (name, _) = name.split_once(behind)?;
        // earlycon gets the values of console= too, and refuses those of other consoles.
        let word = left.iter().rev().find(|word| name != "console" && has_name(word, name))?;
        Some(rejected(line, word, why))
    })
}

/// The parameters that a module refused as it was loaded: `MODULE: unknown parameter 'NAME' ignored`.
fn of_modules<'a>(machine: &'a Machine<'_>, left: &'a [&'a str]) -> impl Iterator<Item = Finding> {
    machine.logged(": unknown parameter '").filter_map(move |line| {
        let (module, name) = line.split_once(": unknown parameter '")?;
        let name = format!("{module}.{}", name.split_once('\'')?.0);
        let word = left.iter().find(|word| has_name(word, &name))?;
        Some(rejected(line, word, "the module has no such parameter"))
    })
}

fn rejected(line: &str, word: &str, why: &str) -> Finding {
    RULE.error(format!("'{word}' is ignored: {why}"))
        .seen([logged(line)])
        .seen([said(word)])
        .so("It has no effect, or only a part of it has.")
        .unboot(word)
}

/// The parameters that the log lists as unknown: those that other kernels have one by one, all others together.
fn listed(machine: &Machine<'_>, left: &[&str]) -> Vec<Finding> {
    let Some(line) = machine.unknown_parameters() else { return Vec::new() };
    // The log has no quotes around a value.
    let is_listed = |word: &&&str| machine.unknown_words().any(|listed| listed == word.replace('"', ""));
    let is_read = |word: &str| READ_ELSEWHERE.iter().any(|name| has_name(word, name));
    let listed = left.iter().filter(is_listed).copied().filter(|word| !is_read(word));
    let (known, foreign): (Vec<&str>, Vec<&str>) =
        listed.partition(|word| parameters::known(word.split('=').next().unwrap_or_default()).is_some());
    let mut findings: Vec<Finding> = known
        .into_iter()
        .take(MOST)
        .map(|word| {
            RULE.warning(format!("'{word}' is unknown to this kernel: its log says so"))
                .seen([logged(line)])
                .seen([said(word)])
                .so("It has no effect: this kernel was built without it, or refuses the value.")
                .unboot(word)
        })
        .collect();
    if !foreign.is_empty() {
        let names = |shown| in_order(foreign.clone(), shown);
        let are = if foreign.len() == 1 { "is" } else { "are" };
        findings.push(
            RULE.naming(Severity::Note, |shown| format!("{} {are} unknown to this kernel", names(shown)))
                .seen([logged(line)])
                .seen(foreign.iter().take(MOST).map(|word| said(word)))
                .so("It has no effect on the kernel, which passes it to init.")
                .advice("remove it, unless init or a program reads it from /proc/cmdline"),
        );
    }
    findings
}

fn logged(line: &str) -> Evidence {
    Evidence { file: KERNEL_LOG.to_owned(), value: line.to_owned() }
}

// SPDX-License-Identifier: GPL-2.0-only
//! The Debian mirror that a machine uses, and its suites. See sources.list(5).

use std::path::{Path, PathBuf};

/// The keys that Debian signs its releases with.
pub(super) const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// The mirrors that a machine's sources name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mirrors {
    main: String,
    security: String,
}

/// One mirror with the suites that are taken from it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Source {
    uri: String,
    suites: Vec<String>,
    components: Vec<String>,
    signed_by: String,
}

/// Releases that have backports and a security suite of their own.
const STABLE: [&str; 2] = ["bookworm", "trixie"];
/// Bookworm has both 6.1 and 6.12.
const OF_ALL_KERNELS: &str = "bookworm";

/// The mirrors of this machine, whose release is `release`.
pub(super) fn mirrors_of_machine(release: &str) -> Option<Mirrors> {
    let sources: Vec<Source> = files().iter().flat_map(|path| read(path)).collect();
    mirrors(&sources, release)
}

/// The text of our own sources.list: the machine's release with its backports, and bookworm, so
/// that both 6.1 and 6.12 are on offer whatever the release.
pub(super) fn list(mirrors: &Mirrors, release: &str) -> String {
    let mut lines = line(&mirrors.main, release);
    if STABLE.contains(&release) {
        lines += &line(&mirrors.main, &format!("{release}-backports"));
        lines += &line(&mirrors.security, &format!("{release}-security"));
    }
    if release != OF_ALL_KERNELS {
        lines += &line(&mirrors.main, OF_ALL_KERNELS);
        lines += &line(&mirrors.security, &format!("{OF_ALL_KERNELS}-security"));
    }
    lines
}

/// The same for one other suite alone: among the others, unstable's packages would be the newest of all, and those of
/// an older release fit none of them.
pub(super) fn only(mirrors: &Mirrors, suite: &str) -> String {
    line(&mirrors.main, suite)
}

fn line(uri: &str, suite: &str) -> String {
    format!("deb [arch=amd64 signed-by={KEYRING}] {uri} {suite} main\n")
}

/// The files that apt reads itself: by their ending, in the order of their names.
fn files() -> Vec<PathBuf> {
    let parts = std::fs::read_dir("/etc/apt/sources.list.d").into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = parts.map(|entry| entry.path()).collect();
    paths.sort();
    paths.insert(0, "/etc/apt/sources.list".into());
    paths
}

fn read(path: &Path) -> Vec<Source> {
    let text = || std::fs::read_to_string(path).unwrap_or_default();
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("list") => text().lines().filter_map(one_line).collect(),
        Some("sources") => deb822(&text()),
        _ => Vec::new(),
    }
}

/// The mirrors among all sources. Others offer packages under Debian's suite names too, so an entry
/// that Debian signs comes first, then one that also has the suite of Debian's updates.
fn mirrors(sources: &[Source], release: &str) -> Option<Mirrors> {
    let updates = format!("{release}-updates");
    let has =
        |uri: &str, suite: &str| sources.iter().any(|s| s.uri == uri && s.suites.contains(&suite.into()));
    let of_suite = |suite: &str| {
        let fits = |source: &&Source| {
            source.suites.iter().any(|s| s == suite)
                && source.components.iter().any(|component| component == "main")
                && (source.signed_by.is_empty() || is_debians(&source.signed_by))
        };
        let rank = |source: &&Source| (!is_debians(&source.signed_by), !has(&source.uri, &updates));
        sources.iter().filter(fits).min_by_key(rank).map(|source| source.uri.clone())
    };
    let main = of_suite(release)?;
    // A machine without security updates still has the mirror's path of `debian`; theirs is next to it.
    let security = of_suite(&format!("{release}-security")).unwrap_or_else(|| format!("{main}-security"));
    Some(Mirrors { main, security })
}

fn is_debians(signed_by: &str) -> bool {
    signed_by.contains("debian-archive")
}

fn words(text: &str) -> Vec<String> {
    text.split_ascii_whitespace().map(str::to_owned).collect()
}

fn uri(text: &str) -> String {
    text.trim_end_matches('/').to_owned()
}

/// A line such as `deb [options] URI SUITE COMPONENT…`.
fn one_line(line: &str) -> Option<Source> {
    let line = line.split('#').next().unwrap_or_default();
    let rest = line.trim().strip_prefix("deb")?;
    let rest = rest.starts_with(char::is_whitespace).then(|| rest.trim_start())?;
    let (options, rest) = match rest.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => ("", rest),
    };
    let signed_by = options.split_ascii_whitespace().find_map(|option| option.strip_prefix("signed-by="));
    let mut rest = rest.split_ascii_whitespace();
    Some(Source {
        uri: uri(rest.next()?),
        suites: vec![rest.next()?.to_owned()],
        components: rest.map(str::to_owned).collect(),
        signed_by: signed_by.unwrap_or_default().to_owned(),
    })
}

/// All sources of a file in the format of deb822(5): paragraphs of fields.
fn deb822(text: &str) -> Vec<Source> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    lines.split(|line| line.trim().is_empty()).flat_map(paragraph).collect()
}

fn paragraph(lines: &[&str]) -> Vec<Source> {
    let field = |name| words(&field(lines, name));
    let is_off =
        field("Enabled").first().is_some_and(|value| ["no", "false", "off", "0"].contains(&&**value));
    if is_off || !field("Types").iter().any(|kind| kind == "deb") {
        return Vec::new();
    }
    let source = Source {
        uri: String::new(),
        suites: field("Suites"),
        components: field("Components"),
        signed_by: field("Signed-By").join(" "),
    };
    field("URIs").iter().map(|address| Source { uri: uri(address), ..source.clone() }).collect()
}

/// The value of a field with the indented lines that continue it.
fn field(lines: &[&str], name: &str) -> String {
    let value = |line: &&str| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then(|| value.to_owned())
    };
    let Some((at, mut text)) = lines.iter().enumerate().find_map(|(at, line)| Some((at, value(line)?)))
    else {
        return String::new();
    };
    for line in lines[at + 1..].iter().take_while(|line| line.starts_with([' ', '\t'])) {
        text += line;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn list_file(text: &str) -> Vec<Source> {
        text.lines().filter_map(one_line).collect()
    }

    fn expected() -> Option<Mirrors> {
        Some(Mirrors { main: "http://m/debian".into(), security: "http://m/debian-security".into() })
    }

    #[test]
    fn both_formats_of_sources() {
        let paragraphs = "Types: deb deb-src\n# comment\nURIs: http://m/debian\nsuites: bookworm\n bookworm-updates\nComponents: main\n\n\
            Types: deb\nURIs: http://m/debian-security/\nSuites: bookworm-security\nComponents: main\n";
        let lines = "# deb http://no/debian bookworm main\ndeb [arch=amd64] http://m/debian/ bookworm main # ours\n\
            deb-src http://no/debian bookworm main\ndeb\thttp://m/debian-security bookworm-security main\n";
        assert_eq!(mirrors(&deb822(paragraphs), "bookworm"), expected());
        assert_eq!(mirrors(&list_file(lines), "bookworm"), expected());
    }

    #[test]
    fn disabled_sources_are_not_read() {
        let off = "Types: deb\nURIs: http://m/debian\nSuites: bookworm\nComponents: main\nEnabled: no\n";
        assert_eq!(deb822(off), []);
        assert_eq!(deb822(&off.replace("deb\n", "deb-src\n").replace("no", "yes")), []);
        assert_eq!(read(Path::new("/etc/apt/sources.list.d/x.sources.disabled")), []);
    }

    #[test]
    fn others_under_the_same_suite_name_are_passed_over() {
        let others = "deb [signed-by=/k/other.gpg] http://a/deb bookworm main\ndeb http://b/linux bookworm stable\n\
            deb http://c/deb bookworm main\n";
        let unsigned = "deb http://m/debian bookworm main\ndeb http://m/debian bookworm-updates main\n";
        let signed = format!("deb [signed-by={KEYRING}] http://m/debian bookworm main\n");
        assert_eq!(mirrors(&list_file(&format!("{others}{unsigned}")), "bookworm"), expected());
        assert_eq!(mirrors(&list_file(&format!("{others}{signed}")), "bookworm"), expected());
        assert_eq!(
            mirrors(&list_file("deb [signed-by=/k/o.gpg] http://a/deb bookworm main\n"), "bookworm"),
            None
        );
    }

    #[test]
    fn security_is_derived_where_it_is_not_named() {
        let sources = list_file("deb http://m/debian bookworm main\n");
        assert_eq!(mirrors(&sources, "bookworm"), expected());
        assert_eq!(mirrors(&sources, "trixie"), None);
    }

    #[test]
    fn every_release_is_offered_all_kernels() {
        let mirrors = expected().unwrap();
        let suites = |release| -> Vec<String> {
            list(&mirrors, release).lines().filter_map(one_line).flat_map(|source| source.suites).collect()
        };
        assert_eq!(suites("bookworm"), ["bookworm", "bookworm-backports", "bookworm-security"]);
        let newer = ["trixie", "trixie-backports", "trixie-security", "bookworm", "bookworm-security"];
        assert_eq!(suites("trixie"), newer);
        assert_eq!(suites("forky"), ["forky", "bookworm", "bookworm-security"]);
        assert_eq!(
            only(&mirrors, "sid").lines().filter_map(one_line).next().map(|source| source.suites),
            Some(vec!["sid".to_owned()])
        );
    }

    proptest! {
        #[test]
        fn never_panics(text in "(deb|Types: |URIs:|\\[|\\]|#| |\n|:|main|é){0,40}") {
            let _ = mirrors(&deb822(&text), "bookworm");
            let _ = mirrors(&list_file(&text), "bookworm");
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-only
//! The key of a built kernel: all that decides its bytes, and nothing else (invariant 13).

use super::parts::{Part, Parts};
use super::toolchain::Toolchain;
use sha2::{Digest, Sha256};
use std::path::Path;

/// Raised when the way of building changes what comes out of it.
const FORMAT: &str = "1";

/// The key of a kernel: 16 hexadecimal digits. Names and paths of the parts have no share in it, only their texts,
/// and `company`: if untrusted builds share a ccache, what one of them left there may be in the next.
pub fn of(parts: &Parts, source: &str, toolchain: &Toolchain, company: Option<&str>) -> String {
    let mut hash = Sha256::new();
    // With its length before each piece, no two different lists give the same bytes.
    let mut put = |piece: &str| {
        hash.update((piece.len() as u64).to_le_bytes());
        hash.update(piece);
    };
    put(FORMAT);
    put(source);
    for list in [&parts.config, &parts.patches] {
        put(&list.len().to_string());
        for Part { text, file, .. } in list {
            let kind = Path::new(file).extension().unwrap_or_default();
            put(&kind.to_string_lossy());
            put(text);
        }
    }
    put(&toolchain.version);
    for (name, value) in &toolchain.environment {
        put(name);
        put(value);
    }
    for (program, version) in &toolchain.helpers {
        put(program);
        put(version);
    }
    company.into_iter().for_each(&mut put);
    hex::encode(&hash.finalize()[..16])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn part(text: &str) -> Part {
        Part { name: "x".into(), file: "x.config".into(), text: text.into(), folder: None }
    }

    fn parts(config: &[String], patches: &[String]) -> Parts {
        let all = |texts: &[String]| texts.iter().map(|text| part(text)).collect();
        Parts { source: "s".into(), config: all(config), patches: all(patches) }
    }

    fn gcc() -> Toolchain {
        Toolchain { version: "gcc 12".into(), environment: Vec::new(), helpers: Vec::new(), ccache: false }
    }

    /// An untrusted fragment may have the text of an honest one, and be built with what another one of its author
    /// builds left in their ccache.
    #[test]
    fn untrusted_builds_have_keys_of_their_own() {
        let one = parts(&["CONFIG_A=y\n".into()], &[]);
        let keys = [None, Some("a"), Some("b")].map(|company| of(&one, "s", &gcc(), company));
        assert!(keys[0] != keys[1] && keys[1] != keys[2] && keys[0] != keys[2]);
    }

    #[test]
    fn names_do_not_matter_and_texts_do() {
        let one = parts(&["CONFIG_A=y\n".into()], &[]);
        let mut renamed = one.clone();
        renamed.config[0].name = "y".into();
        renamed.config[0].file = "elsewhere/y.config".into();
        assert_eq!(of(&one, "s", &gcc(), None), of(&renamed, "s", &gcc(), None));
        let without_kind = |file: &str| {
            let mut parts = one.clone();
            parts.config[0].file = file.into();
            of(&parts, "s", &gcc(), None)
        };
        assert_eq!(without_kind("/boot/config"), without_kind("./elsewhere.d/config"));
        assert_eq!(
            of(&one, "s", &gcc(), None),
            "41591a4707e0fb05d846b2e4df8d9fbe",
            "a key of today is one of tomorrow"
        );
        let newer = Toolchain { version: "gcc 14".into(), ..gcc() };
        assert_ne!(of(&one, "s", &gcc(), None), of(&one, "s", &newer, None));
        assert_ne!(of(&one, "s", &gcc(), None), of(&one, "t", &gcc(), None));
        let flagged = Toolchain { environment: vec![("KCFLAGS".into(), "-O3".into())], ..gcc() };
        assert_ne!(of(&one, "s", &gcc(), None), of(&one, "s", &flagged, None));
        let spatch = |version: &str| {
            let gcc = Toolchain { helpers: vec![("spatch", version.to_owned())], ..gcc() };
            of(&one, "s", &gcc, None)
        };
        assert!(spatch("1.1") != spatch("1.2") && spatch("1.1") != of(&one, "s", &gcc(), None));
    }

    proptest! {
        #[test]
        fn other_parts_another_key(
            a in prop::collection::vec(".{0,8}", 0..4), b in prop::collection::vec(".{0,8}", 0..4),
            c in prop::collection::vec(".{0,8}", 0..4), d in prop::collection::vec(".{0,8}", 0..4),
        ) {
            let same = a == c && b == d;
            prop_assert_eq!(of(&parts(&a, &b), "s", &gcc(), None) == of(&parts(&c, &d), "s", &gcc(), None), same);
        }
    }
}

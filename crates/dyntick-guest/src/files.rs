// SPDX-License-Identifier: GPL-2.0-only
//! The names of the files that a case reads, in the agent's archive and in figures.

/// When they are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Before the window.
    Before,
    /// After it.
    After,
}

/// The name of a file in figures: the last component of its path. Of the files of one case each has
/// another.
pub fn name_of_file(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The piece of the agent's archive that holds the file as it was at that moment, in the letters that
/// a piece's name may have.
pub fn piece_of_file(path: &str, moment: Moment) -> String {
    let moment = match moment {
        Moment::Before => "before",
        Moment::After => "after",
    };
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
    let name: String = name_of_file(path).chars().map(plain).collect();
    format!("file.{name}.{moment}")
}

// SPDX-License-Identifier: GPL-2.0-only
//! JSON surrounded by other text.

use crate::Error;
use serde::Deserialize;

/// The longest document of JSON or XML, in bytes: it is held in memory as a tree of many times its size.
pub const MAX_TREE: usize = 64 << 20;

/// Parses the first object that begins a line. Tools print warnings before and after it. A truncated object is an
/// error. serde_json limits the depth (128).
pub fn first<'a, T: Deserialize<'a>>(tool: &'static str, text: &'a str) -> Result<T, Error> {
    ensure_small(text)?;
    let begin =
        begin(text, &['{']).ok_or_else(|| Error::json(tool, "there is no line that begins with '{'"))?;
    let mut reader = serde_json::Deserializer::from_str(&text[begin..]);
    let above = text[..begin].lines().count();
    T::deserialize(&mut reader).map_err(|error| match above {
        0 => Error::json(tool, error),
        lines => Error::json(tool, format_args!("{error} (counted from line {})", lines + 1)),
    })
}

/// Parses each object that begins a line, as [`first`] does the first; at least one.
pub fn all<'a, T: Deserialize<'a>>(tool: &'static str, text: &'a str) -> Result<Vec<T>, Error> {
    ensure_small(text)?;
    let mut found = vec![];
    let mut rest = text;
    while found.is_empty() || begin(rest, &['{']).is_some() {
        let begin = begin(rest, &['{']).unwrap_or(0);
        let above = text.len() - rest.len() + begin;
        let mut reader = serde_json::Deserializer::from_str(&rest[begin..]).into_iter::<T>();
        match reader.next() {
            Some(Ok(document)) => found.push(document),
            Some(Err(error)) => {
                let lines = text[..above].lines().count();
                let from =
                    if lines == 0 { String::new() } else { format!(" (counted from line {})", lines + 1) };
                return Err(Error::json(tool, format_args!("{error}{from}")));
            }
            None => return Err(Error::json(tool, "there is no line that begins with '{'")),
        }
        rest = &rest[begin + reader.byte_offset()..];
        // What follows on the line of the end is no beginning.
        rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
    }
    Ok(found)
}

/// Refuses a document whose tree may not fit into memory.
pub fn ensure_small(text: &str) -> Result<(), Error> {
    if text.len() <= MAX_TREE {
        return Ok(());
    }
    Err(Error::Long { size: text.len(), unit: "bytes of JSON or XML", limit: MAX_TREE })
}

/// The offset of the first line whose first character is one of these.
pub fn begin(text: &str, marks: &[char]) -> Option<usize> {
    let mut at = 0;
    text.split_inclusive('\n').find_map(|line| {
        let here = at + (line.len() - line.trim_start().len());
        at += line.len();
        line.trim_start().starts_with(marks).then_some(here)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn text_around_the_object_is_skipped() {
        let read = |text| first::<Value>("fio", text);
        assert_eq!(read("note: {x}\n {\"a\": 1}\ndone {\n").unwrap()["a"], 1);
        assert!(read("{\"a\": 1").unwrap_err().to_string().contains("EOF"));
        assert!(read("warning\n\n{\"a\": }").unwrap_err().to_string().contains("counted from line 3"));
        assert!(read("none").is_err());
        let deep = "{\"a\":".repeat(5000);
        assert!(read(&deep).unwrap_err().to_string().contains("recursion"));
    }
}

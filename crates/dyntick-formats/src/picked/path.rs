// SPDX-License-Identifier: GPL-2.0-only
//! Paths into JSON.

use serde_json::Value;

/// A path as written, and its steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    text: String,
    steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    /// To a name in an object, or an index in a list.
    To(String),
    /// To all members of an object or list.
    All,
}

impl Path {
    /// Parses either form; the error names the fault.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let steps = match text.strip_prefix('/') {
            Some(pointer) => pointer.split('/').map(unescaped).collect::<Result<_, _>>()?,
            None => dotted(text)?,
        };
        Ok(Self { text: text.to_owned(), steps })
    }

    /// The path as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Passes each value that it leads to, until one is refused.
    pub fn find<E>(&self, value: &Value, take: &mut impl FnMut(&Value) -> Result<(), E>) -> Result<(), E> {
        follow(value, &self.steps, take)
    }
}

/// Parses a step of a pointer: RFC 6901, section 4.
fn unescaped(token: &str) -> Result<Step, &'static str> {
    let mut rest = token.split('~');
    let mut name = rest.next().unwrap_or("").to_owned();
    for piece in rest {
        let (mark, piece) = match (piece.strip_prefix('0'), piece.strip_prefix('1')) {
            (Some(piece), _) => ('~', piece),
            (_, Some(piece)) => ('/', piece),
            _ => return Err("has a '~' that is neither ~0 (for ~) nor ~1 (for /), see RFC 6901"),
        };
        name.push(mark);
        name.push_str(piece);
    }
    Ok(Step::To(name))
}

/// Parses `jobs.*.read.iops`, `$.jobs[0].read.iops`; an empty path, or `$`, means the complete value.
fn dotted(text: &str) -> Result<Vec<Step>, &'static str> {
    let text = text.strip_prefix('$').map_or(text, |rest| rest.strip_prefix('.').unwrap_or(rest));
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let even = text.replace('[', ".").replace(']', "");
    let step = |name: &str| match name {
        "" => Err("has an empty name in it; write a JSON pointer (/a//b) where one is meant"),
        "*" => Ok(Step::All),
        name => Ok(Step::To(name.to_owned())),
    };
    even.trim_start_matches('.').split('.').map(step).collect()
}

fn follow<E>(value: &Value, steps: &[Step], take: &mut impl FnMut(&Value) -> Result<(), E>) -> Result<(), E> {
    let Some((step, steps)) = steps.split_first() else { return take(value) };
    match (step, value) {
        (Step::To(name), Value::Object(map)) => {
            map.get(name).map_or(Ok(()), |found| follow(found, steps, take))
        }
        (Step::To(index), Value::Array(list)) => {
            let found = index.parse::<usize>().ok().and_then(|index| list.get(index));
            found.map_or(Ok(()), |found| follow(found, steps, take))
        }
        (Step::All, Value::Object(map)) => map.values().try_for_each(|found| follow(found, steps, take)),
        (Step::All, Value::Array(list)) => list.iter().try_for_each(|found| follow(found, steps, take)),
        _ => Ok(()),
    }
}

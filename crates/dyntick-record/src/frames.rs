// SPDX-License-Identifier: GPL-2.0-only
//! Stacks as folded texts: stacks with the same text are one.

use crate::processes::mapping_of;
use crate::{About, StackCount};
use dyntick_explain::Stack;
use dyntick_model::Map;
use dyntick_model::text::{clean, shortened};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The maximum number of stacks of a cause.
const MOST: usize = 1000;

/// The maximum number of frames of a stack, the outermost.
const DEEPEST: usize = 128;

/// The maximum number of bytes of a file's or function's name.
const LONGEST: usize = 200;

/// Counts stacks by their texts, the most frequent first.
pub(crate) fn folded(about: &About, stacks: &Map<Stack, u64>) -> Vec<StackCount> {
    let mut counts: BTreeMap<Vec<String>, u64> = BTreeMap::new();
    for (stack, count) in stacks {
        *counts.entry(frames(about, stack)).or_default() += count;
    }
    let mut folded: Vec<StackCount> =
        counts.into_iter().map(|(frames, count)| StackCount { frames, count }).collect();
    folded.sort_by_key(|stack| Reverse(stack.count));
    folded.truncate(MOST);
    folded
}

/// The task, the functions of its program and those of the kernel, the outermost first. Kernel functions are marked in
/// the way of flame graphs.
fn frames(about: &About, stack: &Stack) -> Vec<String> {
    let text = |name: &str| clean(&shortened(name, LONGEST)).replace(';', ":");
    let user = stack.user.iter().rev().flat_map(|address| user_frames(about, stack.process, *address));
    let user = user.map(|frame| text(&frame));
    let kernel = stack.kernel.iter().rev().map(|function| format!("{}_[k]", text(function)));
    [text(&stack.comm)].into_iter().chain(user).chain(kernel).take(DEEPEST).collect()
}

/// The functions at an address, the outermost first; if they are unknown, the file and the offset, `libc.so.6+0x1234`.
fn user_frames(about: &About, process: i32, address: u64) -> Vec<String> {
    let mapping = about.mappings.get(&process).and_then(|mappings| mapping_of(mappings, address));
    let Some(mapping) = mapping else { return vec![format!("{address:#x}")] };
    match mapping.functions.get(&address) {
        Some(functions) if !functions.is_empty() => functions.iter().rev().cloned().collect(),
        _ => vec![format!("{}+{:#x}", mapping.file_name(), mapping.offset_of(address))],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_observe::facts::Mapping;

    #[test]
    fn stacks_with_the_same_text_are_one() {
        let code = |begin, end, file: &str, functions: &[(u64, &[&str])]| {
            let own = functions
                .iter()
                .map(|(address, names)| (*address, names.iter().map(|n| n.to_string()).collect()));
            Mapping { begin, end, offset: 0x100, file: file.into(), functions: own.collect() }
        };
        let named: &[(u64, &[&str])] = &[(0x1030, &["add (app.h:3)", "main (app.c:12)"]), (0x1040, &[])];
        let own =
            vec![code(0x1000, 0x2000, "/usr/bin/app", named), code(0x5000, 0x6000, "/lib/libc;.so", &[])];
        let about = About { mappings: [(7, own)].into(), ..crate::stored::tests::about() };
        let stack = |process, user: &[u64]| Stack {
            comm: "app".into(),
            process,
            kernel: ["futex_wake".into(), "do_syscall_64".into()].into(),
            user: user.into(),
        };
        let stacks = [
            (stack(7, &[0x5010, 0x1020]), 3),
            (stack(8, &[0x5010]), 1),
            (stack(7, &[0x2000]), 4),
            (stack(7, &[0x1030]), 2),
        ];
        let folded = folded(&about, &stacks.into_iter().collect());
        let texts: Vec<(String, u64)> = folded.iter().map(|one| (one.frames.join(";"), one.count)).collect();
        let kernel = "do_syscall_64_[k];futex_wake_[k]";
        let expected = [
            (format!("app;0x2000;{kernel}"), 4),
            (format!("app;app+0x120;libc:.so+0x110;{kernel}"), 3),
            (format!("app;main (app.c:12);add (app.h:3);{kernel}"), 2),
            (format!("app;0x5010;{kernel}"), 1),
        ];
        assert_eq!(texts, expected);
    }
}

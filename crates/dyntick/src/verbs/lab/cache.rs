// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick lab cache`: the contents of the cache, and their removal.

use crate::output::{self, Target};
use crate::verbs::record::size;
use anyhow::Result;
use clap::Args;
use dyntick_contract::lab::CacheContents;
use dyntick_kernels::cache::Cache;
use dyntick_kernels::cache::contents::{Entry, Limits, entries, prune};
use dyntick_report::{Block, Column, Document, Table, numbers, row};
use std::process::ExitCode;
use std::time::Duration;

const DAY: u64 = 24 * 3600;

/// The arguments of `dyntick lab cache`.
#[derive(Args)]
pub struct Arguments {
    /// Remove entries that were not used for DAYS days
    #[arg(long, value_name = "DAYS")]
    unused_for: Option<u32>,
    /// Remove the least recently used entries until all others have at most SIZE together, e.g. 10G
    #[arg(long, value_name = "SIZE", value_parser = size)]
    at_most: Option<u64>,
    /// Keep this entry, or all of this folder of the cache; may be given several times
    #[arg(long, value_name = "NAME")]
    keep: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

/// Removes what the limits exclude, and lists the rest.
pub fn run(arguments: Arguments) -> Result<ExitCode> {
    arguments.target.ensure_writable()?;
    let cache = Cache::of_user()?;
    let limits = Limits {
        unused_for: arguments.unused_for.map(|days| Duration::from_secs(u64::from(days) * DAY)),
        at_most: arguments.at_most,
        keep: arguments.keep.iter().map(|name| name.trim_end_matches('/').to_owned()).collect(),
    };
    let removed = prune(&cache, &limits);
    let left = entries(&cache);
    let contents =
        CacheContents { folder: cache.root().to_owned(), removed, bytes: sum(&left), entries: left };
    if arguments.json {
        arguments.target.json(&contents)?;
    } else {
        arguments.target.page(&document(&contents))?;
        if !contents.removed.is_empty() {
            let (count, freed) = (contents.removed.len() as u64, sum(&contents.removed));
            output::note(format_args!("removed {} from the cache, {}", count, mib(freed)));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn sum(entries: &[Entry]) -> u64 {
    entries.iter().fold(0, |sum, entry| sum.saturating_add(entry.bytes))
}

fn mib(bytes: u64) -> String {
    format!("{} MiB", bytes.div_ceil(1 << 20))
}

fn document(contents: &CacheContents) -> Document {
    let row = |entry: &Entry| row![entry.name.clone(), mib(entry.bytes), days(entry.unused_s)];
    let table = Table {
        columns: vec![Column::text("entry"), Column::figure("size", ""), Column::figure("last used", "")],
        rows: contents.entries.iter().map(row).collect(),
        notes: vec![
            "All of it is fetched or built again when it is needed. --unused-for DAYS and --at-most SIZE remove \
             what was used least recently; what is in use stays."
                .into(),
        ],
        ..Table::default()
    };
    Document {
        title: format!("{}: {}", contents.folder.display(), mib(contents.bytes)),
        blocks: vec![Block::Table(table)],
        ..Document::default()
    }
}

fn days(seconds: u64) -> String {
    match seconds / DAY {
        0 => "today".to_owned(),
        days => format!("{} ago", numbers::counted(days, "day")),
    }
}

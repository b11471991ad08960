// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick schema`: the JSON Schemas of JSON output, and of study and machine files.

use crate::output;
use anyhow::{Result, bail};
use dyntick_contract::{ALL, FILES, Format};
use dyntick_model::text::nearest;
use dyntick_report::{Block, Column, Document, Table, row};
use include_dir::{Dir, include_dir};
use std::process::ExitCode;

/// The schemas of the types; a test compares both.
static SCHEMAS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../../docs/src/schemas");

/// The common prefix of all formats.
const PREFIX: &str = "dyntick-";

/// The arguments of `dyntick schema`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  dyntick schema                      list the formats
  dyntick schema stat > stat.json     that of what `dyntick stat --json` prints
  dyntick schema study > study.json   the schema of study files, for an editor")]
pub struct Arguments {
    /// Format to print the schema of, with or without `dyntick-` [default: list all]
    format: Option<String>,
}

/// Prints a schema, or lists the formats.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    match &arguments.format {
        Some(name) => output::text(schema(name)?)?,
        None => output::page(&list())?,
    }
    Ok(ExitCode::SUCCESS)
}

fn schema(name: &str) -> Result<&'static str> {
    let short = name.strip_prefix(PREFIX).unwrap_or(name);
    let file = SCHEMAS.get_file(format!("{PREFIX}{short}.json"));
    if let Some(text) = file.and_then(|file| file.contents_utf8()) {
        return Ok(text);
    }
    let names = ALL.iter().map(|format| format.name).chain(FILES.map(|(name, _)| name));
    let known: Vec<&str> = names.filter_map(|name| name.strip_prefix(PREFIX)).collect();
    match nearest(short, &known) {
        Some(right) => bail!("there is no format '{name}'; did you mean '{right}'?"),
        None => bail!("there is no format '{name}'; `dyntick schema` lists them"),
    }
}

fn list() -> Document {
    let row = |format: &Format| row![format.name, format.version.to_string(), format.verb];
    let table = Table {
        columns: vec![Column::text("format"), Column::figure("version", ""), Column::text("of")],
        rows: ALL.iter().map(row).chain(FILES.iter().map(|(name, what)| row![*name, "", *what])).collect(),
        ..Table::default()
    };
    Document {
        title: "Formats with a JSON Schema".to_owned(),
        blocks: vec![Block::Table(table)],
        ..Document::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schema_is_found_by_either_name() {
        for format in ALL {
            let text = schema(format.name).unwrap();
            assert_eq!(schema(format.name.strip_prefix(PREFIX).unwrap()).unwrap(), text);
            assert!(text.contains(&format!("\"title\": \"{}\"", format.name)));
        }
        assert!(schema("stats").unwrap_err().to_string().contains("did you mean 'stat'?"));
        assert!(schema("../../etc/passwd").is_err());
    }
}

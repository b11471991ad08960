// SPDX-License-Identifier: GPL-2.0-only
//! The file for node_exporter, read by node_exporter, and by promtool, which knows what Prometheus wants of names.

use super::exporter::{Server, free_address, get, program, wait_for};
use crate::harness::dyntick;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

fn write(folder: &Path) -> std::path::PathBuf {
    let file = folder.join("dyntick.prom");
    let mut command = dyntick();
    command.args(["export", "-C", "0", "-I", "300", "-n", "2", "--textfile"]).arg(&file);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    file
}

#[test]
fn node_exporter_reads_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing but the file");
    let address = free_address();
    let mut node_exporter = Command::new(program("prometheus-node-exporter"));
    node_exporter.args([
        "--collector.disable-defaults",
        "--collector.textfile",
        "--collector.textfile.directory",
    ]);
    node_exporter.arg(folder.path()).arg(format!("--web.listen-address={address}"));
    let _server = Server(node_exporter.stderr(Stdio::null()).spawn().unwrap());
    let text = wait_for("node_exporter", || get(&address, "/metrics"));
    assert!(text.contains("node_textfile_scrape_error 0\n"), "{text}");
    // All of it, with the types.
    let written = std::fs::read_to_string(file).unwrap();
    let types: Vec<&str> = written.lines().filter(|line| line.starts_with("# TYPE")).collect();
    assert!(types.contains(&"# TYPE dyntick_counting gauge"), "{written}");
    for kind in types {
        assert!(text.contains(kind), "{kind} is not in\n{text}");
    }
}

#[test]
fn promtool_has_nothing_against_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = File::open(write(folder.path())).unwrap();
    let output = Command::new(program("promtool")).args(["check", "metrics"]).stdin(file).output().unwrap();
    let told = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert!(output.status.success() && told == ["", ""], "{told:?}");
}

/// `-` is standard output.
#[test]
fn it_can_be_printed() {
    let output =
        dyntick().args(["export", "-C", "0", "-I", "100", "-n", "1", "--textfile", "-"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.contains("\ndyntick_export_info{version="), "{text}");
}

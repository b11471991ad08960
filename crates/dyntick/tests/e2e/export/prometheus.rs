// SPDX-License-Identifier: GPL-2.0-only
//! Prometheus scrapes a running exporter; the dashboard's queries and the alert rules are evaluated by it.

use super::exporter::{Busy, Exporter, Server, contrib, free_address, get, program, wait_for};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};

/// A Prometheus of the test's own.
struct Prometheus {
    address: String,
    _server: Server,
    _folder: tempfile::TempDir,
}

impl Prometheus {
    fn start(exporter: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("prometheus.yml");
        let rules = contrib("dyntick.rules.yml");
        let text = format!(
            "global: {{scrape_interval: 2s, scrape_timeout: 2s, evaluation_interval: 2s}}\n\
             rule_files: ['{}']\n\
             scrape_configs: [{{job_name: dyntick, static_configs: [{{targets: ['{exporter}']}}]}}]\n",
            rules.display()
        );
        std::fs::write(&config, text).unwrap();
        let address = free_address();
        let mut command = Command::new(program("prometheus"));
        command.arg(format!("--config.file={}", config.display()));
        command.arg(format!("--storage.tsdb.path={}", folder.path().join("data").display()));
        command.arg(format!("--web.listen-address={address}")).arg("--log.level=error");
        let server = Server(command.stdout(Stdio::null()).current_dir(folder.path()).spawn().unwrap());
        Self { address, _server: server, _folder: folder }
    }

    /// The answer of the API; `None` while it does not answer.
    fn api(&self, path: &str) -> Option<Value> {
        let answer: Value = serde_json::from_str(&get(&self.address, &format!("/api/v1/{path}"))?).ok()?;
        assert_eq!(answer["status"], "success", "{path}: {answer}");
        Some(answer["data"].clone())
    }

    /// The series that a query has; an error of the query fails the test.
    fn query(&self, query: &str) -> Vec<Value> {
        let encoded: String = query.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let data = self.api(&format!("query?query={encoded}")).unwrap_or_else(|| panic!("refused: {query}"));
        data["result"].as_array().unwrap().clone()
    }
}

/// The queries of the dashboard, by their panels, with its variables filled in.
fn dashboard() -> Vec<(String, String)> {
    let text = std::fs::read_to_string(contrib("grafana-dashboard.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&text).unwrap();
    let filled = |query: &str| {
        let query = query.replace("$__rate_interval", "1m").replace("$instance", ".*").replace("$cpu", ".*");
        assert!(!query.contains('$'), "{query}");
        query
    };
    let mut queries = Vec::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().unwrap() {
            queries.push((panel["title"].to_string(), filled(target["expr"].as_str().unwrap())));
        }
    }
    for variable in dashboard["templating"]["list"].as_array().unwrap() {
        // label_values(SERIES, LABEL)
        let query = variable["query"]["query"].as_str().unwrap_or_default();
        if let Some((series, _)) = query.strip_prefix("label_values(").and_then(|rest| rest.rsplit_once(", "))
        {
            queries.push((variable["name"].to_string(), filled(series)));
        }
    }
    queries
}

/// The metrics that a query names.
fn metrics_in(query: &str) -> BTreeSet<&str> {
    let words = query.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("dyntick_")).collect()
}

/// All metrics that there are, wherever: those of the text that the exporter's own test writes.
fn all_metrics() -> BTreeSet<String> {
    let path = "../dyntick-export/src/snapshots/dyntick_export__tests__openmetrics_text_is_stable.snap";
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    let samples = text.lines().filter(|line| line.starts_with("dyntick_"));
    samples.map(|line| line.split(['{', ' ']).next().unwrap().to_owned()).collect()
}

#[test]
fn it_scrapes_and_every_query_has_data() {
    let _busy = Busy::on_cpu_0();
    let exporter = Exporter::start(&[]);
    let prometheus = Prometheus::start(&exporter.address);
    wait_for("a ready Prometheus", || get(&prometheus.address, "/-/ready"));
    wait_for("three scrapes", || {
        let scrapes = prometheus.query("count_over_time(dyntick_counting[5m]) >= 3");
        (!scrapes.is_empty()).then_some(())
    });
    let here: BTreeSet<String> =
        exporter.scrape().into_keys().map(|series| series.split('{').next().unwrap().to_owned()).collect();
    let (known, mut unseen) = (all_metrics(), BTreeMap::new());
    for (panel, query) in dashboard() {
        for metric in metrics_in(&query) {
            assert!(known.contains(metric), "{panel}: there is no {metric}: {query}");
        }
        let result = prometheus.query(&query);
        let absent: Vec<&str> =
            metrics_in(&query).into_iter().filter(|metric| !here.contains(*metric)).collect();
        match absent.is_empty() {
            true => assert!(!result.is_empty(), "{panel} has no data: {query}"),
            false => _ = unseen.insert(panel, absent.join(", ")),
        }
    }
    eprintln!("not on this machine: {unseen:?}");
    rules_are_evaluated(&prometheus);
    if here.contains("dyntick_cpu_ticks_total") {
        a_ticking_cpu_is_an_alert(&prometheus);
    }
}

fn rules_are_evaluated(prometheus: &Prometheus) {
    let rules = wait_for("evaluated rules", || {
        let data = prometheus.api("rules")?;
        let rules = data["groups"][0]["rules"].as_array()?.clone();
        rules.iter().all(|rule| rule["health"] != "unknown").then_some(rules)
    });
    let known = all_metrics();
    assert!(!rules.is_empty());
    for rule in rules {
        assert_eq!(rule["health"], "ok", "{rule}");
        let query = rule["query"].as_str().unwrap();
        assert!(metrics_in(query).iter().all(|metric| known.contains(*metric)), "{query}");
    }
}

/// CPU 0 is busy and no `nohz_full` CPU.
fn a_ticking_cpu_is_an_alert(prometheus: &Prometheus) {
    let nohz_full = std::fs::read_to_string("/sys/devices/system/cpu/nohz_full").unwrap_or_default();
    if nohz_full.starts_with('0') {
        return;
    }
    let alert = wait_for("an alert", || {
        let data = prometheus.api("alerts")?;
        let alerts = data["alerts"].as_array()?;
        alerts.iter().find(|alert| alert["labels"]["alertname"] == "DyntickCpuTicks").cloned()
    });
    assert_eq!((&alert["labels"]["cpu"], &alert["state"]), (&"0".into(), &"pending".into()), "{alert}");
    assert!(
        alert["annotations"]["description"].as_str().unwrap().contains("dyntick explain -C 0"),
        "{alert}"
    );
}

/// Each rule is an alert of a CPU, or a machine, that deserves it, and of no other.
#[test]
fn the_rules_are_those_that_were_meant() {
    let folder = tempfile::tempdir().unwrap();
    let rules = std::fs::read_to_string(contrib("dyntick.rules.yml")).unwrap();
    let tests = include_str!("rules.test.yml");
    for alert in rules.lines().filter_map(|line| line.trim_start().strip_prefix("- alert: ")) {
        assert!(tests.contains(&format!("alertname: {alert}\n")), "{alert} is not tested");
    }
    std::fs::write(folder.path().join("dyntick.rules.yml"), rules).unwrap();
    std::fs::write(folder.path().join("rules.test.yml"), tests).unwrap();
    let promtool = |arguments: &[&str]| {
        let mut command = Command::new(program("promtool"));
        let output = command.args(arguments).current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    promtool(&["check", "rules", "dyntick.rules.yml"]);
    promtool(&["test", "rules", "rules.test.yml"]);
}

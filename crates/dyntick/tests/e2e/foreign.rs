// SPDX-License-Identifier: GPL-2.0-only
//! Traces of trace-cmd and perf, recorded by the commands of `dyntick record --print` in a guest: `explain` finds in
//! each the causes that it finds in its own records, and as many events as the tools print.

use crate::harness::{dyntick, trials_program};
use serde_json::Value;
use std::collections::BTreeMap;

/// Records two disturbances by each tool, explains them, and counts the events that the tools print: a line has its
/// event after its time.
const SCRIPT: &str = r#"
cd /tmp
for tool in trace-cmd perf; do
    dyntick record --print $tool -o $tool.out -- $TRIALS disturb signals cpu-timer -C 1 --ms 60 > $tool.sh
    busybox sh $tool.sh > $tool.log 2>&1 || busybox cat $tool.log
done
trace-cmd report trace-cmd.out > trace-cmd.txt 2> /dev/null
for text in trace-cmd.txt perf.out.txt; do
    busybox awk -v text=$text '{
        for (at = 1; at < NF; at++) if ($at ~ /^[0-9]+\.[0-9]+:$/) {
            name = $(at + 1); sub(/:$/, "", name); sub(/^.*:/, "", name); counts[name]++; break
        }
    } END { for (name in counts) print "COUNT", text, name, counts[name] }' $text
done
busybox gzip perf.out.txt
$TRIALS explain signals cpu-timer -C 1 --ms 60
$TRIALS explain-files -C 1 trace-cmd.out trace-cmd.txt perf.out perf.out.txt.gz
"#;

/// The counts that the guest prints, by text and event.
fn counts(output: &str) -> BTreeMap<(&str, &str), u64> {
    let counted = output.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let ["COUNT", text, event, count] = words[..] else { return None };
        Some(((text, event), count.parse().ok()?))
    });
    counted.collect()
}

#[test]
fn traces_of_other_tools_have_the_same_cause() {
    let trials = trials_program();
    let script = SCRIPT.replace("$TRIALS", &trials);
    let mut command = dyntick();
    command.args(["lab", "shell", "--virtual", "--cpus", "2", "--memory", "1G", "--kernel", "debian:6.12"]);
    command.args(["--append", "nohz_full=1 isolcpus=domain,1", "--tool", &trials]);
    command.args(["--tool", "trace-cmd", "--tool", "perf", "--", "busybox", "sh", "-c", &script]);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}{text}", String::from_utf8_lossy(&output.stderr));
    let found: Vec<Value> = text.lines().filter_map(super::explain::found).collect();
    let counts = counts(&text);
    let files = [
        ("trace-cmd.out", "trace-cmd.txt"),
        ("trace-cmd.txt", "trace-cmd.txt"),
        ("perf.out", "perf.out.txt"),
        ("perf.out.txt.gz", "perf.out.txt"),
    ];
    for (file, printed) in files {
        let own =
            found.iter().find(|own| own["disturbance"] == file).unwrap_or_else(|| panic!("{file}: {text}"));
        for disturbance in ["signals", "cpu-timer"] {
            let recorded = found.iter().find(|recorded| recorded["disturbance"] == disturbance);
            let cause =
                recorded.unwrap_or_else(|| panic!("{disturbance}: {text}"))["causes"][0]["cause"].clone();
            let causes = own["causes"].as_array().unwrap();
            assert!(causes.iter().take(3).any(|own| own["cause"] == cause), "{file}: {cause}: {own:#}");
        }
        let (all, unattributed) =
            (own["interruptions"].as_u64().unwrap(), own["unattributed"].as_u64().unwrap());
        assert!(unattributed <= 2 + all / 50, "{file}: {own:#}");
        let events = own["events"].as_object().unwrap();
        let mut seen = 0;
        for (event, count) in events {
            let name = event.rsplit(':').next().unwrap();
            assert_eq!(counts.get(&(printed, name)).copied(), count.as_u64(), "{file}: {event}");
            seen += 1;
        }
        assert!(seen > 15, "{file}: {events:?}");
    }
}

// SPDX-License-Identifier: GPL-2.0-only
//! Results as CI systems read them: JUnit XML, and KTAP as the kernel's own tests print it
//! (Documentation/dev-tools/ktap.rst).

use dyntick_model::text::clean_line;
use std::fmt::Write as _;

/// A result with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestCase {
    /// The name.
    pub name: String,
    /// The result.
    pub result: TestResult,
}

/// The result of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TestResult {
    /// It passed.
    Passed,
    /// It failed, with the reason.
    Failed(String),
    /// It could not be judged, with the reason.
    Error(String),
    /// It was not run, with the reason.
    Skipped(String),
}

/// Results as JUnit XML.
pub fn junit(suite: &str, tests: &[TestCase]) -> String {
    let count = |is: fn(&TestResult) -> bool| tests.iter().filter(|test| is(&test.result)).count();
    let suite = escaped(suite);
    let mut xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"{suite}\" tests=\"{}\" failures=\"{}\" \
         errors=\"{}\" skipped=\"{}\">\n",
        tests.len(),
        count(|result| matches!(result, TestResult::Failed(_))),
        count(|result| matches!(result, TestResult::Error(_))),
        count(|result| matches!(result, TestResult::Skipped(_))),
    );
    for test in tests {
        let inner = match &test.result {
            TestResult::Passed => String::new(),
            TestResult::Failed(reason) => format!("<failure message=\"{}\"/>", escaped(reason)),
            TestResult::Error(reason) => format!("<error message=\"{}\"/>", escaped(reason)),
            TestResult::Skipped(reason) => format!("<skipped message=\"{}\"/>", escaped(reason)),
        };
        let name = escaped(&test.name);
        let _ = writeln!(xml, "  <testcase classname=\"{suite}\" name=\"{name}\">{inner}</testcase>");
    }
    xml + "</testsuite>\n"
}

/// Results as KTAP.
pub fn ktap(tests: &[TestCase]) -> String {
    let mut text = format!("KTAP version 1\n1..{}\n", tests.len());
    for (number, test) in (1..).zip(tests) {
        // A '#' begins a directive.
        let name = clean_line(&test.name).replace('#', "_");
        let _ = match &test.result {
            TestResult::Passed => writeln!(text, "ok {number} {name}"),
            TestResult::Skipped(reason) => writeln!(text, "ok {number} {name} # SKIP {}", clean_line(reason)),
            TestResult::Failed(reason) | TestResult::Error(reason) => {
                writeln!(text, "# {}\nnot ok {number} {name}", clean_line(reason))
            }
        };
    }
    text
}

/// A text within an attribute of XML.
fn escaped(text: &str) -> String {
    let text = clean_line(text);
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_result_has_its_word() {
        let test = |name: &str, result| TestCase { name: name.to_owned(), result };
        let tests = [
            test("a", TestResult::Passed),
            test("b <c>", TestResult::Failed("1 -> 2".to_owned())),
            test("d", TestResult::Skipped("no run".to_owned())),
            test("e #1", TestResult::Error("lost".to_owned())),
        ];
        let xml = junit("s", &tests);
        assert!(xml.contains("tests=\"4\" failures=\"1\" errors=\"1\" skipped=\"1\""), "{xml}");
        assert!(xml.contains("name=\"b &lt;c&gt;\"><failure message=\"1 -&gt; 2\"/></testcase>"), "{xml}");
        assert_eq!(
            ktap(&tests),
            "KTAP version 1\n1..4\nok 1 a\n# 1 -> 2\nnot ok 2 b <c>\nok 3 d # SKIP no run\n# lost\nnot ok 4 e _1\n"
        );
    }
}

// SPDX-License-Identifier: GPL-2.0-only
//! Validates what verbs print against the schemas of the book. A schema lets new keys pass, for programs that read
//! later versions; here a key that it does not have is an error.

use serde_json::{Value, json};

/// Asserts that a value is of the format.
pub fn assert_valid(format: &str, value: &Value) {
    let path = format!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src/schemas/{}.json"), format);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut schema = serde_json::from_str(&text).unwrap();
    close(&mut schema, false);
    let (mut schemas, mut compiler) = (boon::Schemas::new(), boon::Compiler::new());
    compiler.add_resource("file:///schema.json", schema).unwrap();
    let index = compiler.compile("file:///schema.json", &mut schemas).unwrap();
    if let Err(error) = schemas.validate(value, index) {
        panic!("{format}: {error:#}");
    }
}

/// Refuses keys that no part of a schema names. A branch is evaluated together with what is beside it, and only
/// there all keys are known.
fn close(schema: &mut Value, is_branch: bool) {
    let Some(schema) = schema.as_object_mut() else { return };
    let has_properties = schema.contains_key("properties");
    for (key, part) in schema.iter_mut() {
        match (key.as_str(), part) {
            ("properties" | "$defs", Value::Object(parts)) => {
                parts.values_mut().for_each(|part| close(part, false))
            }
            ("items" | "additionalProperties", part) => close(part, false),
            ("prefixItems", Value::Array(parts)) => parts.iter_mut().for_each(|part| close(part, false)),
            ("oneOf" | "anyOf" | "allOf", Value::Array(parts)) => {
                parts.iter_mut().for_each(|part| close(part, is_branch || has_properties))
            }
            _ => {}
        }
    }
    if has_properties && !is_branch && !schema.contains_key("additionalProperties") {
        schema.insert("unevaluatedProperties".to_owned(), json!(false));
    }
}

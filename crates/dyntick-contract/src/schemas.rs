// SPDX-License-Identifier: GPL-2.0-only
//! The JSON Schemas of formats, from their types and the comments of the code.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

/// The schema of a verb's output: that of its type, after the two keys that come first.
pub fn of<T: JsonSchema>(name: &str, version: u32) -> Schema {
    let mut schema = of_other_tool::<T>(name);
    let properties = schema.ensure_object().entry("properties").or_insert(json!({}));
    properties["format"] = json!({ "const": name });
    properties["version"] = json!({ "const": version });
    let required = schema.ensure_object().entry("required").or_insert(json!([]));
    required.as_array_mut().expect("a list").extend(["format".into(), "version".into()]);
    schema
}

/// The schema of a type without these keys.
pub fn of_other_tool<T: JsonSchema>(name: &str) -> Schema {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let generator = settings.with_transform(RecursiveTransform(plain)).into_generator();
    let mut schema = generator.into_root_schema_for::<T>();
    schema.insert("title".to_owned(), name.into());
    schema
}

/// Removes links and line breaks from descriptions, which are comments of the code.
fn plain(schema: &mut Schema) {
    if let Some(Value::String(text)) = schema.get_mut("description") {
        let paragraphs = text.split("\n\n").map(|paragraph| paragraph.replace('\n', " "));
        *text = paragraphs.collect::<Vec<_>>().join("\n\n").replace("[`", "`").replace("`]", "`");
    }
}

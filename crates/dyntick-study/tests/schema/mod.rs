// SPDX-License-Identifier: GPL-2.0-only
//! The JSON Schema of a table's keys. It is of draft 7: that is what editors complete TOML by.

use dyntick_study::keys::{Key, Table, Value, study};
use serde_json::{Map, Value as Json, json};

/// The schema of a file with these keys.
pub fn of_file(title: &str, table: &'static Table) -> Json {
    let mut definitions = Map::new();
    let mut schema = of_table(table, &mut definitions);
    schema["$schema"] = "http://json-schema.org/draft-07/schema#".into();
    schema["title"] = title.into();
    schema["definitions"] = definitions.into();
    schema
}

fn of_table(table: &'static Table, definitions: &mut Map<String, Json>) -> Json {
    let properties: Map<String, Json> =
        table.keys().map(|key| (key.name.to_owned(), of_key(key, definitions))).collect();
    let required: Vec<&str> = table.keys().filter(|key| key.is_required).map(|key| key.name).collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

fn of_key(key: &Key, definitions: &mut Map<String, Json>) -> Json {
    let mut schema = of_value(key.value, definitions);
    // Draft 7 looks at nothing beside a reference.
    if schema.get("$ref").is_some() {
        schema = json!({ "allOf": [schema] });
    }
    schema["description"] = key.text.into();
    let value = key.default.and_then(|text| text.strip_prefix('`')?.strip_suffix('`'));
    if let Some(value) = value.and_then(|text| serde_json::from_str::<Json>(text).ok()) {
        schema["default"] = value;
    }
    schema
}

/// A reference to the definition of a table, which is made where there is none yet.
fn reference(table: &'static Table, definitions: &mut Map<String, Json>) -> Json {
    if !definitions.contains_key(table.name) {
        definitions.insert(table.name.to_owned(), Json::Null);
        let schema = of_table(table, definitions);
        definitions.insert(table.name.to_owned(), schema);
    }
    json!({ "$ref": format!("#/definitions/{}", table.name) })
}

fn of_value(value: Value, definitions: &mut Map<String, Json>) -> Json {
    let text = || json!({ "type": "string" });
    let texts = || json!({ "type": "array", "items": { "type": "string" } });
    match value {
        Value::Text => text(),
        Value::TextOrNumber => json!({ "type": ["string", "number"] }),
        Value::Word(words) => json!({ "enum": words }),
        Value::Texts => texts(),
        Value::TextOrTexts => json!({ "anyOf": [text(), texts()] }),
        Value::Number(least, most) => json!({ "type": "integer", "minimum": least, "maximum": most }),
        Value::Decimal => json!({ "type": "number" }),
        Value::Switch => json!({ "type": "boolean" }),
        Value::Duration => json!({ "type": "string", "pattern": "^[0-9.]+ *(ns|us|ms|s|min)$" }),
        Value::Size => json!({ "type": "string", "pattern": "^[0-9.]+ *[KMG]$" }),
        Value::Cpus => json!({ "type": ["string", "integer"] }),
        Value::Settings => {
            json!({ "type": "object", "additionalProperties": { "type": ["string", "integer"] } })
        }
        Value::Sources => json!({ "type": "object", "additionalProperties": text() }),
        Value::Work => json!({ "anyOf": [{ "enum": study::BUILT_IN }, texts()] }),
        Value::Matrix => matrix(definitions),
        Value::Quantiles => {
            let point = [of_value(Value::Decimal, definitions), of_value(Value::Duration, definitions)];
            json!({ "type": "array", "items": { "type": "array", "items": point, "minItems": 2, "maxItems": 2 } })
        }
        Value::Any => json!({}),
        Value::Inner(table) => reference(table, definitions),
        Value::Tables(table) => json!({ "type": "array", "items": reference(table, definitions) }),
        Value::Named(table) => {
            json!({ "type": "object", "additionalProperties": reference(table, definitions) })
        }
    }
}

/// Each axis is a list of values: of a key of a case its values, else tables that set several keys.
fn matrix(definitions: &mut Map<String, Json>) -> Json {
    let labelled = reference(&study::LABELLED, definitions);
    let axis = |key: &Key| {
        let values = json!({ "anyOf": [labelled, { "type": ["string", "integer"] }] });
        (key.name.to_owned(), json!({ "type": "array", "items": values, "description": key.text }))
    };
    let axes: Map<String, Json> = study::CASE.keys().map(axis).collect();
    let bundle = reference(&study::BUNDLE, definitions);
    let other = json!({ "type": "array", "items": bundle });
    json!({ "type": "object", "properties": axes, "additionalProperties": other })
}

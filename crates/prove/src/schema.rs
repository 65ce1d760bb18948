//! Validates a document against a JSON Schema (draft 2020-12), with the keywords that this project's schema and
//! those of Kubernetes use.

use serde_json::{Map, Value};

/// Keywords that do not affect which documents are valid.
const ANNOTATIONS: [&str; 8] =
    ["$comment", "$defs", "$id", "$schema", "default", "description", "format", "title"];

/// A schema with only known keywords, so that none is skipped silently.
pub struct Schema(Value);

impl Schema {
    /// If a keyword is unknown or has a value of the wrong form, or if a reference cannot be resolved.
    pub fn new(root: Value) -> Self {
        let schema = Self(root);
        schema.know(&schema.0, "#");
        schema
    }

    /// The defects of the document, each with its position; empty if it is valid.
    pub fn faults(&self, document: &Value) -> Vec<String> {
        let mut faults = Vec::new();
        self.check(&self.0, document, "", &mut faults);
        faults
    }

    fn target(&self, reference: &Value) -> Option<&Value> {
        self.0.pointer(reference.as_str()?.strip_prefix('#')?)
    }

    fn know(&self, schema: &Value, at: &str) {
        if schema.is_boolean() {
            return;
        }
        let keywords = schema.as_object().unwrap_or_else(|| panic!("{at}: is not a schema"));
        for (word, value) in keywords {
            let at = format!("{at}/{word}");
            let sound = match word.as_str() {
                "$ref" => self.target(value).is_some(),
                "type" => value.is_string() || value.is_array(),
                "enum" | "required" => value.is_array(),
                "minimum" | "maximum" => value.is_number(),
                "minItems" | "maxItems" => value.is_u64(),
                "const" => true,
                "properties" | "$defs" => value.is_object(),
                "anyOf" | "oneOf" | "prefixItems" => value.is_array(),
                "items" | "additionalProperties" => true,
                word => ANNOTATIONS.contains(&word),
            };
            assert!(sound, "{at}: unknown keyword, or not with {value}");
            match (word.as_str(), value) {
                ("properties" | "$defs", Value::Object(parts)) => {
                    parts.iter().for_each(|(name, part)| self.know(part, &format!("{at}/{name}")));
                }
                ("anyOf" | "oneOf" | "prefixItems", Value::Array(parts)) => {
                    parts.iter().for_each(|part| self.know(part, &at));
                }
                ("items" | "additionalProperties", part) => self.know(part, &at),
                _ => {}
            }
        }
    }

    fn is_valid(&self, schema: &Value, value: &Value) -> bool {
        let mut faults = Vec::new();
        self.check(schema, value, "", &mut faults);
        faults.is_empty()
    }

    fn check(&self, schema: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
        let Some(keywords) = schema.as_object() else {
            if schema == &Value::Bool(false) {
                faults.push(format!("{at}: may not be here"));
            }
            return;
        };
        for (word, wanted) in keywords {
            let valid = match (word.as_str(), wanted) {
                ("$ref", reference) => {
                    self.check(self.target(reference).expect("known"), value, at, faults);
                    true
                }
                ("type", Value::Array(kinds)) => kinds.iter().any(|kind| is_a(value, kind)),
                ("type", kind) => is_a(value, kind),
                ("const", constant) => value == constant,
                ("enum", Value::Array(values)) => values.contains(value),
                ("minimum", least) => value.as_f64().is_none_or(|n| Some(n) >= least.as_f64()),
                ("maximum", most) => value.as_f64().is_none_or(|n| Some(n) <= most.as_f64()),
                ("minItems", least) => length(value).is_none_or(|n| Some(n) >= least.as_u64()),
                ("maxItems", most) => length(value).is_none_or(|n| Some(n) <= most.as_u64()),
                ("required", Value::Array(names)) => value.as_object().is_none_or(|object| {
                    names.iter().all(|name| name.as_str().is_some_and(|n| object.contains_key(n)))
                }),
                ("anyOf", Value::Array(parts)) => parts.iter().any(|p| self.is_valid(p, value)),
                ("oneOf", Value::Array(parts)) => {
                    parts.iter().filter(|p| self.is_valid(p, value)).count() == 1
                }
                _ => true,
            };
            if !valid {
                faults.push(format!("{at}: is not {wanted} ({word}), but {value:.200}"));
            }
        }
        match value {
            Value::Object(object) => self.check_members(keywords, object, at, faults),
            Value::Array(items) => self.check_items(keywords, items, at, faults),
            _ => {}
        }
    }

    fn check_members(
        &self,
        keywords: &Map<String, Value>,
        object: &Map<String, Value>,
        at: &str,
        faults: &mut Vec<String>,
    ) {
        for (name, value) in object {
            let own = keywords.get("properties").and_then(|known| known.get(name));
            if let Some(schema) = own.or_else(|| keywords.get("additionalProperties")) {
                self.check(schema, value, &format!("{at}/{name}"), faults);
            }
        }
    }

    fn check_items(
        &self,
        keywords: &Map<String, Value>,
        items: &[Value],
        at: &str,
        faults: &mut Vec<String>,
    ) {
        for (i, value) in items.iter().enumerate() {
            let own = keywords.get("prefixItems").and_then(|first| first.get(i));
            if let Some(schema) = own.or_else(|| keywords.get("items")) {
                self.check(schema, value, &format!("{at}/{i}"), faults);
            }
        }
    }
}

fn length(value: &Value) -> Option<u64> {
    value.as_array().map(|items| items.len() as u64)
}

fn is_a(value: &Value, kind: &Value) -> bool {
    match kind.as_str() {
        Some("null") => value.is_null(),
        Some("boolean") => value.is_boolean(),
        Some("string") => value.is_string(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        Some("number") => value.is_number(),
        Some("integer") => {
            value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|n| n.fract() == 0.0)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Each keyword with documents that satisfy it and others that do not, as in the
    /// JSON-Schema-Test-Suite (draft 2020-12).
    #[test]
    fn each_keyword_accepts_and_refuses() {
        for (schema, valid, invalid) in [
            (json!({ "type": "integer" }), json!([1, 1.0, -1]), json!([1.1, "1", null, true, {}])),
            (json!({ "type": ["string", "null"] }), json!(["a", null]), json!([1, [], false])),
            (json!({ "type": "number" }), json!([1, 1.5]), json!(["1", null, true])),
            (json!({ "const": "a" }), json!(["a"]), json!(["b", null])),
            (json!({ "enum": [6, "foo", [], true] }), json!([6, [], true]), json!([7, "bar", {}])),
            (json!({ "minimum": 1.1 }), json!([1.1, 2, "x"]), json!([0.6, -3])),
            (json!({ "maximum": 3 }), json!([3, 2.9, "x"]), json!([3.5])),
            (json!({ "minItems": 1 }), json!([[1], "", {}]), json!([[]])),
            (json!({ "maxItems": 2 }), json!([[1, 2], [], 3]), json!([[1, 2, 3]])),
            (json!({ "required": ["a"] }), json!([{ "a": 1 }, 12]), json!([{}, { "b": 1 }])),
            (
                json!({ "anyOf": [{ "type": "integer" }, { "minimum": 2 }] }),
                json!([1, 2.5, 3]),
                json!([1.5]),
            ),
            (
                json!({ "oneOf": [{ "type": "integer" }, { "minimum": 2 }] }),
                json!([1, 2.5]),
                json!([3, 1.5]),
            ),
            (json!({ "items": { "type": "integer" } }), json!([[1, 2], [], {}]), json!([[1, "x"]])),
            (
                json!({ "prefixItems": [true, { "type": "string" }], "items": false }),
                json!([[1, "a"], [1], []]),
                json!([[1, 2], [1, "a", 3]]),
            ),
            (
                json!({ "properties": { "a": { "type": "integer" } }, "additionalProperties": false }),
                json!([{ "a": 1 }, {}, 7]),
                json!([{ "a": "1" }, { "a": 1, "b": 2 }]),
            ),
            (
                json!({ "additionalProperties": { "type": "boolean" } }),
                json!([{ "a": true }]),
                json!([{ "a": 1 }]),
            ),
            (
                json!({ "$ref": "#/$defs/list", "$defs": { "list": { "items": { "$ref": "#/$defs/list" }, "type": "array" } } }),
                json!([[], [[[]]]]),
                json!([1, [[2]]]),
            ),
        ] {
            let checked = Schema::new(schema.clone());
            for document in valid.as_array().unwrap() {
                assert_eq!(checked.faults(document), [""; 0], "{schema}");
            }
            for document in invalid.as_array().unwrap() {
                assert!(!checked.faults(document).is_empty(), "{schema}: {document}");
            }
        }
    }

    #[test]
    fn what_is_not_known_is_not_skipped() {
        for schema in [
            json!({ "pattern": "^a" }),
            json!({ "properties": { "a": { "minLength": 1 } } }),
            json!({ "items": [] }),
            json!({ "$ref": "#/$defs/none" }),
            json!({ "minItems": "1" }),
        ] {
            let known = std::panic::catch_unwind(|| Schema::new(schema.clone()));
            assert!(known.is_err(), "{schema}");
        }
    }

    #[test]
    fn a_fault_names_its_place() {
        let schema =
            Schema::new(json!({ "properties": { "a": { "items": { "type": "string" } } } }));
        let faults = schema.faults(&json!({ "a": ["x", 5] }));
        assert_eq!(faults, ["/a/1: is not \"string\" (type), but 5"]);
    }
}

//! A JSON document in canonical form: compact, with the names in each object sorted.
//!
//! This form equals the output of `serde_json::Value`, but does not need a tree of values, which would take twenty
//! times as much memory as the text.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Number;

/// The values of the object `json` in canonical form, by name.
pub(crate) fn fields(json: &str) -> Result<BTreeMap<String, String>, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let found = deserializer.deserialize_map(Fields)?;
    deserializer.end()?;
    Ok(found)
}

/// The object with all of these fields, except the field `without`.
pub(crate) fn object(fields: &BTreeMap<String, String>, without: Option<&str>) -> String {
    let shown = fields.iter().filter(|(name, _)| Some(name.as_str()) != without);
    let parts: Vec<String> =
        shown.map(|(name, value)| format!("{}:{value}", quoted(name))).collect();
    format!("{{{}}}", parts.join(","))
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("text is JSON")
}

struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = BTreeMap<String, String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut found = BTreeMap::new();
        while let Some(name) = entries.next_key()? {
            found.insert(name, entries.next_value_seed(Value)?);
        }
        Ok(found)
    }
}

/// Any value, as its text.
struct Value;

impl<'de> DeserializeSeed<'de> for Value {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Value {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<String, E> {
        Ok(value.to_string())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<String, E> {
        Ok(value.to_string())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<String, E> {
        Ok(value.to_string())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<String, E> {
        Ok(Number::from_f64(value).map_or("null".to_owned(), |number| number.to_string()))
    }

    fn visit_unit<E: Error>(self) -> Result<String, E> {
        Ok("null".to_owned())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<String, E> {
        Ok(quoted(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<String, A::Error> {
        let mut out = "[".to_owned();
        while let Some(item) = items.next_element_seed(Value)? {
            if out.len() > 1 {
                out.push(',');
            }
            out.push_str(&item);
        }
        Ok(out + "]")
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<String, A::Error> {
        Ok(object(&Fields.visit_map(entries)?, None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Digests of earlier versions must stay the same.
    #[test]
    fn it_is_what_a_value_prints() {
        let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/../cli/tests/fixtures/readme.json");
        let fixture = std::fs::read_to_string(fixture).unwrap();
        let odd = r#" {"b": [1, -2, 3.0, 1e300, 0.1, 18446744073709551615, -0.0, 1E5, 12345678901234567890123],
            "a": {"z": null, "": true, "\u0000\"": "\u00fc\n\\/"}, "b2": [], "c": {}, "d": [[], [{}]], "a": "again"} "#;
        for json in [fixture.as_str(), odd, "{}"] {
            let value: serde_json::Value = serde_json::from_str(json).unwrap();
            assert_eq!(object(&fields(json).unwrap(), None), value.to_string());
        }
        for bad in ["[]", "{\"a\": }", "{} {}", "{\"a\": 1"] {
            assert!(fields(bad).is_err(), "{bad}");
        }
        assert_eq!(object(&fields(r#"{"b": 1, "a": 2}"#).unwrap(), Some("b")), r#"{"a":2}"#);
    }
}

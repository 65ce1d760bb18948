//! The JSON Schemas of the document and of events. A test generates them from the types, whose doc comments become the
//! descriptions.

/// The JSON Schema (draft 2020-12) of a record as this version reads it. Properties that earlier
/// records of the same version lack are optional, and unknown properties are allowed.
pub const JSON_SCHEMA: &str = include_str!("../../../docs/schema/record.schema.json");

#[cfg(test)]
mod tests {
    use schemars::generate::SchemaSettings;
    use schemars::transform::{Transform, transform_subschemas};
    use schemars::{JsonSchema, Schema};
    use serde_json::Value;

    use super::JSON_SCHEMA;
    use crate::{Event, Record};

    /// Identifies the schema of records; nothing loads it.
    const RECORD: &str = "urn:cryptbench:record:1";

    fn generated<T: JsonSchema>(id: &str, title: &str) -> Schema {
        let generator = SchemaSettings::draft2020_12().with_transform(PlainWords).into_generator();
        let mut schema = generator.into_root_schema_for::<T>();
        schema.insert("$id".to_owned(), id.into());
        schema.insert("title".to_owned(), title.into());
        schema
    }

    fn same(generated: Schema, committed: &str, name: &str) {
        let generated = format!("{:#}\n", generated.to_value());
        if generated != committed {
            let new = std::env::temp_dir().join(name);
            std::fs::write(&new, generated).unwrap();
            panic!("copy {} to docs/schema/{name}", new.display());
        }
    }

    #[test]
    fn the_committed_schemas_are_what_the_types_say() {
        let title = format!("{} ({})", Record::schema_name(), crate::SCHEMA);
        same(generated::<Record>(RECORD, &title), JSON_SCHEMA, "record.schema.json");
        let mut event = generated::<Event>("urn:cryptbench:event:1", "Event");
        event.remove("$defs");
        OfRecord.transform(&mut event);
        let committed = include_str!("../../../docs/schema/event.schema.json");
        same(event, committed, "event.schema.json");
    }

    /// Makes references to definitions of events those to the record's, which are the same.
    #[derive(Clone, Debug)]
    struct OfRecord;

    impl Transform for OfRecord {
        fn transform(&mut self, schema: &mut Schema) {
            if let Some(Value::String(at)) = schema.get_mut("$ref") {
                *at = match at.as_str() {
                    "#/$defs/Record" => RECORD.to_owned(),
                    other => format!("{RECORD}{other}"),
                };
            }
            transform_subschemas(self, schema);
        }
    }

    /// Replaces rustdoc links in descriptions with their text.
    #[derive(Clone, Debug)]
    struct PlainWords;

    impl Transform for PlainWords {
        fn transform(&mut self, schema: &mut Schema) {
            if let Some(Value::String(words)) = schema.get_mut("description") {
                *words = without_links(&unwrapped(words));
            }
            transform_subschemas(self, schema);
        }
    }

    /// Joins the lines of each paragraph.
    fn unwrapped(words: &str) -> String {
        let paragraphs: Vec<String> = words.split("\n\n").map(|p| p.replace('\n', " ")).collect();
        paragraphs.join("\n\n")
    }

    /// Turns `[words](Path)` into `words`; a link in backticks keeps its backticks. Keeps brackets that
    /// are not links.
    fn without_links(words: &str) -> String {
        let mut out = String::with_capacity(words.len());
        let mut rest = words;
        while let Some((before, after)) = rest.split_once('[') {
            out.push_str(before);
            let Some((inner, tail)) = after.split_once(']') else {
                out.push('[');
                rest = after;
                continue;
            };
            let target = tail.strip_prefix('(').and_then(|t| t.split_once(')'));
            match target {
                Some((_, tail)) => {
                    out.push_str(inner);
                    rest = tail;
                }
                None if inner.starts_with('`') && inner.ends_with('`') => {
                    out.push_str(inner);
                    rest = tail;
                }
                None => {
                    out.push('[');
                    rest = after;
                }
            }
        }
        out + rest
    }

    #[test]
    fn links_of_the_documentation_become_words() {
        for (from, to) in [
            ("As in [`Target::directory`].", "As in `Target::directory`."),
            ("The [part](Trial::parts) of it", "The part of it"),
            ("An array [0, 1] stays, and [ alone", "An array [0, 1] stays, and [ alone"),
        ] {
            assert_eq!(without_links(from), to);
        }
    }

    #[test]
    fn units_are_told_and_nothing_of_rust_shows() {
        let text = JSON_SCHEMA;
        assert!(text.contains("Measured seconds.") && text.contains("in microseconds"), "{text}");
        assert_eq!(unwrapped("a\nb\n\nc"), "a b\n\nc");
        assert!(!text.contains("[`") && !text.contains("crate::"), "{text}");
    }
}

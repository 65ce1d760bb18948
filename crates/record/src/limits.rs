//! Limits on the contents of a document, so that a file of moderate size cannot fill the memory.
//!
//! A value needs more space in memory than in its file: an empty string takes 24 bytes in memory and 3 bytes in the
//! file, and reports copy strings. A limit on the size of the file is therefore not enough.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

/// The maximum contents of one file.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Values of any kind.
    pub values: usize,
    /// Texts, including the names in maps with arbitrary names.
    pub texts: usize,
    /// Bytes of one text.
    pub text_bytes: usize,
    /// Items of a list that is not in `long_lists`.
    pub list: usize,
    /// Lists that may be longer, with their maximum number of items.
    pub long_lists: &'static [(&'static str, usize)],
    /// Maps with arbitrary names.
    pub free_maps: &'static [&'static str],
}

/// The largest built-in profile is iozone's, which has 1,638 workloads with 5 trials each. With six arms, it
/// produces 49,140 trials and 1.5 million values in 57 MB. These limits are ten times as high.
pub const RECORD: Limits = Limits {
    values: 16_000_000,
    texts: 4_000_000,
    text_bytes: 64 << 10,
    list: 10_000,
    long_lists: &[
        ("trials", 500_000),
        ("cells", 500_000),
        ("at_us", 1_000_000),
        ("elapsed_us", 1_000_000),
        ("ios", 1_000_000),
        ("offset", 1_000_000),
        ("latency_us", 1_000_000),
    ],
    free_maps: &["parts", "settings"],
};

/// Counts the contents of the documents in one file.
#[derive(Debug)]
pub struct Counter {
    limits: Limits,
    values: usize,
    texts: usize,
    /// The name of the latest value in a map.
    name: String,
    exceeded: Option<String>,
}

impl Counter {
    /// Nothing is counted yet.
    pub fn new(limits: Limits) -> Self {
        Self { limits, values: 0, texts: 0, name: String::new(), exceeded: None }
    }

    /// Counts the JSON value at the start of `json`, without keeping any of it. Invalid JSON is not reported here,
    /// because the parser reports it.
    ///
    /// # Errors
    /// The excess and its limit, as a clause.
    pub fn add(&mut self, json: &str) -> Result<(), String> {
        self.name.clear();
        let mut deserializer = serde_json::Deserializer::from_str(json);
        let _ = Value(self).deserialize(&mut deserializer);
        self.exceeded.take().map_or(Ok(()), Err)
    }

    fn refuse<E: serde::de::Error>(&mut self, problem: String) -> E {
        let error = E::custom(&problem);
        self.exceeded = Some(problem);
        error
    }

    fn value<E: serde::de::Error>(&mut self) -> Result<(), E> {
        self.values += 1;
        match self.values > self.limits.values {
            true => Err(self.refuse(format!("it has more than {} values", self.limits.values))),
            false => Ok(()),
        }
    }

    fn text<E: serde::de::Error>(&mut self, text: &str) -> Result<(), E> {
        self.texts += 1;
        if self.texts > self.limits.texts {
            return Err(self.refuse(format!("it has more than {} texts", self.limits.texts)));
        }
        if text.len() > self.limits.text_bytes {
            let (name, most) = (&self.name, self.limits.text_bytes);
            return Err(self.refuse(format!("a text in {name:?} is longer than {most} bytes")));
        }
        Ok(())
    }

    fn most_items(&self) -> usize {
        let long = self.limits.long_lists.iter().find(|(name, _)| *name == self.name);
        long.map_or(self.limits.list, |(_, most)| *most)
    }
}

/// A value to be counted.
struct Value<'a>(&'a mut Counter);

impl<'de> DeserializeSeed<'de> for Value<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Value<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E: serde::de::Error>(self, _: bool) -> Result<(), E> {
        self.0.value()
    }

    fn visit_i64<E: serde::de::Error>(self, _: i64) -> Result<(), E> {
        self.0.value()
    }

    fn visit_u64<E: serde::de::Error>(self, _: u64) -> Result<(), E> {
        self.0.value()
    }

    fn visit_f64<E: serde::de::Error>(self, _: f64) -> Result<(), E> {
        self.0.value()
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        self.0.value()
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<(), E> {
        self.0.value()?;
        self.0.text(text)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        self.0.value()?;
        let (name, most) = (self.0.name.clone(), self.0.most_items());
        let mut found = 0;
        while items.next_element_seed(Value(&mut *self.0))?.is_some() {
            found += 1;
            if found > most {
                let problem = format!("the list {name:?} has more than {most} items");
                return Err(self.0.refuse(problem));
            }
            // The items of nested lists count under the name of the outer list.
            self.0.name.clone_from(&name);
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        self.0.value()?;
        let is_free = self.0.limits.free_maps.contains(&self.0.name.as_str());
        while entries.next_key_seed(Name(&mut *self.0, is_free))?.is_some() {
            entries.next_value_seed(Value(&mut *self.0))?;
        }
        Ok(())
    }
}

/// The name of a value, and whether it counts as a text.
struct Name<'a>(&'a mut Counter, bool);

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Name<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<(), E> {
        let Self(counter, is_free) = self;
        if name.len() > counter.limits.text_bytes {
            let most = counter.limits.text_bytes;
            return Err(counter.refuse(format!("a name is longer than {most} bytes")));
        }
        counter.name.clear();
        // Enough to recognise it in a message.
        counter.name.extend(name.chars().take(40));
        if is_free { counter.text(name) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Limits = Limits {
        values: 12,
        texts: 3,
        text_bytes: 6,
        list: 2,
        long_lists: &[("trials", 4)],
        free_maps: &["parts"],
    };

    fn judged(json: &str) -> String {
        Counter::new(SMALL).add(json).err().unwrap_or_default()
    }

    #[test]
    fn each_limit_is_met_and_named() {
        for (json, said) in [
            (r#"{"notes": ["", ""], "trials": [1, 2, 3, 4]}"#, ""),
            (r#"{"notes": ["", "", ""]}"#, r#"the list "notes" has more than 2 items"#),
            (r#"{"trials": [1, 2, 3, 4, 5]}"#, r#"the list "trials" has more than 4 items"#),
            (r#"[[1, 2], {"a": 1}, 3]"#, r#"the list "" has more than 2 items"#),
            (r#"{"a": ["", ""], "b": ["", ""]}"#, "it has more than 3 texts"),
            (r#"{"parts": {"a": 1, "b": 2, "c": 3, "d": 4}}"#, "it has more than 3 texts"),
            (r#"{"other": {"a": 1, "b": 2, "c": 3, "d": 4}}"#, ""),
            (r#"{"note": "1234567"}"#, r#"a text in "note" is longer than 6 bytes"#),
            (r#"{"1234567": 1}"#, "a name is longer than 6 bytes"),
            (r#"{"trials": [[1, 2], [1, 2], [1, 2], [1, 2]]}"#, "it has more than 12 values"),
            ("{ not JSON", ""),
        ] {
            assert_eq!(judged(json), said, "{json}");
        }
    }

    #[test]
    fn the_lines_of_a_log_are_counted_together() {
        let mut counter = Counter::new(SMALL);
        assert_eq!([0; 3].map(|_| counter.add("\"a\"")), [Ok(()), Ok(()), Ok(())]);
        assert!(counter.add("\"a\"").is_err());
    }
}

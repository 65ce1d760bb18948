//! Property lists in XML, both in the form that macOS uses and in CoreStorage's form, in which values have numbers and
//! refer to each other.

use std::collections::HashMap;
use std::rc::Rc;

use base64ct::{Base64, Encoding as _};

/// Maximum nesting depth of containers; macOS has five levels.
const MOST_DEPTH: usize = 16;

/// Maximum length in bytes of a text that is copied, or of Base64 data that is decoded, because all values
/// could refer to one text. The longest text needed here has 284 bytes.
const MOST_TEXT: usize = 4096;

/// A value.
#[derive(Clone, Debug)]
pub(super) enum Plist {
    /// Names and values, in their order.
    Dict(Vec<(String, Rc<Plist>)>),
    Array(Vec<Rc<Plist>>),
    /// Text, a number, a date, or bytes in Base64.
    Text(String),
}

impl Plist {
    /// Reads a property list, which zeros may follow.
    ///
    /// # Errors
    /// A message that states what is wrong.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let len = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        let text = std::str::from_utf8(&bytes[..len])
            .map_err(|_| "a property list is not UTF-8".to_owned())?;
        let mut parser = Parser { rest: text, numbered: HashMap::new(), deepest: 0 };
        let mut tag = parser.tag()?;
        if tag.name == "plist" {
            tag = parser.tag()?;
        }
        let value = parser.value(&tag, 0)?;
        Ok(Rc::unwrap_or_clone(value))
    }

    /// The value called `name`.
    pub(super) fn get(&self, name: &str) -> Option<&Self> {
        let Self::Dict(all) = self else { return None };
        all.iter().find(|(known, _)| known == name).map(|(_, value)| &**value)
    }

    /// The values of an array.
    pub(super) fn items(&self) -> impl Iterator<Item = &Self> {
        let all: &[Rc<Self>] = match self {
            Self::Array(all) => all,
            _ => &[],
        };
        all.iter().map(|value| &**value)
    }

    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The text called `name`, unless it is empty or longer than [`MOST_TEXT`].
    pub(super) fn text_of(&self, name: &str) -> Option<String> {
        let text = self.get(name)?.text()?.trim();
        (1..=MOST_TEXT).contains(&text.len()).then(|| text.to_owned())
    }

    /// A number, decimal or hexadecimal.
    pub(super) fn number(&self) -> Option<u64> {
        let text = self.text()?.trim();
        match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        }
    }

    /// The bytes of Base64 text, unless it is longer than [`MOST_TEXT`].
    pub(super) fn bytes(&self) -> Option<Vec<u8>> {
        let text = self.text().filter(|text| text.len() <= MOST_TEXT)?;
        let text: String = text.split_ascii_whitespace().collect();
        Base64::decode_vec(&text).ok()
    }
}

/// A tag: `<name attributes>`, `</name>` or `<name/>`.
struct Tag<'a> {
    name: &'a str,
    attributes: &'a str,
    closes: bool,
    /// It has no contents.
    empty: bool,
}

impl<'a> Tag<'a> {
    fn new(inside: &'a str) -> Self {
        let (closes, inside) = match inside.strip_prefix('/') {
            Some(inside) => (true, inside),
            None => (false, inside),
        };
        let (empty, inside) = match inside.strip_suffix('/') {
            Some(inside) => (true, inside),
            None => (false, inside),
        };
        let (name, attributes) = inside
            .trim()
            .split_once(|c: char| c.is_ascii_whitespace())
            .unwrap_or((inside.trim(), ""));
        Self { name, attributes, closes, empty }
    }

    /// The number in the attribute `name`.
    fn number(&self, name: &str) -> Option<u32> {
        let mut words = self.attributes.split_ascii_whitespace();
        let value = words.find_map(|word| word.strip_prefix(name)?.strip_prefix('='))?;
        value.trim_matches(['"', '\'']).parse().ok()
    }
}

struct Parser<'a> {
    rest: &'a str,
    /// Values to which others can refer, and their nesting depths.
    numbered: HashMap<u32, (Rc<Plist>, usize)>,
    /// The deepest level of the value that is being read.
    deepest: usize,
}

impl<'a> Parser<'a> {
    /// The next tag, after any white space, declarations and comments.
    fn tag(&mut self) -> Result<Tag<'a>, String> {
        loop {
            let inside = self.rest.trim_start().strip_prefix('<');
            let inside =
                inside.ok_or("a property list contains something else where a tag is expected")?;
            let end = if inside.starts_with("!--") { "-->" } else { ">" };
            let (tag, rest) = inside.split_once(end).ok_or("a property list is truncated")?;
            self.rest = rest;
            if !tag.starts_with(['?', '!']) {
                return Ok(Tag::new(tag));
            }
        }
    }

    /// The text up to the tag that closes `name`.
    fn text(&mut self, name: &str) -> Result<String, String> {
        let end = self.rest.find('<').ok_or("a property list is truncated")?;
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        let tag = self.tag()?;
        match tag.closes && tag.name == name {
            true => unescape(text),
            false => Err(format!("a {name} in a property list is not closed")),
        }
    }

    /// The value that begins with `tag`.
    fn value(&mut self, tag: &Tag<'a>, depth: usize) -> Result<Rc<Plist>, String> {
        let nested = || Err("a property list is not nested correctly".to_owned());
        if depth == MOST_DEPTH || tag.closes {
            return nested();
        }
        if tag.name == "reference" {
            let known = tag.number("IDREF").and_then(|number| self.numbered.get(&number).cloned());
            if !tag.empty && !self.tag()?.closes {
                return Err("a reference in a property list is not closed".to_owned());
            }
            let (value, height) = known.ok_or("a reference in a property list has no target")?;
            if depth + height >= MOST_DEPTH {
                return nested();
            }
            self.deepest = self.deepest.max(depth + height);
            return Ok(value);
        }
        let outer = std::mem::replace(&mut self.deepest, depth);
        let value = Rc::new(match tag.name {
            "dict" if tag.empty => Plist::Dict(Vec::new()),
            "dict" => Plist::Dict(self.dict(depth)?),
            "array" if tag.empty => Plist::Array(Vec::new()),
            "array" => Plist::Array(self.array(depth)?),
            "string" | "integer" | "data" | "date" | "real" if tag.empty => {
                Plist::Text(String::new())
            }
            "string" | "integer" | "data" | "date" | "real" => Plist::Text(self.text(tag.name)?),
            "true" | "false" if tag.empty => Plist::Text(tag.name.to_owned()),
            _ => return Err("a property list contains a value of unknown type".to_owned()),
        });
        if let Some(number) = tag.number("ID") {
            self.numbered.insert(number, (Rc::clone(&value), self.deepest - depth));
        }
        self.deepest = self.deepest.max(outer);
        Ok(value)
    }

    fn dict(&mut self, depth: usize) -> Result<Vec<(String, Rc<Plist>)>, String> {
        let mut all = Vec::new();
        loop {
            let tag = self.tag()?;
            match (tag.name, tag.closes) {
                ("dict", true) => return Ok(all),
                ("key", false) => {
                    let name = if tag.empty { String::new() } else { self.text("key")? };
                    let tag = self.tag()?;
                    all.push((name, self.value(&tag, depth + 1)?));
                }
                _ => {
                    return Err(
                        "a dict in a property list contains something else where a key is expected"
                            .to_owned(),
                    );
                }
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Vec<Rc<Plist>>, String> {
        let mut all = Vec::new();
        loop {
            let tag = self.tag()?;
            if tag.closes && tag.name == "array" {
                return Ok(all);
            }
            all.push(self.value(&tag, depth + 1)?);
        }
    }
}

/// Replaces the character entities of XML.
fn unescape(text: &str) -> Result<String, String> {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('&') {
        let (entity, behind) =
            behind.split_once(';').ok_or("an entity in a property list is not terminated")?;
        plain.push_str(before);
        plain.push(match entity {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "apos" => '\'',
            _ => numeric(entity).ok_or("a property list contains an unknown entity")?,
        });
        rest = behind;
    }
    plain.push_str(rest);
    Ok(plain)
}

/// `#65` or `#x41`.
fn numeric(entity: &str) -> Option<char> {
    let digits = entity.strip_prefix('#')?;
    let code = match digits.strip_prefix('x') {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => digits.parse(),
    };
    char::from_u32(code.ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read() {
        let core_storage = br#"<dict ID="0"><key>a</key><dict ID="1"><key>n</key><integer size="32" ID="2">0x1f</integer>
            <key>again</key><reference IDREF="2"/></dict><key>empty</key><string ID="3"></string></dict>"#;
        let plist = Plist::parse(&[core_storage, &[0; 9][..]].concat()).unwrap();
        let inner = plist.get("a").unwrap();
        assert_eq!(inner.get("n").unwrap().number(), Some(31));
        assert_eq!(inner.get("again").unwrap().number(), Some(31));
        assert_eq!((plist.text_of("empty"), plist.get("nothing").is_none()), (None, true));
        let apple = b"<?xml version=\"1.0\"?><!DOCTYPE plist PUBLIC \"x\" \"y\"><!-- > -->\n<plist version=\"1.0\"><array>
            <string>A &amp; &lt;B&gt; &#65;&#x42;</string><data>\n\tAAEC\n\tAwQ=\n</data><true/><dict/><string/></array></plist>";
        let plist = Plist::parse(apple).unwrap();
        let all: Vec<&Plist> = plist.items().collect();
        assert_eq!(all[0].text(), Some("A & <B> AB"));
        assert_eq!(all[1].bytes().unwrap(), [0, 1, 2, 3, 4]);
        assert_eq!((all[2].text(), all.len()), (Some("true"), 5));
    }

    #[test]
    fn texts_longer_than_any_that_is_needed_are_not_copied() {
        for (len, there) in [(MOST_TEXT, true), (MOST_TEXT + 4, false)] {
            let text = "A".repeat(len);
            let text = format!("<dict><key>a</key><string>{text}</string></dict>");
            let plist = Plist::parse(text.as_bytes()).unwrap();
            assert_eq!(plist.text_of("a").is_some(), there);
            assert_eq!(plist.get("a").unwrap().bytes().is_some(), there);
        }
    }

    #[test]
    fn what_is_no_property_list_is_refused() {
        let deep = "<array>".repeat(100);
        let deeper = |times: usize| {
            let level = r#"<array ID="1"><reference IDREF="1"/></array>"#.repeat(times);
            format!(r#"<array><array ID="1"/>{level}</array>"#)
        };
        assert!(Plist::parse(deeper(MOST_DEPTH - 2).as_bytes()).is_ok());
        let by_references = deeper(MOST_DEPTH - 1);
        for text in [
            "",
            "text",
            "<dict>",
            "<dict><key>a</key></dict>",
            "<dict><key>a<string>b</string></dict>",
            "<dict><string>b</string></dict>",
            "<reference IDREF=\"1\"/>",
            "<array ID=\"1\"><reference IDREF=\"1\"/></array>",
            "<string>&nbsp;</string>",
            "<string>&#xd800;</string>",
            "</dict>",
            "<key>a</key>",
            &deep,
            &by_references,
        ] {
            assert!(Plist::parse(text.as_bytes()).is_err(), "{text}");
        }
        assert!(Plist::parse(b"<string>\xff</string>").is_err());
    }
}

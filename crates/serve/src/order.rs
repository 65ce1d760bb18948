//! The order of a page, and its conversion to a command line. The program itself then checks the values
//! ([`Site::plan`](crate::Site)); this module decides what a page may request, and what may be overwritten. No
//! shell is involved.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path};

use serde::Deserialize;

use crate::Offered;

/// Maximum length of a path that the kernel accepts.
const PATH_MAX: usize = 4096;
/// Maximum number of signatures of one device.
const MOST_SIGNATURES: usize = 16;

/// The form as sent by the page. Empty fields leave the choice to the program.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Order {
    /// A directory, or the file or device to overwrite.
    pub target: String,
    /// The target to overwrite, typed a second time.
    pub confirm: String,
    /// Signatures on overwritten storage that may be erased.
    pub erase: Vec<String>,
    /// Instead of a target: two prepared locations.
    pub pair: Option<Pair>,
    /// Instead of a target: the name of a modelled device.
    pub emulate: String,
    /// Other options of `run` by name, each with its values as typed; a switch has no values.
    pub options: BTreeMap<String, Vec<String>>,
}

/// Two prepared locations.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Pair {
    /// The plain location.
    pub plain: String,
    /// The plain location typed a second time, if it is overwritten.
    pub confirm_plain: String,
    /// The encrypted location.
    pub encrypted: String,
    /// The encrypted location typed a second time, if it is overwritten.
    pub confirm_encrypted: String,
    /// The label of the encrypted location in tables.
    pub name: String,
}

/// Why an order is refused, and which field of the form causes the refusal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct Invalid {
    /// Name of the field, if it is known.
    pub field: Option<Cow<'static, str>>,
    /// The problem.
    pub problem: String,
}

/// Options whose fields have other names, because they belong to the choice of a location.
const FIELDS: [(&str, &str); 4] =
    [("destroy", "confirm"), ("yes-erase", "erase"), ("pair", "plain"), ("pair-name", "name")];

impl Invalid {
    /// A value that the program refuses. `option` is the long name of the option to which it belongs.
    pub fn value(option: Option<&str>, problem: String) -> Self {
        let field = option.map(|option| {
            let known = FIELDS.iter().find(|(name, _)| *name == option);
            known.map_or_else(|| Cow::Owned(option.to_owned()), |(_, field)| Cow::Borrowed(*field))
        });
        Self { field, problem }
    }
}

impl Order {
    /// If the order would overwrite something whose name was not typed again, has an option that is not `offered`,
    /// or contains a file where the page offers names.
    pub fn arguments(&self, offered: &[Offered]) -> Result<Vec<OsString>, Invalid> {
        named("emulate", &self.emulate)?;
        let mut words = Vec::new();
        for (name, values) in &self.options {
            let Some(option) = offered.iter().find(|option| option.name == *name) else {
                return Err(invalid(name.clone(), "The page does not offer this option."));
            };
            if option.takes.is_none() {
                words.push(format!("--{name}").into());
            }
            for value in values.iter().map(|value| value.trim()).filter(|value| !value.is_empty()) {
                if name == "profile" {
                    named("profile", value)?;
                }
                words.push(format!("--{name}={value}").into());
            }
        }
        let emulate = self.emulate.trim();
        if !emulate.is_empty() {
            words.push(format!("--emulate={emulate}").into());
        }
        self.places(&mut words)?;
        Ok(words)
    }

    /// Adds the things to measure.
    fn places(&self, options: &mut Vec<OsString>) -> Result<(), Invalid> {
        let mut overwritten = Vec::new();
        match &self.pair {
            Some(pair) => {
                let plain = ("plain", &pair.plain, "confirm_plain", &pair.confirm_plain);
                let encrypted =
                    ("encrypted", &pair.encrypted, "confirm_encrypted", &pair.confirm_encrypted);
                for (field, path, confirm, again) in [plain, encrypted] {
                    if consent((field, path), (confirm, again))? {
                        overwritten.push(path);
                    }
                }
                options.extend(["--pair".into(), pair.plain.as_str().into()]);
                options.push(pair.encrypted.as_str().into());
                if !pair.name.trim().is_empty() {
                    options.push(format!("--pair-name={}", pair.name.trim()).into());
                }
            }
            // The program refuses an additional target.
            None if !self.emulate.trim().is_empty() && self.target.is_empty() => {}
            None => {
                if consent(("target", &self.target), ("confirm", &self.confirm))? {
                    overwritten.push(&self.target);
                }
            }
        }
        if overwritten.is_empty() && !self.erase.is_empty() {
            return Err(invalid("erase", "Nothing is overwritten, so nothing can be erased."));
        }
        let is_name = |s: &String| {
            let fits = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
            (1..=40).contains(&s.len()) && s.chars().all(fits) && !s.starts_with('-')
        };
        if self.erase.len() > MOST_SIGNATURES || !self.erase.iter().all(is_name) {
            return Err(invalid(
                "erase",
                "Give signatures as reported by blkid: ext4, crypto_LUKS.",
            ));
        }
        options.extend(overwritten.iter().map(|path| format!("--destroy={path}").into()));
        options.extend(self.erase.iter().map(|name| format!("--yes-erase={name}").into()));
        if self.pair.is_none() && !self.target.is_empty() {
            options.extend(["--".into(), self.target.as_str().into()]);
        }
        Ok(())
    }
}

/// Checks consent to overwrite `path`, and returns whether that is requested. An existing target that is not a
/// directory would be overwritten, so the user must type its exact name again. The run decides whether it may be
/// overwritten at all; for this, it examines all devices below and above the target.
fn consent(
    (field, path): (&'static str, &str),
    (confirm, again): (&'static str, &str),
) -> Result<bool, Invalid> {
    let target = Path::new(path);
    if path.len() >= PATH_MAX || path.contains('\0') {
        return Err(invalid(field, "This is not a path."));
    }
    // Consent depends on the name, so each location must have only one name.
    let plain = target.components().all(|c| !matches!(c, Component::ParentDir));
    if !target.is_absolute() || !plain {
        return Err(invalid(field, "Give the full path, without `..`."));
    }
    let overwrites = fs::metadata(target).is_ok_and(|found| !found.is_dir());
    match (overwrites, again) {
        (false, "") => Ok(false),
        (false, _) => {
            Err(invalid(field, "There is no such file or device, so nothing can be overwritten."))
        }
        (true, again) if again == path => Ok(true),
        (true, _) => {
            let problem =
                "All data on it would be overwritten. To confirm, type its exact path again.";
            Err(invalid(confirm, problem))
        }
    }
}

/// Refuses files where the page offers names.
fn named(field: &'static str, name: &str) -> Result<(), Invalid> {
    match name.contains(['/', '.']) {
        true => {
            Err(invalid(field, "The page accepts only names; `cryptbench run` also accepts files."))
        }
        false => Ok(()),
    }
}

fn invalid(field: impl Into<Cow<'static, str>>, problem: impl Into<String>) -> Invalid {
    Invalid { field: Some(field.into()), problem: problem.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered() -> Vec<Offered> {
        let option = |name: &str, takes: Option<&str>| Offered {
            name: name.to_owned(),
            takes: takes.map(ToOwned::to_owned),
            ..Offered::default()
        };
        let valued = ["system", "budget", "set"].map(|name| option(name, Some("VALUE")));
        valued.into_iter().chain([option("split", None)]).collect()
    }

    fn options(all: &[(&str, &[&str])]) -> BTreeMap<String, Vec<String>> {
        let values = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect();
        all.iter().map(|(name, all)| ((*name).to_owned(), values(all))).collect()
    }

    #[test]
    fn no_value_becomes_an_option() {
        let whole = if cfg!(windows) { "C:/tmp" } else { "/tmp" };
        let order = Order {
            target: whole.to_owned(),
            options: options(&[
                ("system", &["--destroy=/dev/sda"]),
                ("budget", &["-- /etc"]),
                ("set", &["--output=/", "  "]),
                ("split", &[]),
            ]),
            ..Order::default()
        };
        let expected = [
            "--budget=-- /etc",
            "--set=--output=/",
            "--split",
            "--system=--destroy=/dev/sda",
            "--",
            whole,
        ];
        assert_eq!(order.arguments(&offered()).unwrap(), expected);
        for name in ["output", "destroy", "--budget", "budget=1s --destroy", ""] {
            let order = Order { options: options(&[(name, &["x"])]), ..order.clone() };
            let wrong = order.arguments(&offered()).unwrap_err();
            assert_eq!(wrong.field.as_deref(), Some(name));
        }
        for path in ["--output=/", "relative", "/a/../b", "/a\0b", ""] {
            let pair = Pair { plain: path.to_owned(), encrypted: whole.into(), ..Pair::default() };
            let wrong =
                Order { pair: Some(pair), ..Order::default() }.arguments(&offered()).unwrap_err();
            assert_eq!(wrong.field.as_deref(), Some("plain"), "{path:?}");
            let wrong = Order { target: path.to_owned(), ..Order::default() }.arguments(&offered());
            assert_eq!(wrong.unwrap_err().field.as_deref(), Some("target"), "{path:?}");
        }
    }

    #[test]
    fn each_place_of_a_pair_has_its_own_consent() {
        let dir = tempfile::tempdir().unwrap();
        let [a, b] = ["a", "b"].map(|name| {
            let path = dir.path().join(name);
            fs::write(&path, "").unwrap();
            path.display().to_string()
        });
        let order = |confirm_plain: &str, confirm_encrypted: &str| {
            let pair = Pair {
                plain: a.clone(),
                confirm_plain: confirm_plain.to_owned(),
                encrypted: b.clone(),
                confirm_encrypted: confirm_encrypted.to_owned(),
                name: "mine".to_owned(),
            };
            Order { pair: Some(pair), ..Order::default() }.arguments(&offered())
        };
        assert_eq!(order("", &b).unwrap_err().field.as_deref(), Some("confirm_plain"));
        assert_eq!(order(&a, &a).unwrap_err().field.as_deref(), Some("confirm_encrypted"));
        let expected = [
            "--pair".to_owned(),
            a.clone(),
            b.clone(),
            "--pair-name=mine".to_owned(),
            format!("--destroy={a}"),
            format!("--destroy={b}"),
        ];
        assert_eq!(order(&a, &b).unwrap(), expected.map(OsString::from));
    }
}

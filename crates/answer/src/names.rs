//! Users' names for the workloads and arms of a run; identifiers and labels of the record stay unchanged.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use cryptbench_catalog::{self as catalog, BINDFS, BUILTIN, Family, Presentation};
use cryptbench_estimate::class::Class;
use cryptbench_record::{Arm, ArmRole, Pattern, Plan, Record, Workload};

use crate::kinds::{action, size_word};
use crate::quantity::binary_bytes;

/// The family of an arm's system.
pub fn family(arm: &Arm) -> Family {
    catalog::find(&arm.system).map_or(Family::Volume, |system| system.family)
}

/// The names in one plan, each short, and unique to one workload or arm.
#[derive(Clone, Debug, Default)]
pub struct Names {
    by_id: BTreeMap<String, String>,
    /// Labels that occur in texts in the record, each with its name, in descending order of length.
    by_label: Vec<(String, String)>,
}

impl Names {
    /// The names of a plan.
    pub fn of(plan: &Plan) -> Self {
        let workloads = workloads(&plan.workloads);
        let arms = arms(&plan.arms);
        let by_id: BTreeMap<String, String> = workloads.chain(arms).collect();
        let labels = plan.workloads.iter().map(|w| (&w.id, &w.label));
        let labels = labels.chain(plan.arms.iter().map(|a| (&a.id, &a.label)));
        let mut by_label: Vec<(String, String)> = labels
            .filter_map(|(id, label)| Some((label.clone(), by_id.get(id)?.clone())))
            .filter(|(label, name)| !label.is_empty() && label != name)
            .collect();
        by_label.sort_by_key(|(label, _)| std::cmp::Reverse(label.len()));
        Self { by_id, by_label }
    }

    /// The record's label for the workload or arm with this name, if the two differ.
    pub fn label_of(&self, name: &str) -> Option<&str> {
        self.by_label.iter().find(|(_, known)| known == name).map(|(label, _)| label.as_str())
    }

    /// A text from the record, such as a note, with names in place of labels.
    pub fn reworded(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(next) = rest.chars().next() {
            let within = out.ends_with(char::is_alphanumeric);
            let is_label = |label: &str| {
                let after = rest.strip_prefix(label)?.chars().next();
                (!after.is_some_and(char::is_alphanumeric)).then_some(label.len())
            };
            let found = self.by_label.iter().find_map(|(l, name)| Some((is_label(l)?, name)));
            match found.filter(|_| !within) {
                Some((length, name)) => {
                    out.push_str(name);
                    rest = &rest[length..];
                }
                None => {
                    out.push(next);
                    rest = &rest[next.len_utf8()..];
                }
            }
        }
        out
    }

    /// A workload's name, such as `Large reads, one at a time`.
    pub fn workload<'a>(&'a self, workload: &'a Workload) -> &'a str {
        self.by_id.get(&workload.id).map_or(&workload.label, String::as_str)
    }

    /// The name of the workload or arm with this identifier, if it is in the plan.
    #[must_use]
    pub fn of_id(&self, id: &str) -> Option<&str> {
        self.by_id.get(id).map(String::as_str)
    }

    /// An arm's name, such as `LUKS2 (dm-crypt)`.
    pub fn arm<'a>(&'a self, arm: &'a Arm) -> &'a str {
        self.by_id.get(&arm.id).map_or(&arm.label, String::as_str)
    }
}

/// Names that distinguish all workloads and arms of several plans, with each identifier only once.
#[derive(Debug, Default)]
pub struct Gathered {
    all: Plan,
    seen: HashSet<String>,
}

impl Gathered {
    /// The names in these plans.
    pub fn names<'a>(plans: impl IntoIterator<Item = &'a Plan>) -> Names {
        let mut all = Self::default();
        plans.into_iter().for_each(|plan| all.add(plan));
        all.called()
    }

    /// Adds those workloads and arms of a plan that are not known yet.
    pub fn add(&mut self, plan: &Plan) {
        for workload in &plan.workloads {
            if !self.seen.contains(&workload.id) {
                self.seen.insert(workload.id.clone());
                self.all.workloads.push(workload.clone());
            }
        }
        for arm in &plan.arms {
            if !self.seen.contains(&arm.id) {
                self.seen.insert(arm.id.clone());
                self.all.arms.push(arm.clone());
            }
        }
    }

    /// The names of all.
    #[must_use]
    pub fn called(&self) -> Names {
        Names::of(&self.all)
    }
}

/// Names each workload by its operation, with enough detail to distinguish it from the others, or by its label.
fn workloads(all: &[Workload]) -> impl Iterator<Item = (String, String)> {
    let ways = [false, true].map(|with_size| {
        let names: Vec<String> = all.iter().map(|w| in_words(w, with_size)).collect();
        let mut times: HashMap<String, usize> = HashMap::new();
        for name in &names {
            *times.entry(name.clone()).or_default() += 1;
        }
        (names, times)
    });
    all.iter().enumerate().map(move |(i, w)| {
        let unique = ways.iter().find(|(names, times)| times[&names[i]] == 1);
        let name = unique.map_or_else(|| w.label.clone(), |(names, _)| names[i].clone());
        (w.id.clone(), name)
    })
}

/// `Large reads, one at a time`, `Large random reads of 1 MiB, 8 at once`.
fn in_words(w: &Workload, with_size: bool) -> String {
    if !w.is_of_requests() {
        return capitalised(&w.label);
    }
    let class = Class::of(w);
    let pattern = match &w.pattern {
        usual if *usual == class.usual_pattern() => String::new(),
        Pattern::Same => "repeated ".to_owned(),
        other => format!("{other} "),
    };
    let size = match with_size {
        true => format!(" of {}", binary_bytes(w.block_size)),
        false => String::new(),
    };
    let durable = match w.flush.as_deref() {
        Some("each-write") => "durable ",
        _ => "",
    };
    let flight = match w.in_flight() {
        0 | 1 => "one at a time".to_owned(),
        n => format!("{n} at once"),
    };
    capitalised(&format!("{} {durable}{pattern}{}{size}, {flight}", size_word(class), action(w)))
}

fn arms(all: &[Arm]) -> impl Iterator<Item = (String, String)> {
    all.iter().map(move |arm| {
        let base = base(arm);
        let alike: Vec<&Arm> =
            all.iter().filter(|a| a.role == arm.role && self::base(a) == base).collect();
        let name = match alike[..] {
            [_] => base,
            _ => told_apart(&base, arm, &alike),
        };
        let unique = |name: &str| {
            let named = |other: &&Arm| told_apart(&self::base(other), other, &alike) == name;
            alike.len() == 1 || alike.iter().copied().filter(named).count() == 1
        };
        let name = if unique(&name) { name } else { arm.label.clone() };
        (arm.id.clone(), name)
    })
}

/// The name of an arm that is the only arm of its kind.
fn base(arm: &Arm) -> String {
    match arm.role {
        ArmRole::Plain => return "plain".to_owned(),
        ArmRole::PlainAgain => return "plain, repeated".to_owned(),
        ArmRole::NullLayer if arm.system == BUILTIN.name => return "pass-through".to_owned(),
        // By itself it is unambiguous.
        ArmRole::NullLayer if arm.system == BINDFS.name => return system(arm),
        ArmRole::NullLayer => return format!("pass-through of {}", system(arm)),
        ArmRole::Encrypted => {}
    }
    system(arm)
}

fn system(arm: &Arm) -> String {
    if arm.system == BUILTIN.name {
        let name = cipher(arm).unwrap_or_else(|| arm.label.clone());
        let is_serial = arm.settings.get("driver").is_some_and(|driver| driver == "serial");
        return format!("{name}{}", if is_serial { ", one at a time" } else { " alone" });
    }
    let setting = |name: &str| arm.settings.get(name).map(String::as_str);
    catalog::find(&arm.system)
        .and_then(|system| system.title(arm.layout.as_deref(), setting))
        .unwrap_or_else(|| arm.label.clone())
}

/// A system by its name in the registry.
pub fn of_system(name: &str) -> String {
    catalog::find(name).map_or_else(|| name.to_owned(), catalog::System::usual_title)
}

/// The base name with all properties that differ between the arms with this name: cipher, sector size and settings.
fn told_apart(base: &str, arm: &Arm, alike: &[&Arm]) -> String {
    let differs = |of: &dyn Fn(&Arm) -> Option<String>| {
        let values: BTreeSet<Option<String>> = alike.iter().map(|a| of(a)).collect();
        if values.len() > 1 { of(arm) } else { None }
    };
    let mut parts = vec![base.to_owned()];
    parts.extend(differs(&cipher).filter(|_| arm.system != BUILTIN.name));
    parts.extend(differs(&|a| a.data_unit.map(|unit| format!("{unit} B"))));
    let settings: BTreeSet<&String> = alike.iter().flat_map(|a| a.settings.keys()).collect();
    for name in settings {
        // These two are handled above.
        if !matches!(name.as_str(), "cipher" | "sector-size") {
            let value = differs(&|a| a.settings.get(name).cloned());
            let name = match name.as_str() {
                "pim" | "prf" => name.to_uppercase(),
                name => name.to_owned(),
            };
            parts.extend(value.map(|value| format!("{name} {value}")));
        }
    }
    parts.join(", ")
}

/// A cipher in its usual form, without the mode that all disks use: `aes-256-xts` is `AES-256`.
pub fn cipher(arm: &Arm) -> Option<String> {
    arm.cipher.as_deref().map(catalog::cipher_title)
}

/// Whether tables use the workloads' names. Users of another program's profile know that program's names, and the
/// labels of a series tell its sizes apart.
fn shows_names(plan: &Plan) -> bool {
    const MOST: usize = 24;
    matches!(plan.form(), Presentation::Table | Presentation::Server)
        && plan.workloads.len() <= MOST
}

/// The record with the catalogue's names as labels, also in its notes. Stored labels stay unchanged, so that they
/// remain comparable with those in older records.
pub fn relabelled(record: &Record) -> (Record, Names) {
    let mut shown = in_todays_words(record).into_owned();
    let names = Names::of(&shown.plan);
    for note in &mut shown.notes {
        *note = names.reworded(note);
    }
    // Volumes that are opened keep the names that the user gave them.
    if shown.plan.form() != Presentation::Unlock {
        for arm in &mut shown.plan.arms {
            arm.label = names.arm(arm).to_owned();
        }
    }
    if shows_names(&shown.plan) {
        for workload in &mut shown.plan.workloads {
            workload.label = names.workload(workload).to_owned();
        }
    }
    (shown, names)
}

fn in_todays_words(record: &Record) -> Cow<'_, Record> {
    let today = |label: &str| match label {
        "plain again" => "plain, repeated".to_owned(),
        label => label.replace("null layer", "pass-through"),
    };
    if record.plan.arms.iter().all(|arm| today(&arm.label) == arm.label) {
        return Cow::Borrowed(record);
    }
    let mut record = record.clone();
    for arm in &mut record.plan.arms {
        arm.label = today(&arm.label);
    }
    Cow::Owned(record)
}

/// The text with an initial capital.
pub fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}

/// The name with a lower-case first letter, for use within a sentence.
pub(crate) fn lowered(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(id: &str, operation: &str, block_size: u64, queue_depth: u32) -> Workload {
        let pattern = if block_size >= 1 << 20 { "sequential" } else { "random" };
        Workload {
            id: id.to_owned(),
            label: format!("the label of {id}"),
            operation: operation.to_owned().into(),
            pattern: pattern.to_owned().into(),
            block_size,
            queue_depth,
            ..Workload::default()
        }
    }

    fn arm(system: &str, unit: u32, cipher: &str) -> Arm {
        Arm {
            id: format!("{system}/{cipher}/{unit}"),
            label: format!("the label of {system}"),
            role: ArmRole::Encrypted,
            system: system.to_owned(),
            cipher: Some(cipher.to_owned()),
            data_unit: Some(unit),
            layout: Some(if unit == 512 { "VeraCrypt" } else { "LUKS2" }.to_owned()),
            ..Arm::default()
        }
    }

    fn names(workloads: Vec<Workload>, arms: Vec<Arm>) -> (Vec<String>, Vec<String>) {
        let plan = Plan { workloads, arms, ..Plan::default() };
        let names = Names::of(&plan);
        let own = |text: &str| text.to_owned();
        (
            plan.workloads.iter().map(|w| own(names.workload(w))).collect(),
            plan.arms.iter().map(|a| own(names.arm(a))).collect(),
        )
    }

    #[test]
    fn workloads_are_called_by_what_they_do() {
        let (found, _) = names(
            vec![workload("a", "read", 1 << 20, 1), workload("b", "write", 4096, 32)],
            Vec::new(),
        );
        assert_eq!(found, ["Large reads, one at a time", "Small writes, 32 at once"]);
        let (found, _) = names(
            vec![workload("a", "read", 1 << 20, 1), workload("b", "read", 2 << 20, 1)],
            Vec::new(),
        );
        assert_eq!(found[1], "Large reads of 2 MiB, one at a time", "sizes tell them apart");
        let durable =
            Workload { flush: Some("each-write".to_owned()), ..workload("b", "write", 4096, 1) };
        let (found, _) = names(vec![workload("a", "write", 4096, 1), durable], Vec::new());
        assert_eq!(found, ["Small writes, one at a time", "Small durable writes, one at a time"]);
        let same = Workload { pattern: Pattern::Same, ..workload("a", "read", 4096, 1) };
        let again = Workload { id: "b".to_owned(), label: "again".to_owned(), ..same.clone() };
        let (found, _) = names(vec![same, again], Vec::new());
        assert_eq!(found[1], "again", "what no words tell apart has its label");
    }

    #[test]
    fn what_is_in_several_plans_has_one_name_that_tells_all_apart() {
        let plan = |arms| Plan {
            workloads: vec![workload("a", "read", 4096, 1)],
            arms,
            ..Plan::default()
        };
        let one = plan(vec![arm("builtin", 4096, "aes-256-xts")]);
        let two = plan(vec![arm("builtin", 512, "aes-256-xts"), one.arms[0].clone()]);
        let names = Gathered::names([&one, &two, &one]);
        assert_eq!(names.of_id("a"), Some("Small reads, one at a time"));
        assert_eq!(names.arm(&one.arms[0]), "AES-256 alone, 4096 B");
        assert_eq!(Names::of(&one).arm(&one.arms[0]), "AES-256 alone");
    }

    #[test]
    fn arms_are_called_as_people_call_the_system_and_told_apart_where_there_are_two() {
        let (_, found) = names(
            Vec::new(),
            vec![
                arm("builtin", 512, "aes-256-xts"),
                arm("builtin", 4096, "aes-256-xts"),
                arm("builtin", 512, "bitlocker-aes-128-cbc-elephant"),
                arm("builtin", 512, "aes-256-lrw"),
                arm("builtin-mounted", 4096, "aes-256-xts"),
                arm("dm-crypt", 4096, "aes-256-xts"),
                arm("gocryptfs", 4096, "aes-256-gcm"),
                arm("gocryptfs", 4096, "xchacha20-poly1305"),
                arm("something-new", 4096, "x"),
            ],
        );
        assert_eq!(
            found,
            [
                "AES-256 alone, 512 B",
                "AES-256 alone, 4096 B",
                "BitLocker AES-128-CBC-Elephant alone",
                "AES-256-LRW alone",
                "cryptbench mount (LUKS2)",
                "LUKS2 (dm-crypt)",
                "gocryptfs, AES-256-GCM",
                "gocryptfs, XChaCha20-Poly1305",
                "the label of something-new",
            ]
        );
    }
}

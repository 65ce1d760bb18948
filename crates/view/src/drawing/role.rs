//! Colours by their meaning. Each has a value in the light and in the dark scheme.

use std::collections::HashSet;
use std::fmt::Write as _;

use cryptbench_record::{Arm, ArmRole};
use maud::{Markup, PreEscaped};

/// The meaning of a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The ground.
    Page,
    /// Text and whiskers.
    Ink,
    /// Secondary text and reference lines.
    Muted,
    /// Lines of a scale.
    Grid,
    /// Background of a part of the drawing, such as the noise of the disk.
    Band,
    /// Text on a shade.
    OnShade,
    /// Plain storage.
    Plain,
    /// Plain storage, repeated.
    PlainAgain,
    /// A layer that does not encrypt, with its index among the first [`Role::NULL_LAYERS`] such layers.
    NullLayer(usize),
    /// An encrypted arm; with its index among the first [`Role::ENCRYPTED`] encrypted arms.
    Encrypted(usize),
    /// A difference, with its index among the [`Role::SHADES`], from the greatest loss to the greatest gain.
    Shade(usize),
}

/// Name of the CSS property, and its values in the light and the dark scheme.
type Colour = (&'static str, &'static str, &'static str);

/// Hues of Okabe and Ito (2008), adjusted for contrast with the page.
const ENCRYPTED: [Colour; Role::ENCRYPTED] = [
    ("e0", "#0068ad", "#5ba9e6"),
    ("e1", "#c85000", "#f0883e"),
    ("e2", "#a8558a", "#dc94c0"),
    ("e3", "#a87b00", "#e0b13a"),
    ("e4", "#3d8bb8", "#86c8ec"),
];

const NULL_LAYERS: [Colour; Role::NULL_LAYERS] =
    [("null", "#00836a", "#35b597"), ("null1", "#6f8f1f", "#b3d255")];

const SHADES: [Colour; Role::SHADES] = [
    ("l4", "#8f2f00", "#f59a5c"),
    ("l3", "#e08a55", "#a35218"),
    ("l2", "#f2bd99", "#70391a"),
    ("l1", "#fae3d3", "#46281a"),
    ("n0", "#eef0f3", "#262b32"),
    ("g1", "#d5e8f5", "#173448"),
    ("g2", "#a3cdea", "#1c5174"),
    ("g3", "#00628f", "#6cb9ea"),
];

impl Role {
    /// Number of encrypted arms that have their own colour.
    pub const ENCRYPTED: usize = 5;

    /// Number of layers without encryption that have their own colour.
    pub const NULL_LAYERS: usize = 2;

    /// Shades of differences.
    pub const SHADES: usize = 8;

    fn colour(self) -> Colour {
        match self {
            Self::Page => ("page", "#ffffff", "#14171b"),
            Self::Ink => ("ink", "#1b1f24", "#e8eaed"),
            Self::Muted => ("muted", "#5b636d", "#a0a8b2"),
            Self::Grid => ("grid", "#e3e6ea", "#31363d"),
            Self::Band => ("ground", "#eceff3", "#262b32"),
            Self::OnShade => ("on-shade", "#1b1f24", "#e8eaed"),
            Self::Plain => ("plain", "#8a929c", "#8d96a1"),
            Self::PlainAgain => ("again", "#b9bfc7", "#5f6873"),
            Self::NullLayer(i) => NULL_LAYERS[i % NULL_LAYERS.len()],
            Self::Encrypted(i) => ENCRYPTED[i % ENCRYPTED.len()],
            Self::Shade(i) => SHADES[i.min(SHADES.len() - 1)],
        }
    }

    /// The name of its style, used for the property that contains its colour and as the suffix of its classes.
    pub(crate) fn name(self) -> &'static str {
        self.colour().0
    }

    /// The colour's value in the light scheme, which files use.
    pub(crate) fn light(self) -> &'static str {
        self.colour().1
    }

    fn all() -> impl Iterator<Item = Self> {
        let single = [
            Self::Page,
            Self::Ink,
            Self::Muted,
            Self::Grid,
            Self::Band,
            Self::OnShade,
            Self::Plain,
            Self::PlainAgain,
        ];
        let null_layers = (0..Self::NULL_LAYERS).map(Self::NullLayer);
        let encrypted = (0..Self::ENCRYPTED).map(Self::Encrypted);
        single
            .into_iter()
            .chain(null_layers)
            .chain(encrypted)
            .chain((0..Self::SHADES).map(Self::Shade))
    }
}

/// The colour of an arm: determined by its role and, if few arms have that role, by its position among them.
pub(crate) fn arm_role(arms: &[Arm], arm: &Arm) -> Role {
    match arm.role {
        ArmRole::Plain => Role::Plain,
        ArmRole::PlainAgain => Role::PlainAgain,
        ArmRole::NullLayer => Role::NullLayer(position(arms, arm, Role::NULL_LAYERS)),
        ArmRole::Encrypted => Role::Encrypted(position(arms, arm, Role::ENCRYPTED)),
    }
}

/// The properties of the colours of a figure's columns: the hues that these arms have in the charts, or, if some of
/// them have the same, a separate one for each. They are darker than in the charts, because text has them.
pub(crate) fn hues<'a>(arms: &[Arm], columns: impl Iterator<Item = &'a str>) -> Vec<&'static str> {
    let role = |id: &str| arms.iter().find(|arm| arm.id == id).map(|arm| arm_role(arms, arm));
    let hue = |id: &str| match role(id) {
        Some(Role::Encrypted(0)) => "s1",
        Some(Role::Encrypted(1)) => "s0",
        Some(Role::Encrypted(2)) => "s2",
        _ => "s3",
    };
    let found: Vec<&str> = columns.map(hue).collect();
    let distinct: HashSet<_> = found.iter().collect();
    match distinct.len() == found.len() {
        true => found,
        false => (0..found.len()).map(|i| ["s0", "s1", "s2", "s3"][i.min(3)]).collect(),
    }
}

/// An arm's position among those of its role. Repeated colours would suggest that two arms are the same. If there are
/// more arms than `colours`, all of them have the same colour.
fn position(arms: &[Arm], arm: &Arm, colours: usize) -> usize {
    let alike = || arms.iter().filter(|a| a.role == arm.role);
    let position = alike().position(|a| a.id == arm.id).unwrap_or(0);
    if alike().count() > colours { 0 } else { position }
}

/// The style rules of all roles: properties in both schemes, and classes that use them to fill and stroke.
pub(crate) fn rules() -> Markup {
    let (mut light, mut dark, mut classes) = (String::new(), String::new(), String::new());
    for (name, in_light, in_dark) in Role::all().map(Role::colour) {
        let _ = write!(light, "--{name}:{in_light};");
        let _ = write!(dark, "--{name}:{in_dark};");
        let _ = write!(classes, ".f-{name}{{fill:var(--{name})}}");
        let _ = write!(classes, ".s-{name}{{stroke:var(--{name});fill:none}}");
    }
    PreEscaped(format!(
        ":root{{{light}}}@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}{classes}\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arms_of_one_role_differ_in_colour() {
        let arm = |id: &str, role| Arm { id: id.to_owned(), role, ..Arm::default() };
        let mut arms: Vec<Arm> = ["a", "b"].map(|id| arm(id, ArmRole::NullLayer)).into();
        let colours = |arms: &[Arm]| -> HashSet<&str> {
            arms.iter().map(|arm| arm_role(arms, arm).light()).collect()
        };
        assert_eq!(colours(&arms).len(), 2);
        arms.push(arm("c", ArmRole::NullLayer));
        assert_eq!(colours(&arms).len(), 1);
    }

    #[test]
    fn every_role_has_a_style_of_its_own() {
        let names: HashSet<&str> = Role::all().map(Role::name).collect();
        assert_eq!(names.len(), Role::all().count());
        let rules = rules().into_string();
        for name in names {
            // In both schemes, as a filling and as a stroke.
            assert_eq!(rules.matches(&format!("--{name}:#")).count(), 2, "{name}");
            assert_eq!(rules.matches(&format!("var(--{name})")).count(), 2, "{name}");
        }
    }
}

//! Colours: the ones that charts are drawn with stand for a role, and the style sheet replaces them
//! by that role's colour in the light or dark scheme.

use std::fmt::Write as _;

use cryptbench_record::{Arm, ArmRole};
use plotters::style::RGBColor;

/// One role: the colour that marks it in a chart, and those that replace it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Colour {
    marker: (u8, u8, u8),
    light: &'static str,
    dark: &'static str,
}

impl Colour {
    const fn new(marker: (u8, u8, u8), light: &'static str, dark: &'static str) -> Self {
        Self { marker, light, dark }
    }

    /// The colour to hand to the chart backend.
    pub(super) fn marker(self) -> RGBColor {
        let (r, g, b) = self.marker;
        RGBColor(r, g, b)
    }

    fn hex(self) -> String {
        let (r, g, b) = self.marker;
        format!("#{r:02X}{g:02X}{b:02X}")
    }

    /// The custom property that holds it, for text and swatches outside charts.
    pub(super) fn property(self) -> String {
        format!("--c{}", self.hex().trim_start_matches('#').to_lowercase())
    }
}

pub(super) const INK: Colour = Colour::new((1, 0, 0), "#1b1f24", "#e8eaed");
pub(super) const MUTED: Colour = Colour::new((2, 0, 0), "#5b636d", "#a0a8b2");
pub(super) const GRID: Colour = Colour::new((3, 0, 0), "#e3e6ea", "#31363d");
pub(super) const BAND: Colour = Colour::new((4, 0, 0), "#eceff3", "#262b32");
const PLAIN: Colour = Colour::new((5, 0, 0), "#8a929c", "#8d96a1");
const PLAIN_AGAIN: Colour = Colour::new((6, 0, 0), "#b9bfc7", "#5f6873");
const NULL: Colour = Colour::new((7, 0, 0), "#00836a", "#35b597");

/// Encrypted arms, in plan order: hues of Okabe and Ito (2008), shifted for contrast with the page.
const ENCRYPTED: [Colour; 5] = [
    Colour::new((8, 0, 0), "#0068ad", "#5ba9e6"),
    Colour::new((9, 0, 0), "#c85000", "#f0883e"),
    Colour::new((10, 0, 0), "#a8558a", "#dc94c0"),
    Colour::new((11, 0, 0), "#a87b00", "#e0b13a"),
    Colour::new((12, 0, 0), "#3d8bb8", "#86c8ec"),
];

/// The colour of an arm: by role, and for encrypted arms by position if there are few.
pub(super) fn arm_colour(arms: &[Arm], arm: &Arm) -> Colour {
    match arm.role {
        ArmRole::Plain => PLAIN,
        ArmRole::PlainAgain => PLAIN_AGAIN,
        ArmRole::NullLayer => NULL,
        ArmRole::Encrypted => {
            let encrypted = || arms.iter().filter(|a| a.role == ArmRole::Encrypted);
            let position = encrypted().position(|a| a.id == arm.id).unwrap_or(0);
            // Repeated colours would suggest that two arms are the same: beyond five, all share one.
            let index = if encrypted().count() > ENCRYPTED.len() { 0 } else { position };
            ENCRYPTED[index]
        }
    }
}

fn roles() -> Vec<Colour> {
    [INK, MUTED, GRID, BAND, PLAIN, PLAIN_AGAIN, NULL].into_iter().chain(ENCRYPTED).collect()
}

/// The style rules that give each role its colour.
pub(super) fn rules() -> String {
    let all = roles();
    let scheme = |pick: fn(&Colour) -> &'static str| {
        all.iter().fold(String::new(), |mut css, c| {
            let _ = write!(css, "{}:{};", c.property(), pick(c));
            css
        })
    };
    let mut css = format!(
        ":root{{{}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{}}}}}\n",
        scheme(|c| c.light),
        scheme(|c| c.dark)
    );
    for colour in &all {
        let (hex, property) = (colour.hex(), colour.property());
        let _ = writeln!(css, ".chart [fill=\"{hex}\"]{{fill:var({property})}}");
        let _ = writeln!(css, ".chart [stroke=\"{hex}\"]{{stroke:var({property})}}");
    }
    css
}

/// The colours that charts are drawn with: as drawn, their property, and their value in the light scheme.
pub(in crate::format) fn light() -> impl Iterator<Item = (String, String, &'static str)> {
    roles().into_iter().map(|c| (c.hex(), c.property(), c.light))
}

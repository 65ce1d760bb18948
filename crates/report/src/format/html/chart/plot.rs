//! The numbers of a chart whose x axis is numeric, for the page's script to draw an interactive one over the picture.

use maud::{Markup, PreEscaped, html};
use serde_json::{Value, json};

use crate::format::html::palette::Colour;

/// What the x axis counts.
#[derive(Clone, Debug)]
pub(super) enum Across {
    /// Seconds since the start of the run.
    Clock,
    /// Places in a list of names, from 0.
    Names(Vec<String>),
    /// Numbers of this unit.
    Unit(String),
}

/// One series.
pub(super) struct Trace {
    pub(super) name: String,
    pub(super) colour: Colour,
    /// The mark of each point, if there is no line between them.
    pub(super) dots: Option<&'static str>,
    /// On the right-hand scale.
    pub(super) second: bool,
    /// x and y.
    pub(super) points: Vec<(f64, f64)>,
    /// Low and high ends of each point's interval, or nothing.
    pub(super) intervals: Vec<Option<(f64, f64)>>,
}

/// A chart.
pub(super) struct Plot {
    pub(super) across: Across,
    /// Unit of the numbers, such as `%`.
    pub(super) unit: &'static str,
    /// Unit of the right-hand scale.
    pub(super) second_unit: &'static str,
    /// Ends of the scales, left and right, where charts share them.
    pub(super) ends: Option<(f64, f64)>,
    /// A value that a line marks.
    pub(super) reference: Option<f64>,
    pub(super) traces: Vec<Trace>,
}

impl Plot {
    /// A block of data that no browser runs or shows.
    pub(super) fn block(&self) -> Markup {
        let across = match &self.across {
            Across::Clock => json!({"kind": "clock"}),
            Across::Names(names) => json!({"kind": "names", "names": names}),
            Across::Unit(unit) => json!({"kind": "unit", "unit": unit}),
        };
        let series: Vec<Value> = self.traces.iter().map(trace).collect();
        let data = json!({
            "x": across,
            "unit": self.unit,
            "second": self.second_unit,
            "ends": self.ends.map(|(left, right)| [short(left), short(right)]),
            "line": self.reference,
            "series": series,
        });
        block("plot", None, &data.to_string())
    }
}

fn trace(t: &Trace) -> Value {
    let mut found: Vec<_> = t.points.iter().copied().enumerate().collect();
    found.retain(|(_, (x, y))| x.is_finite() && y.is_finite());
    found.sort_by(|(_, a), (_, b)| a.0.total_cmp(&b.0));
    let column = |of: &dyn Fn(usize, (f64, f64)) -> Option<f64>| -> Value {
        found.iter().map(|(i, p)| of(*i, *p).map_or(Value::Null, short)).collect()
    };
    let mut data = json!({
        "name": t.name,
        "colour": t.colour.property(),
        "x": column(&|_, p| Some(p.0)),
        "y": column(&|_, p| Some(p.1)),
    });
    if let Some(mark) = t.dots {
        data["dots"] = mark.into();
    }
    if t.second {
        data["second"] = true.into();
    }
    if t.intervals.iter().any(Option::is_some) {
        let end = |i: usize| t.intervals.get(i).copied().flatten();
        data["low"] = column(&|i, _| end(i).map(|(low, _)| low));
        data["high"] = column(&|i, _| end(i).map(|(_, high)| high));
    }
    data
}

/// Four significant digits: more than a chart or its reader resolves. Null for values that are not finite.
fn short(value: f64) -> Value {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { 0.into() } else { Value::Null };
    }
    let places = 3 - value.abs().log10().floor() as i32;
    if places <= 0 {
        return (value.round() as i64).into();
    }
    let written = format!("{value:.0$}", places.unsigned_abs() as usize);
    written.parse::<f64>().map_or(Value::Null, Into::into)
}

/// JSON as a pure data element. No text in it can end the element.
pub(in crate::format::html) fn block(class: &str, id: Option<&str>, json: &str) -> Markup {
    // Inside strings, the only place where these occur, the escapes mean the same.
    let safe = json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026");
    html! { script.(class) type="application/json" id=[id] { (PreEscaped(safe)) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_finite() {
        let written = |v: f64| short(v).to_string();
        assert_eq!(
            [0.0, 99.987_6, 12_345.6, 0.001_234_56].map(written),
            ["0", "99.99", "12346", "0.001235"]
        );
        assert_eq!(short(f64::NAN), Value::Null);
    }

    #[test]
    fn text_cannot_end_the_block() {
        let out = block("plot", None, r#"{"name":"</script><b>&"}"#).into_string();
        assert_eq!(out.matches('<').count(), 2, "{out}");
        assert!(out.contains(r"\u003c/script\u003e"), "{out}");
    }
}

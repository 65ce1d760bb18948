//! Horizontal bars with whiskers for intervals. Label and value are above each bar.

use super::scale::{Scale, across};
use super::{Anchor, Drawing, LABEL, Role, WIDTH, look, shortened};

/// Heights in CSS pixels: of one row and of the axis.
pub(super) const ROW: f64 = 42.0;
pub(super) const AXIS: f64 = 20.0;

/// The position of the bar in its row, as fractions of the row's height.
const BAR: [f64; 2] = [0.52, 0.80];

/// One bar. Values that are not finite are not drawn, but the text remains.
pub(crate) struct Bar {
    /// The bar's name, on the left above the bar.
    pub(crate) label: String,
    /// The bar's number, on the right above the bar.
    pub(crate) value_text: String,
    /// Additional readings; may be empty.
    pub(crate) more: String,
    /// The value at which the bar starts: 0, except for the steps of a waterfall chart.
    pub(crate) from: f64,
    /// Its end.
    pub(crate) value: Option<f64>,
    /// Ends of the whisker.
    pub(crate) interval: Option<(f64, f64)>,
    /// Colour of the bar.
    pub(crate) role: Role,
    /// Colour and end of another bar below it, which has the same start.
    pub(crate) second: Option<(Role, f64)>,
}

impl Bar {
    /// A bar that starts at 0.
    pub(crate) fn new(label: &str, value_text: String, role: Role, value: f64) -> Self {
        Self {
            label: label.to_owned(),
            value_text,
            more: String::new(),
            from: 0.0,
            value: Some(value),
            interval: None,
            role,
            second: None,
        }
    }

    fn told(&self) -> String {
        let gap = if self.more.is_empty() { "" } else { ", " };
        format!("{}: {}{gap}{}", self.label, self.value_text, self.more)
    }
}

/// A chart of bars.
pub(crate) struct Bars<'a> {
    /// Its content.
    pub(crate) title: String,
    /// The bars from top to bottom.
    pub(crate) rows: Vec<Bar>,
    /// End of the axis; see [`Bars::end_for`].
    pub(crate) end: f64,
    /// A reference line, such as 100 %.
    pub(crate) reference: Option<f64>,
    /// A shaded range, such as the noise around the reference line.
    pub(crate) band: Option<(f64, f64)>,
    /// The format of ticks.
    pub(crate) tick: &'a dyn Fn(f64) -> String,
}

impl Bars<'_> {
    /// An axis end that is at least `at_least` and includes every value and whisker. Only whiskers longer than
    /// three times the longest bar extend beyond the axis.
    pub(crate) fn end_for<'a>(rows: impl IntoIterator<Item = &'a Bar>, at_least: f64) -> f64 {
        let mut bars = at_least;
        let mut whiskers = at_least;
        for row in rows {
            bars = row.value.filter(|v| v.is_finite()).unwrap_or(0.0).max(bars);
            let high = row.interval.map_or(0.0, |(_, high)| high);
            whiskers = if high.is_finite() { high.max(whiskers) } else { whiskers };
        }
        let end = whiskers.max(bars).min(bars * 3.0) * 1.04;
        if end.is_finite() && end > 0.0 { end } else { 1.0 }
    }

    /// The chart.
    pub(crate) fn draw(&self) -> Drawing {
        let bottom = self.rows.len().max(1) as f64 * ROW;
        let mut drawing = Drawing::new(&self.title, bottom + AXIS);
        let x = Scale::linear([0.0, self.end], [1.0, WIDTH - 12.0]);
        across(
            &mut drawing,
            &x,
            [0.0, bottom],
            x.ticks(6).into_iter().map(|v| (v, (self.tick)(v))),
        );
        // The band and the reference line are drawn only behind and across the bars, so that labels stay
        // legible.
        let strips: Vec<[f64; 2]> = (0..self.rows.len())
            .map(|i| [(i as f64 + BAR[0] - 0.07) * ROW, (i as f64 + BAR[1] + 0.07) * ROW])
            .collect();
        if let Some((low, high)) = self.band {
            strips.iter().for_each(|y| drawing.area(Role::Band, [x.at(low), x.at(high)], *y));
        }
        for (i, row) in self.rows.iter().enumerate() {
            let [top, bottom] = BAR.map(|part| (i as f64 + part) * ROW);
            let middle = if row.second.is_some() { f64::midpoint(top, bottom) } else { bottom };
            let first = row.value.map(|value| (row.role, row.from, value, [top, middle]));
            let second = row.second.map(|(role, value)| (role, 0.0, value, [middle, bottom]));
            for (role, from, value, y) in first.into_iter().chain(second) {
                drawing.area(role, [x.at(from), x.at(value)], y);
            }
        }
        for (i, row) in self.rows.iter().enumerate() {
            let Some((low, high)) = row.interval else { continue };
            self.whisker(&mut drawing, &x, (i as f64 + 0.66) * ROW, low, high);
        }
        if let Some(at) = self.reference.filter(|r| *r <= self.end) {
            let at = x.at(at);
            strips.iter().for_each(|y| drawing.line(Role::Muted, 1.0, y.map(|y| (at, y))));
        }
        for (i, row) in self.rows.iter().enumerate() {
            heading(&mut drawing, i, &row.label, &row.value_text);
        }
        drawing.rows(0.0, ROW, self.rows.iter().map(Bar::told));
        drawing
    }

    /// A line with end marks, but without a mark at an end that is beyond the axis.
    fn whisker(&self, drawing: &mut Drawing, x: &Scale, y: f64, low: f64, high: f64) {
        if !low.is_finite() || !high.is_finite() {
            return;
        }
        let (x0, x1) = (x.at(low), x.at(high));
        drawing.line(Role::Ink, 1.5, [(x0, y), (x1, y)]);
        for end in [Some(x0), (high <= self.end).then_some(x1)].into_iter().flatten() {
            drawing.line(Role::Ink, 1.5, [(end, y - 4.6), (end, y + 4.6)]);
        }
    }
}

/// Name and value of a row, above its bar.
pub(super) fn heading(drawing: &mut Drawing, row: usize, label: &str, value: &str) {
    let y = (row as f64 + 0.27) * ROW;
    let room = WIDTH - 12.0 - value.chars().count() as f64 * LABEL * 0.56;
    drawing.text(look(Role::Ink, LABEL, Anchor::Start), (0.0, y), shortened(label, room));
    drawing.text(look(Role::Ink, LABEL, Anchor::End), (WIDTH, y), value);
}

#[cfg(test)]
mod tests {
    use super::super::{Area, Shape};
    use super::*;

    /// Value and interval.
    type Row = (Option<f64>, Option<(f64, f64)>);

    fn chart(rows: &[Row]) -> Drawing {
        let bar = |(i, (value, interval)): (usize, &Row)| Bar {
            more: "more".to_owned(),
            value: *value,
            interval: *interval,
            ..Bar::new(
                &format!("arm {i}"),
                format!("{:.0}", value.unwrap_or(f64::NAN)),
                Role::Encrypted(i),
                0.0,
            )
        };
        let rows: Vec<Bar> = rows.iter().enumerate().map(bar).collect();
        let end = Bars::end_for(&rows, 104.0);
        Bars {
            title: "t".to_owned(),
            rows,
            end,
            reference: Some(100.0),
            band: Some((98.0, 102.0)),
            tick: &|v| format!("{v:.0}"),
        }
        .draw()
    }

    fn areas(drawing: &Drawing, role: Role) -> Vec<Area> {
        let area = |shape: &Shape| match shape {
            Shape::Area { role: r, area } if *r == role => Some(*area),
            _ => None,
        };
        drawing.shapes.iter().filter_map(area).collect()
    }

    #[test]
    fn bars_are_to_scale_and_whiskers_lie_above_all_of_them() {
        let drawing = chart(&[(Some(80.0), Some((70.0, 90.0))), (Some(20.0), Some((19.0, 21.0)))]);
        let widths = [0, 1].map(|i| areas(&drawing, Role::Encrypted(i))[0].width);
        assert!((widths[0] / widths[1] - 4.0).abs() < 1e-9, "{widths:?}");
        let last_bar =
            drawing.shapes.iter().rposition(|s| matches!(s, Shape::Area { .. })).unwrap();
        let is_whisker = |s: &Shape| matches!(s, Shape::Line { role: Role::Ink, .. });
        assert!(drawing.shapes.iter().position(is_whisker).unwrap() > last_bar);
        assert_eq!(drawing.shapes.iter().filter(|s| is_whisker(s)).count(), 6);
        // The band, 4 % wide, on both rows.
        let band = areas(&drawing, Role::Band);
        assert_eq!(band.len(), 2);
        assert!((band[0].width / widths[1] - 0.2).abs() < 1e-9);
        assert_eq!(drawing.readings[1].words, "arm 1: 20, more");
    }

    #[test]
    fn two_bars_share_a_row() {
        let second = Some((Role::Encrypted(1), 25.0));
        let row = Bar { second, ..Bar::new("a", String::new(), Role::Encrypted(0), 50.0) };
        let (title, tick) = (String::new(), &|_| String::new());
        let bars = Bars { title, rows: vec![row], end: 50.0, reference: None, band: None, tick };
        let drawing = bars.draw();
        let [above, below] = [0, 1].map(|i| areas(&drawing, Role::Encrypted(i))[0]);
        assert_eq!(above.width, 2.0 * below.width);
        assert!((above.height - below.height).abs() < 1e-9);
        assert!((above.top + above.height - below.top).abs() < 1e-9);
    }

    #[test]
    fn odd_values_leave_their_text_and_a_whisker_beyond_the_axis_has_one_end() {
        let drawing =
            chart(&[(None, None), (Some(f64::NAN), None), (Some(50.0), Some((40.0, 9_000.0)))]);
        assert!(areas(&drawing, Role::Encrypted(0)).is_empty());
        assert!(areas(&drawing, Role::Encrypted(1)).is_empty());
        assert_eq!(drawing.readings.len(), 3);
        let ink =
            drawing.shapes.iter().filter(|s| matches!(s, Shape::Line { role: Role::Ink, .. }));
        assert_eq!(ink.count(), 2);
    }
}

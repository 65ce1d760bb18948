//! A drawing as SVG. Consecutive shapes with the same style form one path, and consecutive texts with the same
//! style form one group.

use std::fmt::Write as _;

use maud::{Markup, PreEscaped, html};

use super::{Anchor, Area, Drawing, Look, MARK, Mark, Point, Role, Shape};

/// The font family of the PNG files comes first; its metrics are those of Verdana.
const FAMILY: &str = "DejaVu Sans, Verdana, sans-serif";

/// How colours are written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ink<'a> {
    /// Uses the classes of [`super::rules`], in an element with this identifier, which is unique in its page.
    Page(&'a str),
    /// Uses the colours of the light scheme, in a document that contains the identifier of this run.
    File(&'a str),
}

/// The drawing as an element of a page or as a document.
pub(crate) fn svg(drawing: &Drawing, ink: Ink<'_>) -> Markup {
    let told = drawing.description();
    match ink {
        Ink::Page(id) => html! {
            svg.chart viewBox=(view_box(drawing.area)) role="img"
                aria-labelledby={ (id) "-t " (id) "-d" } {
                title id={ (id) "-t" } { (drawing.title) }
                desc id={ (id) "-d" } { (told) }
                (shapes(drawing, ink))
                @if !drawing.readings.is_empty() { g.told { (readings(drawing)) } }
            }
        },
        Ink::File(run) => {
            let framed = drawing.framed();
            html! {
                svg xmlns="http://www.w3.org/2000/svg" width=(short(framed.area.width))
                    height=(short(framed.area.height)) viewBox=(view_box(framed.area)) font-family=(FAMILY) {
                    title { (drawing.title) }
                    metadata { (MARK) ", run " (run) }
                    desc { (told) }
                    (shapes(&framed, ink))
                    g fill="none" pointer-events="all" { (readings(drawing)) }
                }
            }
        }
    }
}

/// The browser's tooltips, which the page's script also uses as steps.
fn readings(drawing: &Drawing) -> Markup {
    html! {
        @for reading in &drawing.readings {
            @let Area { left, top, width, height } = reading.area;
            rect x=(short(left)) y=(short(top)) width=(short(width)) height=(short(height)) {
                title { (reading.words) }
            }
        }
    }
}

fn view_box(area: Area) -> String {
    [area.left, area.top, area.width, area.height].map(short).join(" ")
}

/// The style of a shape; consecutive shapes with the same style are written together.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Paint {
    Fill(Role),
    Stroke(Role, f64),
    Letters(Look),
}

fn shapes(drawing: &Drawing, ink: Ink<'_>) -> Markup {
    let mut out = String::new();
    let mut rest = &drawing.shapes[..];
    while let Some(first) = rest.first() {
        let paint = paint(first);
        let alike = rest.iter().take_while(|shape| self::paint(shape) == paint).count();
        let mut content = String::new();
        rest[..alike].iter().for_each(|shape| write(&mut content, shape));
        let (name, light) = match paint {
            Paint::Fill(role) | Paint::Stroke(role, _) => (role.name(), role.light()),
            Paint::Letters(look) => (look.role.name(), look.role.light()),
        };
        let (fill, stroke) = match ink {
            Ink::Page(_) => (format!("class=\"f-{name}\""), format!("class=\"s-{name}\"")),
            Ink::File(_) => {
                (format!("fill=\"{light}\""), format!("fill=\"none\" stroke=\"{light}\""))
            }
        };
        let _ = match paint {
            Paint::Fill(_) => write!(out, "<path {fill} d=\"{content}\"/>"),
            Paint::Stroke(_, width) => {
                write!(out, "<path {stroke} stroke-width=\"{}\" d=\"{content}\"/>", short(width))
            }
            Paint::Letters(Look { size, anchor, .. }) => {
                let anchor = match anchor {
                    Anchor::Start => "",
                    Anchor::Middle => " text-anchor=\"middle\"",
                    Anchor::End => " text-anchor=\"end\"",
                };
                write!(out, "<g {fill} font-size=\"{}\"{anchor}>{content}</g>", short(size))
            }
        };
        rest = &rest[alike..];
    }
    PreEscaped(out)
}

fn paint(shape: &Shape) -> Paint {
    match shape {
        Shape::Line { role, width, .. } => Paint::Stroke(*role, *width),
        Shape::Area { role, .. } => Paint::Fill(*role),
        Shape::Mark { role, mark: Mark::Ring | Mark::Cross, radius, .. } => {
            Paint::Stroke(*role, Mark::width(*radius))
        }
        Shape::Mark { role, .. } => Paint::Fill(*role),
        Shape::Text { look, .. } => Paint::Letters(*look),
    }
}

/// The shape as path data, or a text as an element.
fn write(out: &mut String, shape: &Shape) {
    match shape {
        Shape::Line { points, .. } => path(out, points),
        Shape::Area { area, .. } => {
            let Area { left, top, width, height } = *area;
            let (w, h) = (short(width), short(height));
            let _ = write!(out, "M{} {}h{w}v{h}h-{w}z", short(left), short(top));
        }
        Shape::Mark { mark, at, radius, .. } => match mark.outline(*at, *radius) {
            None => {
                let (r, across) = (short(*radius), short(2.0 * radius));
                let _ = write!(out, "M{} {}", short(at.0 - radius), short(at.1));
                let _ = write!(out, "a{r} {r} 0 1 0 {across} 0a{r} {r} 0 1 0 -{across} 0");
            }
            Some(strokes) => strokes.iter().for_each(|points| path(out, points)),
        },
        Shape::Text { look, at, words } => {
            // Half of a capital's height.
            let (x, y) = (short(at.0), short(at.1 + 0.36 * look.size));
            out.push_str(&html! { text x=(x) y=(y) { (words) } }.into_string());
        }
    }
}

fn path(out: &mut String, points: &[Point]) {
    for (i, (x, y)) in points.iter().enumerate() {
        let _ = write!(out, "{}{} {}", if i == 0 { 'M' } else { 'L' }, short(*x), short(*y));
    }
}

/// A number with one decimal: a tenth of a pixel is finer than the resolution of a screen.
fn short(value: f64) -> String {
    let written = format!("{:.1}", value + 0.0);
    match written.strip_suffix(".0") {
        Some("-0") => "0".to_owned(),
        Some(whole) => whole.to_owned(),
        None => written,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Entry, Reading, look};
    use super::*;

    fn drawing() -> Drawing {
        let mut drawing = Drawing::new("a < b", 20.0);
        drawing.line(Role::Grid, 1.0, [(4.0, 9.0), (4.0, 0.04)]);
        drawing.line(Role::Grid, 1.0, [(1.0, 1.0), (5.3, 1.0)]);
        drawing.area(Role::Plain, [1.0, 4.0], [2.0, 6.0]);
        drawing.mark(Role::Plain, Mark::Disc, (10.0, 20.0), 3.0);
        drawing.text(look(Role::Ink, 10.0, Anchor::End), (3.0, 4.0), "x & y");
        drawing
    }

    #[test]
    fn adjoining_shapes_of_one_look_are_one_element() {
        assert_eq!(
            shapes(&drawing(), Ink::Page("i")).into_string(),
            "<path class=\"s-grid\" stroke-width=\"1\" d=\"M4 9L4 0M1 1L5.3 1\"/>\
             <path class=\"f-plain\" d=\"M1 2h3v4h-3zM7 20a3 3 0 1 0 6 0a3 3 0 1 0 -6 0\"/>\
             <g class=\"f-ink\" font-size=\"10\" text-anchor=\"end\"><text x=\"3\" y=\"7.6\">x &amp; y</text></g>"
        );
    }

    #[test]
    fn a_file_has_colours_title_and_legend_and_a_page_has_classes() {
        let mut drawing = drawing();
        let area = Area { left: 0.0, top: 0.0, width: 9.0, height: 9.0 };
        drawing.readings.push(Reading { area, words: "it's <7>".to_owned() });
        drawing.legend.push(Entry {
            name: "plain".to_owned(),
            role: Role::Plain,
            mark: Mark::Ring,
        });
        let file = svg(&drawing, Ink::File("r\"1")).into_string();
        for part in [
            "xmlns=",
            "cryptbench chart, run r&quot;1",
            "#8a929c",
            ">plain</text>",
            ">a &lt; b</text>",
            "&lt;7&gt;",
        ] {
            assert!(file.contains(part), "{part} in {file}");
        }
        assert!(!file.contains("class="));
        let page = svg(&drawing, Ink::Page("i")).into_string();
        assert!(page.contains("aria-labelledby=\"i-t i-d\"") && !page.contains('#'), "{page}");
        assert!(page.contains("<title>it's &lt;7&gt;</title>"), "{page}");
    }
}

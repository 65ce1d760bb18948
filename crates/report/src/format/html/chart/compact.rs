//! The chart backend's output in fewer bytes: all shapes of one paint as one path, texts of one style in a group.
//!
//! The backend writes an element with all its attributes for every line and dot. Shapes that look alike are drawn
//! together, in the order in which each look occurs for the last time, so that the whisker of the last bar, and with it
//! every whisker, lies above all bars; texts come last, so that nothing covers them.

use std::fmt::Write as _;

/// The look of a shape.
#[derive(Clone, Debug, PartialEq)]
enum Paint<'a> {
    Fill(&'a str),
    Stroke { colour: &'a str, width: &'a str },
}

/// The look of a text.
#[derive(Clone, Debug, PartialEq)]
struct Type<'a> {
    size: i32,
    colour: &'a str,
    anchor: &'a str,
}

/// The elements of `drawing`, as [`plotters`]' SVG backend writes them, in fewer bytes. Keeps unknown elements
/// unchanged.
pub(super) fn compact(drawing: &str) -> String {
    let mut shapes: Vec<(Paint<'_>, String)> = Vec::new();
    let mut texts: Vec<(Type<'_>, String)> = Vec::new();
    let mut kept = String::new();
    let mut rest = drawing;
    while let Some(start) = rest.find('<') {
        let Some(end) = rest[start..].find('>').map(|end| start + end) else { break };
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        if tag.starts_with('/') {
            continue;
        }
        let attributes = Attributes(tag);
        if tag.starts_with("text ") {
            let (content, after) = rest.split_once("</text>").unwrap_or((rest, ""));
            rest = after;
            add_text(&mut texts, attributes, content.trim());
            continue;
        }
        match path(attributes).zip(attributes.paint()) {
            Some((path, paint)) => {
                let alike = shapes.iter().position(|(p, _)| *p == paint);
                let before = alike.map_or_else(String::new, |i| shapes.remove(i).1);
                shapes.push((paint, before + &path));
            }
            None => {
                let _ = write!(kept, "<{tag}>");
            }
        }
    }
    assemble(kept, &shapes, &texts)
}

fn assemble(
    mut out: String,
    shapes: &[(Paint<'_>, String)],
    texts: &[(Type<'_>, String)],
) -> String {
    for (paint, path) in shapes {
        let _ = match paint {
            Paint::Fill(colour) => write!(out, "<path fill=\"{colour}\" d=\"{path}\"/>"),
            Paint::Stroke { colour, width } => write!(
                out,
                "<path fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\" d=\"{path}\"/>"
            ),
        };
    }
    for (Type { size, colour, anchor }, group) in texts {
        let anchor = match *anchor {
            "start" | "" => String::new(),
            other => format!(" text-anchor=\"{other}\""),
        };
        let _ = write!(out, "<g font-size=\"{size}\" fill=\"{colour}\"{anchor}>{group}</g>");
    }
    out
}

fn add_text<'a>(texts: &mut Vec<(Type<'a>, String)>, attributes: Attributes<'a>, content: &str) {
    let size = attributes.number("font-size").unwrap_or(0.0);
    let look = Type {
        size: size.round() as i32,
        colour: attributes.get("fill").unwrap_or(""),
        anchor: attributes.get("text-anchor").unwrap_or(""),
    };
    // Of a usual letter's height; half the height of an x is a quarter of that.
    let down = match attributes.get("dy") {
        Some("0.76em") => 0.76,
        Some("0.5ex") => 0.27,
        Some("-0.5ex") => -0.27,
        _ => 0.0,
    };
    let (x, y) = (attributes.number("x").unwrap_or(0.0), attributes.number("y").unwrap_or(0.0));
    let turned =
        attributes.get("transform").map_or_else(String::new, |t| format!(" transform=\"{t}\""));
    let text = format!("<text x=\"{x:.0}\" y=\"{:.0}\"{turned}>{content}</text>", y + down * size);
    match texts.iter_mut().find(|(l, _)| *l == look) {
        Some((_, group)) => group.push_str(&text),
        None => texts.push((look, text)),
    }
}

/// The attributes of one opening tag.
#[derive(Clone, Copy)]
struct Attributes<'a>(&'a str);

impl<'a> Attributes<'a> {
    fn get(self, name: &str) -> Option<&'a str> {
        let start = self.0.find(&format!(" {name}=\""))? + name.len() + 3;
        self.0[start..].split_once('"').map(|(value, _)| value)
    }

    fn number(self, name: &str) -> Option<f64> {
        self.get(name)?.parse().ok()
    }

    /// `None` if it is not opaque.
    fn paint(self) -> Option<Paint<'a>> {
        if self.get("opacity").is_some_and(|o| o != "1") {
            return None;
        }
        let given = |name| self.get(name).filter(|v| *v != "none");
        match given("fill") {
            Some(colour) => Some(Paint::Fill(colour)),
            None => Some(Paint::Stroke {
                colour: given("stroke")?,
                width: self.get("stroke-width").unwrap_or("1"),
            }),
        }
    }
}

/// A shape as the data of a path; `None` for an unknown shape.
fn path(a: Attributes<'_>) -> Option<String> {
    let name = a.0.split([' ', '/']).next()?;
    let n = |name| a.number(name).map(|v| v.round() as i64);
    Some(match name {
        "line" => format!("M{} {}L{} {}", n("x1")?, n("y1")?, n("x2")?, n("y2")?),
        "rect" => {
            let (w, h) = (n("width")?, n("height")?);
            format!("M{} {}h{w}v{h}h{}z", n("x")?, n("y")?, -w)
        }
        "circle" => {
            let r = n("r")?;
            let (around, back) = (2 * r, -2 * r);
            format!(
                "M{} {}a{r} {r} 0 1 0 {around} 0a{r} {r} 0 1 0 {back} 0",
                n("cx")? - r,
                n("cy")?
            )
        }
        "polyline" => points(a)?,
        "polygon" => points(a)? + "z",
        _ => return None,
    })
}

/// From the first point onwards in relative steps, which are shorter; nothing for no point.
fn points(a: Attributes<'_>) -> Option<String> {
    let mut path = String::new();
    let mut before: Option<(i64, i64)> = None;
    for point in a.get("points")?.split_whitespace() {
        let (x, y) = point.split_once(',')?;
        let (x, y) = (x.parse::<i64>().ok()?, y.parse::<i64>().ok()?);
        let _ = match before.map(|(x0, y0)| (x - x0, y - y0)) {
            None => write!(path, "M{x} {y}"),
            Some((dx, 0)) => write!(path, "h{dx}"),
            Some((0, dy)) => write!(path, "v{dy}"),
            Some((dx, dy)) => write!(path, "l{dx} {dy}"),
        };
        before = Some((x, y));
    }
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::compact;

    #[test]
    fn shapes_of_one_paint_are_one_path() {
        let drawing = "<line opacity=\"1\" stroke=\"#030000\" stroke-width=\"4\" x1=\"4\" y1=\"9\" x2=\"4\" y2=\"0\"/>\n\
             <rect x=\"1\" y=\"2\" width=\"3\" height=\"4\" opacity=\"1\" fill=\"#040000\" stroke=\"none\"/>\n\
             <polyline fill=\"none\" opacity=\"1\" stroke=\"#030000\" stroke-width=\"4\" points=\"1,1 5,1 5,4 6,6 \"/>\n\
             <circle cx=\"10\" cy=\"20\" r=\"3\" opacity=\"1\" fill=\"#040000\" stroke=\"none\"/>\n";
        assert_eq!(
            compact(drawing),
            "<path fill=\"none\" stroke=\"#030000\" stroke-width=\"4\" d=\"M4 9L4 0M1 1h4v3l1 2\"/>\
             <path fill=\"#040000\" d=\"M1 2h3v4h-3zM7 20a3 3 0 1 0 6 0a3 3 0 1 0 -6 0\"/>"
        );
    }

    #[test]
    fn whiskers_lie_above_every_bar() {
        let bar = |y: i32, colour: &str| {
            format!(
                "<rect x=\"0\" y=\"{y}\" width=\"9\" height=\"4\" opacity=\"1\" fill=\"{colour}\" stroke=\"none\"/>"
            )
        };
        let whisker = |y: i32| {
            format!(
                "<line opacity=\"1\" stroke=\"#030000\" stroke-width=\"4\" x1=\"4\" y1=\"{y}\" x2=\"8\" y2=\"{y}\"/>"
            )
        };
        let drawn =
            compact(&[bar(0, "#040000"), whisker(2), bar(10, "#050000"), whisker(12)].concat());
        let at = |part: &str| drawn.find(part).unwrap();
        assert!(at("#040000") < at("#050000") && at("#050000") < at("#030000"), "{drawn}");
        assert!(drawn.contains("M4 2L8 2M4 12L8 12"), "{drawn}");
    }

    #[test]
    fn texts_of_one_style_are_a_group_and_keep_their_words() {
        let text = |x: i32, words: &str| {
            format!(
                "<text x=\"{x}\" y=\"10\" dy=\"0.76em\" text-anchor=\"middle\" font-family=\"sans-serif\" \
                 font-size=\"44.35\" opacity=\"1\" fill=\"#020000\">\n{words}\n</text>\n"
            )
        };
        assert_eq!(
            compact(&(text(1, "a &lt; b") + &text(2, "c"))),
            "<g font-size=\"44\" fill=\"#020000\" text-anchor=\"middle\"><text x=\"1\" y=\"44\">a &lt; b</text>\
             <text x=\"2\" y=\"44\">c</text></g>"
        );
    }

    #[test]
    fn what_is_unknown_or_translucent_is_kept() {
        let odd = "<rect x=\"1\" y=\"2\" width=\"3\" height=\"4\" opacity=\"0.5\" fill=\"#040000\" stroke=\"none\"/>";
        assert_eq!(compact(odd), odd);
    }
}

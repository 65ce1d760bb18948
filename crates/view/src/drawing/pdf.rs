//! A drawing as a single-page PDF file with vector graphics. Text uses Helvetica, which every PDF reader has
//! (PDF 1.4, ISO 32000-1).

use std::fmt::Write as _;

use super::{Anchor, Area, Drawing, Look, MARK, Mark, Point, Role, Shape};

/// PDF points per CSS pixel.
const POINTS: f64 = 0.75;

/// Distance between an end of a quarter circle and its control point, as a fraction of the radius.
const QUARTER: f64 = 0.5523;

/// Widths of Helvetica's letters from space to tilde, in thousandths of the font size (Adobe's core font
/// metrics).
const WIDTHS: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
];

/// The drawing with its title and its legend, as a document that contains the identifier of this run.
pub(crate) fn pdf(drawing: &Drawing, run: &str) -> Vec<u8> {
    let framed = drawing.framed();
    let Area { width, height, .. } = framed.area;
    let content = content(&framed);
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned().into_bytes(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned().into_bytes(),
        format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {} {}] /Contents 4 0 R /Resources << /Font << /F 5 0 R >> >> >>",
            short(width * POINTS),
            short(height * POINTS)
        )
        .into_bytes(),
        [format!("<< /Length {} >>\nstream\n", content.len()).as_bytes(), &content, b"\nendstream"].concat(),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".to_owned().into_bytes(),
        format!("<< /Title {} /Subject {} /Producer (cryptbench) >>", utf_16(&drawing.title), utf_16(&drawing.description()))
            .into_bytes(),
    ];
    let run: String = run.chars().filter(char::is_ascii_graphic).collect();
    let mut out = format!("%PDF-1.4\n% {MARK}, run {run}\n").into_bytes();
    let mut places = Vec::new();
    for (i, object) in objects.iter().enumerate() {
        places.push(out.len());
        out.extend(format!("{} 0 obj\n", i + 1).bytes());
        out.extend(object);
        out.extend(b"\nendobj\n");
    }
    let table = out.len();
    let size = objects.len() + 1;
    out.extend(format!("xref\n0 {size}\n0000000000 65535 f \n").bytes());
    for place in places {
        out.extend(format!("{place:010} 00000 n \n").bytes());
    }
    let end =
        format!("trailer\n<< /Size {size} /Root 1 0 R /Info 6 0 R >>\nstartxref\n{table}\n%%EOF\n");
    out.extend(end.bytes());
    out
}

/// The operators that draw the page. The page's vertical axis points upwards.
fn content(framed: &Drawing) -> Vec<u8> {
    let Area { left, top, height, .. } = framed.area;
    let mut out = format!(
        "{POINTS} 0 0 -{POINTS} {} {} cm\n1 j\n",
        short(-left * POINTS),
        short((top + height) * POINTS)
    )
    .into_bytes();
    for shape in &framed.shapes {
        write(&mut out, shape);
    }
    out
}

fn write(out: &mut Vec<u8>, shape: &Shape) {
    let mut text = String::new();
    match shape {
        Shape::Line { role, width, points } => {
            stroke(&mut text, *role, *width);
            path(&mut text, points);
            text.push_str("S\n");
        }
        Shape::Area { role, area } => {
            fill(&mut text, *role);
            let Area { left, top, width, height } = *area;
            let corners = [left, top, width, height].map(short).join(" ");
            let _ = writeln!(text, "{corners} re f");
        }
        Shape::Mark { role, mark, at, radius } => {
            of_mark(&mut text, *role, *mark, *at, *radius);
        }
        Shape::Text { look, at, words } => return letters(out, *look, *at, words),
    }
    out.extend(text.bytes());
}

fn of_mark(text: &mut String, role: Role, mark: Mark, at: Point, radius: f64) {
    let is_line = matches!(mark, Mark::Ring | Mark::Cross);
    match is_line {
        true => stroke(text, role, Mark::width(radius)),
        false => fill(text, role),
    }
    match mark.outline(at, radius) {
        Some(strokes) => strokes.iter().for_each(|points| path(text, points)),
        None => circle(text, at, radius),
    }
    text.push_str(if is_line { "S\n" } else { "f\n" });
}

fn path(text: &mut String, points: &[Point]) {
    for (i, (x, y)) in points.iter().enumerate() {
        let _ = writeln!(text, "{} {} {}", short(*x), short(*y), if i == 0 { 'm' } else { 'l' });
    }
}

fn circle(text: &mut String, (x, y): Point, radius: f64) {
    let at = |dx: f64, dy: f64| format!("{} {}", short(x + dx * radius), short(y + dy * radius));
    let _ = writeln!(text, "{} m", at(1.0, 0.0));
    for [dx, dy] in [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]] {
        // From one end of a quarter circle to the other.
        let (to_x, to_y) = (-dy, dx);
        let first = at(dx + QUARTER * to_x, dy + QUARTER * to_y);
        let second = at(to_x + QUARTER * dx, to_y + QUARTER * dy);
        let _ = writeln!(text, "{first} {second} {} c", at(to_x, to_y));
    }
}

fn letters(out: &mut Vec<u8>, look: Look, (x, y): Point, words: &str) {
    let bytes: Vec<u8> = words.chars().map(win_ansi).collect();
    let width: f64 = bytes.iter().map(|byte| width_of(*byte)).sum::<f64>() * look.size;
    let left = match look.anchor {
        Anchor::Start => x,
        Anchor::Middle => x - width / 2.0,
        Anchor::End => x - width,
    };
    let mut text = String::new();
    fill(&mut text, look.role);
    // The vertical axis points downwards here, but letters must not be upside down.
    let base = short(y + 0.36 * look.size);
    let _ = write!(text, "BT /F {} Tf 1 0 0 -1 {} {base} Tm (", short(look.size), short(left));
    out.extend(text.bytes());
    for byte in bytes {
        if matches!(byte, b'(' | b')' | b'\\') {
            out.push(b'\\');
        }
        out.push(byte);
    }
    out.extend(b") Tj ET\n");
}

fn fill(text: &mut String, role: Role) {
    let _ = writeln!(text, "{} rg", rgb(role));
}

fn stroke(text: &mut String, role: Role, width: f64) {
    let _ = writeln!(text, "{} RG {} w", rgb(role), short(width));
}

/// Red, green and blue in the light scheme, from 0 to 1.
fn rgb(role: Role) -> String {
    let hex = role.light();
    let part = |i: usize| f64::from(u8::from_str_radix(&hex[i..i + 2], 16).unwrap_or(0)) / 255.0;
    [1, 3, 5].map(|i| short(part(i))).join(" ")
}

/// The byte of a letter in Windows code page 1252; a question mark for letters that are not in it.
fn win_ansi(letter: char) -> u8 {
    match letter {
        ' '..='~' | '\u{a0}'..='\u{ff}' => letter as u32 as u8,
        '…' => 0x85,
        '‘' => 0x91,
        '’' => 0x92,
        '“' => 0x93,
        '”' => 0x94,
        '–' | '−' => 0x96,
        '—' => 0x97,
        'μ' => 0xb5,
        _ => b'?',
    }
}

/// Width of a letter in proportion to its size. Letters with accents are within 10 % of the width of most
/// letters.
fn width_of(byte: u8) -> f64 {
    let thousandths = match byte {
        b' '..=b'~' => WIDTHS[usize::from(byte - b' ')],
        0x85 | 0x97 => 1000,
        0x91 | 0x92 => 222,
        0x93 | 0x94 => 333,
        0xa0 | 0xb7 => 278,
        0xb0 => 400,
        0xb1 | 0xd7 => 584,
        _ => 556,
    };
    f64::from(thousandths) / 1000.0
}

/// A UTF-16 string for the document's metadata.
fn utf_16(text: &str) -> String {
    let mut out = "<FEFF".to_owned();
    text.encode_utf16().for_each(|unit| {
        let _ = write!(out, "{unit:04X}");
    });
    out + ">"
}

fn short(value: f64) -> String {
    let written = format!("{:.3}", value + 0.0);
    match written.trim_end_matches('0').trim_end_matches('.') {
        "-0" => "0".to_owned(),
        trimmed => trimmed.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Entry, look};
    use super::*;

    fn drawing() -> Drawing {
        let mut drawing = Drawing::new("a (b) ± 1 漢", 20.0);
        drawing.line(Role::Grid, 1.0, [(4.0, 9.0), (4.0, 0.5)]);
        drawing.area(Role::Plain, [1.0, 4.0], [2.0, 6.0]);
        drawing.mark(Role::Plain, Mark::Disc, (10.0, 20.0), 3.0);
        drawing.mark(Role::Encrypted(0), Mark::Cross, (20.0, 20.0), 3.0);
        drawing.text(look(Role::Ink, 10.0, Anchor::End), (30.0, 4.0), "II\\");
        drawing.legend.push(Entry {
            name: "plain".to_owned(),
            role: Role::Plain,
            mark: Mark::Ring,
        });
        drawing
    }

    #[test]
    fn the_table_names_where_each_object_begins() {
        let file = pdf(&drawing(), "r\n1");
        assert!(file.starts_with(b"%PDF-1.4\n% cryptbench chart, run r1\n"));
        let find = |what: &[u8]| file.windows(what.len()).position(|part| part == what).unwrap();
        let table = find(b"xref\n");
        let end = String::from_utf8_lossy(&file[table..]).into_owned();
        assert!(end.contains(&format!("startxref\n{table}\n%%EOF")), "{end}");
        let places = end.lines().skip(3).take_while(|line| line.ends_with(" n "));
        let places: Vec<usize> = places.map(|line| line[..10].parse().unwrap()).collect();
        assert_eq!(places.len(), 6);
        for (i, place) in places.into_iter().enumerate() {
            assert!(file[place..].starts_with(format!("{} 0 obj\n", i + 1).as_bytes()), "{i}");
        }
        let stream = find(b"stream\n") + 7;
        let length = find(b"\nendstream") - stream;
        find(format!("/Length {length} ").as_bytes());
    }

    #[test]
    fn letters_end_at_their_anchor_and_are_written_so_that_nothing_is_a_command() {
        let content = content(&drawing().framed());
        let text: String = content.iter().map(|byte| char::from(*byte)).collect();
        // Two letters of 2.78 and a backslash of the same width end at 30.
        assert!(text.contains("Tf 1 0 0 -1 21.66 7.6 Tm (II\\\\) Tj"), "{text}");
        assert!(text.contains("(a \\(b\\) ± 1 ?) Tj"), "{text}");
        assert!(text.contains("13 20 m\n13 21.657 11.657 23 10 23 c"), "{text}");
    }
}

//! Study A's open questions, answered from its own numbers: why small blocks lose the most, and why its devices
//! differ.

use crate::check::size;
use crate::csv::Csv;
use crate::error::DataError;
use crate::files::Files;
use crate::study::Answer;
use crate::study::a::models::{Cell, Fitted, MIB, Model, PIECE, fitted};
use crate::table::{Field, Number, Table};

/// A request that takes less than this many times its plain time counts as not slowed down.
const FREE: f64 = 1.03;

/// Times of one device in one direction, and how the models fit them.
struct Series {
    device: &'static str,
    read: bool,
    /// Speed of AES in RAM, MiB/s.
    cipher: f64,
    cells: Vec<Cell>,
    /// Cells omitted because their MB/s and IO/s contradict each other.
    contradictory: usize,
    fitted: Vec<Fitted>,
}

impl Series {
    fn name(&self) -> String {
        format!("{}, {}", self.device, if self.read { "read" } else { "write" })
    }

    fn of(&self, model: Model) -> Option<&Fitted> {
        self.fitted.iter().find(|f| f.model == model)
    }

    /// The first consecutive sizes for which `is` holds, given as the smallest and the largest size.
    fn sizes(&self, is: impl Fn(&Cell) -> bool) -> Option<(String, String)> {
        let mut row = self.cells.iter().skip_while(|c| !is(c)).take_while(|c| is(c));
        let first = row.next()?;
        let last = row.last().unwrap_or(first);
        Some((size(first.bytes as u64), size(last.bytes as u64)))
    }

    /// MiB/s of the largest requests: plain, encrypted, and predicted by a model.
    fn largest(&self, model: &Fitted) -> Option<(f64, f64, f64)> {
        let cell = self.cells.iter().max_by(|a, b| a.bytes.total_cmp(&b.bytes))?;
        let rate = |us: f64| cell.bytes / MIB / us * 1e6;
        Some((rate(cell.plain_us), rate(cell.encrypted_us), rate(model.us(cell, self.cipher))))
    }
}

pub(super) fn answers(files: &Files) -> Result<(Vec<Answer>, Table), DataError> {
    let csv = files.csv("atto")?;
    let mut all = Vec::new();
    for device in ["flash", "ssd", "hdd"] {
        for read in [true, false] {
            let (cells, contradictory) = cells(&csv, device, if read { "read" } else { "write" })?;
            let cipher = aes(files, if read { "decrypt_mib_s" } else { "encrypt_mib_s" })?;
            let fitted = fitted(&cells, cipher);
            all.push(Series { device, read, cipher, cells, contradictory, fitted });
        }
    }
    let answers = [small(files, &all)?, devices(&all), contradicted(&all)];
    Ok((answers.into_iter().filter(|a| !a.lines.is_empty()).collect(), table(&all)))
}

/// The cells whose figures agree with each other, by size, and the number of other cells.
pub(super) fn cells(csv: &Csv, device: &str, op: &str) -> Result<(Vec<Cell>, usize), DataError> {
    let mut cells: Vec<Cell> = Vec::new();
    let mut dropped = Vec::new();
    for row in csv.rows() {
        if row.text("device")? != device || row.text("op")? != op {
            continue;
        }
        let bytes = row.number("block_bytes")?.value();
        if row.text("consistent")? != "yes" {
            dropped.push(bytes);
        }
        let us = bytes / MIB / row.number("mib_s")?.value() * 1e6;
        let place = cells.iter().position(|c| c.bytes == bytes).unwrap_or_else(|| {
            cells.push(Cell { bytes, plain_us: f64::NAN, encrypted_us: f64::NAN });
            cells.len() - 1
        });
        match row.text("state")? {
            "plain" => cells[place].plain_us = us,
            _ => cells[place].encrypted_us = us,
        }
    }
    cells.retain(|c| !dropped.contains(&c.bytes));
    Ok((cells, dropped.len()))
}

pub(super) fn aes(files: &Files, column: &str) -> Result<f64, DataError> {
    let csv = files.csv("veracrypt_cipher_benchmark")?;
    for row in csv.rows() {
        if row.text("algorithm")? == "AES" {
            return Ok(row.number(column)?.value());
        }
    }
    Ok(f64::NAN)
}

/// A residual in percent.
pub(super) fn percent(fitted: &Fitted) -> String {
    residual(fitted).to_string()
}

fn residual(fitted: &Fitted) -> Number {
    Number::percent(100.0 * fitted.fit.residual.exp_m1())
}

fn series<'a>(all: &'a [Series], device: &str, read: bool) -> Option<&'a Series> {
    all.iter().find(|s| s.device == device && s.read == read)
}

fn small(files: &Files, all: &[Series]) -> Result<Answer, DataError> {
    let mut lines = Vec::new();
    let told = |device: &str, read, model| {
        let fitted = series(all, device, read)?.of(model)?;
        Some((fitted.added_us?, percent(fitted)))
    };
    let added = [
        ("flash reads", told("flash", true, Model::InPieces)),
        ("SSD reads", told("ssd", true, Model::InPieces)),
        ("SSD writes", told("ssd", false, Model::InPieces)),
        ("HDD reads", told("hdd", true, Model::InPiecesElsewhere)),
        ("HDD writes", told("hdd", false, Model::InPiecesElsewhere)),
    ];
    let added = added.into_iter().filter_map(|(name, told)| {
        told.map(|(us, residual)| format!("{name} {us:.0} µs (residual {residual})"))
    });
    lines.push(format!(
        "Each request takes longer by a fixed time, whatever its size: {}. This is most of the time of a small \
         request, but almost nothing for a large one. Certain: one figure describes all sizes.",
        added.collect::<Vec<_>>().join(", ")
    ));
    if let Some(ssd) = series(all, "ssd", true)
        && let (Some(apart), Some(together)) = (ssd.of(Model::InPieces), ssd.of(Model::Overlapped))
        && let Some((free, _)) = ssd.sizes(|c| together.us(c, ssd.cipher) <= c.plain_us)
    {
        lines.push(format!(
            "Nothing overlaps this time. If other requests were in flight during it, encryption would not slow the \
             SSD's reads from {free} up; that model has a residual of {}, and Akaike's criterion is {:.0} worse. \
             Certain.",
            percent(together),
            together.fit.criterion - apart.fit.criterion
        ));
    }
    if let (Some(flash), Some(ssd)) =
        (told("flash", true, Model::InPieces), told("ssd", true, Model::InPieces))
        && let Some(access) = access_time(files)?
    {
        lines.push(format!(
            "With one request at a time, the SSD's access time rises by {access:.0} µs, about as much as the time that \
             a flash read loses ({:.0} µs). So about {2:.0} of the SSD's {1:.0} µs are what its plain requests save by \
             overlapping: the driver processes ATTO's four requests one at a time. Likely, because the study does not \
             state the queue depth.",
            flash.0,
            ssd.0,
            ssd.0 - access
        ));
    }
    Ok(Answer { question: "Why do small blocks lose more?", lines })
}

/// Microseconds by which the SSD's access time increased.
fn access_time(files: &Files) -> Result<Option<f64>, DataError> {
    let csv = files.csv("hdtune")?;
    let (mut plain, mut encrypted) = (None, None);
    for row in csv.rows() {
        if row.text("device")? == "ssd" && row.text("quantity")? == "access time" {
            let value = row.number_if_any("value")?.map(|v| v.value());
            match row.text("state")? {
                "plain" => plain = value,
                _ => encrypted = value,
            }
        }
    }
    Ok(plain.zip(encrypted).map(|(p, e)| 1e3 * (e - p)))
}

fn devices(all: &[Series]) -> Answer {
    let mut lines = Vec::new();
    if let Some(ssd) = series(all, "ssd", true)
        && let Some(fitted) = ssd.of(Model::InPieces)
        && let Some((plain, encrypted, model)) = ssd.largest(fitted)
    {
        let us = |rate: f64| 1024.0 / MIB / rate * 1e6;
        lines.push(format!(
            "Transfer and cipher do not overlap. A KiB takes {:.2} µs on the SSD's bus and {:.2} µs in the cipher, so \
             its largest reads are predicted to reach {model:.0} of {plain:.0} MiB/s; {encrypted:.0} MiB/s was \
             measured. On a slower device, the same microseconds are a smaller share. Certain for reads.",
            us(plain),
            us(ssd.cipher)
        ));
    }
    let best = ["flash", "ssd"].into_iter().filter_map(|device| {
        let one = series(all, device, true)?;
        let (whole, pieces) = (one.of(Model::InSeriesWithCipher)?, one.of(Model::InPieces)?);
        Some(format!("{device} {} to {}", percent(whole), percent(pieces)))
    });
    lines.push(format!(
        "Large reads take the fixed time for each {:.0} KiB, the size of the pieces that VeraCrypt's driver for \
         Windows processes: with this assumption, the residual falls ({}). Only likely, because writes do not show it.",
        PIECE / 1024.0,
        best.collect::<Vec<_>>().join(", ")
    ));
    if let (Some(read), Some(write)) = (series(all, "hdd", true), series(all, "hdd", false))
        && let (Some(r), Some(w)) =
            (read.of(Model::InPiecesElsewhere), write.of(Model::InPiecesElsewhere))
        && let (Some(r_rate), Some(w_rate)) = (r.rate, w.rate)
        && let Some(alone) = read.of(Model::InPieces)
        && let Some((plain, _, _)) = read.largest(r)
        && let Some((from, _)) =
            read.sizes(|c| r.us(c, read.cipher) <= c.bytes / MIB / r_rate * 1e6)
        && let Some((_, ssd, _)) =
            series(all, "ssd", true).and_then(|s| s.largest(s.of(Model::InPieces)?))
    {
        lines.push(format!(
            "The HDD reads and writes at most {r_rate:.0} and {w_rate:.0} MiB/s encrypted, at every size from {from} up; \
             unencrypted, it reads {plain:.0}. The program is not the cause, because it reaches {ssd:.0} on the SSD. \
             Another zone of the platter would explain it (residual {} and {}; otherwise {}). Possible, but only a \
             measurement of the same zone could prove it.",
            percent(r),
            percent(w),
            percent(alone)
        ));
    }
    Answer { question: "Why do devices differ although the cipher is the same?", lines }
}

fn contradicted(all: &[Series]) -> Answer {
    let mut lines = Vec::new();
    if let Some(ssd) = series(all, "ssd", true)
        && let Some(cipher) = ssd.of(Model::Cipher)
    {
        lines.push(format!(
            "\"More cipher queues\" for small blocks (000:316-323): the cipher has the same work per byte at any size, \
             and a model of the cipher alone misses the SSD's reads by {}.",
            percent(cipher)
        ));
    }
    if let Some(flash) = series(all, "flash", false)
        && let Some(best) = flash.fitted.first()
    {
        lines.push(format!(
            "Flash writes cannot be explained: {} of their {} plain cells contradict themselves, and the best model \
             for the other cells still has a residual of {}.",
            flash.contradictory,
            flash.contradictory + flash.cells.len(),
            percent(best)
        ));
    }
    if let Some(ssd) = series(all, "ssd", false)
        && let Some(fitted) = ssd.of(Model::InPieces)
        && let Some((from, to)) = ssd.sizes(|c| c.encrypted_us < FREE * c.plain_us)
    {
        lines.push(format!(
            "SSD writes of {from} to {to} lose almost nothing, although the cipher also processes them: the flash \
             chips are slower than the bus there, and the cipher works while they are busy (residual of the model in \
             series: {}).",
            percent(fitted)
        ));
    }
    Answer { question: "What do the numbers contradict?", lines }
}

/// Every model with every series.
fn table(all: &[Series]) -> Table {
    let row = |one: &Series, fitted: &Fitted, best: f64| {
        let number = |value: Option<f64>| Field::from(value.map(|v| Number::new(v, 1)));
        vec![
            one.name().into(),
            fitted.model.told().into(),
            number(fitted.added_us),
            number(fitted.rate),
            residual(fitted).into(),
            Number::new(fitted.fit.criterion - best, 1).signed().into(),
        ]
    };
    let rows = all.iter().flat_map(|one| {
        let best = one.fitted.first().map_or(f64::NAN, |f| f.fit.criterion);
        one.fitted.iter().map(move |fitted| row(one, fitted, best))
    });
    Table {
        title: "Models of the time of an encrypted request, fitted to ATTO's tables".into(),
        headings: vec!["series", "model", "added µs", "MiB/s", "residual", "criterion"],
        rows: rows.collect(),
        note: "In series: a time for each request, which nothing overlaps; cipher: additionally the time of the cipher \
               at its speed in RAM; pieces: the same for each 256 KiB. Overlapped: both while other requests are in \
               flight. Slower place: the device itself has this speed there. Residual: root mean square of ln(measured \
               / model). Criterion: Akaike's, corrected for few values, minus that of the best model; a model with 10 \
               or more has almost no support. Cells whose MB/s and IO/s contradict each other are left out.",
    }
}

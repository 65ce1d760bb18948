//! Models of the time of an encrypted request on a device whose plain times are known.

use cryptbench_stats::criterion::{Fit, least};

pub(super) const MIB: f64 = 1_048_576.0;

/// Maximum number of bytes that VeraCrypt's Windows driver passes on in one piece
/// (`TC_ENC_IO_QUEUE_MAX_FRAGMENT_SIZE` in its `EncryptedIoQueue.h`).
pub(super) const PIECE: f64 = 262_144.0;

/// Search range for an added time, microseconds.
const ADDED_US: (f64, f64) = (1.0, 5_000.0);

/// Search range for another speed of the device, MiB/s.
const ELSEWHERE: (f64, f64) = (20.0, 1_000.0);

/// Requests of one size in one direction: size in bytes, and microseconds from one request to the next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell {
    pub bytes: f64,
    pub plain_us: f64,
    pub encrypted_us: f64,
}

/// Possible reasons why an encrypted request takes longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Model {
    /// Only the cipher, after the transfer.
    Cipher,
    /// A time for each request and the cipher, while other requests are in flight.
    Overlapped,
    /// A time for each request, during which no other request is processed.
    InSeries,
    /// As above, and the cipher.
    InSeriesWithCipher,
    /// As above, but for each piece of [`PIECE`] bytes of a request.
    InPieces,
    /// A slower region of the device.
    Elsewhere,
    /// As above, but the pieces are encrypted and transferred one after the other.
    InPiecesElsewhere,
}

impl Model {
    pub const ALL: [Self; 7] = [
        Self::Cipher,
        Self::Overlapped,
        Self::InSeries,
        Self::InSeriesWithCipher,
        Self::InPieces,
        Self::Elsewhere,
        Self::InPiecesElsewhere,
    ];

    pub fn told(self) -> &'static str {
        match self {
            Self::Cipher => "cipher alone",
            Self::Overlapped => "overlapped",
            Self::InSeries => "in series",
            Self::InSeriesWithCipher => "in series, cipher",
            Self::InPieces => "256 KiB pieces",
            Self::Elsewhere => "slower place",
            Self::InPiecesElsewhere => "pieces, slower place",
        }
    }

    fn has_added(self) -> bool {
        !matches!(self, Self::Cipher | Self::Elsewhere)
    }

    fn has_rate(self) -> bool {
        matches!(self, Self::Elsewhere | Self::InPiecesElsewhere)
    }

    /// Microseconds that an encrypted request takes with a cipher that processes `cipher` MiB/s.
    fn us(self, cell: &Cell, cipher: f64, added_us: f64, rate: f64) -> f64 {
        let at = |rate: f64| cell.bytes / MIB / rate * 1e6;
        let pieces = (cell.bytes / PIECE).ceil();
        match self {
            Self::Cipher => cell.plain_us + at(cipher),
            Self::Overlapped => cell.plain_us.max(added_us + at(cipher)),
            Self::InSeries => cell.plain_us + added_us,
            Self::InSeriesWithCipher => cell.plain_us + added_us + at(cipher),
            Self::InPieces => cell.plain_us + added_us * pieces + at(cipher),
            Self::Elsewhere => cell.plain_us.max(at(rate)),
            Self::InPiecesElsewhere => {
                Self::InPieces.us(cell, cipher, added_us, rate).max(at(rate))
            }
        }
    }
}

/// A model with its best parameters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fitted {
    pub model: Model,
    /// Microseconds added to each request or piece.
    pub added_us: Option<f64>,
    /// MiB/s of the device in that other region.
    pub rate: Option<f64>,
    pub fit: Fit,
}

impl Fitted {
    /// Microseconds of the encrypted request predicted by the model.
    pub fn us(&self, cell: &Cell, cipher: f64) -> f64 {
        let none = f64::INFINITY;
        self.model.us(cell, cipher, self.added_us.unwrap_or(0.0), self.rate.unwrap_or(none))
    }
}

/// Each model fitted to the cells, the best one first.
pub(super) fn fitted(cells: &[Cell], cipher: f64) -> Vec<Fitted> {
    let all = Model::ALL.iter().filter_map(|model| fit(*model, cells, cipher));
    let mut all: Vec<_> = all.collect();
    all.sort_by(|a, b| a.fit.criterion.total_cmp(&b.fit.criterion));
    all
}

fn fit(model: Model, cells: &[Cell], cipher: f64) -> Option<Fitted> {
    let residuals = |added: f64, rate: f64| -> Vec<f64> {
        cells.iter().map(|c| (c.encrypted_us / model.us(c, cipher, added, rate)).ln()).collect()
    };
    let squares = |added, rate| residuals(added, rate).iter().map(|r| r * r).sum::<f64>();
    let added_at = |rate| match model.has_added() {
        true => least(ADDED_US.0, ADDED_US.1, |added| squares(added, rate)),
        false => 0.0,
    };
    let rate = match model.has_rate() {
        true => least(ELSEWHERE.0, ELSEWHERE.1, |rate| squares(added_at(rate), rate)),
        false => f64::INFINITY,
    };
    let added = added_at(rate);
    let parameters = usize::from(model.has_added()) + usize::from(model.has_rate());
    Some(Fitted {
        model,
        added_us: model.has_added().then_some(added),
        rate: model.has_rate().then_some(rate),
        fit: Fit::of(&residuals(added, rate), parameters)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cells of a device of 500 MiB/s and 20 µs, encrypted according to `model`, alternately up to 3 % off.
    fn made(model: Model, added: f64, rate: f64) -> Vec<Cell> {
        let plain = |bytes: f64| 20.0 + bytes / MIB / 500.0 * 1e6;
        let sizes = (9..=26).map(|bits| f64::from(1 << bits));
        let cells = sizes.map(|bytes| Cell { bytes, plain_us: plain(bytes), encrypted_us: 0.0 });
        let off = [1.03, 0.99, 0.98, 1.0];
        let cells = cells.zip(off.iter().cycle());
        cells
            .map(|(c, off)| Cell { encrypted_us: model.us(&c, 3_000.0, added, rate) * off, ..c })
            .collect()
    }

    #[test]
    fn the_model_that_made_the_times_is_found_with_its_parameters() {
        for model in Model::ALL {
            let best = fitted(&made(model, 40.0, 200.0), 3_000.0)[0];
            assert_eq!(best.model, model);
            if let Some(added) = best.added_us {
                assert!((added / 40.0 - 1.0).abs() < 0.1, "{model:?}: {added}");
            }
            if let Some(rate) = best.rate {
                assert!((rate / 200.0 - 1.0).abs() < 0.05, "{model:?}: {rate}");
            }
            assert!(best.fit.residual < 0.03, "{model:?}: {:?}", best.fit);
        }
    }

    #[test]
    fn too_few_cells_say_nothing() {
        assert!(fitted(&made(Model::InSeries, 40.0, 200.0)[..2], 3_000.0).is_empty());
    }
}

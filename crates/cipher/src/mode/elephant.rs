//! AES-CBC with the Elephant diffuser, the cipher of BitLocker until Windows 8 (Ferguson, 2006): each data unit is
//! XORed with a sector key, and then processed by the diffuser and by CBC.

use super::cbc::Cbc;
use super::diffuser::{diffuse, gather};
use crate::kernel::{BLOCK, BlockKernel, Buffer, Run, UnitKernel, Visit, tell};

/// CBC around the diffuser.
pub(crate) struct Elephant {
    /// CBC with [`Ivs::Eboiv`](super::iv::Ivs::Eboiv).
    pub(crate) cbc: Cbc<BLOCK>,
    /// Makes the sector keys.
    pub(crate) sector_keys: Box<dyn BlockKernel<BLOCK>>,
}

/// Number of data units whose sector keys are computed together.
const TOGETHER: usize = 32;

impl Elephant {
    /// XORs each data unit with its repeated sector key.
    fn add_sector_keys(&self, run: Run, data: &mut [u8]) {
        let unit = run.layout.data_unit;
        let mut halves = [[0; BLOCK]; 2 * TOGETHER];
        for (first, units) in (0..).step_by(TOGETHER).zip(data.chunks_mut(TOGETHER * unit)) {
            let halves = &mut halves[..2 * (units.len() / unit)];
            for (index, pair) in halves.chunks_exact_mut(2).enumerate() {
                let number = run.after(first + index).first as u64;
                let offset = number.wrapping_mul(run.layout.data_unit as u64);
                pair.fill(u128::from(offset).to_le_bytes());
                // The byte by which the second half differs from the first.
                pair[1][BLOCK - 1] = 0x80;
            }
            self.sector_keys.encrypt(halves);
            for (unit, key) in units.chunks_exact_mut(unit).zip(halves.chunks_exact(2)) {
                for piece in unit.chunks_mut(2 * BLOCK) {
                    let key = key.as_flattened();
                    piece.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= key);
                }
            }
        }
    }
}

impl UnitKernel for Elephant {
    fn encrypt_units(&self, run: Run, buffer: Buffer<'_>) {
        let data = buffer.copied();
        self.add_sector_keys(run, data);
        diffuse(data, run.layout.data_unit);
        self.cbc.encrypt_units(run, Buffer::in_place(data));
    }

    fn decrypt_units(&self, run: Run, mut buffer: Buffer<'_>) {
        let whole = 0..buffer.len();
        self.cbc.decrypt_units(run, buffer.part(whole));
        gather(buffer.dst(), run.layout.data_unit);
        self.add_sector_keys(run, buffer.dst());
    }

    fn visit_keys(&self, visit: Visit<'_>) {
        self.cbc.visit_keys(visit);
        tell(&*self.sector_keys, visit);
        self.sector_keys.visit_keys(visit);
    }

    fn name(&self) -> &'static str {
        self.cbc.name()
    }
}

//! CTR, CFB, OFB and PCBC for any block kernel, as in Linux's crypto API. These modes are unsuitable for disks: because
//! IVs repeat, they reveal what two versions of a sector have in common. They are implemented only to open volumes that
//! use them.

use super::cbc::add;
use super::iv::Ivs;
use crate::kernel::{BlockKernel, Buffer, Run, UnitKernel, Visit, tell};

/// The chaining of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Feedback {
    /// The IV is a big-endian number that is incremented (NIST SP 800-38A, 6.5).
    Ctr,
    /// Each block is XORed with the encrypted previous ciphertext block (6.3).
    Cfb,
    /// The IV is encrypted repeatedly (6.4).
    Ofb,
    /// Each plaintext block is XORed with the previous plaintext and ciphertext blocks (Meyer and Matyas,
    /// "Cryptography", 1982).
    Pcbc,
}

/// A block cipher with feedback, which processes one unit after another.
pub(crate) struct WithFeedback<const N: usize> {
    pub(crate) cipher: Box<dyn BlockKernel<N>>,
    pub(crate) ivs: Ivs<N>,
    pub(crate) feedback: Feedback,
}

impl<const N: usize> WithFeedback<N> {
    fn transform<const ENCRYPT: bool>(&self, run: Run, data: &mut [u8]) {
        for (index, unit) in data.chunks_mut(run.layout.data_unit).enumerate() {
            let mut chain = [[0; N]];
            self.ivs.fill(run.after(index), &mut chain);
            for block in unit.as_chunks_mut::<N>().0 {
                self.step::<ENCRYPT>(&mut chain[0], block);
            }
        }
    }

    fn step<const ENCRYPT: bool>(&self, chain: &mut [u8; N], block: &mut [u8; N]) {
        let before = *block;
        let mut mask = [*chain];
        match self.feedback {
            Feedback::Ctr | Feedback::Cfb | Feedback::Ofb => {
                self.cipher.encrypt(&mut mask);
                add(block, &mask[0]);
            }
            Feedback::Pcbc if ENCRYPT => {
                add(block, chain);
                self.cipher.encrypt(std::slice::from_mut(block));
            }
            Feedback::Pcbc => {
                self.cipher.decrypt(std::slice::from_mut(block));
                add(block, chain);
            }
        }
        match self.feedback {
            Feedback::Ctr => {
                for byte in chain.iter_mut().rev() {
                    *byte = byte.wrapping_add(1);
                    if *byte != 0 {
                        break;
                    }
                }
            }
            Feedback::Cfb => *chain = if ENCRYPT { *block } else { before },
            Feedback::Ofb => *chain = mask[0],
            Feedback::Pcbc => {
                *chain = before;
                add(chain, block);
            }
        }
    }
}

impl<const N: usize> UnitKernel for WithFeedback<N> {
    fn encrypt_units(&self, run: Run, buffer: Buffer<'_>) {
        self.transform::<true>(run, buffer.copied());
    }

    fn decrypt_units(&self, run: Run, buffer: Buffer<'_>) {
        self.transform::<false>(run, buffer.copied());
    }

    fn visit_keys(&self, visit: Visit<'_>) {
        tell(&*self.cipher, visit);
        self.cipher.visit_keys(visit);
        self.ivs.visit_keys(visit);
    }

    fn name(&self) -> &'static str {
        self.cipher.name()
    }
}

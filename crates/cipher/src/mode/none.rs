//! `cipher_null`, which does not encrypt.

use crate::kernel::{Buffer, Run, UnitKernel, Visit};

/// Gives what it gets.
pub(crate) struct Nothing;

impl UnitKernel for Nothing {
    fn encrypt_units(&self, _: Run, buffer: Buffer<'_>) {
        buffer.copied();
    }

    fn decrypt_units(&self, _: Run, buffer: Buffer<'_>) {
        buffer.copied();
    }

    fn visit_keys(&self, _: Visit<'_>) {}

    fn name(&self) -> &'static str {
        "none"
    }
}

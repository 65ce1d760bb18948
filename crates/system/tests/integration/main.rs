//! Tests the public behaviour of `system`, one module per subject.

mod at_rest;
mod bytes;
mod in_turn;
mod killed;
mod openssl_reads_what_we_write;
mod place;
mod prepared;
mod stacked;

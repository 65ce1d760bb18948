//! What `system` promises its users, one module for each subject.

mod at_rest;
mod killed;
mod openssl_reads_what_we_write;
mod place;
mod prepared;
mod stacked;

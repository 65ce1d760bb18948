//! What `serve` promises its users, one module for each subject.

mod renamed_and_deleted;
mod rude_clients;
mod runs_and_pages;
mod site;
mod who_may_ask;

//! What `studies` promises its users, one module for each subject.

mod beside;
mod here;
mod items;
mod replay;

//! What `history` promises its users, one module for each subject.

mod history;
mod made;

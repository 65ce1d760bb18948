//! What `report` promises its users, one module for each subject.

mod advice;
mod answer;
mod evidence;
mod explanation;
mod fixture;
mod formats;
mod html;
mod parquet;
mod pictures;
mod terminal;
mod trouble;
mod verdicts;

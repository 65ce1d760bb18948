//! The keeper's side of a lower directory: queries the confined process about names and open files.

use std::fs::File;
use std::process::Stdio;
use std::sync::atomic::AtomicBool;

use anyhow::bail;
use cryptbench_volume::format::ecryptfs::Signature;
use cryptbench_volume::{Credentials, VolumeError};

use super::keeper::{Confined, can_start};
use super::patience::Patience;
use super::{Order, What};
use crate::volume::lower::message::{Ask, Reply, believe_ready};
use crate::volume::secrets;

/// A confined process that replies to queries.
pub struct Answers {
    child: Confined,
    patience: Patience,
}

impl Answers {
    /// Starts the process, and returns the signatures of its keys. There are no signatures if there are no credentials.
    ///
    /// # Errors
    /// Also if a passphrase cannot be unwrapped, which the process has already reported.
    pub fn start(
        credentials: Option<&Credentials>,
        stop: &AtomicBool,
    ) -> anyhow::Result<(Self, Vec<Signature>)> {
        if !can_start() {
            let what = "opening an eCryptfs directory on this system".to_owned();
            bail!(VolumeError::Unsupported { what, hint: Some("use Linux".to_owned()) });
        }
        let all: Vec<_> = credentials.into_iter().collect();
        let secrets = all.len() as u8;
        let order = Order { what: What::Answer, secrets, header: false, other: false };
        secrets::through_pipe(&all, |pipe| {
            let files: Vec<_> = (secrets > 0).then_some(&pipe).into_iter().collect();
            let mut child = Confined::start(order, &files, Stdio::null())?;
            let mut patience = Patience::default();
            let keys = believe_ready(&child.hear(&mut patience, stop)?)?;
            Ok((Self { child, patience }, keys))
        })
    }

    /// Stops showing progress, because other output follows.
    pub fn be_silent(&mut self) {
        self.patience = Patience::unending();
    }

    /// The reply to a query with this text or these files.
    pub fn ask(
        &mut self,
        asked: Ask,
        text: &[u8],
        files: &[&File],
        stop: &AtomicBool,
    ) -> anyhow::Result<Reply> {
        self.child.tell(&[&[asked as u8], text].concat(), files)?;
        Reply::believe(&self.child.hear(&mut self.patience, stop)?, asked)
    }
}

//! A block device in use on this machine. Windows has no means for a program to serve such a device.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cryptbench_blockdev::BlockDevice;
use cryptbench_export::fuse::{Connection, FuseOptions};
use cryptbench_export::ublk::Disk;

use crate::SystemError;
use crate::resource::{Journal, Place};

/// The hidden command that starts the server process of a disk; not available on Windows.
pub const SERVE_DISK: &str = "serve-disk";

/// Always fails.
///
/// # Errors
/// [`io::ErrorKind::Unsupported`]: nothing is served here.
pub fn serve_disk() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// A served device: not available.
pub enum ServedVolume {}

impl ServedVolume {
    /// # Errors
    /// [`SystemError::Export`]: nothing is served here.
    pub fn serve(
        _device: Arc<dyn BlockDevice>,
        _path: Option<&Path>,
        _options: &FuseOptions,
        _journal: &Journal,
    ) -> Result<Self, SystemError> {
        Err(cryptbench_export::not_here().into())
    }

    /// # Errors
    /// [`SystemError::Export`]: nothing is served here.
    pub fn by_child(
        _path: Option<&Path>,
        _size: u64,
        _options: &FuseOptions,
        _journal: &Journal,
    ) -> Result<(Self, Connection), SystemError> {
        Err(cryptbench_export::not_here().into())
    }

    /// # Errors
    /// [`SystemError::Export`]: nothing is served here.
    pub fn disk_by_child(_disk: &Disk, _journal: &Journal) -> Result<(Self, File), SystemError> {
        Err(cryptbench_export::not_here().into())
    }

    /// The file that contains the device's data.
    pub fn file(&self) -> &Path {
        match *self {}
    }

    /// # Errors
    /// Never: not available.
    pub fn attach(&mut self, _read_only: bool) -> Result<PathBuf, SystemError> {
        match *self {}
    }

    /// # Errors
    /// Never: not available.
    pub fn mount_file_system(
        &mut self,
        _device: &Path,
        _place: Arc<Place>,
        _read_only: bool,
        _options: Option<&str>,
    ) -> Result<(), SystemError> {
        match *self {}
    }

    /// # Errors
    /// Never: not available.
    pub fn show_at(&mut self, _place: Arc<Place>) -> Result<(), SystemError> {
        match *self {}
    }

    /// # Errors
    /// Never: not available.
    pub fn mount_in_own_directory(&mut self, _device: &Path) -> Result<PathBuf, SystemError> {
        match *self {}
    }

    /// # Errors
    /// Never: not available.
    pub fn destroy(&mut self) -> Result<(), SystemError> {
        match *self {}
    }

    /// # Errors
    /// Never: not available.
    pub fn destroy_at_once(&mut self) -> Result<(), SystemError> {
        match *self {}
    }
}

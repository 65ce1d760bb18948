//! The data that a job writes, and when it must be on the device.

use super::super::{ProfileError, WorkAmount};
use super::Remarks;
use super::reader::Reader;
use crate::{Content, Direction, Flush};

impl Reader<'_> {
    /// fio's four ways to flush. In cryptbench, a job can use only one of these ways.
    ///
    /// With `fsync` and `fdatasync` each flush is a separate request (`get_rw_ddir` of its io_u.c): such a flush does
    /// not wait for earlier requests, and there is no flush after the last write.
    pub(super) fn flush(
        &self,
        direction: Direction,
        amount: WorkAmount,
        remarks: &mut Remarks,
    ) -> Result<Flush, ProfileError> {
        let every = |data_only| {
            move |writes: u64| Flush::Every { writes: writes as u32, data_only, drained: false }
        };
        let most = u64::from(u32::MAX);
        let sync = match self.section.get("sync").map(|s| s.value.as_deref()) {
            None | Some(Some("0" | "none")) => None,
            Some(None | Some("1" | "sync")) => {
                remarks.add(
                    "sync=1 (O_SYNC) is carried out as sync=dsync: each write waits for its data and for the \
                     metadata needed to read it again, not for time stamps.",
                );
                Some(Flush::EachWrite)
            }
            Some(Some("dsync")) => Some(Flush::EachWrite),
            Some(Some(other)) => {
                let remedy = "use 0, 1, none, sync or dsync";
                return Err(self.wrong("sync", format!("{other:?} is not supported"), remedy));
            }
        };
        let found = [
            ("sync", sync),
            ("fsync", self.count("fsync", 0, most)?.filter(|n| *n > 0).map(every(false))),
            ("fdatasync", self.count("fdatasync", 0, most)?.filter(|n| *n > 0).map(every(true))),
            ("end_fsync", self.flag("end_fsync")?.filter(|f| *f).map(|_| Flush::AtEnd)),
        ];
        let mut found = found.iter().filter_map(|(name, flush)| Some((*name, (*flush)?)));
        let Some((name, flush)) = found.next() else { return Ok(Flush::Never) };
        if let Some((second, _)) = found.next() {
            let problem = format!("cannot be combined with {name}");
            return Err(self.wrong(second, problem, "keep one way to flush"));
        }
        if !direction.writes() {
            remarks.add(format!("{name} has no effect on reads, as in fio."));
            return Ok(Flush::Never);
        }
        if flush == Flush::AtEnd && amount == WorkAmount::Time {
            let remedy = "remove it, or replace time_based with a size";
            return Err(self.wrong(name, "cannot be combined with time_based", remedy));
        }
        Ok(flush)
    }

    pub(super) fn content(&self) -> Result<Content, ProfileError> {
        let zeros = self.flag("zero_buffers")?.unwrap_or(false);
        let percent = self.count("buffer_compress_percentage", 0, 100)?;
        match (zeros, percent) {
            (true, Some(_)) => {
                let remedy = "keep one of the two";
                Err(self.wrong(
                    "buffer_compress_percentage",
                    "cannot be combined with zero_buffers",
                    remedy,
                ))
            }
            (true, None) | (false, Some(100)) => Ok(Content::Zeros),
            (false, None | Some(0)) => Ok(Content::Random),
            (false, Some(percent)) => Ok(Content::Compressible { percent: percent as u8 }),
        }
    }
}

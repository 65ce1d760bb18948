//! The space that workloads need, and the reduction of profiles to fit into less space.

use super::{BlockWork, FileSizes, FileUse, Profile, ProfileError, Work, WorkAmount};
use crate::Pattern;

impl BlockWork {
    /// Smallest scratch file in bytes with which this workload can run; 0 if the workload does not use a scratch file.
    pub fn scratch_span(&self) -> u64 {
        match self.file {
            FileUse::Fresh(_) => 0,
            FileUse::Scratch(Some(bytes)) => bytes.max(self.sampled_span()),
            FileUse::Scratch(None) => self.block_size.max(self.sampled_span()),
        }
    }

    /// Total size in bytes of all blocks that a sampled pattern visits in one pass; 0 for other patterns.
    pub(super) fn sampled_span(&self) -> u64 {
        match self.pattern {
            Pattern::Sampled { points, run } => {
                self.block_size.saturating_mul(u64::from(points)).saturating_mul(u64::from(run))
            }
            _ => 0,
        }
    }

    /// Drops points of a sample that do not fit into `bytes`. Returns the remaining and the original number of
    /// points.
    fn sample_within(&mut self, bytes: u64) -> Option<(u32, u32)> {
        let Pattern::Sampled { points, run } = self.pattern else { return None };
        let fit = bytes / self.block_size.saturating_mul(u64::from(run)).max(1);
        let fewer = u32::try_from(fit).unwrap_or(u32::MAX);
        if fewer == 0 || fewer >= points || !matches!(self.file, FileUse::Scratch(_)) {
            return None;
        }
        self.pattern = Pattern::Sampled { points: fewer, run };
        let span = self.sampled_span();
        if let WorkAmount::Bytes(amount) = &mut self.amount {
            *amount = span.min(*amount);
        }
        Some((fewer, points))
    }
}

impl Work {
    /// Size in bytes of the largest file that this work needs; 0 for a volume.
    fn largest_file(&self) -> u64 {
        match self {
            Self::Block(block) => match block.file {
                FileUse::Fresh(bytes) => bytes,
                FileUse::Scratch(_) => block.scratch_span(),
            },
            Self::Files(files) => match files.sizes {
                FileSizes::Fixed(bytes) => bytes,
                FileSizes::LogNormal { .. } => FileSizes::CAP,
            },
            Self::Unlock(_) => 0,
        }
    }
}

impl Profile {
    /// The profile for storage of `bytes` bytes. Work on the whole storage covers all of its whole blocks. A sample has
    /// as many points as fit; a remark reports that number.
    pub fn over(mut self, bytes: u64) -> Self {
        for workload in &mut self.workloads {
            let Work::Block(block) = &mut workload.work else { continue };
            if block.amount == WorkAmount::Whole {
                let all = bytes / block.block_size * block.block_size;
                block.amount = WorkAmount::Bytes(all);
                block.file = FileUse::Scratch(Some(all));
            }
            if let Some((fewer, asked)) = block.sample_within(bytes) {
                self.remarks.push(format!(
                    "{}: {fewer} places instead of {asked}, because more do not fit into the file.",
                    workload.label
                ));
            }
        }
        self
    }

    /// Smallest scratch file in bytes into which every workload fits; 0 if no workload uses a scratch file.
    pub fn scratch_needed(&self) -> u64 {
        let spans = self.workloads.iter().map(|w| match &w.work {
            Work::Block(block) => block.scratch_span(),
            Work::Files(_) | Work::Unlock(_) => 0,
        });
        spans.max().unwrap_or(0)
    }

    /// Drops the workloads that need a file of more than `bytes`, limits the scratch size of the profile, and returns
    /// the number of dropped workloads.
    ///
    /// # Errors
    /// [`ProfileError::NothingLeft`] if no workload would be left; the profile is then unchanged.
    pub fn max_file(&mut self, bytes: u64) -> Result<usize, ProfileError> {
        let needs = self.workloads.iter().map(|w| w.work.largest_file());
        let smallest = needs.min().unwrap_or(0);
        if smallest > bytes {
            return Err(ProfileError::NothingLeft {
                profile: self.name.clone(),
                limit: bytes,
                smallest,
            });
        }
        let before = self.workloads.len();
        self.workloads.retain(|w| w.work.largest_file() <= bytes);
        // The size of the scratch file is a multiple of 1 MiB.
        self.size = self.size.map(|size| size.min(bytes.next_multiple_of(1 << 20)));
        Ok(before - self.workloads.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_as_many_places_as_fit() {
        let hdtune = || Profile::named("hdtune").unwrap();
        let surface = |profile: Profile| match profile.workloads[0].work.clone() {
            Work::Block(block) => (block.pattern, block.amount, profile.remarks.len()),
            _ => unreachable!("the surface is read in blocks"),
        };
        let before = hdtune().remarks.len();
        // 64 MiB hold 64 runs of 16 blocks of 64 KiB.
        let (pattern, amount, remarks) = surface(hdtune().over(64 << 20));
        assert_eq!(pattern, Pattern::Sampled { points: 64, run: 16 });
        assert_eq!((amount, remarks), (WorkAmount::Bytes(64 << 20), before + 1));
        let (pattern, _, remarks) = surface(hdtune().over(1 << 30));
        assert_eq!((pattern, remarks), (Pattern::Sampled { points: 100, run: 16 }, before));
    }
}

//! Properties reported by a volume and its underlying disk: sectors, vendor, seeks, cache, length.

use std::fs::File;
use std::io;
use std::mem::{size_of, zeroed};
use std::os::windows::io::AsRawHandle as _;
use std::path::Path;
use std::ptr::{null, null_mut};

use windows_sys::Win32::Storage::FileSystem as fs;
use windows_sys::Win32::System::IO::DeviceIoControl;
use windows_sys::Win32::System::Ioctl as ioctl;

use super::{done, wide};

/// Sector sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sectors {
    /// The unit of requests that bypass the cache.
    pub(crate) logical: u32,
    /// The unit in which the drive writes; `None` if the drive does not report it.
    pub(crate) physical: Option<u32>,
}

/// The sector sizes of the disk that holds an open file or directory. `Unsupported` if the call is missing, as in
/// Wine.
pub(crate) fn sectors(file: &File) -> io::Result<Sectors> {
    // SAFETY: a structure of numbers.
    let mut found: fs::FILE_STORAGE_INFO = unsafe { zeroed() };
    // SAFETY: the handle is open, the structure belongs to the call and its length is correct.
    done(unsafe {
        fs::GetFileInformationByHandleEx(
            file.as_raw_handle(),
            fs::FileStorageInfo,
            (&raw mut found).cast(),
            size_of::<fs::FILE_STORAGE_INFO>() as u32,
        )
    })?;
    let physical = found.PhysicalBytesPerSectorForPerformance;
    match found.LogicalBytesPerSector {
        0 => Err(io::ErrorKind::Unsupported.into()),
        logical => Ok(Sectors { logical, physical: Some(physical).filter(|bytes| *bytes > 0) }),
    }
}

/// Logical sector size of the volume at `root` in bytes, from the older call.
pub(crate) fn sector_of_volume(root: &Path) -> io::Result<u32> {
    let (mut per_cluster, mut sector, mut free, mut all) = (0, 0, 0, 0);
    let root = wide(root);
    // SAFETY: the path is zero-terminated, and the call writes only the numbers that it is given.
    done(unsafe {
        fs::GetDiskFreeSpaceW(
            root.as_ptr(),
            &raw mut per_cluster,
            &raw mut sector,
            &raw mut free,
            &raw mut all,
        )
    })?;
    Ok(sector)
}

/// Queries a device; returns the number of bytes that the device wrote to `answer`.
fn asked(device: &File, code: u32, question: &[u8], answer: &mut [u8]) -> io::Result<usize> {
    let mut len = 0;
    let from = if question.is_empty() { null() } else { question.as_ptr().cast() };
    // SAFETY: the handle is open, the lengths of both buffers are correct, and the number belongs to the call.
    done(unsafe {
        DeviceIoControl(
            device.as_raw_handle(),
            code,
            from,
            question.len() as u32,
            answer.as_mut_ptr().cast(),
            answer.len() as u32,
            &raw mut len,
            null_mut(),
        )
    })?;
    Ok((len as usize).min(answer.len()))
}

/// A property of the disk, as its structure's bytes.
fn property(device: &File, id: ioctl::STORAGE_PROPERTY_ID) -> io::Result<Vec<u8>> {
    // STORAGE_PROPERTY_QUERY: the property, PropertyStandardQuery (0), and one more byte with its padding.
    let mut question = [0; 12];
    question[..4].copy_from_slice(&id.to_le_bytes());
    let mut answer = vec![0; 1024];
    let len = asked(device, ioctl::IOCTL_STORAGE_QUERY_PROPERTY, &question, &mut answer)?;
    answer.truncate(len);
    Ok(answer)
}

/// The manufacturer's name for the disk.
pub(crate) fn model(device: &File) -> Option<String> {
    named(&property(device, ioctl::StorageDeviceProperty).ok()?)
}

/// Vendor and product of a `STORAGE_DEVICE_DESCRIPTOR`, whose offsets are at 12 and 16.
fn named(descriptor: &[u8]) -> Option<String> {
    let text = |at: usize| {
        let offset = u32::from_le_bytes(descriptor.get(at..at + 4)?.try_into().ok()?) as usize;
        let text = descriptor.get(offset..).filter(|_| offset > 0)?;
        let text = text.split(|byte| *byte == 0).next()?;
        Some(String::from_utf8_lossy(text).trim().to_owned()).filter(|text| !text.is_empty())
    };
    match (text(12), text(16)) {
        (Some(vendor), Some(product)) => Some(format!("{vendor} {product}")),
        (vendor, product) => product.or(vendor),
    }
}

/// How the disk is attached, as a `STORAGE_BUS_TYPE`, and whether its medium is removable.
pub(crate) fn bus(device: &File) -> Option<(i32, bool)> {
    // STORAGE_DEVICE_DESCRIPTOR: RemovableMedia at 10, BusType at 28.
    let found = property(device, ioctl::StorageDeviceProperty).ok()?;
    let bus = i32::from_le_bytes(found.get(28..32)?.try_into().ok()?);
    Some((bus, *found.get(10)? != 0))
}

/// Whether the disk has a seek penalty, as a rotating disk does.
pub(crate) fn seeks(device: &File) -> Option<bool> {
    // DEVICE_SEEK_PENALTY_DESCRIPTOR: version, size, the answer.
    let found = property(device, ioctl::StorageDeviceSeekPenaltyProperty).ok()?;
    found.get(8).map(|byte| *byte != 0)
}

/// Whether the disk's write cache is on.
pub(crate) fn caches_writes(device: &File) -> Option<bool> {
    // STORAGE_WRITE_CACHE_PROPERTY: version, size, kind of cache, whether it is on.
    let found = property(device, ioctl::StorageDeviceWriteCacheProperty).ok()?;
    match i32::from_le_bytes(found.get(12..16)?.try_into().ok()?) {
        ioctl::WriteCacheEnabled => Some(true),
        ioctl::WriteCacheDisabled => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maker_and_product_are_read_where_the_descriptor_says() {
        let mut descriptor = vec![0; 36];
        descriptor[16..20].copy_from_slice(&36_u32.to_le_bytes());
        descriptor.extend(b"Samsung SSD 990 PRO \0rest");
        assert_eq!(named(&descriptor).as_deref(), Some("Samsung SSD 990 PRO"));
        descriptor[12..16].copy_from_slice(&57_u32.to_le_bytes());
        assert_eq!(named(&descriptor).as_deref(), Some("rest Samsung SSD 990 PRO"));
        descriptor[12..20].copy_from_slice(&[0xff; 8]);
        assert_eq!(named(&descriptor), None, "offsets past the end");
        assert_eq!(named(&[0; 10]), None);
    }

    #[test]
    fn a_file_is_no_disk() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!((model(&file), seeks(&file), caches_writes(&file)), (None, None, None));
    }
}

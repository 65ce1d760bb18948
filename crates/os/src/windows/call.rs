//! The Windows calls that the standard library lacks. The only unsafe code of this crate.
#![allow(unsafe_code)]

pub(super) mod device;
pub(super) mod rights;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::mem::{size_of, zeroed};
use std::os::windows::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::windows::fs::OpenOptionsExt as _;
use std::os::windows::io::{AsRawHandle, FromRawHandle as _, OwnedHandle};
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};

use windows_sys::Win32::Foundation::{FILETIME, HANDLE, INVALID_HANDLE_VALUE};
use windows_sys::Win32::Security::{
    GetTokenInformation, TOKEN_ELEVATION, TOKEN_QUERY, TokenElevation,
};
use windows_sys::Win32::Storage::FileSystem as fs;
use windows_sys::Win32::System::Console as console;
use windows_sys::Win32::System::IO::DeviceIoControl;
use windows_sys::Win32::System::Ioctl::{DISK_PERFORMANCE, IOCTL_DISK_PERFORMANCE};
use windows_sys::Win32::System::LibraryLoader::{GetModuleHandleW, GetProcAddress};
use windows_sys::Win32::System::Power as power;
use windows_sys::Win32::System::Registry as registry;
use windows_sys::Win32::System::SystemInformation::{GlobalMemoryStatusEx, MEMORYSTATUSEX};
use windows_sys::Win32::System::Threading as threading;
use windows_sys::core::BOOL;

/// Maximum path length for the calls here, in UTF-16 units.
const PATH: usize = 1024;

fn done(result: BOOL) -> io::Result<()> {
    if result == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// With a terminating zero.
fn wide(text: impl AsRef<OsStr>) -> Vec<u16> {
    text.as_ref().encode_wide().chain([0]).collect()
}

/// Up to the first zero.
fn text(wide: &[u16]) -> OsString {
    let len = wide.iter().position(|&unit| unit == 0).unwrap_or(wide.len());
    OsString::from_wide(&wide[..len])
}

/// Units of 100 ns.
fn ticks(time: FILETIME) -> u64 {
    u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime)
}

/// File system information on an open file.
pub(super) struct Information {
    /// Serial number of its volume.
    pub(super) volume: u64,
    /// Number of the file on its volume.
    pub(super) index: u64,
    /// Number of names (hard links) of the file.
    pub(super) names: u64,
    /// Creation time since 1601, in units of 100 ns.
    pub(super) created: u64,
}

pub(super) fn information(file: &impl AsRawHandle) -> io::Result<Information> {
    // SAFETY: a structure of numbers.
    let mut found: fs::BY_HANDLE_FILE_INFORMATION = unsafe { zeroed() };
    // SAFETY: the handle is open and the structure belongs to the call.
    done(unsafe { fs::GetFileInformationByHandle(file.as_raw_handle(), &raw mut found) })?;
    Ok(Information {
        volume: u64::from(found.dwVolumeSerialNumber),
        index: u64::from(found.nFileIndexHigh) << 32 | u64::from(found.nFileIndexLow),
        names: u64::from(found.nNumberOfLinks),
        created: ticks(found.ftCreationTime),
    })
}

/// The current path of an open file.
pub(super) fn path_of(file: &File) -> io::Result<PathBuf> {
    let mut buffer = [0; PATH];
    // SAFETY: the handle is open, and the length of the buffer is correct.
    let len = unsafe {
        fs::GetFinalPathNameByHandleW(file.as_raw_handle(), buffer.as_mut_ptr(), PATH as u32, 0)
    };
    match len as usize {
        0 => Err(io::Error::last_os_error()),
        len if len >= PATH => Err(io::ErrorKind::InvalidFilename.into()),
        _ => Ok(text(&buffer).into()),
    }
}

/// Another handle to the same open file, with other flags of CreateFile.
pub(super) fn reopen(file: &File, flags: u32) -> io::Result<File> {
    let access = fs::FILE_GENERIC_READ | fs::FILE_GENERIC_WRITE;
    let share = fs::FILE_SHARE_READ | fs::FILE_SHARE_WRITE | fs::FILE_SHARE_DELETE;
    // SAFETY: the handle is open.
    let handle = unsafe { fs::ReOpenFile(file.as_raw_handle(), access, share, flags) };
    if handle == INVALID_HANDLE_VALUE {
        return reopen_by_path(file, flags);
    }
    // SAFETY: the call has just opened it, and nothing else owns it.
    Ok(unsafe { File::from_raw_handle(handle) })
}

/// Like [`reopen`], for systems without the call, such as Wine: opens the file by its path, if the path still leads to
/// the same file.
fn reopen_by_path(file: &File, flags: u32) -> io::Result<File> {
    let mut options = File::options();
    let again = options.read(true).write(true).custom_flags(flags).open(path_of(file)?)?;
    let (was, is) = (information(file)?, information(&again)?);
    match (was.volume, was.index) == (is.volume, is.index) {
        true => Ok(again),
        false => Err(io::ErrorKind::NotFound.into()),
    }
}

/// Renames a file unless the new name exists.
pub(super) fn rename_to_new(from: &Path, to: &Path) -> io::Result<()> {
    let (from, to) = (wide(from), wide(to));
    // SAFETY: both paths end with a zero.
    done(unsafe { fs::MoveFileExW(from.as_ptr(), to.as_ptr(), 0) })
}

/// Whether Wine runs this program: Wine's ntdll has a function that the ntdll of Windows does not have.
pub(super) fn is_wine() -> bool {
    let name = wide("ntdll.dll");
    // SAFETY: the name is zero-terminated; every process has this library loaded, and keeps it.
    let library = unsafe { GetModuleHandleW(name.as_ptr()) };
    // SAFETY: the library is loaded, and the name is zero-terminated.
    unsafe { GetProcAddress(library, c"wine_get_version".as_ptr().cast()) }.is_some()
}

/// Bytes that are free for this user in the file system at `path`, and the file system's total size in bytes.
pub(super) fn space(path: &Path) -> io::Result<(u64, u64)> {
    let (mut free, mut all) = (0, 0);
    let path = wide(path);
    // SAFETY: the path is zero-terminated, and the call writes only the numbers that it is given.
    done(unsafe {
        fs::GetDiskFreeSpaceExW(path.as_ptr(), &raw mut free, &raw mut all, null_mut())
    })?;
    Ok((free, all))
}

/// The root of the volume that contains `path`, such as `C:\`.
pub(super) fn volume_root(path: &Path) -> io::Result<PathBuf> {
    let mut buffer = [0; PATH];
    let path = wide(path);
    // SAFETY: the path is zero-terminated, and the length of the buffer is correct.
    done(unsafe { fs::GetVolumePathNameW(path.as_ptr(), buffer.as_mut_ptr(), PATH as u32) })?;
    Ok(text(&buffer).into())
}

/// A volume.
pub(super) struct Volume {
    /// Its serial number.
    pub(super) serial: u64,
    /// Its file system: `NTFS`.
    pub(super) file_system: String,
    /// `FILE_READ_ONLY_VOLUME` and others.
    pub(super) flags: u32,
}

/// The volume at `root`, which ends with a backslash.
pub(super) fn volume(root: &Path) -> io::Result<Volume> {
    let (mut serial, mut flags, mut name) = (0, 0, [0; 64]);
    let root = wide(root);
    // SAFETY: the path is zero-terminated, the length of the buffer is correct, and the call writes only the numbers
    // that it is given.
    done(unsafe {
        fs::GetVolumeInformationW(
            root.as_ptr(),
            null_mut(),
            0,
            &raw mut serial,
            null_mut(),
            &raw mut flags,
            name.as_mut_ptr(),
            name.len() as u32,
        )
    })?;
    let file_system = text(&name).to_string_lossy().into_owned();
    Ok(Volume { serial: u64::from(serial), file_system, flags })
}

/// The permanent name of the volume at `root`, which stays the same if the drive letter changes.
pub(super) fn volume_name(root: &Path) -> io::Result<PathBuf> {
    let mut buffer = [0; 64];
    let root = wide(root);
    // SAFETY: the path is zero-terminated, and the length of the buffer is correct.
    done(unsafe {
        fs::GetVolumeNameForVolumeMountPointW(
            root.as_ptr(),
            buffer.as_mut_ptr(),
            buffer.len() as u32,
        )
    })?;
    Ok(text(&buffer).into())
}

/// The roots of all volumes with a drive letter.
pub(super) fn letters() -> Vec<PathBuf> {
    // SAFETY: it has no arguments.
    let set = unsafe { fs::GetLogicalDrives() };
    let has = |letter: &u8| set >> (letter - b'A') & 1 == 1;
    (b'A'..=b'Z').filter(has).map(|l| PathBuf::from(format!("{}:\\", char::from(l)))).collect()
}

/// The device behind a drive letter such as `C:`.
pub(super) fn dos_device(letter: &str) -> io::Result<String> {
    let mut buffer = [0; PATH];
    let letter = wide(letter);
    // SAFETY: the name is zero-terminated, and the length of the buffer is correct.
    let len = unsafe { fs::QueryDosDeviceW(letter.as_ptr(), buffer.as_mut_ptr(), PATH as u32) };
    match len {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(text(&buffer).to_string_lossy().into_owned()),
    }
}

/// The counters of a disk so far.
pub(super) fn disk_performance(volume: &File) -> io::Result<DISK_PERFORMANCE> {
    // SAFETY: a structure of numbers.
    let mut found: DISK_PERFORMANCE = unsafe { zeroed() };
    let mut len = 0;
    // SAFETY: the handle is open, the structure belongs to the call and its length is correct.
    done(unsafe {
        DeviceIoControl(
            volume.as_raw_handle(),
            IOCTL_DISK_PERFORMANCE,
            null(),
            0,
            (&raw mut found).cast(),
            size_of::<DISK_PERFORMANCE>() as u32,
            &raw mut len,
            null_mut(),
        )
    })?;
    Ok(found)
}

/// Idle and total time of all CPUs, in units of 100 ns.
pub(super) fn system_times() -> Option<(u64, u64)> {
    let none = FILETIME { dwLowDateTime: 0, dwHighDateTime: 0 };
    let (mut idle, mut kernel, mut user) = (none, none, none);
    // SAFETY: the structures belong to the call.
    done(unsafe { threading::GetSystemTimes(&raw mut idle, &raw mut kernel, &raw mut user) })
        .ok()?;
    // Kernel time includes idle time.
    Some((ticks(idle), ticks(kernel) + ticks(user)))
}

/// When a process started, and its CPU time, in units of 100 ns.
pub(super) fn process_times(process: HANDLE) -> io::Result<(u64, u64)> {
    let none = FILETIME { dwLowDateTime: 0, dwHighDateTime: 0 };
    let (mut made, mut ended, mut kernel, mut user) = (none, none, none, none);
    // SAFETY: the handle is open, and the structures belong to the call.
    done(unsafe {
        threading::GetProcessTimes(
            process,
            &raw mut made,
            &raw mut ended,
            &raw mut kernel,
            &raw mut user,
        )
    })?;
    Ok((ticks(made), ticks(kernel) + ticks(user)))
}

/// CPU time of this process in units of 100 ns.
pub(super) fn own_time() -> Option<u64> {
    // SAFETY: the call has no arguments, and its result need not be closed.
    let this = unsafe { threading::GetCurrentProcess() };
    Some(process_times(this).ok()?.1)
}

/// A handle to a process, with which to query the process's times, and whether it has exited.
pub(super) fn open_process(process: u32) -> io::Result<OwnedHandle> {
    let access = threading::PROCESS_QUERY_LIMITED_INFORMATION | threading::PROCESS_SYNCHRONIZE;
    // SAFETY: its arguments are numbers.
    let handle = unsafe { threading::OpenProcess(access, 0, process) };
    if handle.is_null() {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has just opened the handle, and nothing else owns it.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}

/// Whether the process of a handle has exited.
pub(super) fn has_ended(process: &OwnedHandle) -> bool {
    const SIGNALLED: u32 = 0;
    // SAFETY: the handle is open.
    let state = unsafe { threading::WaitForSingleObject(process.as_raw_handle(), 0) };
    state == SIGNALLED
}

/// Whether this process has an administrator's privileges.
pub(super) fn is_elevated() -> bool {
    let mut token = null_mut();
    // SAFETY: the pseudo handle is always open, and the handle belongs to the call.
    let opened = unsafe {
        threading::OpenProcessToken(threading::GetCurrentProcess(), TOKEN_QUERY, &raw mut token)
    };
    if opened == 0 {
        return false;
    }
    // SAFETY: the call has just opened the handle, and nothing else owns it.
    let token = unsafe { OwnedHandle::from_raw_handle(token) };
    let mut found = TOKEN_ELEVATION { TokenIsElevated: 0 };
    let mut len = 0;
    // SAFETY: the handle is open, the structure belongs to the call and its length is correct.
    let told = unsafe {
        GetTokenInformation(
            token.as_raw_handle(),
            TokenElevation,
            (&raw mut found).cast(),
            size_of::<TOKEN_ELEVATION>() as u32,
            &raw mut len,
        )
    };
    told != 0 && found.TokenIsElevated != 0
}

/// Total and available memory in bytes.
pub(super) fn memory() -> Option<(u64, u64)> {
    // SAFETY: a structure of numbers.
    let mut found: MEMORYSTATUSEX = unsafe { zeroed() };
    found.dwLength = size_of::<MEMORYSTATUSEX>() as u32;
    // SAFETY: the structure belongs to the call and contains its length.
    done(unsafe { GlobalMemoryStatusEx(&raw mut found) }).ok()?;
    Some((found.ullTotalPhys, found.ullAvailPhys))
}

/// Whether the machine runs on battery power; `None` if Windows does not know.
pub(super) fn on_battery() -> Option<bool> {
    // SAFETY: a structure of numbers.
    let mut found: power::SYSTEM_POWER_STATUS = unsafe { zeroed() };
    // SAFETY: the structure belongs to the call.
    done(unsafe { power::GetSystemPowerStatus(&raw mut found) }).ok()?;
    match found.ACLineStatus {
        0 => Some(true),
        1 => Some(false),
        _ => None,
    }
}

/// A text in the machine's part of the registry.
pub(super) fn registry_text(key: &str, value: &str) -> Option<String> {
    let (key, value) = (wide(key), wide(value));
    let mut buffer = [0_u16; 256];
    let mut bytes = size_of_val(&buffer) as u32;
    // SAFETY: both names are zero-terminated, and the length of the buffer is correct.
    let failed = unsafe {
        registry::RegGetValueW(
            registry::HKEY_LOCAL_MACHINE,
            key.as_ptr(),
            value.as_ptr(),
            registry::RRF_RT_REG_SZ,
            null_mut(),
            buffer.as_mut_ptr().cast(),
            &raw mut bytes,
        )
    };
    let found = text(&buffer).to_string_lossy().trim().to_owned();
    (failed == 0 && !found.is_empty()).then_some(found)
}

/// Columns of the console on standard output.
pub(super) fn console_width() -> Option<u16> {
    // SAFETY: a structure of numbers.
    let mut found: console::CONSOLE_SCREEN_BUFFER_INFO = unsafe { zeroed() };
    // SAFETY: the call's argument is a number, and its result need not be closed.
    let output = unsafe { console::GetStdHandle(console::STD_OUTPUT_HANDLE) };
    // SAFETY: the structure belongs to the call; a handle that is not a console is refused.
    done(unsafe { console::GetConsoleScreenBufferInfo(output, &raw mut found) }).ok()?;
    let columns = i32::from(found.srWindow.Right) - i32::from(found.srWindow.Left) + 1;
    u16::try_from(columns).ok()
}

/// Enables ANSI sequences in both consoles; `false` if either is a console that does not support them.
pub(super) fn enable_ansi() -> bool {
    let on = |stream| {
        // SAFETY: the call's argument is a number, and its result need not be closed.
        let handle = unsafe { console::GetStdHandle(stream) };
        let mut mode = 0;
        // SAFETY: the number that the call writes outlives it; a handle that is not a console is refused.
        if unsafe { console::GetConsoleMode(handle, &raw mut mode) } == 0 {
            return true;
        }
        let wanted = mode | console::ENABLE_VIRTUAL_TERMINAL_PROCESSING;
        // SAFETY: as above.
        unsafe { console::SetConsoleMode(handle, wanted) != 0 }
    };
    on(console::STD_OUTPUT_HANDLE) & on(console::STD_ERROR_HANDLE)
}

/// Ctrl-Break for the group of the process with this number.
pub(super) fn press_break(process: u32) -> io::Result<()> {
    // SAFETY: its arguments are numbers.
    done(unsafe { console::GenerateConsoleCtrlEvent(console::CTRL_BREAK_EVENT, process) })
}

/// Registers `handler`, which Windows calls with the number of a console event, on a separate thread.
pub(super) fn on_console_event(handler: extern "system" fn(u32) -> BOOL) -> io::Result<()> {
    // SAFETY: the function exists as long as the process.
    done(unsafe { console::SetConsoleCtrlHandler(Some(handler), 1) })
}

//! Access lists: the users who may write to a file or directory, and directories for a single user.

use std::fs::File;
use std::io;
use std::mem::size_of;
use std::os::windows::io::{AsRawHandle as _, FromRawHandle as _, OwnedHandle};
use std::path::Path;
use std::ptr::null_mut;

use windows_sys::Win32::Foundation::LocalFree;
use windows_sys::Win32::Security as security;
use windows_sys::Win32::Security::Authorization as authorization;
use windows_sys::Win32::Storage::FileSystem as fs;
use windows_sys::Win32::System::Threading as threading;

use super::{done, text, wide};

/// Rights to change a file, a directory's entries, or the rights themselves.
const CHANGES: u32 = fs::FILE_WRITE_DATA
    | fs::FILE_APPEND_DATA
    | fs::FILE_DELETE_CHILD
    | fs::DELETE
    | fs::WRITE_DAC
    | fs::WRITE_OWNER
    | 0x1000_0000 // GENERIC_ALL
    | 0x4000_0000; // GENERIC_WRITE

/// The system, administrators, and the placeholders for the creator of an entry and for the owner.
const TRUSTED: [&str; 4] = ["S-1-5-18", "S-1-5-32-544", "S-1-3-0", "S-1-3-4"];

/// The users who may change a file or directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rights {
    /// The owner, as `S-1-5-...`.
    pub(crate) owner: String,
    /// The users who may change the file or directory according to its access list; `None` if there is no list, or if
    /// the list has an unknown form.
    pub(crate) changed_by: Option<Vec<String>>,
}

impl Rights {
    /// Whether only `user`, administrators and the system can change the file or directory.
    pub(crate) fn are_of(&self, user: &str) -> bool {
        let trusted = |who: &str| who == user || TRUSTED.contains(&who);
        let all = self.changed_by.as_ref();
        trusted(&self.owner) && all.is_some_and(|all| all.iter().all(|who| trusted(who)))
    }
}

/// Memory that a call allocated.
struct Local(*mut std::ffi::c_void);

impl Drop for Local {
    fn drop(&mut self) {
        // SAFETY: a call allocated the memory, and nothing else frees it.
        unsafe { LocalFree(self.0) };
    }
}

/// A user or group as `S-1-...`.
///
/// # Safety
/// `sid` points to a valid security identifier.
unsafe fn named(sid: security::PSID) -> io::Result<String> {
    let mut words = null_mut();
    // SAFETY: the caller's promise, and the pointer belongs to the call.
    done(unsafe { authorization::ConvertSidToStringSidW(sid, &raw mut words) })?;
    let _freed = Local(words.cast());
    // SAFETY: the call zero-terminates the text.
    let len = (0..).take_while(|&at| unsafe { *words.add(at) } != 0).count();
    // SAFETY: this many units precede the zero.
    let units = unsafe { std::slice::from_raw_parts(words, len) };
    Ok(text(units).to_string_lossy().into_owned())
}

/// The user of this process.
pub(crate) fn user() -> io::Result<String> {
    let mut token = null_mut();
    // SAFETY: the pseudo handle is always open, and the handle belongs to the call.
    done(unsafe {
        let this = threading::GetCurrentProcess();
        threading::OpenProcessToken(this, security::TOKEN_QUERY, &raw mut token)
    })?;
    // SAFETY: the call has just opened it, and nothing else owns it.
    let token = unsafe { OwnedHandle::from_raw_handle(token) };
    // The longest user identifier needs less space. The elements are `u64`, so that the structure is aligned.
    let mut found = [0_u64; 32];
    let mut len = 0;
    // SAFETY: the handle is open, and the length of the buffer is correct.
    done(unsafe {
        security::GetTokenInformation(
            token.as_raw_handle(),
            security::TokenUser,
            found.as_mut_ptr().cast(),
            size_of_val(&found) as u32,
            &raw mut len,
        )
    })?;
    // SAFETY: the call has put the structure at the start of the buffer, which is aligned for it; its pointers
    // refer to the buffer.
    unsafe {
        let user = &*found.as_ptr().cast::<security::TOKEN_USER>();
        named(user.User.Sid)
    }
}

/// The users who may change an open file or directory.
pub(crate) fn rights(file: &File) -> io::Result<Rights> {
    let (mut owner, mut list, mut all) = (null_mut(), null_mut(), null_mut());
    // SAFETY: the handle is open, and the pointers belong to the call.
    let failed = unsafe {
        authorization::GetSecurityInfo(
            file.as_raw_handle(),
            authorization::SE_FILE_OBJECT,
            security::OWNER_SECURITY_INFORMATION | security::DACL_SECURITY_INFORMATION,
            &raw mut owner,
            null_mut(),
            &raw mut list,
            null_mut(),
            &raw mut all,
        )
    };
    if failed != 0 {
        return Err(io::Error::from_raw_os_error(failed.cast_signed()));
    }
    let _freed = Local(all);
    // SAFETY: the owner and the list are in the allocation, which lives until the end of this function.
    unsafe { Ok(Rights { owner: named(owner)?, changed_by: changed_by(list)? }) }
}

/// The users whom a list permits to change its file or directory.
///
/// # Safety
/// `list` is null or points to a valid list.
unsafe fn changed_by(list: *const security::ACL) -> io::Result<Option<Vec<String>>> {
    const ALLOWS: u8 = 0;
    const DENIES: u8 = 1;
    // Without a list, everybody has all rights.
    if list.is_null() {
        return Ok(None);
    }
    let mut all = Vec::new();
    // SAFETY: the caller's promise.
    for number in 0..u32::from(unsafe { (*list).AceCount }) {
        let mut entry = null_mut();
        // SAFETY: the list has this entry, and the pointer belongs to the call.
        done(unsafe { security::GetAce(list, number, &raw mut entry) })?;
        let entry = entry.cast::<security::ACCESS_ALLOWED_ACE>();
        // SAFETY: all kinds of entries begin with this header.
        let header = unsafe { (*entry).Header };
        match header.AceType {
            DENIES => continue,
            // Such an entry applies to new entries of a directory, not to the directory itself.
            _ if u32::from(header.AceFlags) & security::INHERIT_ONLY_ACE != 0 => continue,
            ALLOWS => {}
            _ => return Ok(None),
        }
        // SAFETY: an entry of this kind has the rights after its header, and then the identifier.
        unsafe {
            if (*entry).Mask & CHANGES != 0 {
                all.push(named((&raw mut (*entry).SidStart).cast())?);
            }
        }
    }
    Ok(Some(all))
}

/// Creates a directory that only this user, administrators and the system can use, including everything created
/// in it.
pub(crate) fn make_private(path: &Path) -> io::Result<()> {
    let user = user()?;
    make_with(path, &format!("O:{user}D:P(A;OICI;FA;;;{user})(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)"))
}

/// Creates a directory with these rights, in the security descriptor definition language.
pub(crate) fn make_with(path: &Path, rights: &str) -> io::Result<()> {
    let words = wide(rights);
    let mut descriptor = null_mut();
    // SAFETY: the text is zero-terminated, and the pointer belongs to the call.
    done(unsafe {
        authorization::ConvertStringSecurityDescriptorToSecurityDescriptorW(
            words.as_ptr(),
            authorization::SDDL_REVISION_1,
            &raw mut descriptor,
            null_mut(),
        )
    })?;
    let _freed = Local(descriptor);
    let attributes = security::SECURITY_ATTRIBUTES {
        nLength: size_of::<security::SECURITY_ATTRIBUTES>() as u32,
        lpSecurityDescriptor: descriptor,
        bInheritHandle: 0,
    };
    let path = wide(path);
    // SAFETY: the path is zero-terminated, and the descriptor lives until the end of this function.
    done(unsafe { fs::CreateDirectoryW(path.as_ptr(), &raw const attributes) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_user_and_those_above_may_change_what_is_private() {
        let rights = |owner: &str, all: &[&str]| Rights {
            owner: owner.to_owned(),
            changed_by: Some(all.iter().map(|who| (*who).to_owned()).collect()),
        };
        let user = "S-1-5-21-1-2-3-1001";
        assert!(rights(user, &[user, "S-1-5-18", "S-1-5-32-544"]).are_of(user));
        assert!(rights("S-1-5-32-544", &[user]).are_of(user));
        assert!(!rights("S-1-5-21-1-2-3-1002", &[user]).are_of(user), "somebody else's");
        // Everyone, users, authenticated users.
        for other in ["S-1-1-0", "S-1-5-32-545", "S-1-5-11"] {
            assert!(!rights(user, &[user, other]).are_of(user), "{other}");
        }
        assert!(!Rights { changed_by: None, ..rights(user, &[]) }.are_of(user), "no list");
    }

    #[test]
    fn this_user_has_a_name() {
        assert!(user().unwrap().starts_with("S-1-5-"));
    }
}

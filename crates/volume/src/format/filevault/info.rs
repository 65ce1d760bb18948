//! The information that the metadata reveals without a password.

use cryptbench_blockdev::BlockDevice;
use cryptbench_cipher::Tier;
use cryptbench_text::chain;
use serde::Serialize;

use super::context::{Context, User};
use super::group::Group;
use super::uuid::Uuid;
use crate::VolumeError;

/// The contents of the metadata, whose key is stored in the header. Contains no secret and no key material.
#[derive(Clone, Debug, Serialize)]
pub struct Info {
    /// Identifier of the physical volume.
    pub physical_volume: Uuid,
    /// Identifier of the group.
    pub group: Uuid,
    /// The group's name, if the metadata contains one.
    pub group_name: Option<String>,
    /// Identifier of the logical volume.
    pub id: Option<Uuid>,
    /// Its name.
    pub name: Option<String>,
    /// Identifier of its family, from which the tweak key is derived.
    pub family: Uuid,
    /// The volume's content according to the metadata, such as `Apple_HFS`.
    pub contents: Option<String>,
    /// Bytes of the plaintext.
    pub size: u64,
    /// Bytes of a block.
    pub block: u64,
    /// The location of its data: offset and length of each run.
    pub segments: Vec<(u64, u64)>,
    /// The volume's encryption state, in macOS's terms.
    pub state: Option<String>,
    /// The defect of the header at the start, if the copy at the end was used instead.
    pub header_problem: Option<String>,
    /// Offset of each copy of the unencrypted metadata, and the defect of the copy, if any.
    pub copies: Vec<(u64, Option<String>)>,
    /// Offset of each examined copy of the encrypted metadata, and the defect of the copy, if any.
    pub encrypted_copies: Vec<(u64, Option<String>)>,
    /// The users who can open it.
    pub users: Vec<UserInfo>,
    /// Why this program cannot open the volume with any password; `None` if it can.
    pub obstacle: Option<String>,
}

/// A user.
#[derive(Clone, Debug, Serialize)]
pub struct UserInfo {
    /// The credential, such as `recovery password`.
    pub opens_with: String,
    /// Identifier.
    pub id: Option<String>,
    /// The hint that the user gave.
    pub hint: Option<String>,
    /// Iterations of its key derivation, PBKDF2 with HMAC-SHA-256.
    pub iterations: Option<u32>,
    /// Why this program cannot use it; `None` if it can.
    pub problem: Option<String>,
}

/// The instruction sets for decrypting metadata if none were chosen.
pub(super) fn tier() -> Tier {
    cryptbench_cipher::tier().unwrap_or(Tier::Soft)
}

/// Reads the metadata, without a password.
///
/// # Errors
/// [`VolumeError::NotThisFormat`], [`VolumeError::Damaged`], [`VolumeError::CannotOpen`], [`VolumeError::Io`].
pub fn info(device: &dyn BlockDevice) -> Result<Info, VolumeError> {
    let group = Group::read(device, tier())?;
    let context = group.volume.family.context.as_ref();
    let obstacle = match (group.obstacle(), &group.volume.lost) {
        (Some(obstacle), _) => Some(chain(&obstacle)),
        (None, Some(lost)) => Some(chain(lost)),
        (None, None) => group.usable(context).err().map(|error| chain(&error)),
    };
    let users = context.map(|context: &Context| context.users.iter().map(user).collect());
    let state = context.and_then(|context| context.conversion.clone());
    let logical = group.volume.logical;
    Ok(Info {
        physical_volume: group.header.id,
        group: group.header.group,
        group_name: group.label.name,
        id: logical.id,
        name: logical.name,
        family: logical.family,
        contents: logical.contents,
        size: logical.size,
        block: group.header.block,
        segments: (group.volume.data.iter())
            .map(|segment| (segment.physical, segment.len))
            .collect(),
        users: users.unwrap_or_default(),
        state: state.or(group.volume.family.encryption),
        header_problem: group.header.problem,
        copies: group.copies,
        encrypted_copies: group.encrypted,
        obstacle,
    })
}

fn user(user: &User) -> UserInfo {
    UserInfo {
        opens_with: user.describe(),
        id: user.id.clone(),
        hint: user.hint.clone(),
        iterations: user.sealed.as_ref().ok().map(|key| key.iterations),
        problem: user.sealed.as_ref().err().cloned(),
    }
}

//! A target in which someone else could replace the files of the run: the run works in a private
//! directory there, or creates nothing that is opened by path.

use cryptbench_os::user;
use cryptbench_system::resource::{Journal, PrivateDirectory};
use cryptbench_text::chain;

use crate::RunError;
use crate::decide::storage::Target;
use crate::decide::storage::seclusion::{Protection, protection, replaced};
use crate::look::Others;

/// Creates a private directory on `target`, in which nobody else can rename the files of a run; `None` if it is not
/// needed. `names` states whether the run creates anything that is opened again by path, such as a container.
///
/// This requires root and the right to mount. Without them, a run that creates only the scratch
/// file continues, because that file is opened once and removed from the directory in which it was
/// created.
///
/// # Errors
/// [`RunError::Target`] if the files cannot be protected.
pub(super) fn seclude(
    target: &Target,
    names: bool,
    run_id: &str,
    what: &str,
    journal: &Journal,
) -> Result<Option<PrivateDirectory>, RunError> {
    // The directory is examined again, because it may have changed in the meantime.
    let mut target = target.clone();
    if target.is_directory() {
        target.ground.others = Others::of(&target.path, &target.ground.filesystem);
    }
    if protection(&target, names, user::is_root())? == Protection::None {
        return Ok(None);
    }
    let name = format!("cryptbench-{run_id}.{what}");
    match PrivateDirectory::create(&target.path, &name, journal) {
        Ok(private) => Ok(Some(private)),
        Err(_) if !names || target.ground.others.only_asker => Ok(None),
        Err(why) => Err(replaced(&target, &chain(&why))),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::chown;

    use super::*;
    use crate::Consent;
    use crate::look::Place;

    fn inspect(directory: &std::path::Path) -> Target {
        let place = Place::look(directory);
        Target::admit(&place, "20261121-203000-1a2b3c", &Consent::default(), &[]).unwrap()
    }

    #[test]
    fn root_works_in_a_private_directory_of_another_users() {
        let dir = tempfile::tempdir().unwrap();
        let own = inspect(dir.path());
        let id = format!("20261121-203000-{:06x}", std::process::id());
        let journal = Journal::create(&id).unwrap();
        assert!(seclude(&own, true, &id, "private", &journal).unwrap().is_none());
        if chown(dir.path(), Some(12_345), None).is_err() {
            eprintln!("SKIPPED: giving a directory away requires root");
            return;
        }
        let theirs = inspect(dir.path());
        let private = seclude(&theirs, true, &id, "private", &journal).unwrap().unwrap();
        fs::write(private.path().join("container"), "ours").unwrap();
        let names: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().path()).collect();
        assert_eq!(fs::read(names[0].join("container")).unwrap(), b"ours");
        drop(private);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_the_system_said_of_a_private_directory_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let id = format!("20261121-203001-{:06x}", std::process::id());
        let journal = Journal::create(&id).unwrap();
        let path = dir.path().join(format!("cryptbench-{id}.private"));
        fs::create_dir(&path).unwrap();
        if chown(dir.path(), Some(12_345), None).is_err() {
            eprintln!("SKIPPED: giving a directory away requires root");
            return;
        }
        let error = seclude(&inspect(dir.path()), true, &id, "private", &journal).err().unwrap();
        let error = error.to_string();
        assert!(error.contains(&format!("cannot create {}", path.display())), "{error}");
        assert_eq!(error.matches("os error 17").count(), 1, "{error}");
    }
}

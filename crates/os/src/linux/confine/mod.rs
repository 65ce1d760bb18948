//! Users, `no_new_privs` and seccomp(2).

mod nobody;
mod table;

use std::{fs, io};

use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_keep_capabilities,
    set_no_new_privs,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter,
};

use self::nobody::become_nobody;
use self::table::{CALLS, FOR_RINGS, FOR_SOCKETS, Only};
use super::user;
use crate::confine::Needs;

pub(crate) fn confine(needs: Needs) -> io::Result<()> {
    super::process::keep_from_dumps();
    set_no_new_privs(true)?;
    // If several filters are installed, the strictest result applies. After the last filter, no further filters can be
    // added.
    for program in [unknown()?, allowing(needs)?] {
        apply_filter(&program).map_err(io::Error::other)?;
    }
    Ok(())
}

pub(crate) fn give_up_rights() -> io::Result<()> {
    if !user::is_root() {
        return Ok(());
    }
    // The calls below change only the calling thread.
    let status = fs::read_to_string("/proc/self/status")?;
    if !status.lines().any(|line| line == "Threads:\t1") {
        return Err(io::Error::other("a process with several threads cannot change its user"));
    }
    // The limit for locking keys and pinning buffers after root's privileges have been dropped.
    let all = Rlimit { current: None, maximum: None };
    let is_limited = setrlimit(Resource::Memlock, all).is_err();
    // Root in a container may lack permission to raise the limit. In that case, only the capability to lock memory is
    // kept.
    set_keep_capabilities(is_limited)?;
    let is_another = become_nobody()?;
    if is_limited || !is_another {
        let lock = capabilities(None)?.permitted & CapabilitySet::IPC_LOCK;
        let inheritable = CapabilitySet::empty();
        set_capabilities(None, CapabilitySets { effective: lock, permitted: lock, inheritable })?;
    }
    Ok(())
}

/// Refuses every call that is not in the tables.
fn allowing(needs: Needs) -> io::Result<BpfProgram> {
    let tables = [(true, CALLS), (needs.sockets, FOR_SOCKETS), (needs.rings, FOR_RINGS)];
    let wanted = tables.iter().filter(|(needed, _)| *needed).flat_map(|(_, table)| *table);
    let rules = wanted.map(|(call, only)| Ok((*call, rules(*only)?)));
    let rules = rules.collect::<io::Result<_>>()?;
    let refused = SeccompAction::Errno(rustix::io::Errno::PERM.raw_os_error() as u32);
    program(rules, refused, SeccompAction::Allow)
}

/// Makes clone3(2) fail like an unknown call, because filters cannot inspect its flags. The C library then uses
/// clone(2).
fn unknown() -> io::Result<BpfProgram> {
    let unknown = SeccompAction::Errno(rustix::io::Errno::NOSYS.raw_os_error() as u32);
    program([(libc::SYS_clone3, Vec::new())].into(), SeccompAction::Allow, unknown)
}

fn program(
    rules: std::collections::BTreeMap<i64, Vec<SeccompRule>>,
    others: SeccompAction,
    listed: SeccompAction,
) -> io::Result<BpfProgram> {
    let machine = std::env::consts::ARCH.try_into();
    let machine = machine.map_err(|e| io::Error::new(io::ErrorKind::Unsupported, e))?;
    let filter = SeccompFilter::new(rules, others, listed, machine).map_err(io::Error::other)?;
    filter.try_into().map_err(io::Error::other)
}

/// One rule for each allowed value; without rules, all values are allowed.
fn rules(only: Only) -> io::Result<Vec<SeccompRule>> {
    let (argument, conditions): (u8, Vec<_>) = match only {
        Only::Always => return Ok(Vec::new()),
        Only::Values(argument, values) => {
            (argument, values.iter().map(|value| (SeccompCmpOp::Eq, *value)).collect())
        }
        Only::OfThisProcess(argument) => {
            (argument, vec![(SeccompCmpOp::Eq, u64::from(std::process::id()))])
        }
        Only::With(argument, bits) => (argument, vec![(SeccompCmpOp::MaskedEq(bits), bits)]),
        Only::Without(argument, bits) => (argument, vec![(SeccompCmpOp::MaskedEq(bits), 0)]),
    };
    conditions
        .into_iter()
        .map(|(operation, value)| {
            let length = SeccompCmpArgLen::Dword;
            let condition = SeccompCondition::new(argument, length, operation, value);
            SeccompRule::new(vec![condition.map_err(io::Error::other)?]).map_err(io::Error::other)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filters_are_built_for_every_need() {
        let len = |sockets, rings| allowing(Needs { sockets, rings }).unwrap().len();
        assert!(len(true, true) > len(false, true) && len(false, true) > len(false, false));
        assert!(unknown().unwrap().len() < 20);
    }
}

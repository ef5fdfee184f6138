//! What the program takes away from itself, so that a document or stylesheet that breaks libxslt
//! reaches nothing: no file, no network, no other process, and so much memory.

use std::collections::BTreeMap;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, Ruleset, RulesetAttr as _, RulesetError, Scope,
};
use rustix::process::{Resource, Rlimit, setrlimit};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, apply_filter,
};

/// Why it could not be confined. Nothing has been read then.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfinementError {
    /// A limit that the system does not set.
    #[error("cannot limit itself: {0}")]
    Limit(#[from] rustix::io::Errno),
    /// Landlock failed on a system that has it.
    #[error("cannot confine itself with Landlock: {0}")]
    Landlock(#[from] RulesetError),
    /// The system takes no filter of system calls.
    #[error("cannot filter its system calls: {0}")]
    Filter(#[from] seccompiler::Error),
}

impl From<BackendError> for ConfinementError {
    fn from(error: BackendError) -> Self {
        Self::Filter(seccompiler::Error::Backend(error))
    }
}

/// Confines this process, which has one thread, for good.
///
/// # Errors
/// [`ConfinementError`]: it must not go on then.
pub(crate) fn confine(memory_bytes: u64) -> Result<(), ConfinementError> {
    // makes a file descriptor, so it comes before the limit on them
    without_files_and_network()?;
    for (what, most) in [
        (Resource::As, memory_bytes),
        (Resource::Nofile, 0),
        (Resource::Nproc, 0),
        (Resource::Core, 0),
    ] {
        // never Fsize: writing to a standard error that is a file would kill
        setrlimit(what, Rlimit { current: Some(most), maximum: Some(most) })?;
    }
    with_few_calls()
}

/// Landlock without a rule: nothing of what it governs may be done. A kernel without it leaves that
/// to the filter, which refuses the same calls.
fn without_files_and_network() -> Result<(), RulesetError> {
    let newest = ABI::V6;
    Ruleset::default()
        .handle_access(AccessFs::from_all(newest))?
        .handle_access(AccessNet::from_all(newest))?
        .scope(Scope::from_all(newest))?
        .create()?
        .restrict_self()?;
    Ok(())
}

/// Two filters, of which the stricter counts: the second kills what is in neither list, the first
/// refuses what the C library tries on its own and can go without.
fn with_few_calls() -> Result<(), ConfinementError> {
    let refused = refused();
    let mut known = allowed()?;
    known.extend(refused.keys().map(|call| (*call, Vec::new())));
    let errno = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    apply(refused, SeccompAction::Allow, errno)?;
    apply(known, SeccompAction::KillProcess, SeccompAction::Allow)
}

type Calls = BTreeMap<i64, Vec<SeccompRule>>;

fn apply(
    calls: Calls,
    others: SeccompAction,
    these: SeccompAction,
) -> Result<(), ConfinementError> {
    let here = std::env::consts::ARCH.try_into()?;
    let program: BpfProgram = SeccompFilter::new(calls, others, these, here)?.try_into()?;
    Ok(apply_filter(&program)?)
}

/// Reading its standard input, writing its outputs, memory that holds no code, and its own end.
fn allowed() -> Result<Calls, BackendError> {
    let mut calls: Calls = [
        libc::SYS_brk,
        libc::SYS_munmap,
        libc::SYS_mremap,
        libc::SYS_madvise,
        libc::SYS_futex,
        libc::SYS_clock_gettime,
        libc::SYS_gettimeofday,
        libc::SYS_getrandom,
        libc::SYS_setitimer,
        libc::SYS_sigaltstack,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigreturn,
        libc::SYS_getpid,
        libc::SYS_gettid,
        libc::SYS_tgkill,
        libc::SYS_exit,
        libc::SYS_exit_group,
    ]
    .map(|call| (call, Vec::new()))
    .into();
    #[cfg(target_arch = "x86_64")]
    calls.extend([libc::SYS_alarm, libc::SYS_time].map(|call| (call, Vec::new())));
    let input = [libc::STDIN_FILENO];
    let outputs = [libc::STDOUT_FILENO, libc::STDERR_FILENO];
    for (call, files) in
        [(libc::SYS_read, &input[..]), (libc::SYS_write, &outputs), (libc::SYS_writev, &outputs)]
    {
        calls.insert(call, files.iter().map(|file| of_file(*file)).collect::<Result<_, _>>()?);
    }
    for call in [libc::SYS_mmap, libc::SYS_mprotect] {
        calls.insert(call, vec![without_code()?]);
    }
    Ok(calls)
}

/// The first argument is this file descriptor.
fn of_file(file: i32) -> Result<SeccompRule, BackendError> {
    let file = u64::from(file.unsigned_abs());
    SeccompRule::new(vec![SeccompCondition::new(
        0,
        SeccompCmpArgLen::Dword,
        SeccompCmpOp::Eq,
        file,
    )?])
}

/// The third argument does not ask for memory to run code in.
fn without_code() -> Result<SeccompRule, BackendError> {
    let code = u64::from(libc::PROT_EXEC.unsigned_abs());
    SeccompRule::new(vec![SeccompCondition::new(
        2,
        SeccompCmpArgLen::Dword,
        SeccompCmpOp::MaskedEq(code),
        0,
    )?])
}

/// What the C library asks for by itself: whether the time zone has changed, a converter of
/// encodings, a terminal.
fn refused() -> Calls {
    let calls = [
        libc::SYS_openat,
        libc::SYS_newfstatat,
        libc::SYS_fstat,
        libc::SYS_statx,
        libc::SYS_faccessat,
        libc::SYS_readlinkat,
        libc::SYS_ioctl,
        libc::SYS_lseek,
        libc::SYS_close,
        libc::SYS_fcntl,
        libc::SYS_prlimit64,
        libc::SYS_sysinfo,
    ];
    let calls = calls.into_iter().map(|call| (call, Vec::new())).collect();
    #[cfg(target_arch = "x86_64")]
    let calls = {
        let mut calls: Calls = calls;
        let older = [libc::SYS_open, libc::SYS_stat, libc::SYS_lstat, libc::SYS_access];
        calls.extend(older.map(|call| (call, Vec::new())));
        calls.insert(libc::SYS_readlink, Vec::new());
        calls
    };
    calls
}

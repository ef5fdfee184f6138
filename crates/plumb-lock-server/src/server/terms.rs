//! What a command says besides its locks: `COMMAND owner [terms] lock...`.

use plumb_lock_table::table::Scope;

use super::refusal::Refusal;
use super::words::Command;

const MS: u64 = 1_000_000;
/// The longest lease, milliseconds: a year.
const LEASE_MS_MAX: u64 = 366 * 24 * 3_600_000;

/// A word that begins a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Term {
    Scope,
    User,
    Lease,
    Keep,
    Wait,
    Fence,
    Epoch,
}

impl Term {
    fn of(command: Command<'_>, at: usize) -> Option<Self> {
        const WORDS: [(&str, Term); 7] = [
            ("SCOPE", Term::Scope),
            ("USER", Term::User),
            ("LEASE", Term::Lease),
            ("KEEP", Term::Keep),
            ("WAIT", Term::Wait),
            ("FENCE", Term::Fence),
            ("EPOCH", Term::Epoch),
        ];
        WORDS.iter().find(|(word, _)| command.is(at, word)).map(|(_, term)| *term)
    }
}

/// A command that names an owner, and the terms that mean something to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    pub(super) name: &'static str,
    /// The scope where none is named.
    scope: Scope,
    terms: &'static [Term],
    known: &'static str,
}

const TAKES: (&[Term], &str) = (
    &[Term::Scope, Term::User, Term::Lease, Term::Keep, Term::Wait, Term::Epoch],
    "SCOPE, USER, WAIT, LEASE, KEEP and EPOCH are known",
);

impl Form {
    pub(super) const ENQ: Self =
        Self { name: "enq", scope: Scope::Update, terms: TAKES.0, known: TAKES.1 };
    pub(super) const PROMOTE: Self = Self { name: "promote", ..Self::ENQ };
    pub(super) const CHECK: Self = Self {
        name: "check",
        scope: Scope::Update,
        terms: &[Term::Epoch],
        known: "only EPOCH is known",
    };
    pub(super) const DEQ: Self = Self {
        name: "deq",
        scope: Scope::Both,
        terms: &[Term::Scope, Term::Fence, Term::Epoch],
        known: "SCOPE, FENCE and EPOCH are known",
    };
    pub(super) const DEQALL: Self = Self {
        name: "deqall",
        scope: Scope::Both,
        terms: &[Term::Scope, Term::Epoch],
        known: "SCOPE and EPOCH are known",
    };
    pub(super) const RENEW: Self = Self { name: "renew", scope: Scope::Both, ..Self::CHECK };
}

/// What a command says besides its locks.
pub(super) struct Terms<'a> {
    pub(super) owner: &'a [u8],
    pub(super) user: &'a [u8],
    pub(super) scope: Scope,
    pub(super) life: Option<Promise>,
    pub(super) wait_ns: u64,
    pub(super) fence: Option<u64>,
    /// Where the locks begin.
    pub(super) first: usize,
}

/// How long an owner is to live, as asked.
#[derive(Clone, Copy)]
pub(super) enum Promise {
    Lease(u64),
    Keep,
}

impl<'a> Terms<'a> {
    /// The owner and the terms behind it, up to the first word that begins none. `epoch` is that
    /// of the server.
    ///
    /// # Errors
    /// When a term means nothing to a command of this form, or its value is none.
    pub(super) fn read(command: Command<'a>, form: &Form, epoch: u64) -> Result<Self, Refusal> {
        command.at_least(2, form.name)?;
        let (owner, scope) = (command.get(1), form.scope);
        let mut terms =
            Self { owner, user: b"", scope, life: None, wait_ns: 0, fence: None, first: 2 };
        // no mode of a lock is so long; a promotion, which names none, has `LOCK` for such names
        while command.get(terms.first).len() > 2
            && let Some(term) = Term::of(command, terms.first)
        {
            if !form.terms.contains(&term) {
                return Err(Refusal::Word(command.text(terms.first), form.known));
            }
            terms.first += terms.take(term, command, epoch)?;
        }
        Ok(terms)
    }

    /// Notes one term; how many words it has.
    fn take(&mut self, term: Term, command: Command<'a>, epoch: u64) -> Result<usize, Refusal> {
        let value = self.first + 1;
        match term {
            Term::Keep => {
                self.life = Some(Promise::Keep);
                return Ok(1);
            }
            Term::Scope => {
                self.scope = Scope::parse(command.get(value)).ok_or_else(|| {
                    Refusal::Word(command.text(value), "a scope is 1 dialog, 2 update or 3 both")
                })?;
            }
            Term::User => self.user = command.get(value),
            Term::Lease => self.life = Some(Promise::Lease(lease(command, value)?)),
            Term::Wait => {
                let ms = command.number(value, "WAIT takes milliseconds")?;
                self.wait_ns = ms.saturating_mul(MS);
            }
            Term::Fence => self.fence = Some(command.number(value, "FENCE takes a fence number")?),
            Term::Epoch => {
                if command.number(value, "EPOCH takes a number")? != epoch {
                    return Err(Refusal::Lost(epoch));
                }
            }
        }
        Ok(2)
    }
}

/// The lease at word `at`, milliseconds.
pub(super) fn lease(command: Command<'_>, at: usize) -> Result<u64, Refusal> {
    let remedy = "a lease is 1 to 31622400000 milliseconds";
    let ms = command.number(at, remedy)?;
    if ms == 0 || ms > LEASE_MS_MAX {
        return Err(Refusal::Number(command.text(at), remedy));
    }
    Ok(ms)
}

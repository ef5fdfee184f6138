//! What is asked of the table.

use super::Mode;

/// The longest name of a lock, bytes.
pub const NAME_BYTES_MAX: usize = 30;
/// The longest argument, bytes.
pub const ARGUMENT_BYTES_MAX: usize = 255;
/// The longest name of an owner, bytes.
pub const OWNER_BYTES_MAX: usize = 64;
/// The longest name of a user, bytes.
pub const USER_BYTES_MAX: usize = 32;
/// The most elementary locks in one request.
pub const ELEMENTS_MAX: usize = 256;

/// One lock of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element<'a> {
    /// How it is to be held.
    pub mode: Mode,
    /// The name of the lock, usually of a table; 0 to 30 bytes. Under the empty name `@` is an
    /// ordinary character.
    pub name: &'a [u8],
    /// The argument; 0 to 255 bytes, each position a character or [`WILDCARD`](super::WILDCARD).
    pub argument: &'a [u8],
}

/// The locks of a request, however they are stored.
pub trait Elements {
    /// How many.
    fn count(&self) -> usize;
    /// The one at `index`, counted from zero; it is below [`count`](Self::count).
    fn at(&self, index: usize) -> Element<'_>;
}

impl Elements for [Element<'_>] {
    fn count(&self) -> usize {
        self.len()
    }

    fn at(&self, index: usize) -> Element<'_> {
        self[index]
    }
}

/// Whose counters are meant: `_SCOPE` of the original.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Scope {
    /// 1: the dialog owner.
    Dialog,
    /// 2: the update owner, as in the original where nothing is said.
    #[default]
    Update,
    /// 3: both.
    Both,
}

impl Scope {
    /// The scope of the digit that is usual for it.
    #[must_use]
    pub fn parse(word: &[u8]) -> Option<Self> {
        match word {
            b"1" => Some(Self::Dialog),
            b"2" => Some(Self::Update),
            b"3" => Some(Self::Both),
            _ => None,
        }
    }

    /// Its digit.
    #[must_use]
    pub fn digit(self) -> u8 {
        match self {
            Self::Dialog => 1,
            Self::Update => 2,
            Self::Both => 3,
        }
    }

    /// What it adds to the counters of the dialog owner and of the update owner.
    #[must_use]
    pub fn counts(self) -> (u16, u16) {
        match self {
            Self::Dialog => (1, 0),
            Self::Update => (0, 1),
            Self::Both => (1, 1),
        }
    }
}

/// A request for locks, all or none.
#[derive(Debug)]
pub struct Request<'a, E: ?Sized> {
    /// Who asks; 1 to 64 bytes.
    pub owner: &'a [u8],
    /// On whose behalf, for people; 0 to 32 bytes. That of an owner's first lock is kept.
    pub user: &'a [u8],
    /// The time to note for a new owner, milliseconds since 1970.
    pub since_ms: u64,
    /// Whose counters are raised.
    pub scope: Scope,
    /// The locks; at most [`ELEMENTS_MAX`].
    pub elements: &'a E,
}

impl<E: Elements + ?Sized> Request<'_, E> {
    /// # Errors
    /// When a length is not allowed.
    pub(super) fn check(&self) -> Result<(), Malformed> {
        check_owner(self.owner)?;
        if self.user.len() > USER_BYTES_MAX {
            return Err(Malformed::User);
        }
        let count = self.elements.count();
        if count == 0 || count > ELEMENTS_MAX {
            return Err(Malformed::Count);
        }
        (0..count).try_for_each(|index| check_object(&self.elements.at(index)))
    }
}

pub(super) fn check_owner(owner: &[u8]) -> Result<(), Malformed> {
    if owner.is_empty() || owner.len() > OWNER_BYTES_MAX {
        return Err(Malformed::Owner);
    }
    Ok(())
}

fn check_object(element: &Element<'_>) -> Result<(), Malformed> {
    if element.name.len() > NAME_BYTES_MAX {
        return Err(Malformed::Name);
    }
    if element.argument.len() > ARGUMENT_BYTES_MAX {
        return Err(Malformed::Argument);
    }
    Ok(())
}

/// A request that no table could serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The owner is missing or too long.
    #[error("the owner must have 1 to 64 bytes")]
    Owner,
    /// The user is too long.
    #[error("the user may have at most 32 bytes")]
    User,
    /// The name is too long.
    #[error("the name of a lock may have at most 30 bytes")]
    Name,
    /// The argument is too long.
    #[error("the argument of a lock may have at most 255 bytes")]
    Argument,
    /// No locks, or too many.
    #[error("a request must name 1 to 256 locks")]
    Count,
    /// A lock cannot be inherited by its own owner.
    #[error("the update must have another owner than the dialog")]
    SameOwner,
}

//! Lock modes, and which of them exclude each other.

use std::fmt;

/// A lock mode as a request names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Shared.
    S,
    /// Exclusive; the owner may take it again and releases it one by one.
    E,
    /// Exclusive, and not even its owner may take it again.
    X,
    /// Optimistic: shared until it is promoted.
    O,
    /// Promotes an own O to E; not kept as a mode of its own.
    R,
    /// Checks as X and keeps nothing.
    U,
    /// Checks as E and keeps nothing.
    V,
    /// Checks as S and keeps nothing.
    W,
    /// Checks as R and keeps nothing.
    C,
}

impl Mode {
    /// Every mode, in the order of the documentation.
    pub const ALL: [Self; 9] =
        [Self::S, Self::E, Self::X, Self::O, Self::R, Self::U, Self::V, Self::W, Self::C];

    /// The mode of a one-letter word, large or small.
    #[must_use]
    pub fn parse(word: &[u8]) -> Option<Self> {
        let [letter] = word else {
            return None;
        };
        Some(match letter.to_ascii_uppercase() {
            b'S' => Self::S,
            b'E' => Self::E,
            b'X' => Self::X,
            b'O' => Self::O,
            b'R' => Self::R,
            b'U' => Self::U,
            b'V' => Self::V,
            b'W' => Self::W,
            b'C' => Self::C,
            _ => return None,
        })
    }

    /// What a grant of this mode adds to the table, if it adds anything.
    #[must_use]
    pub fn held(self) -> Option<Held> {
        match self {
            Self::S => Some(Held::S),
            Self::E => Some(Held::E),
            Self::X => Some(Held::X),
            Self::O => Some(Held::O),
            Self::R | Self::U | Self::V | Self::W | Self::C => None,
        }
    }

    /// What the request is judged as.
    #[must_use]
    pub fn ask(self) -> Ask {
        match self {
            Self::S | Self::W => Ask::S,
            Self::E | Self::V => Ask::E,
            Self::X | Self::U => Ask::X,
            Self::O => Ask::O,
            Self::R | Self::C => Ask::R,
        }
    }

    /// Its letter.
    #[must_use]
    pub fn letter(self) -> u8 {
        match self {
            Self::S => b'S',
            Self::E => b'E',
            Self::X => b'X',
            Self::O => b'O',
            Self::R => b'R',
            Self::U => b'U',
            Self::V => b'V',
            Self::W => b'W',
            Self::C => b'C',
        }
    }
}

/// The mode of a lock in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Held {
    /// Shared.
    S,
    /// Optimistic.
    O,
    /// Exclusive, cumulative.
    E,
    /// Exclusive, once.
    X,
}

impl Held {
    /// The mode of a lock whose letter is `letter`.
    #[must_use]
    pub fn parse(letter: u8) -> Option<Self> {
        match letter {
            b'S' => Some(Self::S),
            b'O' => Some(Self::O),
            b'E' => Some(Self::E),
            b'X' => Some(Self::X),
            _ => None,
        }
    }

    /// Its letter.
    #[must_use]
    pub fn letter(self) -> u8 {
        match self {
            Self::S => b'S',
            Self::O => b'O',
            Self::E => b'E',
            Self::X => b'X',
        }
    }

    /// True for the modes that no other owner bears beside them.
    #[must_use]
    pub fn excludes(self) -> bool {
        matches!(self, Self::E | Self::X)
    }
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", char::from(self.letter()))
    }
}

/// What a request is judged as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Shared.
    S,
    /// Optimistic.
    O,
    /// Exclusive, cumulative.
    E,
    /// Exclusive, once.
    X,
    /// Promotion.
    R,
}

impl Ask {
    /// True when a lock that another owner holds on a matching argument refuses this request.
    #[must_use]
    pub fn refused_by_foreign(self, held: Held) -> bool {
        match self {
            Self::S | Self::O => held.excludes(),
            Self::E | Self::X => true,
            Self::R => held != Held::O,
        }
    }

    /// True when a lock that the same owner holds on a matching argument refuses this request.
    #[must_use]
    pub fn refused_by_own(self, held: Held) -> bool {
        self == Self::X || held == Held::X
    }
}

//! A command as a client sends it, what came back, and whether the model could have said so.

use std::fmt;

use plumb_lock_table::table::{Held, Scope};
use plumb_wire::resp;

use crate::model::{Model, Row, Say, Want};

/// One command.
#[derive(Clone, Debug)]
pub(crate) enum Call {
    /// It waits for so many milliseconds at most.
    Enqueue {
        owner: String,
        scope: Scope,
        wait_ms: u64,
        wants: Vec<Want>,
    },
    Check {
        owner: String,
        wants: Vec<Want>,
    },
    Release {
        owner: String,
        scope: Scope,
        wants: Vec<Want>,
        fence: Option<u64>,
    },
    Clear {
        owner: String,
        scope: Scope,
    },
    Inherit {
        from: String,
        to: String,
    },
    RemoveOwner {
        owner: String,
    },
    RemoveFence {
        fence: u64,
    },
    /// Another server takes over, and numbers its grants from here on.
    TakeOver {
        fences: u64,
    },
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// A fence number, or how many.
    Number(u64),
    /// A lock is in the way.
    Held { own: bool, index: usize, holder: Holder },
    /// An earlier lock of the same request is.
    Itself(usize),
    /// There is no O to promote.
    NotHeld(usize),
    /// There is no room.
    Full,
    /// While it waited, what its owner held ended.
    Lost,
    /// Something that no lock server says.
    Other(String),
    /// None: nobody knows whether it was done.
    Unknown,
}

/// Who is in the way, as the rejection names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Holder {
    owner: Vec<u8>,
    mode: Vec<u8>,
    name: Vec<u8>,
    argument: Vec<u8>,
    pub(super) fence: u64,
}

impl Call {
    /// Its words.
    pub(crate) fn words(&self) -> Vec<Vec<u8>> {
        let text = |word: &str| word.as_bytes().to_vec();
        let scoped = |verb: &str, owner: &str, scope: Scope| {
            vec![text(verb), text(owner), text("SCOPE"), vec![b'0' + scope.digit()]]
        };
        match self {
            Self::Enqueue { owner, scope, wait_ms: 0, wants } => {
                [scoped("ENQ", owner, *scope), locks(wants)].concat()
            }
            Self::Enqueue { owner, scope, wait_ms, wants } => {
                let wait = vec![text("WAIT"), text(&wait_ms.to_string())];
                [scoped("ENQ", owner, *scope), wait, locks(wants)].concat()
            }
            Self::Check { owner, wants } => {
                [vec![text("CHECK"), text(owner)], locks(wants)].concat()
            }
            Self::Release { owner, scope, wants, fence } => {
                let fence = fence.map(|it| vec![text("FENCE"), text(&it.to_string())]);
                [scoped("DEQ", owner, *scope), fence.unwrap_or_default(), locks(wants)].concat()
            }
            Self::Clear { owner, scope } => scoped("DEQALL", owner, *scope),
            Self::Inherit { from, to } => vec![text("INHERIT"), text(from), text(to)],
            Self::RemoveOwner { owner } => vec![text("REMOVE"), text("OWNER"), text(owner)],
            Self::RemoveFence { fence } => {
                vec![text("REMOVE"), text("FENCE"), text(&fence.to_string())]
            }
            Self::TakeOver { fences } => vec![text("(take over)"), text(&fences.to_string())],
        }
    }

    /// The states in which the call can have left the model in `state`, if that gives this answer.
    pub(crate) fn explains(&self, reply: &Reply, state: &Model) -> Vec<Model> {
        let (after, agrees) = self.try_on(reply, state);
        match reply {
            Reply::Unknown => vec![state.clone(), after],
            _ if agrees => vec![after],
            _ => Vec::new(),
        }
    }

    fn try_on(&self, reply: &Reply, state: &Model) -> (Model, bool) {
        let mut after = state.clone();
        let number = |it: u32| *reply == Reply::Number(it.into());
        let agrees = match self {
            Self::Enqueue { wait_ms: 1.., .. } if *reply == Reply::Lost => true,
            Self::Enqueue { owner, scope, wants, .. } => {
                let said = after.enqueue(owner.as_bytes(), *scope, wants);
                agree(&said, reply, (owner, wants), state)
            }
            Self::Check { owner, wants } => {
                let said = state.judge(owner.as_bytes(), wants).unwrap_or(Say::Granted(0));
                agree(&said, reply, (owner, wants), state)
            }
            Self::Release { owner, scope, wants, fence } => {
                number(after.dequeue(owner.as_bytes(), *scope, wants, *fence))
            }
            Self::Clear { owner, scope } => number(after.clear(owner.as_bytes(), *scope)),
            Self::Inherit { from, to } => match after.inherit(from.as_bytes(), to.as_bytes()) {
                Some(passed) => number(passed),
                None => *reply == Reply::Full,
            },
            Self::RemoveOwner { owner } => {
                number(after.remove(|row| row.owner == owner.as_bytes()))
            }
            Self::RemoveFence { fence } => number(after.remove(|row| row.fence == *fence)),
            Self::TakeOver { fences } => {
                let above = *fences >= after.next_fence;
                after.next_fence = *fences;
                above
            }
        };
        (after, agrees)
    }
}

/// A rejection names a lock that is held and really is in the way.
fn agree(said: &Say, reply: &Reply, (owner, wants): (&str, &[Want]), state: &Model) -> bool {
    match (said, reply) {
        (Say::Granted(fence), Reply::Number(other)) => fence == other,
        (Say::Held(index), Reply::Held { own, index: other, holder }) => {
            index == other
                && state.rows.iter().any(|row| {
                    holder.is(row)
                        && Model::meets(owner.as_bytes(), &wants[*index], row)
                        && *own == (row.owner == owner.as_bytes())
                })
        }
        (Say::Itself(index), Reply::Itself(other))
        | (Say::NotHeld(index), Reply::NotHeld(other)) => index == other,
        (Say::Full, Reply::Full) => true,
        _ => false,
    }
}

impl Holder {
    fn is(&self, row: &Row) -> bool {
        self.owner == row.owner
            && self.mode == [row.mode.letter()]
            && self.name == row.name
            && self.argument == row.argument
            && self.fence == row.fence
    }
}

impl Reply {
    /// What `found` says.
    pub(crate) fn of(found: resp::Reply<'_>) -> Self {
        match found {
            resp::Reply::Integer(value) => Self::Number(u64::try_from(value).unwrap_or(u64::MAX)),
            resp::Reply::Error(text) if text.starts_with(b"FULL") => Self::Full,
            resp::Reply::Error(text) if text.starts_with(b"LOST") => Self::Lost,
            resp::Reply::Error(text) => Self::Other(String::from_utf8_lossy(text).into_owned()),
            resp::Reply::Array(mut items) => {
                let kind = text(items.next());
                let index = usize::try_from(count(items.next())).unwrap_or(usize::MAX);
                match &*kind {
                    b"HELD" | b"OWN" => {
                        let owner = text(items.next());
                        let [_user, mode, name, argument] = [(); 4].map(|()| text(items.next()));
                        let fence = count(items.next());
                        let holder = Holder { owner, mode, name, argument, fence };
                        Self::Held { own: *kind == *b"OWN", index, holder }
                    }
                    b"ITSELF" => Self::Itself(index),
                    b"NOTHELD" => Self::NotHeld(index),
                    _ => Self::Other(format!("{found:?}")),
                }
            }
            other => Self::Other(format!("{other:?}")),
        }
    }
}

/// All locks of a reply to `LOCKS`, sorted.
pub(crate) fn ledger(found: resp::Reply<'_>) -> Vec<Row> {
    let resp::Reply::Array(mut parts) = found else { panic!("{found:?} is no listing") };
    assert!(matches!(parts.next(), Some(resp::Reply::Integer(0))), "one page");
    let Some(resp::Reply::Array(locks)) = parts.next() else { panic!("no locks") };
    let locks = locks.filter_map(|lock| match lock {
        resp::Reply::Array(fields) => Some(listed(fields)),
        _ => None,
    });
    let mut rows: Vec<Row> = locks.collect();
    rows.sort();
    rows
}

/// A lock as `LOCKS` lists it.
fn listed(mut fields: resp::Items<'_>) -> Row {
    let owner = text(fields.next());
    let (_user, _since) = (text(fields.next()), count(fields.next()));
    let [name, argument, mode] = [(); 3].map(|()| text(fields.next()));
    let [dialog, update] =
        [(); 2].map(|()| u16::try_from(count(fields.next())).expect("a counter"));
    let backup = count(fields.next()) == 1;
    let mode = Held::parse(mode[0]).expect("a mode");
    Row { owner, name, argument, mode, dialog, update, backup, fence: count(fields.next()) }
}

fn text(item: Option<resp::Reply<'_>>) -> Vec<u8> {
    match item {
        Some(resp::Reply::Bulk(text)) => text.to_vec(),
        _ => Vec::new(),
    }
}

fn count(item: Option<resp::Reply<'_>>) -> u64 {
    match item {
        Some(resp::Reply::Integer(value)) => u64::try_from(value).unwrap_or(u64::MAX),
        _ => u64::MAX,
    }
}

fn locks(wants: &[Want]) -> Vec<Vec<u8>> {
    let words = wants
        .iter()
        .map(|it| [format!("{:?}", it.mode).into_bytes(), it.name.clone(), it.argument.clone()]);
    words.flatten().collect()
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = self.words();
        let words: Vec<_> = words.iter().map(|word| String::from_utf8_lossy(word)).collect();
        f.write_str(&words.join(" "))
    }
}

//! What a client says to the server, again and again, and what it expects to hear.

use clap::ValueEnum;
use plumb_wire::resp;

/// Digits of the number of a round, as they stand in keys.
const DIGITS: usize = 8;
/// Stands in a word where the number of the round is to be.
const ROUND: &str = "\0\0\0\0\0\0\0\0";
/// The name under which `create` takes its locks.
pub(crate) const FILL_NAME: &str = "PLUMBFILL";
/// Compare and delete, as lock libraries of Redis send it.
const COMPARE_AND_DELETE: &str = "if redis.call(\"get\",KEYS[1]) == ARGV[1] then return \
                                  redis.call(\"del\",KEYS[1]) else return 0 end";
/// How long a lock of Redis lives when nobody releases it, milliseconds.
const REDIS_LEASE_MS: &str = "30000";

/// Whom the load talks to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TargetKind {
    /// A lock server of plumb
    Plumb,
    /// Redis, or what speaks as it does: SET NX PX, and a release by --unlock
    Redis,
    /// PostgreSQL: pg_try_advisory_lock and pg_advisory_unlock; only for pairs
    Postgres,
}

/// A server that keeps locks beyond the connection that took them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Keeper {
    /// A lock server of plumb
    Plumb,
    /// Redis, or what speaks as it does: SET NX
    Redis,
}

/// How a lock of Redis is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Unlock {
    /// By the script that compares and deletes: safe
    Compare,
    /// By DEL: as cheap as it can be, and it may delete the lock of somebody else
    Delete,
}

/// What the clients do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Workload {
    /// A lock is taken and released.
    Pairs,
    /// The same as clients of Redis do it.
    Keys(Unlock),
    /// Orders, as documented with `plumb lock load sd`.
    Sales,
    /// So many locks are taken, and stay.
    Fill(Keeper, u32),
    /// So many locks of each owner are released.
    Clear(Keeper, u32),
    /// Are so many keys of each owner still there?
    Look(u32),
    /// The server is asked whether it is there.
    Ping,
}

/// What an answer must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Expect {
    /// A fence number that is not below the last one; an array is a collision.
    Fence,
    /// Exactly this number.
    Count(i64),
    /// `OK`; nothing is a collision.
    Stored,
    /// These bytes; others, or nothing, are a collision.
    Bytes(Vec<u8>),
    /// Any number: what a lock server of plumb says of its epoch.
    Epoch,
    /// That it is the one of several that gives locks out.
    Primary,
    /// Anything but an error.
    Welcome,
    /// `OK` where the server tells how long it has single commands; an error where it does not.
    Stamps,
}

/// A request, with places for the number of the round.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    bytes: Vec<u8>,
    places: Vec<usize>,
}

impl Frame {
    pub(crate) fn new(words: &[&str]) -> Self {
        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        let mut bytes = Vec::new();
        resp::push_command(&mut bytes, &words);
        let found = bytes.windows(DIGITS).enumerate();
        let places =
            found.filter(|(_, here)| *here == ROUND.as_bytes()).map(|(at, _)| at).collect();
        Self { bytes, places }
    }

    /// Appends it for a round.
    pub(crate) fn push(&self, out: &mut Vec<u8>, round: Digits) {
        let start = out.len();
        out.extend_from_slice(&self.bytes);
        for place in &self.places {
            let at = start + place;
            out[at..at + DIGITS].copy_from_slice(&round.0);
        }
    }
}

/// The number of a round as it stands in keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Digits([u8; DIGITS]);

impl Digits {
    pub(crate) fn of(mut round: u32) -> Self {
        let mut digits = [b'0'; DIGITS];
        for digit in digits.iter_mut().rev() {
            *digit += u8::try_from(round % 10).unwrap_or(0);
            round /= 10;
        }
        Self(digits)
    }
}

/// One request of a script.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// The row that records it.
    pub(crate) row: u16,
    pub(crate) frame: Frame,
    /// Takes its place in the first round.
    pub(crate) first: Option<Frame>,
    pub(crate) expect: Expect,
}

impl Step {
    fn new(row: u16, words: &[&str], expect: Expect) -> Self {
        Self { row, frame: Frame::new(words), first: None, expect }
    }
}

/// Who a client is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Who<'a> {
    /// Tells one load from all others.
    pub(crate) load: &'a str,
    /// The connection, from zero.
    pub(crate) number: usize,
    /// How often it was made anew: what the last one held may still be held for a moment.
    pub(crate) life: u32,
}

impl Who<'_> {
    fn owner(self) -> String {
        let Self { load, number, life } = self;
        format!("{load}-{number}-{life}")
    }

    /// With what the keys of its locks begin.
    fn key(self) -> String {
        format!("{}{:04}{:02}", key_of(self.load), self.number, self.life)
    }

    fn redis_key(self) -> String {
        format!("VBAK{}{ROUND}", self.key())
    }
}

/// With what the keys of all locks of a load begin.
pub(crate) fn key_of(load: &str) -> String {
    format!("800{load}")
}

impl Workload {
    /// The names of the rows.
    pub(crate) fn rows(self) -> &'static [&'static str] {
        match self {
            Self::Pairs | Self::Keys(_) => &["take", "release"],
            Self::Sales => &["enqueue", "inherit", "dequeue-all"],
            Self::Fill(..) => &["take"],
            Self::Clear(..) => &["release"],
            Self::Look(_) | Self::Ping => &["ask"],
        }
    }

    /// After so many rounds a client is done; `None`: never.
    pub(crate) fn rounds(self) -> Option<u32> {
        match self {
            Self::Pairs | Self::Keys(_) | Self::Sales | Self::Ping => None,
            Self::Fill(_, locks) | Self::Clear(Keeper::Redis, locks) | Self::Look(locks) => {
                Some(locks)
            }
            Self::Clear(Keeper::Plumb, _) => Some(1),
        }
    }

    /// After so many rounds the numbers begin again.
    pub(crate) fn cycle(self) -> u32 {
        match self {
            Self::Sales => 10_000,
            Self::Fill(..) | Self::Clear(..) | Self::Look(_) => u32::MAX,
            Self::Pairs | Self::Keys(_) | Self::Ping => 1_000,
        }
    }

    /// What is said before the first request, besides the password.
    pub(crate) fn greeting(self) -> Vec<(Frame, Expect)> {
        let ping = (Frame::new(&["PING"]), Expect::Welcome);
        match self {
            Self::Keys(Unlock::Compare) => {
                let digest = sha1_smol::Sha1::from(COMPARE_AND_DELETE).digest().to_string();
                let load = Frame::new(&["SCRIPT", "LOAD", COMPARE_AND_DELETE]);
                vec![ping, (load, Expect::Bytes(digest.into_bytes()))]
            }
            Self::Keys(Unlock::Delete)
            | Self::Fill(Keeper::Redis, _)
            | Self::Clear(Keeper::Redis, _)
            | Self::Look(_)
            | Self::Ping => vec![ping],
            Self::Pairs
            | Self::Sales
            | Self::Fill(Keeper::Plumb, _)
            | Self::Clear(Keeper::Plumb, _) => {
                vec![(Frame::new(&["EPOCH"]), Expect::Epoch)]
            }
        }
    }

    /// True where a lock server of plumb is asked.
    pub(crate) fn is_of_plumb(self) -> bool {
        self.greeting().iter().any(|(_, expect)| *expect == Expect::Epoch)
    }

    /// True when what a client holds is named after its round, too: each connection that was lost then
    /// has to be released by its own.
    pub(crate) fn names_rounds(self) -> bool {
        matches!(self, Self::Keys(_))
    }

    /// What releases whatever `who` has left of a round in which it was interrupted; `None` where that
    /// ends with the connection, or is to stay.
    pub(crate) fn release(self, who: Who<'_>) -> Option<Frame> {
        match self {
            Self::Sales => Some(Frame::new(&["DEQALL", &update_of(&who.owner())])),
            Self::Keys(_) => {
                // a server may know by whom a key was taken, and this goes over another connection
                let words = ["EVAL", COMPARE_AND_DELETE, "1", &who.redis_key(), &who.owner()];
                Some(Frame::new(&words))
            }
            Self::Pairs | Self::Fill(..) | Self::Clear(..) | Self::Look(_) | Self::Ping => None,
        }
    }

    /// One round of the client `who`.
    pub(crate) fn script(self, who: Who<'_>) -> Vec<Step> {
        let (number, owner, key) = (who.number, who.owner(), who.key());
        match self {
            Self::Pairs => {
                let argument = format!("{key}{ROUND}");
                vec![
                    Step::new(0, &["ENQ", &owner, "E", "VBAK", &argument], Expect::Fence),
                    Step::new(1, &["DEQ", &owner, "E", "VBAK", &argument], Expect::Count(1)),
                ]
            }
            Self::Keys(unlock) => keys(&owner, &who.redis_key(), unlock),
            Self::Sales => sales(&owner, &key),
            Self::Fill(Keeper::Plumb, _) => {
                let (owner, argument) = (fill_owner(number), format!("{number:04}{ROUND}"));
                let lock = ["E", FILL_NAME, &argument];
                let kept = Frame::new(&[&["ENQ", &owner, "KEEP"][..], &lock].concat());
                let words = [&["ENQ", &owner][..], &lock].concat();
                vec![Step { first: Some(kept), ..Step::new(0, &words, Expect::Fence) }]
            }
            Self::Fill(Keeper::Redis, _) => {
                let words = ["SET", &fill_key(number), &fill_owner(number), "NX"];
                vec![Step::new(0, &words, Expect::Stored)]
            }
            Self::Clear(Keeper::Plumb, locks) => {
                let words = ["DEQALL", &fill_owner(number)];
                vec![Step::new(0, &words, Expect::Count(locks.into()))]
            }
            Self::Clear(Keeper::Redis, _) => {
                vec![Step::new(0, &["DEL", &fill_key(number)], Expect::Count(1))]
            }
            Self::Look(_) => {
                let expect = Expect::Bytes(fill_owner(number).into_bytes());
                vec![Step::new(0, &["GET", &fill_key(number)], expect)]
            }
            Self::Ping => vec![Step::new(0, &["PING"], Expect::Welcome)],
        }
    }
}

/// Who holds the locks of `create`.
pub(crate) fn fill_owner(number: usize) -> String {
    format!("plumb-fill-{number:04}")
}

/// The argument of the lock `number` of an owner: four digits, and eight.
pub(crate) fn fill_argument(owner: usize, number: usize) -> [u8; 12] {
    let mut argument = [b'0'; 12];
    for (digits, mut rest) in [(0..4, owner), (4..12, number)] {
        for digit in argument[digits].iter_mut().rev() {
            *digit += u8::try_from(rest % 10).unwrap_or(0);
            rest /= 10;
        }
    }
    argument
}

fn fill_key(number: usize) -> String {
    format!("plumb:fill:{number:04}:{ROUND}")
}

fn keys(owner: &str, key: &str, unlock: Unlock) -> Vec<Step> {
    let take = ["SET", key, owner, "NX", "PX", REDIS_LEASE_MS];
    let digest = sha1_smol::Sha1::from(COMPARE_AND_DELETE).digest().to_string();
    let release = match unlock {
        Unlock::Compare => vec!["EVALSHA", &digest, "1", key, owner],
        Unlock::Delete => vec!["DEL", key],
    };
    vec![Step::new(0, &take, Expect::Stored), Step::new(1, &release, Expect::Count(1))]
}

/// Enqueues of one order.
pub(crate) const SALES_ENQUEUES: u64 = 21;
/// Requests of one order: its enqueues, four inheritances and four times dequeue-all.
pub(crate) const SALES_REQUESTS: u64 = SALES_ENQUEUES + 8;

/// The four steps of an order that take locks. Each hands its locks to its update, which releases
/// them.
fn sales(owner: &str, key: &str) -> Vec<Step> {
    let order = format!("{key}{ROUND}");
    let mut steps = Vec::new();
    let part = |n: u32| format!("{key}{ROUND}{n:02}");
    let parts: Vec<String> = (1..=5).map(part).collect();
    let one = |mode, name| vec![(mode, name, order.clone())];
    let five = |mode, name| parts.iter().map(|it| (mode, name, it.clone())).collect::<Vec<_>>();
    let again = vec![("E", "ATPENQ", order.clone()); 5]; // one lock, taken five times
    sales_step(&mut steps, owner, [one("E", "KNA1"), five("S", "MARA"), again].concat(), 7);
    sales_step(&mut steps, owner, [one("E", "VBAK"), one("E", "LIKP")].concat(), 2);
    sales_step(&mut steps, owner, [one("E", "LIKP"), five("E", "MBEW")].concat(), 6);
    sales_step(&mut steps, owner, [one("E", "LIKP"), one("E", "VBRK")].concat(), 2);
    steps
}

/// The update to which an owner hands its locks.
fn update_of(owner: &str) -> String {
    format!("{owner}u")
}

fn sales_step(
    steps: &mut Vec<Step>,
    owner: &str,
    enqueues: Vec<(&str, &str, String)>,
    distinct: i64,
) {
    for (mode, name, argument) in enqueues {
        steps.push(Step::new(0, &["ENQ", owner, mode, name, &argument], Expect::Fence));
    }
    let update = update_of(owner);
    steps.push(Step::new(1, &["INHERIT", owner, &update], Expect::Count(distinct)));
    steps.push(Step::new(2, &["DEQALL", &update], Expect::Count(distinct)));
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHO: Who<'_> = Who { load: "abc", number: 7, life: 1 };

    #[test]
    fn the_number_of_the_round_stands_in_the_key() {
        let steps = Workload::Pairs.script(WHO);
        let mut out = Vec::new();
        steps[0].frame.push(&mut out, Digits::of(1_234));
        let expected = "*5\r\n$3\r\nENQ\r\n$7\r\nabc-7-1\r\n$1\r\nE\r\n$4\r\nVBAK\r\n\
                        $20\r\n800abc00070100001234\r\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn the_argument_of_a_lock_is_what_create_asks_for() {
        let owner = 12;
        let step = &Workload::Fill(Keeper::Plumb, 1).script(Who { number: owner, ..WHO })[0];
        let mut out = Vec::new();
        step.frame.push(&mut out, Digits::of(345));
        let argument = fill_argument(owner, 345);
        assert_eq!(&argument, b"001200000345");
        assert!(out.windows(argument.len()).any(|here| here == argument));
    }

    #[test]
    fn an_order_is_what_its_definition_says() {
        let steps = Workload::Sales.script(WHO);
        let of = |row| steps.iter().filter(|step| step.row == row).count() as u64;
        assert_eq!((of(0), of(1), of(2)), (SALES_ENQUEUES, 4, 4));
        assert_eq!(steps.len() as u64, SALES_REQUESTS);
    }
}

//! What is asked of each kind of server: a yardstick by which it is judged, and more beside it.

use std::num::NonZeroUsize;
use std::path::Path;

use plumb_checkup::PartRole;

/// Connections at once, where no number is named.
pub(super) const MESSENGERS: NonZeroUsize = NonZeroUsize::new(64).unwrap();
pub(super) const LOCKERS: NonZeroUsize = NonZeroUsize::new(8).unwrap();
pub(super) const SENDERS: NonZeroUsize = NonZeroUsize::new(8).unwrap();
pub(super) const USERS: NonZeroUsize = NonZeroUsize::new(10).unwrap();
/// Callers of a database, and the connections that they share.
const CALLERS: NonZeroUsize = NonZeroUsize::new(8).unwrap();
const POOL: NonZeroUsize = NonZeroUsize::new(4).unwrap();

/// One measurement that is still to be given its time.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    /// One operation, as a sentence names it.
    pub(super) operation: String,
    /// How it is asked for.
    pub(super) how: String,
    pub(super) role: PartRole,
    /// How many ask at the same time.
    pub(super) users: u64,
    /// Connections that these share, where they do.
    pub(super) connections: Option<u64>,
    /// The words behind `plumb`, without those of its time.
    pub(super) words: Vec<String>,
}

impl Ask {
    fn new(operation: &str, how: &str, words: &[&str]) -> Self {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        let (operation, how, role) = (operation.into(), how.into(), PartRole::Yardstick);
        Self { operation, how, role, users: 1, connections: None, words }
    }

    /// The same asked for by `users` at once.
    fn by(self, users: usize) -> Self {
        Self { users: users as u64, ..self.beside() }
    }

    /// The same over so many connections, which those who ask share.
    fn sharing(self, connections: NonZeroUsize) -> Self {
        Self { connections: Some(connections.get() as u64), ..self }
    }

    fn beside(self) -> Self {
        Self { role: PartRole::Beside, ..self }
    }

    fn where_offered(self) -> Self {
        Self { role: PartRole::WhereOffered, ..self }
    }

    fn with(mut self, words: &[String]) -> Self {
        self.words.extend_from_slice(words);
        self
    }
}

/// Messages to the echo server at `address`, as large as a call of a database, over one connection
/// and over more, up to `many`; then a stream.
pub(super) fn network(address: &str, round_trip: &str, many: NonZeroUsize) -> Vec<Ask> {
    let ping = ["net", "ping", address, "--size=1000B"];
    let packets = !["unix:", "smc:", "udp:"].iter().any(|it| address.starts_with(it));
    let stamps = packets.then(|| "--timestamps".to_owned());
    let one = Ask::new(round_trip, "1000 B", &ping).with(stamps.as_slice());
    let more = ladder(many, |many, option| {
        let how = format!("1000 B, {many} connections");
        Ask::new(round_trip, &how, &[&ping[..], &[option]].concat())
    });
    let stream = Ask::new("a stream", "to the server", &["net", "stream", address]);
    [one].into_iter().chain(more).chain([stream.where_offered()]).collect()
}

/// Locks of the server at `address`, taken and released; `words` say what kind it is.
pub(super) fn locks(address: &str, words: &[String], many: NonZeroUsize) -> Vec<Ask> {
    let pairs = ["lock", "load", "pairs", address];
    let one = Ask::new("a lock request", "one connection", &pairs).with(words);
    let more = ladder(many, |many, option| {
        let pairs = [&pairs[..], &[option]].concat();
        Ask::new("a lock request", &format!("{many} connections"), &pairs).with(words)
    });
    [one].into_iter().chain(more).collect()
}

/// Statements for the database at `url`; `own` are the words that name one, if there are any, and
/// `patience` those that say how long one may take.
pub(super) fn statements(url: &str, own: &[String], patience: &[String]) -> Vec<Ask> {
    let (operation, which) = match own {
        [] => ("a statement", "--ask=sized"),
        _ => ("your statement", "--ask=own"),
    };
    let over = |over: &str, how: &str| {
        Ask::new(operation, how, &["db", "ping", url, which, over]).with(own).with(patience)
    };
    let (callers, pool) = (CALLERS.get(), POOL.get());
    let shared = [format!("--callers={callers}"), format!("--pool={pool}")];
    let many = over("--over=pool", &format!("{callers} callers, {pool} connections"));
    let many = many.by(callers).sharing(POOL).with(&shared);
    vec![over("--over=kept", "one connection"), many]
}

/// A message, as a sentence names it, and the words that send it.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) operation: String,
    pub(super) words: Vec<String>,
}

/// Messages to the integration runtime at `url`, whose senders wait for the last action. Each is a
/// yardstick; the last is sent by up to `many` at once, too.
pub(super) fn messages(url: &str, sent: &[Sent], many: NonZeroUsize) -> Vec<Ask> {
    let load = ["flow", "load", url, "--mode=sync"];
    let one = |sent: &Sent| Ask::new(&sent.operation, "one sender", &load).with(&sent.words);
    let more = sent.last().into_iter().flat_map(|sent| {
        ladder(many, |many, option| {
            let how = format!("{many} senders");
            Ask::new(&sent.operation, &how, &[&load[..], &[option]].concat()).with(&sent.words)
        })
    });
    sent.iter().map(one).chain(more).collect()
}

/// A page, as a sentence names it.
#[derive(Clone, Debug)]
pub(super) struct Page {
    pub(super) name: String,
    pub(super) url: String,
}

/// What is asked of one server of pages.
#[derive(Debug)]
pub(super) struct PageRequests<'a> {
    /// Each is a yardstick; the last is asked for by more users, too.
    pub(super) pages: &'a [Page],
    /// A page that works for its answer, and the URL of one that is ready.
    pub(super) pair: Option<(&'a Page, &'a str)>,
    /// Users at once, at most.
    pub(super) users: NonZeroUsize,
    /// What every request needs: who asks, who is believed.
    pub(super) words: Vec<String>,
}

impl PageRequests<'_> {
    /// The measurements.
    pub(super) fn asks(&self) -> Vec<Ask> {
        let pages = self.pages.iter();
        let ones = pages.map(|page| Ask::new(&page.name, "one user", &["http", "ping", &page.url]));
        let pair = self.pair.map(|(page, ready)| {
            let words = ["http", "ping", "--pair", &page.url, ready];
            Ask::new(&page.name, "in turn with a ready one", &words).beside()
        });
        let more = self.pages.last().into_iter().flat_map(|page| {
            ladder(self.users, |many, option| {
                let how = format!("{many} users");
                Ask::new(&page.name, &how, &["http", "ping", &page.url, option])
            })
        });
        let all = ones.chain(pair).chain(more);
        all.map(|ask| ask.with(&self.words)).collect()
    }
}

/// The words that name a file with a password or a certificate.
pub(super) fn naming(option: &str, file: Option<&Path>) -> Option<String> {
    file.map(|file| format!("--{option}={}", file.display()))
}

/// What more than one ask at once: two, half of the most, and the most. Where twice as many get no
/// more done, something is full.
fn ladder(most: NonZeroUsize, ask: impl Fn(usize, &str) -> Ask) -> Vec<Ask> {
    let mut steps = vec![2, most.get().div_ceil(2), most.get()];
    steps.retain(|users| (2..=most.get()).contains(users));
    steps.sort_unstable();
    steps.dedup();
    let asked = |users: usize| ask(users, &format!("--connections={users}")).by(users);
    steps.into_iter().map(asked).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn users(most: usize) -> Vec<u64> {
        let most = NonZeroUsize::new(most).unwrap();
        locks("h", &[], most).iter().map(|ask| ask.users).collect()
    }

    #[test]
    fn messages_are_taken_apart_where_there_are_packets_of_a_connection() {
        let stamped = |address: &str| {
            let asks = network(address, "a message", NonZeroUsize::MIN);
            asks[0].words.iter().any(|word| word == "--timestamps")
        };
        assert!(stamped("web1:3298") && stamped("[::1]:3298"));
        for address in ["unix:/run/echo", "smc:web1", "udp:web1:3298"] {
            assert!(!stamped(address), "{address}");
        }
    }

    #[test]
    fn more_users_ask_in_a_few_steps() {
        assert_eq!(users(1), [1]);
        assert_eq!(users(2), [1, 2]);
        assert_eq!(users(3), [1, 2, 3]);
        assert_eq!(users(10), [1, 2, 5, 10]);
        assert_eq!(users(64), [1, 2, 32, 64]);
    }
}

//! Mutual exclusion as clients see it: several of them take and release E locks, exact and with
//! wildcards, while the server is killed again and again. What each certainly held is compared.

use crate::kit;

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use kit::Program;
use kit::locks::Client;
use rustix::process::Signal;
use tempfile::tempdir;

/// Clients at the same time, and requests of each between two crashes.
const CLIENTS: u64 = 6;
const REQUESTS: u64 = 300;
/// Arguments that clients compete for; the last position may be a wildcard.
const ARGUMENTS: [&str; 7] = ["AA", "AB", "AC", "BA", "BB", "A@", "B@"];

/// Every event has a number of its own, in the order in which it happened.
static EVENTS: AtomicU64 = AtomicU64::new(1);

/// How often the server is killed: PLUMB_CRASHES, or a hundred times.
fn crashes() -> u64 {
    let asked = std::env::var("PLUMB_CRASHES").ok().and_then(|text| text.parse().ok());
    asked.unwrap_or(100)
}

fn event() -> u64 {
    EVENTS.fetch_add(1, Ordering::SeqCst)
}

/// A lock that a client held, from the reply that granted it to the request that released it.
#[derive(Clone, Debug)]
struct Held {
    owner: String,
    argument: String,
    fence: u64,
    /// Before the request was sent.
    asked: u64,
    /// After the grant was read.
    granted: u64,
    /// Before the release was sent; `u64::MAX` while there is none.
    released: u64,
    /// After the answer to the release was read.
    over: u64,
}

/// A rejection: who was named, and when it happened.
#[derive(Clone, Debug)]
struct Rejected {
    argument: String,
    holder: String,
    fence: u64,
    asked: u64,
    answered: u64,
}

#[derive(Default)]
struct Story {
    held: Vec<Held>,
    rejected: Vec<Rejected>,
    /// Owner, argument and moment of the request whose answer the crash took.
    lost: Option<(String, String, u64)>,
}

/// Takes and releases until the server is gone, or there is no more to do.
fn play(address: &str, name: &str, seed: u64) -> Story {
    let (mut story, mut random) = (Story::default(), seed);
    let Ok(mut client) = Client::connect(address) else {
        return story;
    };
    // an error is the crash
    let _ = (0..REQUESTS).try_for_each(|number| -> io::Result<()> {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(number * 2 + 1);
        let at = usize::try_from(random >> 40).expect("24 bits") % ARGUMENTS.len();
        let private = format!("{name}:{number}"); // nobody else asks for it, and it is kept
        take(&mut client, name, &private, &mut story)?;
        if take(&mut client, name, ARGUMENTS[at], &mut story)? {
            release(&mut client, &mut story)?;
        }
        Ok(())
    });
    story
}

/// Asks for a lock; true when it was granted.
fn take(client: &mut Client, name: &str, argument: &str, story: &mut Story) -> io::Result<bool> {
    let asked = event();
    let (owner, argument) = (name.to_owned(), argument.to_owned());
    story.lost = Some((owner.clone(), argument.clone(), asked));
    let reply = client.ask(&format!("ENQ {name} KEEP E T {argument}"))?;
    let answered = event();
    story.lost = None;
    if let Some(fence) = reply[0].strip_prefix(':') {
        let fence = fence.parse().expect("a fence number");
        let (released, over) = (u64::MAX, u64::MAX);
        story.held.push(Held { owner, argument, fence, asked, granted: answered, released, over });
        return Ok(true);
    }
    assert_eq!(reply[0], "HELD", "{reply:?}");
    let (holder, fence) = (reply[2].clone(), fence_of(&reply));
    story.rejected.push(Rejected { argument, holder, fence, asked, answered });
    Ok(false)
}

/// Releases the lock that was taken last.
fn release(client: &mut Client, story: &mut Story) -> io::Result<()> {
    let held = story.held.last_mut().expect("it was granted");
    held.released = event();
    let reply = client.ask(&format!("DEQ {} E T {}", held.owner, held.argument))?;
    assert_eq!(reply, [":1"], "{held:?}");
    held.over = event();
    Ok(())
}

fn fence_of(reply: &[String]) -> u64 {
    let last = reply.last().map(|word| word.trim_start_matches(':'));
    last.and_then(|word| word.parse().ok()).expect("the holder's fence number")
}

fn meet(one: &str, other: &str) -> bool {
    one.len() == other.len()
        && one.bytes().zip(other.bytes()).all(|(a, b)| a == b || a == b'@' || b == b'@')
}

/// A sweep over what was certainly held, from the grant to the release, in the order of grants.
fn two_at_once(held: &[Held]) -> Option<(Held, Held)> {
    let mut sorted: Vec<&Held> = held.iter().collect();
    sorted.sort_by_key(|it| it.granted);
    let mut open: Vec<&Held> = Vec::new();
    for now in sorted {
        open.retain(|it| it.released > now.granted);
        let other =
            open.iter().find(|it| it.owner != now.owner && meet(&it.argument, &now.argument));
        if let Some(other) = other {
            return Some(((*other).clone(), now.clone()));
        }
        open.push(now);
    }
    None
}

/// The lock that explains a rejection: it may have been held at some moment of the request.
fn explains(held: &Held, rejected: &Rejected) -> bool {
    held.owner == rejected.holder
        && held.fence == rejected.fence
        && meet(&held.argument, &rejected.argument)
        && held.asked < rejected.answered
        && held.over > rejected.asked
}

/// The policies under which a crash of the program loses nothing.
const POLICIES: [&str; 2] = ["always", "interval"];

/// A server over the journal of all crashes; the policy changes from one to the next.
fn serve(folder: &Path, crash: u64) -> (Program, String) {
    let journal = folder.join("journal");
    let journal = journal.to_str().expect("a plain path");
    let policy = POLICIES[usize::try_from(crash % 2).expect("zero or one")];
    let words = ["lock", "serve", "--listen", "127.0.0.1:0", "--quiet", "--journal", journal];
    let words = [&words[..], &["--journal-policy", policy]].concat();
    let server = Program::start(&words, folder);
    let line = server.line();
    let address = line.strip_prefix("listening on ").expect("where it listens").to_owned();
    (server, address)
}

/// Kills the server once so many events have happened.
fn kill_after(server: Program, events: u64) {
    while EVENTS.load(Ordering::SeqCst) < events {
        thread::yield_now();
    }
    server.signal(Signal::KILL);
    server.wait();
}

#[test]
fn nobody_holds_what_somebody_else_holds_through_any_number_of_crashes() {
    let folder = tempdir().expect("a temporary folder");
    let (mut fence_before, mut held, mut rejected) = (0, 0, 0);
    for crash in 0..crashes() {
        let (server, address) = serve(folder.path(), crash);
        // the moment of the crash comes from a seed, within what the clients do for sure
        let after = EVENTS.load(Ordering::SeqCst) + 50 + crash * 7_919 % 1_000;
        let stories: Vec<Story> = thread::scope(|scope| {
            let address = &address;
            let players: Vec<_> = (0..CLIENTS)
                .map(|n| scope.spawn(move || play(address, &format!("c{crash}-{n}"), n + crash)))
                .collect();
            kill_after(server, after);
            players.into_iter().map(|it| it.join().expect("it plays on")).collect()
        });
        let (next, address) = serve(folder.path(), crash);
        let mut client = Client::connect(&address).expect("it listens");
        ledger(&mut client, &stories);
        let first = stories.iter().flat_map(|it| &it.held).map(|it| it.fence).min();
        assert!(first.is_none_or(|fence| fence > fence_before), "fence numbers come again");
        let last = stories.iter().flat_map(|it| &it.held).map(|it| it.fence).max();
        fence_before = fence_before.max(last.unwrap_or(0));
        let (more_held, more_rejected) = judge(stories);
        (held, rejected) = (held + more_held, rejected + more_rejected);
        next.signal(Signal::TERM);
        next.wait().with(0);
    }
    assert!(held > 100 && rejected > 0, "that was no test");
}

/// What the clients saw between two crashes holds no contradiction; how many locks they held, and
/// how often they were rejected.
fn judge(stories: Vec<Story>) -> (usize, usize) {
    let (mut all, mut lost) = (Story::default(), Vec::new());
    for story in stories {
        all.held.extend(story.held);
        all.rejected.extend(story.rejected);
        lost.extend(story.lost);
    }
    assert!(two_at_once(&all.held).is_none(), "{:#?}", two_at_once(&all.held));
    let unexplained = all.rejected.iter().find(|it| {
        let taken = lost.iter().any(|(owner, argument, asked)| {
            *owner == it.holder && meet(argument, &it.argument) && *asked < it.answered
        });
        !taken && !all.held.iter().any(|held| explains(held, it))
    });
    assert!(unexplained.is_none(), "{unexplained:#?}");
    (all.held.len(), all.rejected.len())
}

/// After a crash: what was granted and not asked to be released is there, what was released is not,
/// and whatever else is there was under way. Then everything is released.
fn ledger(client: &mut Client, stories: &[Story]) {
    for held in stories.iter().flat_map(|story| &story.held) {
        let count =
            client.ask(&format!("DEQ {} FENCE {} E T {}", held.owner, held.fence, held.argument));
        let count = count.expect("it answers");
        if held.over < u64::MAX {
            assert_eq!(count, [":0"], "released before the crash: {held:?}");
        } else if held.released == u64::MAX {
            assert_eq!(count, [":1"], "held at the crash: {held:?}");
        }
    }
    let owners: BTreeSet<&String> =
        stories.iter().flat_map(|story| &story.held).map(|held| &held.owner).collect();
    for owner in owners {
        client.ask(&format!("DEQALL {owner}")).expect("it answers");
    }
}

#[test]
fn the_checker_sees_two_holders_and_a_rejection_for_nothing() {
    let held = |owner: &str, argument: &str, granted, released| Held {
        owner: owner.into(),
        argument: argument.to_owned(),
        fence: granted,
        asked: granted - 1,
        granted,
        released,
        over: released.saturating_add(1),
    };
    let fine = [held("a", "AA", 10, 20), held("b", "AA", 21, 30), held("c", "AB", 11, 40)];
    assert!(two_at_once(&fine).is_none());
    assert!(two_at_once(&[held("a", "AA", 10, 20), held("b", "A@", 15, 30)]).is_some());
    assert!(two_at_once(&[held("a", "AA", 10, u64::MAX), held("b", "AA", 900, 901)]).is_some());
    let rejected =
        Rejected { argument: "A@".into(), holder: "a".into(), fence: 10, asked: 12, answered: 13 };
    assert!(explains(&fine[0], &rejected));
    assert!(!explains(&fine[1], &rejected));
    assert!(!explains(&fine[0], &Rejected { asked: 22, answered: 23, ..rejected }));
}

//! What a remote hands over besides its record.

use std::fs::File;
use std::io::{self, BufReader};
use std::sync::mpsc;
use std::thread;

use plumb_engine::Stop;
use plumb_remote::link::{inbox, outbox};
use plumb_remote::message::{MESSAGE_MAX, SCHEMA};
use plumb_remote::{Carried, Fleet, Hello, PlanFiles, RemoteError, RemotePart, WallClock, serve};

/// A file of more bytes than a message may have.
const BYTES: u64 = MESSAGE_MAX as u64 + 1;

/// What comes of a recorder on a remote of whose files each is so long, or not there.
fn recorded(files: Files) -> (Result<(), RemoteError>, RemotePart) {
    with_remote(files, false, |fleet| {
        let stop = Stop::new().expect("a stop");
        fleet.begin_alone(&["host".into(), "record".into()], PlanFiles::default());
        let followed = fleet.follow(&stop, |_, _| {});
        (followed, fleet.end(&stop, |_, _| {}).pop().expect("its part"))
    })
}

/// The files of a remote, each with its length.
type Files = &'static [(&'static str, Option<u64>)];

/// What `lead` makes of a fleet of one remote with these files, which it hands over once a load `waits` no
/// longer.
fn with_remote<T>(files: Files, waits: bool, lead: impl FnOnce(&mut Fleet) -> T) -> T {
    let (orders_in, orders_out) = io::pipe().expect("a pipe");
    let (reports_in, reports_out) = io::pipe().expect("a pipe");
    let hello = Hello { schema: SCHEMA.into(), name: "r1".into(), ..Hello::default() };
    let hello = Hello { version: env!("CARGO_PKG_VERSION").into(), ..hello };
    let remote = thread::spawn(move || {
        let stop = Stop::new().expect("a stop");
        let from = BufReader::new(orders_in);
        serve(hello, WallClock::default(), from, reports_out, &stop, |_, mut led, _| {
            if waits {
                led.gate();
            }
            let folder = tempfile::tempdir().expect("a folder");
            let file = |(name, bytes): &(&str, Option<u64>)| {
                let path = folder.path().join(name);
                if let Some(bytes) = bytes {
                    File::create(&path).and_then(|file| file.set_len(*bytes)).expect("a file");
                }
                path
            };
            let files = files.iter().map(file).collect();
            Ok(Carried { record: None, files, folder, lacks: Vec::new() })
        })
    });
    let (sender, heard) = mpsc::channel();
    inbox(BufReader::new(reports_in), sender, |said| (0, said));
    let (orders, _) = outbox(orders_out);
    let mut fleet = Fleet::over(vec![("r1".into(), orders)], heard).expect("it is there");
    let led = lead(&mut fleet);
    drop(fleet);
    remote.join().expect("it is there").expect("it serves");
    led
}

#[test]
fn a_remote_that_waits_for_a_load_that_does_not_come_is_told_so() {
    let part = with_remote(&[("vm.csv", Some(7))], true, |fleet| {
        let stop = Stop::new().expect("a stop");
        fleet.begin(&["net".into(), "ping".into()], PlanFiles::default());
        stop.ask();
        fleet.end(&stop, |_, _| {}).pop().expect("its part")
    });
    assert_eq!(part.files, [("vm.csv".to_owned(), vec![0; 7])]);
}

#[test]
fn a_file_that_is_longer_than_a_message_arrives() {
    let (followed, part) = recorded(&[("vm.csv", Some(BYTES))]);
    followed.unwrap();
    let [(name, bytes)] = &part.files[..] else { panic!("{} files", part.files.len()) };
    assert_eq!((name.as_str(), bytes.len() as u64), ("vm.csv", BYTES));
}

#[test]
fn a_recorder_of_which_a_file_stays_behind_has_not_done_what_was_asked() {
    let (followed, part) = recorded(&[("vm.csv", None), ("vm.nmon", Some(3))]);
    let why = followed.unwrap_err().to_string();
    assert!(why.starts_with("r1: vm.csv is not handed over: "), "{why}");
    assert_eq!(
        part.files,
        [("vm.nmon".to_owned(), vec![0; 3])],
        "what has room comes all the same"
    );
}

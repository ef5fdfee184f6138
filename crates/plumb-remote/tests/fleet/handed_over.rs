//! What a remote hands over besides its record.

use std::fs::File;
use std::io::{self, BufReader};
use std::sync::mpsc;
use std::thread;

use plumb_engine::Stop;
use plumb_remote::link::{inbox, outbox};
use plumb_remote::message::{MESSAGE_MAX, SCHEMA};
use plumb_remote::{Carried, Fleet, Hello, PlanFiles, WallClock, serve};

/// A file of more bytes than a message may have.
const BYTES: u64 = MESSAGE_MAX as u64 + 1;

#[test]
fn a_file_that_is_longer_than_a_message_arrives() {
    let (orders_in, orders_out) = io::pipe().unwrap();
    let (reports_in, reports_out) = io::pipe().unwrap();
    let hello = Hello { schema: SCHEMA.into(), name: "r1".into(), ..Hello::default() };
    let hello = Hello { version: env!("CARGO_PKG_VERSION").into(), ..hello };
    let remote = thread::spawn(move || {
        let stop = Stop::new().unwrap();
        let from = BufReader::new(orders_in);
        serve(hello, WallClock::default(), from, reports_out, &stop, |_, _, _| {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("vm.csv");
            File::create(&path).unwrap().set_len(BYTES).unwrap();
            Ok(Carried { record: None, files: vec![path], folder })
        })
    });
    let (sender, heard) = mpsc::channel();
    inbox(BufReader::new(reports_in), sender, |said| (0, said));
    let (orders, _) = outbox(orders_out);
    let mut fleet = Fleet::over(vec![("r1".into(), orders)], heard).unwrap();
    fleet.begin_alone(&["host".into(), "record".into()], PlanFiles::default());
    fleet.follow(&Stop::new().unwrap(), |_, line| panic!("{line}")).unwrap();
    let parts = fleet.end(|_, line| panic!("{line}"));
    let [(name, bytes)] = &parts[0].files[..] else { panic!("{} files", parts[0].files.len()) };
    assert_eq!((name.as_str(), bytes.len() as u64), ("vm.csv", BYTES));
    drop(fleet);
    remote.join().unwrap().unwrap();
}

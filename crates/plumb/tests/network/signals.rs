//! What signals end, and what they do not.

use std::path::Path;

use rustix::process::Signal;

use crate::kit::{PLUMB, Program, Server, read};

/// True when `SIGHUP` is in the set of this name of the process `id`.
fn hangup_is_in(set: &str, id: u32) -> bool {
    let status = read(Path::new(&format!("/proc/{id}/status")));
    let mask = status.lines().find_map(|line| line.strip_prefix(set)).expect("a set of signals");
    let mask = u64::from_str_radix(mask.trim_start_matches(':').trim(), 16).expect("a mask");
    mask & 1 == 1
}

#[test]
fn a_terminal_that_closes_ends_a_server_as_ctrl_c_does() {
    let words = ["net", "serve", "--listen", "127.0.0.1:0", "--quiet"];
    let server = Server::ready(Program::in_terminal(&words, Path::new(".")));
    server.signal(Signal::HUP);
    server.wait().with(0);
}

#[test]
fn whoever_is_to_outlive_its_terminal_does() {
    let line = "trap '' HUP && exec \"$0\" net serve --listen 127.0.0.1:0 --quiet";
    let words = ["-c", line, PLUMB];
    let server = Server::ready(Program::start_as(Path::new("/bin/sh"), &words, Path::new(".")));
    assert!(hangup_is_in("SigIgn", server.id()) && !hangup_is_in("SigCgt", server.id()));
    server.signal(Signal::HUP);
    server.client().echo(b"still there");
    server.stop().with(0);
}

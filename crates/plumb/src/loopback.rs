//! Our own servers on loopback, for commands that need something to measure.

use std::thread;

use anyhow::{Context as _, anyhow};
use clap::{Args as _, Command, FromArgMatches as _};
use plumb_engine::clock::MonotonicClock;
use plumb_engine::{Plain, Stop, serve};
use plumb_net::{EchoServer, Event, ServeOptions};

/// Runs an echo server on a thread of our own while `work`, which is given its address, lasts.
pub(crate) fn with_echo_server<R>(
    work: impl FnOnce(&str) -> anyhow::Result<R>,
) -> anyhow::Result<R> {
    let listeners = plumb_net::listeners(&["127.0.0.1:0".into()])?;
    let address = listeners.first().context("no listener")?.local();
    let stop = Stop::new()?;
    thread::scope(|scope| {
        let server = scope.spawn(|| {
            let mut quiet = |_: Event<'_>| {};
            let words = ServeOptions::augment_args(Command::new("serve"));
            let options = ServeOptions::from_arg_matches(&words.get_matches_from(["serve"]))?;
            let mut service = EchoServer::new(options.limits(), MonotonicClock, &mut quiet);
            serve(&options.plan(), &listeners, &mut service, Plain::default, &stop)?;
            anyhow::Ok(())
        });
        let done = work(&address);
        stop.ask();
        let served = server.join().map_err(|_| anyhow!("the echo server panicked"))?;
        let done = done?;
        served?;
        Ok(done)
    })
}

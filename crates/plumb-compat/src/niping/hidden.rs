//! Passwords that stand in niping's own command line do not stay there.
//!
//! Everybody on a machine can read the command line of every process. So the program starts itself
//! again in its place, with `-` where a password stood and the passwords in its environment, which
//! only the user himself can read.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use anyhow::Context as _;
use plumb_net::{Literal, PASSWORD_VARIABLE, route_of};
use plumb_wire::route::Route;

use super::Words;

/// The route to the server with its passwords, if there is one. When passwords stand in `line`,
/// this does not return: the program goes on as a process whose line does not show them.
///
/// # Errors
/// When the route is none, or a password cannot be had or hidden.
pub(super) fn passwords(words: &Words, line: &[OsString]) -> anyhow::Result<Option<Route>> {
    let host = words.host();
    let Some(mut route) = route_of(&host, words.port, Literal::Taken)? else {
        return Ok(None);
    };
    let mut shown = Route::parse(&host)?; // as written, without what was asked for
    if shown.passwords().all(|(_, secret)| secret.is_asked_for()) {
        return Ok(Some(route));
    }
    let secrets: Vec<String> =
        route.passwords().map(|(_, secret)| secret.reveal().to_owned()).collect();
    anyhow::ensure!(
        secrets.iter().all(|secret| !secret.contains(['\n', '\r']) && secret.as_str() != "-"),
        "a password holds a line end, or is `-` itself: it cannot be hidden, so it is not used"
    );
    let program = std::env::current_exe().context(
        "cannot hide the password of the route from other users; write /W/- and set \
         PLUMB_ROUTE_PASSWORD",
    )?;
    let dashed = shown.without_passwords();
    let mut again = Command::new(program);
    for (number, word) in line.iter().enumerate() {
        let word = masked(word, &host, &dashed);
        if number == 0 {
            again.arg0(word)
        } else {
            again.arg(word)
        };
    }
    let error = again.env(PASSWORD_VARIABLE, secrets.join("\n")).exec();
    Err(error).context("cannot start again without the password in sight")
}

/// `word` with `dashed` in the place of `host`; niping's options may stick to their values.
fn masked(word: &OsString, host: &str, dashed: &str) -> OsString {
    match word.to_str() {
        Some(text) => text.replace(host, dashed).into(),
        None => word.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_masked_wherever_the_route_stands() {
        let (host, dashed) = ("/H/r/W/hush/H/db", "/H/r/W/-/H/db");
        for (word, expected) in [
            ("/H/r/W/hush/H/db", "/H/r/W/-/H/db"),
            ("-H/H/r/W/hush/H/db", "-H/H/r/W/-/H/db"),
            ("-H=/H/r/W/hush/H/db", "-H=/H/r/W/-/H/db"),
            ("-c", "-c"),
        ] {
            assert_eq!(masked(&word.into(), host, dashed), expected);
        }
    }
}

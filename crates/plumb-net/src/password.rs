//! The passwords of a route: asked for on the terminal, or taken from the environment. They go to
//! the router and nowhere else.

use plumb_terminal::Terminal;
use plumb_wire::route::{Route, Secret};

use crate::error::{NetError, PASSWORD_VARIABLE};

/// What becomes of a password that stands in the command line itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Literal {
    /// It is refused: everybody can read it there.
    Refused,
    /// It is taken; the caller sees to it that it does not stay there.
    Taken,
}

/// The route that `host` is, with its passwords; `None` when it is just a host. `port` is that of
/// the server unless the route names it.
///
/// # Errors
/// [`NetError`] when it starts as a route and is none, or a password cannot be had.
pub fn route_of(host: &str, port: u16, literal: Literal) -> Result<Option<Route>, NetError> {
    if !Route::is_meant_by(host) {
        return Ok(None);
    }
    let mut route = Route::parse(host)?;
    route.router()?;
    route.set_server_port(port);
    if literal == Literal::Refused && route.passwords().any(|(_, secret)| !secret.is_asked_for()) {
        return Err(NetError::OpenPassword);
    }
    fill(&mut route, std::env::var(PASSWORD_VARIABLE).ok())?;
    Ok(Some(route))
}

/// Puts passwords in the place of every `-`: the lines of `known`, or what the terminal says.
fn fill(route: &mut Route, known: Option<String>) -> Result<(), NetError> {
    let asked = route.passwords().filter(|(_, secret)| secret.is_asked_for()).count();
    if asked == 0 {
        return Ok(());
    }
    let places = route.passwords().filter(|(_, secret)| secret.is_asked_for());
    let Some(known) = known else {
        let mut terminal = Terminal::open().map_err(|_| NetError::NoTerminal { asked })?;
        for (host, secret) in places {
            let told = terminal.ask_unseen(&format!("Password for {host}"));
            *secret = Secret::new(told.map_err(|cause| NetError::Terminal { host, cause })?);
        }
        return Ok(());
    };
    let given = known.lines().count();
    if given != asked || known.lines().any(|line| line.is_empty() || line.contains('\0')) {
        return Err(NetError::Passwords { asked, given });
    }
    for ((_, secret), line) in places.zip(known.lines()) {
        *secret = Secret::new(line);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(route: &str, known: &str) -> Result<Vec<String>, NetError> {
        let mut route = Route::parse(route).unwrap();
        fill(&mut route, Some(known.into()))?;
        Ok(route.passwords().map(|(_, secret)| secret.reveal().to_owned()).collect())
    }

    #[test]
    fn every_dash_takes_a_line_of_the_environment() {
        let route = "/H/r1/W/-/H/r2/W/literal/H/r3/W/-/H/db";
        assert_eq!(filled(route, "one\ntwo\n").unwrap(), ["one", "literal", "two"]);
        let error = filled(route, "one").unwrap_err().to_string();
        assert!(error.contains("holds 1 passwords where the route has 2"), "{error}");
        assert!(filled(route, "one\n\n").is_err());
        assert_eq!(filled("/H/r/W/open/H/db", "unused").unwrap(), ["open"]);
    }

    #[test]
    fn an_open_password_is_refused_unless_the_caller_hides_it() {
        let error = route_of("/H/r/W/hush/H/db", 3298, Literal::Refused).unwrap_err().to_string();
        assert!(error.contains("write /W/-") && !error.contains("hush"), "{error}");
        let route = route_of("/H/r/W/hush/H/db", 3298, Literal::Taken).unwrap().unwrap();
        assert_eq!(route.to_string(), "/H/r/W/***/H/db/S/3298");
        assert!(route_of("db:3298", 3298, Literal::Refused).unwrap().is_none());
    }
}

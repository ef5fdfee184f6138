//! The passwords of a route: asked for on the terminal, or taken from the environment. They go to
//! the router and nowhere else.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};

use plumb_wire::route::{Route, Secret};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::NetError;

/// The environment variable that holds the passwords, a line for each `-` of the route.
pub const PASSWORD_VARIABLE: &str = "PLUMB_ROUTE_PASSWORD";
/// Characters of a password at most.
const PASSWORD_MAX: usize = 256;

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
        let mut terminal = OpenOptions::new()
            .read(true)
            .write(true)
            .open("/dev/tty")
            .map_err(|_| NetError::NoTerminal { asked })?;
        for (host, secret) in places {
            let told = ask(&mut terminal, &host);
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

/// Asks for the password of `host`. Nothing that is typed is shown.
fn ask(terminal: &mut File, host: &str) -> io::Result<String> {
    let shown: String = host.chars().filter(|c| !c.is_control()).collect();
    write!(terminal, "Password for {shown}: ")?;
    terminal.flush()?;
    let silence = Silence::over(terminal)?;
    let typed = read_line(&mut silence.terminal.try_clone()?);
    drop(silence);
    writeln!(terminal)?;
    typed
}

/// A terminal that shows nothing and makes no signals, until this is dropped: an interruption
/// would otherwise leave it silent.
struct Silence {
    terminal: File,
    before: Termios,
}

impl Silence {
    fn over(terminal: &File) -> io::Result<Self> {
        let terminal = terminal.try_clone()?;
        let before = tcgetattr(&terminal)?;
        let mut silent = before.clone();
        silent.local_modes -= LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG;
        tcsetattr(&terminal, OptionalActions::Flush, &silent)?;
        Ok(Self { terminal, before })
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        // a terminal that is gone needs no echo
        let _ = tcsetattr(&self.terminal, OptionalActions::Flush, &self.before);
    }
}

/// What is typed up to the end of the line, with the usual keys to take it back.
fn read_line(keys: &mut impl io::Read) -> io::Result<String> {
    const INTERRUPT: u8 = 0x03;
    const END: u8 = 0x04;
    const BACKSPACE: u8 = 0x08;
    const CLEAR: u8 = 0x15;
    const DELETE: u8 = 0x7f;
    let mut typed: Vec<u8> = Vec::new();
    let mut key = [0];
    // byte by byte: what follows the line is for whoever reads next
    while keys.read(&mut key)? > 0 {
        match key[0] {
            b'\r' | b'\n' => break,
            INTERRUPT => return Err(io::Error::other("interrupted")),
            END if typed.is_empty() => return Err(io::ErrorKind::UnexpectedEof.into()),
            END => break,
            CLEAR => typed.clear(),
            BACKSPACE | DELETE => {
                // a character of several bytes goes as a whole
                while typed.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {}
            }
            byte if typed.len() < PASSWORD_MAX => typed.push(byte),
            _ => return Err(io::Error::other("a password has at most 256 bytes")),
        }
    }
    match String::from_utf8(typed) {
        Ok(text) if !text.is_empty() && !text.contains('\0') => Ok(text),
        _ => Err(io::Error::other("no password was typed")),
    }
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

    #[test]
    fn keys_can_be_taken_back() {
        let typed = |mut keys: &[u8]| read_line(&mut keys).ok();
        assert_eq!(typed(b"hush\n"), Some("hush".into()));
        assert_eq!(typed(b"hu\xc3\xa4\x7fsh\r"), Some("hush".into()));
        assert_eq!(typed(b"wrong\x15right\n"), Some("right".into()));
        assert_eq!(typed(b"half\x03"), None);
        assert_eq!(typed(b"\n"), None);
        assert_eq!(typed(b"\x04"), None);
    }
}

//! Applies one XSLT stylesheet to documents, confined: it reads frames of
//! [`plumb_wire::stylesheet`] from standard input and answers on standard output. `plumb flow`
//! starts it; libxslt stays out of the runtime.
//!
//! What a hostile document or stylesheet could reach is taken away before the first byte is read
//! ([`confinement`]). Whoever started it ends it at the time limit.

#[cfg(libxslt)]
mod confinement;
#[cfg(libxslt)]
mod libxslt;
#[cfg(libxslt)]
mod prolog;
#[cfg(libxslt)]
mod service;
mod words;

use std::io::{self, Write as _};
use std::process::ExitCode;

use words::{Task, task};

fn main() -> ExitCode {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let done = match task(&given) {
        Ok(Task::Say(text)) => io::stdout().write_all(text.as_bytes()).map_err(|it| it.to_string()),
        Ok(Task::Serve(limits)) => serve(limits),
        Err(problem) => Err(problem),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            // nobody is left to tell when that fails
            let _ = writeln!(io::stderr(), "plumb-xslt: {problem}");
            ExitCode::from(2)
        }
    }
}

#[cfg(libxslt)]
fn serve(limits: words::Limits) -> Result<(), String> {
    libxslt::start();
    confinement::confine(limits.memory_bytes).map_err(|error| error.to_string())?;
    service::serve(&mut io::stdin().lock(), &mut io::stdout().lock(), limits.document_bytes)
        .map_err(|error| error.to_string())
}

#[cfg(not(libxslt))]
fn serve(_: words::Limits) -> Result<(), String> {
    Err("built without libxslt: install libxslt1-dev and build again".into())
}

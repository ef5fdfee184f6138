//! Programs: page templates that lie in the database and are compiled on first use.

pub(crate) mod buffer;
pub(crate) mod repository;
pub(crate) mod template;

use std::sync::Arc;

use plumb_engine::clock;
use plumb_measure::Span;

pub(crate) use buffer::{Buffer, BufferFigures};
pub(crate) use template::{Program, Scene, TemplateError};

use crate::config::ProgramsConfig;
use crate::database::{Database, DatabaseError, Value, wait};

/// Why a program cannot be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoadError {
    /// The database has no program of that name.
    #[error("there is no program `{0}`")]
    Missing(String),
    /// Its source cannot be compiled.
    #[error("program `{name}` cannot be compiled: {cause}")]
    Source {
        /// The program.
        name: String,
        /// What is wrong where.
        cause: TemplateError,
    },
    /// The database failed.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

/// The program `name`, from the buffer if it is there.
///
/// # Errors
/// [`LoadError`].
pub(crate) fn load(
    name: &str,
    buffer: &Buffer,
    costs: &ProgramsConfig,
    database: &mut Database,
) -> Result<Arc<Program>, LoadError> {
    if let Some(program) = buffer.find(name) {
        return Ok(program);
    }
    let program = Arc::new(compile(name, costs, database)?);
    buffer.keep(name, Arc::clone(&program));
    Ok(program)
}

/// Reads the source of `name` and compiles it.
///
/// # Errors
/// [`LoadError`].
pub(crate) fn compile(
    name: &str,
    costs: &ProgramsConfig,
    database: &mut Database,
) -> Result<Program, LoadError> {
    if costs.load_wait.ns() > 0 {
        wait(database, costs.load_wait)?;
    }
    let row = database.row("SELECT source FROM program WHERE name = $1", &[name.into()])?;
    let source = row.ok_or_else(|| LoadError::Missing(name.into()))?.take_text(0);
    let program = Program::compile(&source)
        .map_err(|cause| LoadError::Source { name: name.into(), cause })?;
    burn(costs.compile_cpu);
    Ok(program)
}

/// The names of all programs.
///
/// # Errors
/// What the database says.
pub(crate) fn names(database: &mut Database) -> Result<Vec<String>, DatabaseError> {
    let none: [Value; 0] = [];
    let rows = database.rows("SELECT name FROM program ORDER BY name", &none)?;
    Ok(rows.into_iter().map(|mut row| row.take_text(0)).collect())
}

/// Takes `time` of this thread's processor time.
pub(crate) fn burn(time: Span) {
    if time.ns() == 0 {
        return;
    }
    let end_ns = clock::thread_cpu_ns() + time.ns();
    let mut bits: u64 = 1;
    while clock::thread_cpu_ns() < end_ns {
        for _ in 0..500 {
            bits = std::hint::black_box(bits.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (bits >> 29));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::testing::filled;

    fn buffer() -> Buffer {
        Buffer::new(1 << 20)
    }

    #[test]
    fn the_first_use_compiles_and_the_second_does_not() {
        let (_folder, mut database) = filled();
        let (buffer, costs) = (buffer(), ProgramsConfig::default());
        load("it03/text1kb.htm", &buffer, &costs, &mut database).unwrap();
        let calls = database.calls();
        load("it03/text1kb.htm", &buffer, &costs, &mut database).unwrap();
        assert_eq!(database.calls(), calls);
        assert_eq!((buffer.figures().hits, buffer.figures().misses), (1, 1));
    }

    #[test]
    fn a_program_that_is_not_there_says_its_name() {
        let (_folder, mut database) = filled();
        let error = load("none", &buffer(), &ProgramsConfig::default(), &mut database).unwrap_err();
        assert_eq!(error.to_string(), "there is no program `none`");
    }

    #[test]
    fn compiling_takes_the_processor_time_asked_for() {
        let before = clock::thread_cpu_ns();
        burn(Span::from_ms(2));
        assert!(clock::thread_cpu_ns() - before >= 2_000_000);
    }

    #[test]
    fn every_program_compiles() {
        let (_folder, mut database) = filled();
        let names = names(&mut database).unwrap();
        assert!(names.len() > 200);
        for name in names {
            compile(&name, &ProgramsConfig::default(), &mut database).unwrap();
        }
    }
}

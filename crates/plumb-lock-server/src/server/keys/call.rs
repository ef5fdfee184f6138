//! What a script is called with.

use crate::server::refusal::Refusal;
use crate::server::words::Command;

/// The keys and arguments of a script.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call<'a> {
    pub(super) command: Command<'a>,
    /// How many keys.
    pub(super) keys: usize,
}

impl<'a> Call<'a> {
    /// The first key of `EVAL script keys key ...`.
    const FIRST: usize = 3;

    pub(super) fn read(command: Command<'a>) -> Result<Self, Refusal> {
        let remedy = "the number of keys, which follow";
        let keys = command.number(2, remedy)?;
        let most = command.len() - Self::FIRST;
        let keys = usize::try_from(keys).ok().filter(|keys| *keys <= most);
        let keys = keys.ok_or_else(|| Refusal::Number(command.text(2), remedy))?;
        Ok(Self { command, keys })
    }

    /// `KEYS[at + 1]`.
    pub(super) fn key(self, at: usize) -> &'a [u8] {
        self.command.get(self.key_at(at))
    }

    /// Which word of the command `KEYS[at + 1]` is.
    pub(super) fn key_at(self, at: usize) -> usize {
        Self::FIRST + at
    }

    /// `ARGV[at + 1]`.
    pub(super) fn arg(self, at: usize) -> &'a [u8] {
        self.command.get(self.arg_at(at))
    }

    /// Which word of the command `ARGV[at + 1]` is.
    pub(super) fn arg_at(self, at: usize) -> usize {
        Self::FIRST + self.keys + at
    }

    /// How many arguments.
    pub(super) fn args(self) -> usize {
        self.command.len() - Self::FIRST - self.keys
    }

    /// The keys, each once.
    pub(super) fn distinct(self) -> Vec<&'a [u8]> {
        let mut keys: Vec<&[u8]> = Vec::with_capacity(self.keys);
        for at in 0..self.keys {
            if !keys.contains(&self.key(at)) {
                keys.push(self.key(at));
            }
        }
        keys
    }
}

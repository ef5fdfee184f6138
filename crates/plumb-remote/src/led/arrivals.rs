//! Runs that wait for the files that their words name.

use crate::files::{FileError, FileStore};
use crate::message::{Report, RunOrder};

/// What follows from what came.
#[derive(Debug)]
pub(super) enum Arrived {
    /// The run can be carried out: its files are where its words say.
    Run(RunOrder),
    /// The controller is to hear this.
    Say(Report),
    /// Nothing yet.
    Nothing,
}

/// The files that were sent, and the run that waits for more of them.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    /// Made when there is something to keep.
    store: Option<FileStore>,
    waiting: Option<RunOrder>,
}

impl Arrivals {
    /// A run was asked for.
    pub(super) fn run(&mut self, order: RunOrder) -> Arrived {
        if order.files.is_empty() || !order.is_bounded() {
            return Arrived::Run(order); // what is not bounded is refused where it is carried out
        }
        let lacks = self.store().map(|store| store.lacks(&order.files));
        match lacks {
            Ok(digests) if digests.is_empty() => self.laid_out(order),
            Ok(digests) => {
                let run = order.run;
                self.waiting = Some(order);
                Arrived::Say(Report::Lacks { run, digests })
            }
            Err(error) => refused(&order, &error),
        }
    }

    /// A file came.
    pub(super) fn file(&mut self, digest: &str, content: &str) -> Arrived {
        let Some(order) = self.waiting.take() else { return Arrived::Nothing };
        let kept = self.store().and_then(|store| {
            store.keep(digest, content)?;
            Ok(store.lacks(&order.files).is_empty())
        });
        match kept {
            Ok(true) => self.laid_out(order),
            Ok(false) => {
                self.waiting = Some(order);
                Arrived::Nothing
            }
            Err(error) => refused(&order, &error),
        }
    }

    fn laid_out(&mut self, order: RunOrder) -> Arrived {
        let laid = self
            .store()
            .and_then(|store| store.lay_out(&order.files, &order.file_words, &order.words));
        match laid {
            Ok((folder, words)) => Arrived::Run(RunOrder { words, folder: Some(folder), ..order }),
            Err(error) => refused(&order, &error),
        }
    }

    fn store(&mut self) -> Result<&mut FileStore, FileError> {
        let made = match self.store.take() {
            Some(store) => store,
            None => FileStore::new()
                .map_err(|cause| FileError::Io { path: std::env::temp_dir(), cause })?,
        };
        Ok(self.store.insert(made))
    }
}

fn refused(order: &RunOrder, error: &FileError) -> Arrived {
    Arrived::Say(Report::Done { run: order.run, outcome: Err(error.to_string()) })
}

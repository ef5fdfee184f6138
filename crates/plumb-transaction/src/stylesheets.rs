//! The stylesheets of a transaction, read with it.

use std::path::Path;
use std::sync::Arc;

use super::{Action, Transaction, Verb, Xslt};
use crate::xslt::{Stylesheet, XsltError};

impl Transaction {
    /// Reads the stylesheets that its actions name, below `folder`; one that two of them name is read
    /// once.
    ///
    /// # Errors
    /// [`XsltError`] of the first that cannot be read.
    pub fn read_stylesheets(&mut self, folder: &Path) -> Result<(), XsltError> {
        let mut read: Vec<Arc<Stylesheet>> = Vec::new();
        for_each(&mut self.actions, &mut |xslt| {
            let known = read.iter().find(|it| it.path() == Path::new(&*xslt.path));
            let stylesheet = match known {
                Some(known) => Arc::clone(known),
                None => Arc::new(Stylesheet::read(folder, &xslt.path)?),
            };
            read.push(Arc::clone(&stylesheet));
            xslt.stylesheet = Some(stylesheet);
            Ok(())
        })
    }

    /// Those that were read, in the order of the actions.
    #[must_use]
    pub fn stylesheets(&self) -> Vec<Arc<Stylesheet>> {
        let mut found: Vec<Arc<Stylesheet>> = Vec::new();
        collect(&self.actions, &mut found);
        found
    }
}

fn for_each(
    actions: &mut [Action],
    each: &mut dyn FnMut(&mut Xslt) -> Result<(), XsltError>,
) -> Result<(), XsltError> {
    for action in actions {
        match &mut action.verb {
            Verb::Xslt(xslt) => each(xslt)?,
            Verb::Repeat(repeat) => for_each(&mut repeat.inner, each)?,
            Verb::Choose(branches) => {
                branches.iter_mut().try_for_each(|branch| for_each(&mut branch.inner, each))?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn collect(actions: &[Action], found: &mut Vec<Arc<Stylesheet>>) {
    for action in actions {
        match &action.verb {
            Verb::Xslt(xslt) => {
                let new = xslt.stylesheet.iter().filter(|it| !found.contains(it)).cloned();
                let new: Vec<_> = new.collect();
                found.extend(new);
            }
            Verb::Repeat(repeat) => collect(&repeat.inner, found),
            Verb::Choose(branches) => {
                branches.iter().for_each(|branch| collect(&branch.inner, found));
            }
            _ => {}
        }
    }
}

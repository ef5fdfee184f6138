//! What is wrong with what a transaction reaches, before anything runs.

use super::{DataServers, Pool};
use plumb_transaction::{Reached, Transaction};

impl DataServers {
    /// What is wrong with what `transaction` reaches, a text each: data servers and back ends that
    /// are not there.
    #[must_use]
    pub fn problems_of(&self, transaction: &Transaction) -> Vec<String> {
        let problem = |(action, reached): (&str, Reached<'_>)| {
            let problem = match reached {
                Reached::Statement { server, .. } => self.find(server).err()?.to_string(),
                Reached::BackEnd(name) => self.back_ends().problem_of(name)?,
            };
            Some(format!("{action}: {problem}"))
        };
        transaction.reached().into_iter().filter_map(problem).collect()
    }

    /// The same, and statements that their data server does not take. Nothing is done there.
    #[must_use]
    pub fn problems_at_servers(&self, transaction: &Transaction) -> Vec<String> {
        let mut problems = self.problems_of(transaction);
        for (action, reached) in transaction.reached() {
            if let Reached::Statement { server, text, values } = reached
                && let Ok(found) = self.find(server)
                && let Err(problem) = prepared(&found.pool, text, values)
            {
                problems.push(format!("{action}: {problem}"));
            }
        }
        problems
    }
}

fn prepared(pool: &std::sync::Arc<Pool>, text: &str, values: usize) -> Result<(), String> {
    let mut lease = pool.take().map_err(|error| error.to_string())?;
    let wanted = lease.prepare(text).map_err(|error| pool.said(&error))?;
    if wanted == values {
        return Ok(());
    }
    Err(format!("the statement has {values} values, and the data server finds {wanted} in it"))
}

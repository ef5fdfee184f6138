//! What the server tells of a statement that it has run: `SET STATISTICS XML`.

use plumb_measure::Reading;

use crate::answer::{Limits, NoAnswer};
use crate::client::Trouble;
use crate::database::Asked;
use crate::database::untimed;
use crate::trial::EXPLAINED;

use plumb_sql::tds::plan::{self, Told};
use plumb_sql::tds::{types, wire};

use super::PRODUCT;
use super::exchange::call_of;
use super::session::Session;

const SOURCE: &str = "SET STATISTICS XML";
/// Of a plan, which is longer than its statement's answer may be.
const OF_PLAN: u64 = 4 << 20;

/// How long it says that the statement ran, in several executions as calls are.
pub(super) async fn explained(session: &mut Session, asked: Asked<'_>) -> Reading {
    match elapsed(session, asked).await {
        Err(reason) => untimed(SOURCE, format!("not told: {reason}")),
        Ok(0) => untimed(
            SOURCE,
            format!("{EXPLAINED} executions: less than a millisecond each, and it tells no less"),
        ),
        Ok(ms) => Reading {
            source: SOURCE.into(),
            mean_ns: Some(ms.saturating_mul(1_000_000) / EXPLAINED),
            count: EXPLAINED,
            about: "execution, in whole milliseconds, without compiling; alone, before the load"
                .into(),
        },
    }
}

/// All executions, milliseconds.
async fn elapsed(session: &mut Session, asked: Asked<'_>) -> Result<u64, String> {
    session.order(plan::WANTED).await.map_err(|trouble| why(&trouble))?;
    let batch = call_of(asked.statement, asked.access);
    let limits = Limits {
        rows: asked.limits.rows.saturating_add(8),
        bytes: asked.limits.bytes.saturating_add(OF_PLAN),
    };
    let mut total_ms = 0_u64;
    for _ in 0..EXPLAINED {
        let mut found = None;
        let row = |_: u32, values: &[Option<&[u8]>]| {
            if let [Some(value)] = values
                && let Some(text) = types::joined(value)
                && let Some(Told::Elapsed(ms)) = plan::told(&wire::told(&text))
            {
                found = Some(found.unwrap_or(0) + ms);
            }
        };
        match session.asked(&batch, limits, row).await {
            Ok(_) => {}
            Err(NoAnswer::Driver(trouble)) => return Err(why(&trouble)),
            Err(NoAnswer::TooLarge | NoAnswer::Unexpected) => {
                return Err("its answer is none".into());
            }
        }
        total_ms = total_ms.saturating_add(found.ok_or(
            "its plan names no time (SQL Server does from 2012 SP4, 2014 SP2 and 2016 SP1 on)",
        )?);
    }
    Ok(total_ms)
}

fn why(trouble: &Trouble) -> String {
    match trouble {
        Trouble::Refused(refusal) if refusal.number == plan::NO_RIGHT => {
            "this user lacks the right SHOWPLAN".into()
        }
        trouble => trouble.whole(PRODUCT),
    }
}

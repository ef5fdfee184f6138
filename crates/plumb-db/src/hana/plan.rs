//! The plan that the server makes of a statement: `EXPLAIN PLAN`, which runs nothing.

use plumb_measure::{Reading, counted};

use crate::answer::NoAnswer;
use crate::client::Trouble;
use crate::database::Asked;
use crate::database::untimed;

use super::PRODUCT;
use super::session::Session;

const SOURCE: &str = "EXPLAIN PLAN";
/// Steps of a plan that are told.
const STEPS: usize = 6;

/// The steps of the plan, from the last to the first; it tells no times.
pub(super) async fn explained(session: &mut Session, asked: Asked<'_>) -> Reading {
    let told = steps(session, &asked.statement.inline).await;
    // what it wrote of the plan goes as well
    let rolled_back = session.roll_back().await;
    let about = match (told, rolled_back) {
        (Ok(steps), Ok(_)) if !steps.is_empty() => {
            let more = steps.len().saturating_sub(STEPS);
            let mut words = steps.into_iter().take(STEPS).collect::<Vec<_>>().join(" <- ");
            if more > 0 {
                words += &format!(" <- {}", counted(more as u64, "more step"));
            }
            format!("tells no times, but what it takes a plan to bring: {words}")
        }
        (Ok(_), Ok(_)) => "not told: it has no steps".into(),
        (Err(trouble), _) | (_, Err(trouble)) => format!("not told: {}", why(&trouble)),
    };
    untimed(SOURCE, about)
}

/// What each step does, and how many rows the server expects of it.
async fn steps(session: &mut Session, text: &str) -> Result<Vec<String>, NoAnswer<Trouble>> {
    let name = format!("plumb {}", std::process::id());
    let explain = format!("EXPLAIN PLAN SET STATEMENT_NAME = '{name}' FOR {text}");
    session.uncommitted(&explain).await?;
    let steps = format!(
        "SELECT OPERATOR_NAME || COALESCE(' of ' || TABLE_NAME, '') || \
         COALESCE(', rows: ' || TO_NVARCHAR(TO_BIGINT(OUTPUT_SIZE)), '') \
         FROM EXPLAIN_PLAN_TABLE WHERE STATEMENT_NAME = '{name}' ORDER BY OPERATOR_ID"
    );
    let found = session.texts_of(&steps).await?;
    Ok(found.into_iter().flatten().collect())
}

fn why(trouble: &NoAnswer<Trouble>) -> String {
    match trouble {
        NoAnswer::Driver(trouble) => trouble.whole(PRODUCT),
        NoAnswer::TooLarge | NoAnswer::Unexpected => "its answer is none".into(),
    }
}

//! Production confirmations: what an integration runtime reports from the shop floor.

use hyper::{Method, StatusCode};
use plumb_engine::clock;
use serde::Deserialize;

use crate::answer::{Answer, Failure, JSON};
use crate::database::{Database, Value};
use crate::session::Context;
use crate::step::Step;
use crate::text::Text;

/// What is confirmed: so many good and so many bad pieces of an operation of an order.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Confirmation {
    order: Text,
    operation: Text,
    yield_quantity: u32,
    #[serde(default)]
    scrap_quantity: u32,
}

/// The answer to a posted confirmation: its number, and what the order has confirmed with it.
///
/// # Errors
/// [`Failure`] when it is malformed, there is no such order, or the database fails.
pub(crate) fn confirm(step: &mut Step<'_>, context: &Context) -> Result<Answer, Failure> {
    if *step.asked.request.method() != Method::POST {
        let text = "confirmations are sent with POST";
        return Err(Failure::new(StatusCode::METHOD_NOT_ALLOWED, text));
    }
    let confirmation: Confirmation = serde_json::from_slice(&step.asked.request.body)
        .map_err(|error| Failure::bad_request(format!("the confirmation: {error}")))?;
    if !(1..=4).contains(&confirmation.operation.as_str().len()) {
        return Err(Failure::bad_request("an operation has 1 to 4 characters, for example 0010"));
    }
    let (number, total) =
        step.database.transaction(|database| post(database, &confirmation, &context.user))?;
    let document = serde_json::json!({
        "confirmation": number, "order": confirmation.order.as_str(), "confirmed": total
    });
    Ok(Answer::new(JSON, document.to_string()).with_status(StatusCode::CREATED))
}

fn post(
    database: &mut Database,
    confirmation: &Confirmation,
    user: &str,
) -> Result<(i64, i64), Failure> {
    let good = Value::Int(confirmation.yield_quantity.into());
    let scrap = Value::Int(confirmation.scrap_quantity.into());
    let order: Value = confirmation.order.as_str().into();
    let row = database.row(
        "UPDATE production_order SET confirmed = confirmed + $1, scrap = scrap + $2 \
         WHERE aufnr = $3 RETURNING confirmed",
        &[good.clone(), scrap.clone(), order.clone()],
    )?;
    let missing =
        || Failure::not_found(format!("there is no order {}", confirmation.order.as_str()));
    let total = row.ok_or_else(missing)?.int(0);
    let entered = Value::Text(clock::utc(clock::wall_ns()));
    let row = database.row(
        "INSERT INTO confirmation (aufnr, vornr, yield_quantity, scrap_quantity, entered_by, \
         entered) VALUES ($1, $2, $3, $4, $5, $6) RETURNING rueck",
        &[order, confirmation.operation.as_str().into(), good, scrap, user.into(), entered],
    )?;
    Ok((row.map_or(0, |row| row.int(0)), total))
}

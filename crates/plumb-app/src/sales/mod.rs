//! Sales and distribution: an order on its way to its invoice, in six dialog steps.
//!
//! Totals are those of the database: the invoice adds up the items, and is refused when that is
//! not the net value that the order carries.

mod locks;
mod order;

use hyper::{Method, StatusCode};
use plumb_engine::clock;
use plumb_wire::percent::form_decoded;
use serde::Deserialize;

use crate::answer::{Answer, Failure, JSON};
use crate::session::Context;
use crate::step::Step;

pub(crate) use locks::LockPlan;

/// Orders that one list shows.
const LIST: i64 = 40;

/// What an order is made of.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct NewOrder {
    customer: String,
    items: Vec<NewItem>,
}

/// One line of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct NewItem {
    material: String,
    quantity: u32,
}

/// The answer to the step at `below` `/sap/bc/sd/`.
///
/// # Errors
/// [`Failure`] when the step is not possible, somebody else has the lock, or the database fails.
pub(crate) fn serve(
    step: &mut Step<'_>,
    context: &Context,
    below: &str,
) -> Result<Answer, Failure> {
    let words: Vec<&str> = below.split('/').collect();
    let post = match *step.request.method() {
        Method::POST => true,
        Method::GET | Method::HEAD => false,
        _ => return Err(Failure::new(StatusCode::METHOD_NOT_ALLOWED, "use GET or POST")),
    };
    match (post, words.as_slice()) {
        (true, ["orders"]) => create(step, context),
        (false, ["orders"]) => list(step),
        (false, ["throughput"]) => {
            Ok(Answer::new(JSON, order::throughput(step.database)?.to_string()))
        }
        (false, ["orders", number]) => {
            let document = order::display(step.database, whole(number)?)?;
            Ok(Answer::new(JSON, document.to_string()))
        }
        (true, ["orders", number, "delivery"]) => {
            let number = whole(number)?;
            let locks = [locks::order(number)];
            let held = locks::enqueue(step.instance.locks.as_ref(), &context.user, &locks)?;
            let delivery = order::deliver(step.database, number)?;
            held.release()?;
            Ok(created(&serde_json::json!({ "delivery": delivery, "order": number })))
        }
        (true, ["deliveries", number, "issue"]) => issue(step, context, whole(number)?),
        (true, ["orders", number, "invoice"]) => {
            let number = whole(number)?;
            let locks = [locks::order(number)];
            let held = locks::enqueue(step.instance.locks.as_ref(), &context.user, &locks)?;
            let (invoice, net) = order::invoice(step.database, number, now_ms())?;
            held.release()?;
            let document = serde_json::json!({ "invoice": invoice, "order": number, "net": net });
            Ok(created(&document))
        }
        _ => Err(Failure::not_found(format!("there is no step {below}"))),
    }
}

/// Milliseconds since 1970.
fn now_ms() -> i64 {
    i64::try_from(clock::wall_ns() / 1_000_000).unwrap_or(i64::MAX)
}

fn created(document: &serde_json::Value) -> Answer {
    Answer::new(JSON, document.to_string()).with_status(StatusCode::CREATED)
}

fn create(step: &mut Step<'_>, context: &Context) -> Result<Answer, Failure> {
    let new: NewOrder = serde_json::from_slice(&step.request.body)
        .map_err(|error| Failure::bad_request(format!("the order: {error}")))?;
    let customer = new.customer.trim();
    if customer.is_empty() || customer.len() > 40 {
        return Err(Failure::bad_request("a customer has 1 to 40 characters"));
    }
    if new.items.is_empty() || new.items.len() > 100 {
        return Err(Failure::bad_request("an order has 1 to 100 items"));
    }
    if new.items.iter().any(|item| item.quantity == 0) {
        return Err(Failure::bad_request("a quantity is above zero"));
    }
    let mut locks = vec![locks::customer(customer)];
    locks.extend(new.items.iter().map(|item| locks::shared_material(&item.material)));
    let held = locks::enqueue(step.instance.locks.as_ref(), &context.user, &locks)?;
    let items: Vec<(&str, i64)> =
        new.items.iter().map(|item| (item.material.as_str(), item.quantity.into())).collect();
    let (number, net) = order::create(step.database, customer, &items)?;
    held.release()?;
    Ok(created(&serde_json::json!({ "order": number, "items": items.len(), "net": net })))
}

fn issue(step: &mut Step<'_>, context: &Context, delivery: i64) -> Result<Answer, Failure> {
    let items = order::items_of_delivery(step.database, delivery)?;
    let mut locks = vec![locks::delivery(delivery)];
    locks.extend(items.iter().map(|(material, _)| locks::material(material)));
    locks.dedup();
    let held = locks::enqueue(step.instance.locks.as_ref(), &context.user, &locks)?;
    order::issue(step.database, delivery, &items)?;
    held.release()?;
    let document = serde_json::json!({ "delivery": delivery, "issued": items.len() });
    Ok(Answer::new(JSON, document.to_string()))
}

fn list(step: &mut Step<'_>) -> Result<Answer, Failure> {
    let customer = step.request.query().split('&').find_map(|pair| pair.strip_prefix("customer="));
    let customer = customer.and_then(form_decoded);
    let customer = customer.ok_or_else(|| Failure::bad_request("say whose: ?customer=NAME"))?;
    let document = order::list(step.database, &customer, LIST)?;
    Ok(Answer::new(JSON, document.to_string()))
}

fn whole(digits: &str) -> Result<i64, Failure> {
    let number = digits.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| Failure::bad_request(format!("`{digits}` is no document number")))
}

//! Sales and distribution: an order on its way to its invoice, in six transactions of fifteen dialog
//! steps.
//!
//! Totals are those of the database: the invoice adds up the items, and is refused when that is
//! not the net value that the order carries.

mod call;
mod order;

use std::cell::Cell;

use hyper::StatusCode;
use plumb_engine::clock::{self, MonotonicClock};
use plumb_measure::Clock as _;
use plumb_wire::percent::{decoded, form_decoded};
use serde::Deserialize;
use serde_json::json;

use self::call::{Call, Transaction};
use crate::answer::{Answer, Failure, JSON};
use crate::locks::{self, Held, Lock};
use crate::runs::{Done, Invoiced};
use crate::session::Context;
use crate::step::Step;
use crate::text::Text;

/// Orders that one list shows.
const LIST: i64 = 40;
/// The header by which a step names its run.
const RUN: &str = "sales-run";
/// The window of a run's figures unless another one is asked for, seconds; the longest is a day.
const WINDOW_SECONDS: u64 = 900;
const WINDOW_SECONDS_MAX: u64 = 86_400;

/// What an order is made of.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct NewOrder {
    customer: Text,
    items: Vec<NewItem>,
}

/// One line of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct NewItem {
    material: Text,
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
    match Call::of(step.asked.request.method(), below)? {
        Call::BeginRun => {
            let run = step.services.runs.begin(MonotonicClock.now_ns());
            Ok(created(&json!({ "run": run })))
        }
        Call::Throughput => throughput(step),
        call => {
            let run = run(step)?;
            let mut sold = None;
            let done = perform(step, context, call, &mut sold);
            if let Some(run) = run {
                let now_ns = MonotonicClock.now_ns();
                let response_ns = now_ns.saturating_sub(step.asked.arrived_ns);
                let invoiced =
                    sold.as_ref().map(|(customer, items)| Invoiced { customer, items: *items });
                let done = Done { response_ns, right: done.is_ok(), invoiced };
                step.services.runs.add(run, done, now_ns);
            }
            done
        }
    }
}

/// The run that a step names, if it names one.
fn run(step: &Step<'_>) -> Result<Option<u64>, Failure> {
    let text = step.asked.request.header(RUN);
    if text.is_empty() {
        return Ok(None);
    }
    let known = text.parse().ok().filter(|number| step.services.runs.knows(*number));
    let missing = || Failure::not_found(format!("Sales-Run: {}", crate::runs::NoRun));
    known.map(Some).ok_or_else(missing)
}

/// Does a step of a sale; an order that was invoiced leaves its customer and its items in `sold`.
fn perform(
    step: &mut Step<'_>,
    context: &Context,
    call: Call<'_>,
    sold: &mut Option<(String, u64)>,
) -> Result<Answer, Failure> {
    let document = match call {
        // they are no steps of a sale
        Call::BeginRun | Call::Throughput => {
            return Err(Failure::not_found("there is no such step"));
        }
        Call::Screen(transaction) => screen(step, transaction)?,
        Call::Customer(name) => {
            let wrong = || Failure::bad_request(format!("`{name}` is badly encoded"));
            order::customer(step.database, &decoded(name).ok_or_else(wrong)?)?
        }
        Call::CheckOrder => {
            let new = new_order(step)?;
            order::check(step.database, &new.lines())?
        }
        Call::CreateOrder => return create(step, context),
        Call::ListOrders => {
            let customer = query(step, "customer");
            let missing = || Failure::bad_request("say whose: ?customer=NAME");
            order::list(step.database, &customer.ok_or_else(missing)?, LIST)?
        }
        Call::DisplayOrder(number) => order::display(step.database, number)?,
        Call::ShowDelivery(number) => order::due(step.database, number)?,
        Call::CreateDelivery(number) => {
            let held = hold(step, context, &[locks::order(number)])?;
            let delivery = order::deliver(step.database, number)?;
            give_back(step, held);
            return Ok(created(&json!({ "delivery": delivery, "order": number })));
        }
        Call::PostIssue(delivery) => issue(step, context, delivery)?,
        Call::CreateInvoice(number) => {
            let held = hold(step, context, &[locks::order(number)])?;
            let invoice = order::invoice(step.database, number, now_ms())?;
            give_back(step, held);
            let document =
                json!({ "invoice": invoice.number, "order": number, "net": invoice.net });
            *sold = Some((invoice.customer, invoice.items));
            return Ok(created(&document));
        }
    };
    Ok(Answer::new(JSON, document.to_string()))
}

/// Milliseconds since 1970.
fn now_ms() -> i64 {
    i64::try_from(clock::wall_ns() / 1_000_000).unwrap_or(i64::MAX)
}

fn created(document: &serde_json::Value) -> Answer {
    Answer::new(JSON, document.to_string()).with_status(StatusCode::CREATED)
}

fn hold<'a>(step: &mut Step<'a>, context: &Context, locks: &[Lock]) -> Result<Held<'a>, Failure> {
    step.database.rest(); // what is read under a lock is read behind it
    asking(&step.lock_ns, || locks::enqueue(step.services.locks.as_ref(), &context.user, locks))
}

/// Gives `held` back behind what was committed. That is done, whatever the lock server says: whoever
/// was told otherwise would do it again.
fn give_back(step: &Step<'_>, held: Held<'_>) {
    if let Err(failure) = asking(&step.lock_ns, || held.release()) {
        step.log.tell(format!("locks end with their connection: {}", failure.message));
    }
}

/// What `ask` says, and the time that it took added to `lock_ns`.
fn asking<T>(lock_ns: &Cell<u64>, ask: impl FnOnce() -> T) -> T {
    let began_ns = MonotonicClock.now_ns();
    let said = ask();
    lock_ns.set(lock_ns.get() + MonotonicClock.now_ns().saturating_sub(began_ns));
    said
}

/// The figures of the run that the query names, or else of the newest.
fn throughput(step: &Step<'_>) -> Result<Answer, Failure> {
    let number = |name: &str| {
        let text = query(step, name);
        let wrong = |text: &str| Failure::bad_request(format!("{name}={text}: write a number"));
        text.map(|text| text.parse::<u64>().map_err(|_| wrong(&text))).transpose()
    };
    let window_seconds = number("window")?.unwrap_or(WINDOW_SECONDS);
    if !(1..=WINDOW_SECONDS_MAX).contains(&window_seconds) {
        let text = format!("window={window_seconds}: write 1 to {WINDOW_SECONDS_MAX} seconds");
        return Err(Failure::bad_request(text));
    }
    let figures = step.services.runs.figures(number("run")?, window_seconds);
    let figures = figures.map_err(|none| Failure::not_found(none.to_string()))?;
    Ok(Answer::new(JSON, serde_json::to_string(&figures).unwrap_or_default()))
}

/// The first screen of a transaction: its fields, and the newest document as what to begin with.
fn screen(step: &mut Step<'_>, transaction: Transaction) -> Result<serde_json::Value, Failure> {
    let newest = match transaction {
        Transaction::ChangeDelivery => order::newest(step.database, order::Kind::Delivery)?,
        _ => order::newest(step.database, order::Kind::Order)?,
    };
    Ok(json!({ "fields": transaction.fields(), "newest": newest }))
}

fn new_order(step: &Step<'_>) -> Result<NewOrder, Failure> {
    let new: NewOrder = serde_json::from_slice(&step.asked.request.body)
        .map_err(|error| Failure::bad_request(format!("the order: {error}")))?;
    let customer = new.customer.as_str().trim();
    if customer.is_empty() || customer.len() > 40 {
        return Err(Failure::bad_request("a customer has 1 to 40 characters"));
    }
    if new.items.is_empty() || new.items.len() > 100 {
        return Err(Failure::bad_request("an order has 1 to 100 items"));
    }
    if new.items.iter().any(|item| item.quantity == 0) {
        return Err(Failure::bad_request("a quantity is above zero"));
    }
    Ok(new)
}

impl NewOrder {
    /// Material and quantity of each line.
    fn lines(&self) -> Vec<(&str, i64)> {
        self.items.iter().map(|item| (item.material.as_str(), item.quantity.into())).collect()
    }
}

fn create(step: &mut Step<'_>, context: &Context) -> Result<Answer, Failure> {
    let new = new_order(step)?;
    let customer = new.customer.as_str().trim();
    let items = new.lines();
    let mut locks = vec![locks::customer(customer)];
    locks.extend(items.iter().map(|(material, _)| locks::shared_material(material)));
    let held = hold(step, context, &locks)?;
    let (number, net) = order::create(step.database, customer, &items)?;
    give_back(step, held);
    Ok(created(&json!({ "order": number, "items": items.len(), "net": net })))
}

fn issue(
    step: &mut Step<'_>,
    context: &Context,
    delivery: i64,
) -> Result<serde_json::Value, Failure> {
    let items = order::items_of_delivery(step.database, delivery)?;
    let mut locks = vec![locks::delivery(delivery)];
    locks.extend(items.iter().map(|(material, _)| locks::material(material)));
    locks.dedup();
    let held = hold(step, context, &locks)?;
    order::issue(step.database, delivery, &items)?;
    give_back(step, held);
    Ok(json!({ "delivery": delivery, "issued": items.len() }))
}

/// The value that the query gives `name`.
fn query(step: &Step<'_>, name: &str) -> Option<String> {
    let pairs = step.asked.request.query().split('&').filter_map(|pair| pair.split_once('='));
    let mut values = pairs.filter(|(key, _)| *key == name).map(|(_, value)| value);
    values.next().and_then(form_decoded).map(Into::into)
}

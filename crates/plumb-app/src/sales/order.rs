//! The documents of a sale in the database. Amounts are in hundredths.

use plumb_engine::clock;
use serde_json::{Value as Json, json};

use hyper::StatusCode;

use crate::answer::Failure;
use crate::database::{Database, Row, Value};

/// Makes an order of `items`, material and quantity; its number and its net value.
///
/// # Errors
/// [`Failure`] when there is no such material, or the database fails.
pub(crate) fn create(
    database: &mut Database,
    customer: &str,
    items: &[(&str, i64)],
) -> Result<(i64, i64), Failure> {
    database.transaction(|database| {
        let mut priced = Vec::with_capacity(items.len());
        for (material, quantity) in items {
            let statement = "SELECT price FROM material WHERE matnr = $1";
            let row = database.row(statement, &[(*material).into()])?;
            let missing = || Failure::bad_request(format!("there is no material `{material}`"));
            priced.push((*material, *quantity, row.ok_or_else(missing)?.int(0)));
        }
        let net: i64 = priced.iter().map(|(_, quantity, price)| quantity * price).sum();
        let created = Value::Text(clock::utc(clock::wall_ns()));
        let row = database.row(
            "INSERT INTO sales_order (customer, created, status, net) \
             VALUES ($1, $2, 'open', $3) RETURNING vbeln",
            &[customer.into(), created, Value::Int(net)],
        )?;
        let number = row.map_or(0, |row| row.int(0));
        for (position, (material, quantity, price)) in (1..).zip(priced) {
            database.rows(
                "INSERT INTO sales_item VALUES ($1, $2, $3, $4, $5)",
                &[
                    Value::Int(number),
                    Value::Int(position * 10),
                    material.into(),
                    Value::Int(quantity),
                    Value::Int(price),
                ],
            )?;
        }
        Ok((number, net))
    })
}

/// The order with its items.
///
/// # Errors
/// [`Failure`] when there is none, or the database fails.
pub(crate) fn display(database: &mut Database, number: i64) -> Result<Json, Failure> {
    let statement = "SELECT customer, created, status, net FROM sales_order WHERE vbeln = $1";
    let head = database.row(statement, &[number.into()])?.ok_or_else(|| no_order(number))?;
    let items = database.rows(
        "SELECT i.posnr, i.matnr, m.name, i.quantity, i.price FROM sales_item i \
         JOIN material m ON m.matnr = i.matnr WHERE i.vbeln = $1 ORDER BY i.posnr",
        &[number.into()],
    )?;
    let items: Vec<Json> = items
        .iter()
        .map(|item| {
            json!({
                "item": item.int(0), "material": item.text(1), "name": item.text(2),
                "quantity": item.int(3), "price": item.int(4), "net": item.int(3) * item.int(4),
            })
        })
        .collect();
    Ok(json!({
        "order": number, "customer": head.text(0), "created": head.text(1),
        "status": head.text(2), "net": head.int(3), "items": items,
    }))
}

/// The newest orders of `customer`, at most `most`.
///
/// # Errors
/// [`Failure`] when the database fails.
pub(crate) fn list(database: &mut Database, customer: &str, most: i64) -> Result<Json, Failure> {
    let rows = database.rows(
        "SELECT vbeln, created, status, net FROM sales_order WHERE customer = $1 \
         ORDER BY vbeln DESC LIMIT $2",
        &[customer.into(), Value::Int(most)],
    )?;
    let orders: Vec<Json> = rows
        .iter()
        .map(|row| {
            let (status, net) = (row.text(2), row.int(3));
            json!({ "order": row.int(0), "created": row.text(1), "status": status, "net": net })
        })
        .collect();
    Ok(json!({ "customer": customer, "orders": orders }))
}

/// Makes the delivery of an order that is open; its number.
///
/// # Errors
/// [`Failure`] when the order is not open, or the database fails.
pub(crate) fn deliver(database: &mut Database, number: i64) -> Result<i64, Failure> {
    database.transaction(|database| {
        advance(database, number, "open", "delivered")?;
        let statement = "INSERT INTO delivery (sales_order, issued) VALUES ($1, 0) RETURNING vbeln";
        Ok(database.row(statement, &[number.into()])?.map_or(0, |row| row.int(0)))
    })
}

/// Materials and quantities of a delivery, in the order of materials.
///
/// # Errors
/// [`Failure`] when there is no such delivery, or the database fails.
pub(crate) fn items_of_delivery(
    database: &mut Database,
    delivery: i64,
) -> Result<Vec<(String, i64)>, Failure> {
    let rows = database.rows(
        "SELECT i.matnr, i.quantity FROM delivery d JOIN sales_item i ON i.vbeln = d.sales_order \
         WHERE d.vbeln = $1 ORDER BY i.matnr, i.posnr",
        &[delivery.into()],
    )?;
    if rows.is_empty() {
        return Err(Failure::not_found(format!("there is no delivery {delivery}")));
    }
    Ok(rows.into_iter().map(|mut row| (row.take_text(0), row.int(1))).collect())
}

/// Posts the goods issue of a delivery: its `items` leave the stock.
///
/// # Errors
/// [`Failure`] when it was posted already, the stock is too low, or the database fails.
pub(crate) fn issue(
    database: &mut Database,
    delivery: i64,
    items: &[(String, i64)],
) -> Result<(), Failure> {
    database.transaction(|database| {
        let row = database.row(
            "UPDATE delivery SET issued = 1 WHERE vbeln = $1 AND issued = 0 RETURNING sales_order",
            &[delivery.into()],
        )?;
        let again = || conflict(format!("the goods of delivery {delivery} were issued already"));
        let number = row.ok_or_else(again)?.int(0);
        for (material, quantity) in items {
            let row = database.row(
                "UPDATE material SET stock = stock - $1 WHERE matnr = $2 AND stock >= $1 \
                 RETURNING stock",
                &[Value::Int(*quantity), material.as_str().into()],
            )?;
            row.ok_or_else(|| conflict(format!("the stock of {material} is below {quantity}")))?;
        }
        advance(database, number, "delivered", "issued")
    })
}

/// Makes the invoice of an order whose goods were issued, at `now_ms` since 1970; its number and
/// its net value.
///
/// # Errors
/// [`Failure`] when that is not so, the items do not add up to the net value of the order, or the
/// database fails.
pub(crate) fn invoice(
    database: &mut Database,
    number: i64,
    now_ms: i64,
) -> Result<(i64, i64), Failure> {
    database.transaction(|database| {
        advance(database, number, "issued", "invoiced")?;
        let items = database
            .rows("SELECT quantity, price FROM sales_item WHERE vbeln = $1", &[number.into()])?;
        let sum: i64 = items.iter().map(|item| item.int(0) * item.int(1)).sum();
        let statement = "SELECT net FROM sales_order WHERE vbeln = $1";
        let net = database.row(statement, &[number.into()])?.map_or(0, |row| row.int(0));
        if sum != net {
            let text = format!("the items of order {number} add up to {sum}, not to {net}");
            return Err(Failure::new(StatusCode::INTERNAL_SERVER_ERROR, text));
        }
        let row = database.row(
            "INSERT INTO invoice (sales_order, net, created_ms) VALUES ($1, $2, $3) \
             RETURNING vbeln",
            &[number.into(), net.into(), Value::Int(now_ms)],
        )?;
        Ok((row.map_or(0, |row| row.int(0)), net))
    })
}

/// Order items whose invoices were made, and how many an hour: those after the first invoice over
/// the time from the first to the last, as the table has it. Absent before a second one.
///
/// # Errors
/// [`Failure`] when the database fails.
pub(crate) fn throughput(database: &mut Database) -> Result<Json, Failure> {
    let items = "FROM invoice v JOIN sales_item i ON i.vbeln = v.sales_order";
    let statement = format!("SELECT count(*), min(v.created_ms), max(v.created_ms) {items}");
    let all = database.row(&statement, &[])?.unwrap_or(Row(Vec::new()));
    let (items_invoiced, first_ms, last_ms) = (all.int(0), all.int(1), all.int(2));
    let statement = format!("SELECT count(*) {items} WHERE v.created_ms > $1");
    let later = database.row(&statement, &[first_ms.into()])?.map_or(0, |row| row.int(0));
    let time_ms = last_ms - first_ms;
    let per_hour = (later * 3_600_000).checked_div(time_ms);
    Ok(json!({ "itemsInvoiced": items_invoiced, "timeMs": time_ms, "itemsPerHour": per_hour }))
}

/// Takes an order from one status to the next.
fn advance(database: &mut Database, number: i64, from: &str, to: &str) -> Result<(), Failure> {
    let row = database.row(
        "UPDATE sales_order SET status = $1 WHERE vbeln = $2 AND status = $3 RETURNING vbeln",
        &[to.into(), number.into(), from.into()],
    )?;
    if row.is_some() {
        return Ok(());
    }
    let statement = "SELECT status FROM sales_order WHERE vbeln = $1";
    let row = database.row(statement, &[number.into()])?.ok_or_else(|| no_order(number))?;
    Err(conflict(format!("order {number} is {}, not {from}", row.text(0))))
}

fn no_order(number: i64) -> Failure {
    Failure::not_found(format!("there is no order {number}"))
}

fn conflict(message: String) -> Failure {
    Failure::new(StatusCode::CONFLICT, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::testing::filled;

    fn status(failure: Failure) -> (u16, String) {
        (failure.status.as_u16(), failure.message)
    }

    #[test]
    fn an_order_goes_its_way_once_and_the_totals_are_those_of_the_database() {
        let (_folder, mut database) = filled();
        let items = [("M-01", 2), ("M-02", 1), ("M-01", 3)];
        let (number, net) = create(&mut database, "anna", &items).unwrap();
        assert_eq!(net, 5 * 137 + 174);
        let shown = display(&mut database, number).unwrap();
        assert_eq!(
            (shown["net"].as_i64(), shown["items"].as_array().map(Vec::len)),
            (Some(net), Some(3))
        );
        assert_eq!(status(invoice(&mut database, number, 1).unwrap_err()).0, 409);
        let delivery = deliver(&mut database, number).unwrap();
        let (code, text) = status(deliver(&mut database, number).unwrap_err());
        assert_eq!((code, text), (409, format!("order {number} is delivered, not open")));
        let items = items_of_delivery(&mut database, delivery).unwrap();
        let before = stock(&mut database, "M-01");
        issue(&mut database, delivery, &items).unwrap();
        assert_eq!(stock(&mut database, "M-01"), before - 5);
        assert_eq!(status(issue(&mut database, delivery, &items).unwrap_err()).0, 409);
        assert_eq!(stock(&mut database, "M-01"), before - 5);
        let (_, invoiced) = invoice(&mut database, number, 1).unwrap();
        assert_eq!(invoiced, net);
        let orders = list(&mut database, "anna", 40).unwrap();
        assert_eq!(orders["orders"][0]["status"], "invoiced");
        let figures = throughput(&mut database).unwrap();
        assert_eq!((&figures["itemsInvoiced"], &figures["itemsPerHour"]), (&json!(3), &Json::Null));
    }

    #[test]
    fn items_an_hour_count_from_the_first_invoice_to_the_last() {
        let (_folder, mut database) = filled();
        for (customer, count, now_ms) in [("a", 5, 1_000), ("b", 2, 1_500), ("c", 4, 3_000)] {
            let items = vec![("M-01", 1); count];
            let (number, _) = create(&mut database, customer, &items).unwrap();
            let delivery = deliver(&mut database, number).unwrap();
            let items = items_of_delivery(&mut database, delivery).unwrap();
            issue(&mut database, delivery, &items).unwrap();
            invoice(&mut database, number, now_ms).unwrap();
        }
        let figures = throughput(&mut database).unwrap();
        let expected = json!({ "itemsInvoiced": 11, "timeMs": 2_000, "itemsPerHour": 10_800 });
        assert_eq!(figures, expected);
    }

    #[test]
    fn items_that_do_not_add_up_are_not_invoiced() {
        let (_folder, mut database) = filled();
        let (number, net) = create(&mut database, "ben", &[("M-05", 1)]).unwrap();
        let delivery = deliver(&mut database, number).unwrap();
        let items = items_of_delivery(&mut database, delivery).unwrap();
        issue(&mut database, delivery, &items).unwrap();
        database.rows("UPDATE sales_item SET quantity = 2", &[]).unwrap();
        let (code, text) = status(invoice(&mut database, number, 1).unwrap_err());
        assert_eq!(code, 500);
        assert!(text.contains(&format!("add up to {}, not to {net}", net * 2)), "{text}");
        assert_eq!(display(&mut database, number).unwrap()["status"], "issued");
    }

    #[test]
    fn a_stock_that_is_too_low_leaves_everything_as_it_was() {
        let (_folder, mut database) = filled();
        database.rows("UPDATE material SET stock = 1 WHERE matnr = 'M-02'", &[]).unwrap();
        let (number, _) = create(&mut database, "carl", &[("M-01", 1), ("M-02", 2)]).unwrap();
        let delivery = deliver(&mut database, number).unwrap();
        let before = stock(&mut database, "M-01");
        let items = items_of_delivery(&mut database, delivery).unwrap();
        assert_eq!(status(issue(&mut database, delivery, &items).unwrap_err()).0, 409);
        assert_eq!(stock(&mut database, "M-01"), before);
    }

    fn stock(database: &mut Database, material: &str) -> i64 {
        let statement = "SELECT stock FROM material WHERE matnr = $1";
        database.row(statement, &[material.into()]).unwrap().unwrap().int(0)
    }
}

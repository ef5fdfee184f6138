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
        let priced = priced(database, items)?;
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

/// Material, quantity and price of `items`.
fn priced<'a>(
    database: &mut Database,
    items: &[(&'a str, i64)],
) -> Result<Vec<(&'a str, i64, i64)>, Failure> {
    let mut priced = Vec::with_capacity(items.len());
    for (material, quantity) in items {
        let statement = "SELECT price FROM material WHERE matnr = $1";
        let row = database.row(statement, &[(*material).into()])?;
        let missing = || Failure::bad_request(format!("there is no material `{material}`"));
        priced.push((*material, *quantity, row.ok_or_else(missing)?.int(0)));
    }
    Ok(priced)
}

/// What `items` would cost in an order, which is not made.
///
/// # Errors
/// [`Failure`] when there is no such material, or the database fails.
pub(crate) fn check(database: &mut Database, items: &[(&str, i64)]) -> Result<Json, Failure> {
    let priced = priced(database, items)?;
    let net: i64 = priced.iter().map(|(_, quantity, price)| quantity * price).sum();
    let items: Vec<Json> = priced
        .iter()
        .map(|(material, quantity, price)| {
            json!({ "material": material, "quantity": quantity, "price": price })
        })
        .collect();
    Ok(json!({ "items": items, "net": net }))
}

/// A kind of document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Order,
    Delivery,
}

/// The number of the newest document of that kind; `None` before the first.
///
/// # Errors
/// [`Failure`] when the database fails.
pub(crate) fn newest(database: &mut Database, kind: Kind) -> Result<Option<i64>, Failure> {
    let statement = match kind {
        Kind::Order => "SELECT vbeln FROM sales_order ORDER BY vbeln DESC LIMIT 1",
        Kind::Delivery => "SELECT vbeln FROM delivery ORDER BY vbeln DESC LIMIT 1",
    };
    Ok(database.row(statement, &[])?.map(|row| row.int(0)))
}

/// A customer, and its newest order; whoever is not on file is taken, too.
///
/// # Errors
/// [`Failure`] when the database fails.
pub(crate) fn customer(database: &mut Database, customer: &str) -> Result<Json, Failure> {
    let statement = "SELECT name FROM customer WHERE kunnr = $1";
    let name = database.row(statement, &[customer.into()])?.map(|mut row| row.take_text(0));
    let statement = "SELECT vbeln FROM sales_order WHERE customer = $1 ORDER BY vbeln DESC LIMIT 1";
    let newest = database.row(statement, &[customer.into()])?.map(|row| row.int(0));
    Ok(json!({ "customer": customer, "name": name, "newest": newest }))
}

/// What of an order is to be delivered.
///
/// # Errors
/// [`Failure`] when there is none, or the database fails.
pub(crate) fn due(database: &mut Database, number: i64) -> Result<Json, Failure> {
    let (head, items) = read(database, number, "status", "i.matnr, i.quantity, m.stock")?;
    let items: Vec<Json> = items
        .iter()
        .map(|item| {
            json!({ "material": item.text(0), "quantity": item.int(1), "stock": item.int(2) })
        })
        .collect();
    Ok(json!({ "order": number, "status": head.text(0), "items": items }))
}

/// The order with its items.
///
/// # Errors
/// [`Failure`] when there is none, or the database fails.
pub(crate) fn display(database: &mut Database, number: i64) -> Result<Json, Failure> {
    let columns = "i.posnr, i.matnr, m.name, i.quantity, i.price";
    let (head, items) = read(database, number, "customer, created, status, net", columns)?;
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

/// These columns of an order, and those of its items `i` and their materials `m`.
fn read(
    database: &mut Database,
    number: i64,
    head: &str,
    items: &str,
) -> Result<(Row, Vec<Row>), Failure> {
    let statement = format!("SELECT {head} FROM sales_order WHERE vbeln = $1");
    let head = database.row(&statement, &[number.into()])?.ok_or_else(|| no_order(number))?;
    let statement = format!(
        "SELECT {items} FROM sales_item i \
         JOIN material m ON m.matnr = i.matnr WHERE i.vbeln = $1 ORDER BY i.posnr"
    );
    Ok((head, database.rows(&statement, &[number.into()])?))
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

/// An invoice that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Invoice {
    pub(crate) number: i64,
    pub(crate) net: i64,
    pub(crate) customer: String,
    /// Line items of its order.
    pub(crate) items: u64,
}

/// Makes the invoice of an order whose goods were issued, at `now_ms` since 1970.
///
/// # Errors
/// [`Failure`] when that is not so, the items do not add up to the net value of the order, or the
/// database fails.
pub(crate) fn invoice(
    database: &mut Database,
    number: i64,
    now_ms: i64,
) -> Result<Invoice, Failure> {
    database.transaction(|database| {
        advance(database, number, "issued", "invoiced")?;
        let items = database
            .rows("SELECT quantity, price FROM sales_item WHERE vbeln = $1", &[number.into()])?;
        let sum: i64 = items.iter().map(|item| item.int(0) * item.int(1)).sum();
        let statement = "SELECT net, customer FROM sales_order WHERE vbeln = $1";
        let head = database.row(statement, &[number.into()])?.ok_or_else(|| no_order(number))?;
        let (net, customer) = (head.int(0), head.text(1).to_owned());
        if sum != net {
            let text = format!("the items of order {number} add up to {sum}, not to {net}");
            return Err(Failure::new(StatusCode::INTERNAL_SERVER_ERROR, text));
        }
        let row = database.row(
            "INSERT INTO invoice (sales_order, net, created_ms) VALUES ($1, $2, $3) \
             RETURNING vbeln",
            &[number.into(), net.into(), Value::Int(now_ms)],
        )?;
        let (number, items) = (row.map_or(0, |row| row.int(0)), items.len() as u64);
        Ok(Invoice { number, net, customer, items })
    })
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
        assert_eq!(check(&mut database, &items).unwrap()["net"], 5 * 137 + 174);
        let (number, net) = create(&mut database, "anna", &items).unwrap();
        assert_eq!(net, 5 * 137 + 174);
        assert_eq!(newest(&mut database, Kind::Order).unwrap(), Some(number));
        assert_eq!(due(&mut database, number).unwrap()["items"][2]["quantity"], 3);
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
        let invoice = invoice(&mut database, number, 1).unwrap();
        assert_eq!((invoice.net, invoice.items, invoice.customer.as_str()), (net, 3, "anna"));
        let orders = list(&mut database, "anna", 40).unwrap();
        assert_eq!(orders["orders"][0]["status"], "invoiced");
    }

    #[test]
    fn forty_orders_are_listed_of_every_customer_on_file() {
        let (_folder, mut database) = filled();
        for name in ["C-001", "C-057", "C-100"] {
            let shown = customer(&mut database, name).unwrap();
            assert!(shown["name"].is_string() && shown["newest"].is_i64(), "{shown}");
            let (number, _) = create(&mut database, name, &[("M-01", 1)]).unwrap();
            let listed = list(&mut database, name, 40).unwrap();
            let orders = listed["orders"].as_array().unwrap();
            assert_eq!((orders.len(), orders[0]["order"].as_i64()), (40, Some(number)));
            let old = orders[39]["order"].as_i64().unwrap();
            let old = display(&mut database, old).unwrap();
            assert_eq!((&old["status"], &old["net"]), (&json!("closed"), &json!(3_535)));
            assert_eq!(old["items"].as_array().map(Vec::len), Some(5));
        }
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

//! The sales load end to end: the fifteen dialog steps of an order, and the figures of a run.

use crate::kit;

use kit::Server;
use kit::web::{DEMO, Reply, Web};
use serde_json::{Value, json};

const SALES: &str = "/sap/bc/sd";

/// A clerk whose steps belong to a run.
struct Clerk {
    web: Web,
    run: String,
}

impl Clerk {
    fn ask(&mut self, method: &str, path: &str, body: &Value) -> Reply {
        let body = if method == "POST" { body.to_string() } else { String::new() };
        let headers = [DEMO, ("Sales-Run", self.run.as_str())];
        self.web.ask(method, &format!("{SALES}/{path}"), &headers, body.as_bytes())
    }

    fn get(&mut self, path: &str) -> Value {
        self.ask("GET", path, &Value::Null).with(200).json()
    }

    fn post(&mut self, path: &str, body: &Value) -> Value {
        let answer = self.ask("POST", path, body);
        assert!([200, 201].contains(&answer.status), "{path}: {}", answer.text());
        answer.json()
    }

    /// An order on its way to its invoice, in the steps of the published benchmark; its number.
    fn sell(&mut self, customer: &str) -> i64 {
        let items: Vec<Value> =
            (1..=5).map(|it| json!({ "material": format!("M-0{it}"), "quantity": it })).collect();
        let order = json!({ "customer": customer, "items": items });
        self.get("screens/create-order");
        assert_eq!(self.get(&format!("customers/{customer}"))["customer"], customer);
        let net: i64 = (1..=5).map(|it| it * (100 + it * 37)).sum();
        assert_eq!(self.post("orders/check", &order)["net"], net);
        let sold = self.post("orders", &order);
        assert_eq!(sold["net"], net);
        let number = sold["order"].as_i64().expect("a number");
        self.get("screens/create-delivery");
        let due = self.get(&format!("orders/{number}/delivery"));
        assert_eq!(due["items"].as_array().map(Vec::len), Some(5));
        let delivery = self.post(&format!("orders/{number}/delivery"), &json!({}));
        self.get("screens/display-order");
        let shown = self.get(&format!("orders/{number}"));
        assert_eq!(shown["items"].as_array().map(Vec::len), Some(5));
        assert_eq!(self.get("screens/change-delivery")["newest"], delivery["delivery"]);
        let issue = format!("deliveries/{}/issue", delivery["delivery"]);
        assert_eq!(self.post(&issue, &json!({}))["issued"], 5);
        self.get("screens/list-orders");
        let listed = self.get(&format!("orders?customer={customer}"));
        assert_eq!(listed["orders"].as_array().map(Vec::len), Some(40));
        assert_eq!(listed["orders"][0]["status"], "issued");
        self.get("screens/create-invoice");
        let invoice = self.post(&format!("orders/{number}/invoice"), &json!({}));
        assert_eq!(invoice["net"], net);
        number
    }
}

fn begin(server: &Server) -> Clerk {
    let mut web = server.web();
    let run = web.post(&format!("{SALES}/runs"), &json!({})).with(201).json()["run"].to_string();
    Clerk { web, run }
}

fn figures(server: &Server, query: &str) -> Value {
    server.web().get(&format!("{SALES}/throughput{query}")).with(200).json()
}

#[test]
fn an_order_goes_to_its_invoice_in_fifteen_steps_that_its_run_counts() {
    let server = Server::of_pages(&[]);
    server.web().get(&format!("{SALES}/throughput")).with(404);
    let mut clerk = begin(&server);
    let number = clerk.sell("C-001");
    clerk.sell("C-002");
    let seen = figures(&server, "");
    assert_eq!((&seen["run"], &seen["clerks"]), (&json!(1), &json!(2)));
    assert_eq!((&seen["itemsInvoiced"], &seen["dialogSteps"]), (&json!(10), &json!(30)));
    assert_eq!(seen["window"], Value::Null);
    let reason = seen["reasons"][0].as_str().expect("a reason");
    assert!(reason.contains("the window is not complete"), "{reason}");
    // a step that is refused is no step of the sale
    clerk.ask("POST", &format!("orders/{number}/invoice"), &json!({})).with(409);
    clerk.ask("GET", "orders/99999", &Value::Null).with(404);
    clerk.ask("GET", "orders/x", &Value::Null).with(400);
    clerk.ask("GET", "screens/none", &Value::Null).with(404);
    assert_eq!(figures(&server, "?run=1")["dialogSteps"], 30);
}

#[test]
fn a_second_run_in_the_same_database_begins_at_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("app.db").display().to_string();
    let server = Server::of_pages(&["--database", &file]);
    begin(&server).sell("C-001");
    let mut second = begin(&server);
    assert_eq!(figures(&server, "")["itemsInvoiced"], 0);
    second.sell("C-002");
    let seen = figures(&server, "?run=2&window=300");
    assert_eq!((&seen["clerks"], &seen["itemsInvoiced"]), (&json!(1), &json!(5)));
    assert_eq!(seen["windowSeconds"], 300);
    assert_eq!(figures(&server, "?run=1")["itemsInvoiced"], 5);
    server.stop().with(0);
    let server = Server::of_pages(&["--database", &file]);
    server.web().get(&format!("{SALES}/throughput")).with(404);
    let mut unknown = Clerk { web: server.web(), run: "7".into() };
    let refused = unknown.ask("GET", "screens/create-order", &Value::Null).with(404);
    assert!(refused.text().contains("POST /sap/bc/sd/runs"), "{}", refused.text());
    let mut web = server.web();
    for (query, status) in
        [("?window=0", 400), ("?window=x", 400), ("?run=x", 400), ("?run=9", 404)]
    {
        web.get(&format!("{SALES}/throughput{query}")).with(status);
    }
}

//! Clients of `plumb flow serve` that speak a language of their own: web services, browsers.

use std::path::Path;

use crate::flow_serve::{Flow, ORDER, TWO, XML};
use crate::kit::Program;
use crate::kit::not_tried;

#[test]
fn a_transaction_is_a_web_service() {
    let flow = Flow::start("");
    let wsdl = flow.get("/soap/order?wsdl", &[]).with(200).text();
    let address = "location=\"http://localhost:8000/soap/order\"";
    assert!(wsdl.contains(address) && wsdl.contains("name=\"plant\""), "{wsdl}");
    let envelope = |body: &str| {
        format!(
            "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Body>{body}\
             </s:Body></s:Envelope>"
        )
    };
    let request = format!(
        "<Request xmlns=\"urn:plumb:flow:order\"><plant>7</plant><Document>{TWO}</Document>\
         </Request>"
    );
    let kind = ("Content-Type", "text/xml; charset=utf-8");
    // the transaction is asynchronous: its response is an id
    let accepted = flow.post("/soap/order", &[kind], &envelope(&request)).with(200).text();
    let id = accepted.split("<Execution>").nth(1).and_then(|rest| rest.get(..16));
    assert!(accepted.contains("<State>accepted</State>"), "{accepted}");
    flow.until(id.expect("an id"), "done");
    flow.write("now.toml", &ORDER.replace("mode = \"async\"", "").replace("accepts", "#"));
    assert!(flow.server.log().starts_with("2 transactions in force"));
    let request = request.replace("flow:order", "flow:now");
    let done = flow.post("/soap/now", &[kind], &envelope(&request)).with(200).text();
    let text = "<Text>&lt;rows plant=&quot;7&quot;&gt;2&lt;/rows&gt;</Text>";
    assert!(
        done.contains("<State>done</State><Status>200</Status>") && done.contains(text),
        "{done}"
    );
    let fault = flow.post("/soap/now", &[kind], &envelope("<ORDER/>")).with(500).text();
    assert!(fault.contains("<faultcode>soap:Server</faultcode>"), "{fault}");
    let fault = flow.post("/soap/now", &[kind], "<a/>").with(500).text();
    assert!(fault.contains("<faultcode>soap:Client</faultcode>"), "{fault}");
}

#[test]
fn a_browser_shows_the_manager() {
    let program = Path::new("chromium");
    if let Err(error) = std::process::Command::new(program).arg("--version").output() {
        return not_tried(format!("chromium: {error}; ./test --full installs it"));
    }
    let flow = Flow::start("");
    let reply = flow.post("/runner/order?plant=%3Cb%3E", &[XML], "<ORDER/>").with(202).json();
    let id = reply["id"].as_str().expect("an id").to_owned();
    flow.until(&id, "failed");
    let shown = |path: &str| {
        let profile = tempfile::tempdir().expect("a temporary folder");
        let url = format!("http://{}{path}", flow.server.address);
        let profile_word = format!("--user-data-dir={}", profile.path().display());
        let words = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"];
        let words = [&words[..], &["--dump-dom", &profile_word, &url]].concat();
        Program::start_as(program, &words, profile.path()).wait().with(0).stdout
    };
    let page = shown("/manager?state=failed");
    assert!(page.contains(&id) && page.contains("an order without items"), "{page}");
    assert!(page.contains("<td class=\"w failed\">failed</td>"), "{page}");
    let one = shown(&format!("/manager/executions/{id}"));
    assert!(one.contains("&lt;b&gt;") && one.contains("&lt;ORDER/&gt;"), "{one}");
}

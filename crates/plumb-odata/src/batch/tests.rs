use proptest::prelude::*;

use super::*;

const BATCH: &str = "--b\r\nContent-Type: application/http\r\nContent-ID: 7\r\n\
    Content-Transfer-Encoding: binary\r\n\r\nGET FlightCollection?$top=1 HTTP/1.1\r\n\
    Accept: application/json\r\nAuthorization: Basic eDp5\r\n\r\n\r\n\
    --b\r\nContent-Type: application/http\r\n\r\n\
    GET /sap/opu/odata/iwfnd/RMTSAMPLEFLIGHT/CarrierCollection('LH') HTTP/1.1\r\n\r\n\r\n\
    --b--\r\n";
const ROOT: &str = "/sap/opu/odata/iwfnd/RMTSAMPLEFLIGHT";

/// The parts of `body`, which comes in pieces of so many bytes.
fn parts(body: &str, piece: usize) -> Result<Vec<Part>, Refusal> {
    let mut parser = Parser::new(Service::Standard, "multipart/mixed; boundary=b").unwrap();
    for piece in body.as_bytes().chunks(piece) {
        parser.take(piece)?;
    }
    parser.finish()
}

fn read(part: &Part) -> &Uri {
    match &part.asks {
        Ok(Asks::Read(uri)) => uri,
        other => panic!("{other:?}"),
    }
}

#[test]
fn requests_are_found_however_they_come_in() {
    for piece in [1, 2, 7, 10_000] {
        let found = parts(BATCH, piece).unwrap();
        let [first, second] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((first.name.as_deref(), second.name.as_deref()), (Some("7"), None));
        assert_eq!(first.headers["accept"], "application/json");
        assert!(!first.headers.contains_key("authorization"));
        let (first, second) = (read(first), read(second));
        assert_eq!(first.to_string(), format!("{ROOT}/FlightCollection?$top=1"));
        assert_eq!(second.path(), format!("{ROOT}/CarrierCollection('LH')"));
    }
    let lines = BATCH.replace("\r\n", "\n").replace("$top=1", "$filter=carrid eq 'LH'");
    let found = parts(&lines, 100).unwrap();
    let query = read(&found[0]).query();
    assert_eq!(query, Some("$filter=carrid%20eq%20'LH'"));
    let absolute = BATCH.replace("/sap/opu", "http://host:1/sap/opu");
    assert!(parts(&absolute, 100).unwrap()[1].asks.is_ok());
}

#[test]
fn a_part_that_is_wrong_leaves_the_others() {
    for (from, to, status) in [
        ("GET F", "PUT F", 405),
        ("GET FlightCollection?$top=1 HTTP/1.1", "GET FlightCollection", 400),
        ("GET FlightCollection", "GET /status", 400),
        ("GET FlightCollection", "GET /sap/opu/sdata/iwfnd/RMTSAMPLEFLIGHT/x", 400),
        ("Accept: application/json", "no header", 400),
    ] {
        let found = parts(&BATCH.replace(from, to), 50).unwrap();
        assert_eq!(found[0].asks.as_ref().unwrap_err().status.as_u16(), status, "{to}");
        assert!(found[1].asks.is_ok(), "{to}");
    }
    let set = "--b\r\nContent-Type: multipart/mixed; boundary=c\r\nContent-ID: 9\r\n\r\n--c\r\n\
        Content-Type: application/http\r\n\r\nDELETE FlightCollection('x') HTTP/1.1\r\n\
        Accept: application/json\r\n\r\n--c--\r\n";
    let found = parts(&format!("{set}{BATCH}"), 11).unwrap();
    assert_eq!((found.len(), found[0].name.as_deref()), (3, Some("9")));
    let Ok(Asks::Changes(changes)) = &found[0].asks else { panic!("{found:?}") };
    let [change] = changes.as_slice() else { panic!("{changes:?}") };
    assert_eq!(change.target, "FlightCollection('x')");
    let cut = set.replace("--c--", "");
    let found = parts(&format!("{cut}{BATCH}"), 11).unwrap();
    assert!(found[0].asks.as_ref().unwrap_err().message.contains("last boundary"));
    let large = set.replace("\r\n--c--", &format!("{}\r\n--c--", "x".repeat(1 << 20)));
    let refused = parts(&format!("{large}{BATCH}"), 4_000).unwrap_err();
    assert!(refused.message.contains("1048576 bytes"), "{}", refused.message);
}

#[test]
fn a_set_of_changes_is_refused_where_the_service_only_reads() {
    let set = "--b\r\nContent-Type: multipart/mixed; boundary=c\r\nContent-ID: 9\r\n\r\n--c\r\n\
        Content-Type: application/http\r\n\r\nDELETE FlightCollection('x') HTTP/1.1\r\n\
        Accept: application/json\r\n\r\n--c--\r\n--b--\r\n";
    let mut parser = Parser::new(Service::Compatibility, "multipart/mixed; boundary=b").unwrap();
    parser.take(set.as_bytes()).unwrap();
    let found = parser.finish().unwrap();
    let refused = found[0].asks.as_ref().unwrap_err();
    assert_eq!(refused.status, StatusCode::NOT_IMPLEMENTED);
    assert_eq!(found[0].headers["accept"], "application/json");
}

#[test]
fn what_is_no_batch_says_why() {
    let problem = |body: &str| parts(body, 30).unwrap_err().message;
    assert!(problem("").contains("last boundary"));
    assert!(problem("--b--").contains("nothing stands in it"));
    assert!(problem(&BATCH.replace("--b--", "")).contains("last boundary"));
    assert!(problem("--b\r\nContent-Type: application/http\r\n--b--").contains("empty line"));
    assert!(problem(&BATCH.replace("application/http", "text/plain")).contains("no application"));
    let part = BATCH.split_inclusive("\r\n\r\n\r\n").next().unwrap();
    assert!(problem(&format!("{}--b--", part.repeat(101))).contains("more than 100 parts"));
    assert!(problem(&BATCH.replace("$top=1", &"x".repeat(9_000))).contains("8192 bytes"));
    let many = "X-A: 1\r\n".repeat(65);
    assert!(problem(&BATCH.replacen("Content-ID: 7\r\n", &many, 1)).contains("64 header"));
}

#[test]
fn a_long_body_within_is_skipped_and_not_kept() {
    let body = format!(
        "--b\r\nContent-Type: application/http\r\n\r\nGET CarrierCollection \
        HTTP/1.1\r\n\r\n{}\n--b--",
        "x".repeat(100_000)
    );
    let mut parser = Parser::new(Service::Standard, "multipart/mixed; boundary=b").unwrap();
    for piece in body.as_bytes().chunks(1_000) {
        parser.take(piece).unwrap();
        assert!(parser.line.len() <= LINE_MAX);
    }
    assert_eq!(parser.finish().unwrap().len(), 1);
}

#[test]
fn the_boundary_is_read_from_the_type() {
    assert_eq!(boundary("multipart/mixed; boundary=abc"), Some("abc"));
    assert_eq!(boundary("Multipart/Mixed;charset=x; Boundary=\"a b\""), Some("a b"));
    for none in ["multipart/mixed", "text/plain; boundary=a", "multipart/mixed; boundary="] {
        assert_eq!(boundary(none), None, "{none}");
    }
}

proptest! {
    #[test]
    fn any_batch_is_read_or_refused(body: String, piece in 1_usize..50) {
        let _ = parts(&body, piece);
        let _ = parts(&format!("--b\nContent-Type: application/http\n\n{body}\n--b--"), piece);
        let _ = boundary(&body);
    }

    #[test]
    fn pieces_make_no_difference(piece in 1_usize..400) {
        let shown = |found: Result<Vec<Part>, Refusal>| format!("{found:?}");
        prop_assert_eq!(shown(parts(BATCH, piece)), shown(parts(BATCH, 10_000)));
    }
}

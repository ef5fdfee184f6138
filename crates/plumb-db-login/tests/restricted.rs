//! A process that may connect to some addresses only: this holds for the whole of it.

use plumb_db_login::Login;
use plumb_engine::restrict_targets;

#[test]
fn no_driver_that_connects_by_itself_is_told_where() {
    assert!(restrict_targets(vec!["127.0.0.0/8".parse().expect("addresses")]));
    for target in ["odbc:erp", "odbc:Driver=PostgreSQL;Servername=db.example;UID=x"] {
        let error = Login::of_target(target).expect_err("it is refused").to_string();
        assert!(error.contains("a driver of ODBC connects by itself"), "{error}");
    }
    assert!(Login::of_target("postgres://me@db1/").is_ok(), "it is looked at where it connects");
}

//! `plumb db ping` against a real PostgreSQL: where the time is said to go, and what is refused.

use crate::kit;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use kit::postgres::{PASSWORD, Postgres, ping, start, url, with_environment};
use kit::{Ended, Server, names_in, only_run, plumb, read, record, runs};
use serde_json::Value;
use tempfile::{TempDir, tempdir};

const MS: i64 = 1_000_000;

fn folder() -> TempDir {
    tempdir().expect("a temporary folder")
}

/// The attribution of the only result of a run, whose parts add up unless it says that they cannot.
fn attribution(ended: &Ended) -> Value {
    let record = ended.json();
    let results = record["results"].as_array().expect("a list");
    assert_eq!(results.len(), 1, "{record:#}");
    let attribution = results[0]["attribution"].clone();
    let parts = parts(&attribution);
    if attribution["cannot_be_split"].is_null() {
        let sum: i64 = parts.iter().map(|(_, ns)| ns).sum();
        assert_eq!(Some(sum), attribution["client"]["mean_ns"].as_i64(), "{attribution:#}");
    } else {
        assert!(!parts.iter().any(|(kind, _)| kind == "rest"), "{attribution:#}");
    }
    attribution
}

/// The account of the stamped calls of the only result of a run, whose parts are the whole.
fn taken_apart(ended: &Ended) -> Value {
    let trip = ended.json()["results"][0]["round_trip"].clone();
    let account = trip["account"].clone();
    let parts = parts(&account);
    let sum: i64 = parts.iter().map(|(_, ns)| ns).sum();
    let whole = account["client"]["mean_ns"].as_i64().expect("a whole");
    // each mean is rounded to a nanosecond
    assert!((sum - whole).unsigned_abs() <= parts.len() as u64, "{trip:#}");
    assert!(account["client"]["count"].as_u64() > Some(40), "most are known: {trip:#}");
    assert!(trip["stamp_costs_ns"].is_null(), "{trip:#}");
    account
}

fn parts(attribution: &Value) -> Vec<(String, i64)> {
    let parts = attribution["parts"].as_array().expect("a list");
    let of = |part: &Value| {
        let name = part["kind"].as_str().expect("a name").to_owned();
        (name, part["time"]["mean_ns"].as_i64().expect("a time"))
    };
    parts.iter().map(of).collect()
}

fn part(attribution: &Value, kind: &str) -> i64 {
    let parts = parts(attribution);
    parts.iter().find(|(name, _)| name == kind).expect("such a part").1
}

fn largest(attribution: &Value) -> String {
    parts(attribution).into_iter().max_by_key(|(_, ns)| *ns).expect("some parts").0
}

/// Runs 80 calls of what `words` ask for, without a warm-up.
fn eighty(url: &str, words: &[&str], folder: &Path) -> Ended {
    let all = [&["--count", "80", "--warmup", "0s", "--timeout", "20s", "--json"], words].concat();
    ping(url, &all, folder)
}

#[test]
fn what_the_server_does_is_attributed_to_the_server() {
    let server = Postgres::start("shared_preload_libraries = 'pg_stat_statements'");
    let words = ["--over", "kept", "--ask", "own", "--explain", "--statement"];
    let short = [words.as_slice(), &["select pg_sleep(0.003);"]].concat();
    let found = attribution(&eighty(&server.url(), &short, server.folder()).with(0));
    assert!(part(&found, "server") >= 3 * MS * 95 / 100, "{found:#}");
    // longer than a busy machine lets anybody wait
    let long = [words.as_slice(), &["select pg_sleep(0.1)", "--timestamps=1"]].concat();
    let ended = eighty(&server.url(), &long, server.folder()).with(0);
    let found = attribution(&ended);
    let taken_apart = taken_apart(&ended);
    assert!(part(&taken_apart, "server") >= 95 * MS, "by its clock: {taken_apart:#}");
    assert_eq!(largest(&found), "server", "{found:#}");
    let next = found["advice"][0]["next"].as_str().expect("a finding");
    assert!(next.contains("--explain"), "{next}");
    // the extension is loaded, but nobody made it in this database
    let counted = &found["readings"][0];
    assert!(counted["mean_ns"].is_null(), "{counted:#}");
    let about = counted["about"].as_str().expect("a reason");
    assert!(about.contains("CREATE EXTENSION pg_stat_statements"), "{about}");
    let explained = &found["readings"][1];
    assert!(explained["mean_ns"].as_i64() >= Some(100 * MS), "{explained:#}");
    let altogether = found["readings"][2]["about"].to_string();
    assert!(altogether.contains("deadlock"), "{found:#}");
}

#[test]
fn a_delay_on_the_way_is_attributed_to_the_wire() {
    let server = Postgres::start("");
    let line = Server::of_delay(&server.address, &["--delay", "20ms"]);
    let words = ["--over", "kept", "--ask", "trivial", "--timestamps=1"];
    let ended = eighty(&url(&line.address), &words, server.folder()).with(0);
    let found = attribution(&ended);
    let taken_apart = taken_apart(&ended);
    assert!(part(&taken_apart, "away") >= 40 * MS, "{taken_apart:#}");
    assert_eq!(largest(&found), "wire", "{found:#}");
    assert!(part(&found, "wire") >= 40 * MS, "{found:#}");
    // the line answers handshakes: a wire that was taken from them would have missed the delay
    let handshake = found["times"]["TCP handshake"]["min"].as_i64();
    assert!(handshake < Some(20 * MS), "{found:#}");
    let advice = found["advice"].to_string();
    assert!(advice.contains("Something on the way answers for the server"), "{advice}");
    assert_eq!(found["intermediary"], "unknown", "{found:#}");
}

#[test]
fn the_queue_of_a_pool_is_attributed_to_the_pool() {
    let server = Postgres::start("");
    let words = ["--over", "pool", "--pool", "1", "--callers", "8", "--ask", "own", "--statement"];
    // long beside what a busy machine adds, and from the start with everybody in the queue: how well the
    // parts are known depends on how far the calls differ
    let calls = ["select pg_sleep(0.02)", "--count", "120", "--warmup", "400ms"];
    let words = [words.as_slice(), &calls, &["--timeout", "20s", "--json"]].concat();
    let found = attribution(&ping(&server.url(), &words, server.folder()).with(0));
    assert_eq!(largest(&found), "queue", "{found:#}");
    let whole = found["client"]["mean_ns"].as_i64().expect("a time");
    assert!(2 * part(&found, "queue") > whole, "{found:#}");
    let advice = found["advice"].as_array().expect("findings");
    let mut next = advice.iter().filter_map(|it| it["next"].as_str());
    assert!(next.any(|it| it.starts_with("8 callers share a pool of 1")), "{found:#}");
}

#[test]
fn a_connection_a_call_is_attributed_to_connecting() {
    let server = Postgres::start("");
    let words = ["--over", "connect", "--ask", "trivial"];
    let ended = eighty(&server.url(), &words, server.folder()).with(0);
    let found = attribution(&ended);
    assert!(part(&found, "connect") > part(&found, "server"), "{found:#}");
    let result = &ended.json()["results"][0];
    assert_eq!((&result["operations"], &result["connect_ns"]["count"]), (&80.into(), &80.into()));
    // every eighth at least, every third at most
    assert!((10..=27).contains(&found["observed"].as_u64().expect("a count")), "{found:#}");
    assert!(result["tls_ns"].is_null(), "{result:#}");
}

#[test]
fn the_sized_statement_is_of_everyday_size_and_the_output_names_the_driver() {
    let server = Postgres::start("");
    let words = ["--over", "kept", "--ask", "sized", "--count", "200", "--warmup", "0s"];
    let ended = ping(&server.url(), &words, server.folder()).with(0);
    assert!(ended.stdout.contains("tokio-postgres"), "{}", ended.stdout);
    assert!(ended.stdout.contains("Network or database? "), "{}", ended.stdout);
    let record = record(&only_run(server.folder()));
    let result = &record["results"][0];
    let a_call = |name: &str| {
        result[name].as_u64().expect("a count") / result["operations"].as_u64().expect("a count")
    };
    assert!((300..=500).contains(&a_call("bytes_sent")), "{result:#}");
    assert!((1_000..=1_500).contains(&a_call("bytes_received")), "{result:#}");
    let driver = result["driver"]["name"].as_str().expect("a driver");
    assert!(driver.contains("tokio-postgres"), "{driver}");
    let floor = record["floor"]["method"].as_str().expect("a floor");
    assert!(floor.contains("tokio-postgres"), "{floor}");
    let of = record["target"]["server"].as_str().expect("a server");
    assert!(of.starts_with("PostgreSQL ") && of.ends_with("not encrypted"), "{of}");
}

/// Every share that a text gives of "the time" or of a part, percent.
fn shares(text: &str) -> Vec<u64> {
    let time = text.lines().skip_while(|line| !line.starts_with("time "));
    let said: Vec<&str> = time.take_while(|line| !line.starts_with("validity ")).collect();
    let words = said.join(" ");
    let words: Vec<&str> = words.split_whitespace().collect();
    let before_sign = words.windows(2).filter(|pair| pair[1].starts_with('%'));
    before_sign.filter_map(|pair| pair[0].parse().ok()).collect()
}

#[test]
fn no_share_of_the_time_exceeds_it_over_any_connection() {
    let server = Postgres::start("");
    let line = Server::of_delay(&server.address, &["--delay", "1ms"]);
    let large = "select repeat('x', 1000) from generate_series(1, 500)";
    let asked = [
        (server.url(), "select 1"),
        (server.url(), large),
        (url(&line.address), "select pg_sleep(0.002)"),
    ];
    for (url, statement) in asked {
        let words = ["--ask", "own", "--statement", statement, "--count", "40"];
        let words = [&words[..], &["--warmup", "0s", "--timeout", "20s"]].concat();
        let ended = ping(&url, &words, server.folder()).with(0);
        let answers = ended.stdout.matches("Network or database?").count();
        assert_eq!(answers, 3, "an answer a kind of connection: {}", ended.stdout);
        let shares = shares(&ended.stdout);
        assert!(shares.iter().all(|share| *share <= 100), "{shares:?} in {}", ended.stdout);
    }
}

#[test]
fn the_options_of_a_record_are_an_options_file() {
    let server = Postgres::start("");
    let words = ["--over", "kept", "--ask", "own", "--statement", "select 7", "--allow-writes"];
    let first = eighty(&server.url(), &words, server.folder()).with(0).json();
    let options = &first["plan"]["options"];
    let again = folder();
    let file = toml::to_string(options).expect("options are TOML");
    fs::write(again.path().join("x.toml"), file).expect("a new file");
    let second = ping(&server.url(), &["--options", "x.toml", "--json"], again.path()).with(0);
    assert_eq!(&second.json()["plan"]["options"], options);
}

#[test]
fn work_at_a_rate_is_kept_up_and_its_waiting_is_told() {
    let server = Postgres::start("");
    // slow enough that a caller is free now and then on a busy machine, too
    let words = ["--over", "pool,kept", "--ask", "trivial", "--rate", "50/s"];
    let ended = eighty(&server.url(), &words, server.folder());
    let record = ended.json();
    assert_eq!(record["plan"]["load"], "open");
    for result in record["results"].as_array().expect("a list") {
        let count = |name: &str| result[name].as_u64().expect("a count");
        assert_eq!(count("operations") + count("dropped"), 80, "{result:#}");
        let kinds: Vec<String> =
            parts(&result["attribution"]).into_iter().map(|(kind, _)| kind).collect();
        assert!(kinds.contains(&"due".to_owned()), "{kinds:?}");
        assert!(!result["driver"]["lag_ns"].is_null(), "{result:#}");
    }
}

#[test]
fn a_statement_that_writes_is_refused_or_rolled_back() {
    let server = Postgres::start("");
    let words = ["--over", "pool,connect", "--ask", "own"];
    let statement = ["--statement", "create table t (a int)"];
    let refused = [words.as_slice(), &statement].concat();
    let ended = eighty(&server.url(), &refused, server.folder()).with(2);
    assert!(ended.stderr.contains("--allow-writes"), "{}", ended.stderr);
    // each call can make the table only if the one before was rolled back
    let allowed = [words.as_slice(), &statement, &["--allow-writes", "--callers", "1"]].concat();
    let record = eighty(&server.url(), &allowed, server.folder()).with(0).json();
    for result in record["results"].as_array().expect("a list") {
        assert_eq!(
            (&result["operations"], &result["failures"]),
            (&80.into(), &serde_json::json!({}))
        );
    }
    let quiet = ["--statement", "with t as (select pg_notify('a', 'b')) select * from t"];
    eighty(&server.url(), &[words.as_slice(), &quiet].concat(), server.folder()).with(0);
}

#[test]
fn a_server_that_goes_away_leaves_a_record_that_proves_nothing() {
    let mut server = Postgres::start("log_statement = 'all'");
    let folder = folder();
    let words = ["--over", "kept", "--ask", "trivial", "--for", "600s", "--warmup", "0s"];
    let words = [words.as_slice(), &["--connect-timeout", "3s"]].concat();
    let program = start(&server.url(), &words, folder.path());
    server.logged("SELECT 1", 100); // the load is under way
    server.stop();
    program.wait().with(1);
    let record = record(&only_run(folder.path()));
    assert_eq!(
        (&record["status"], &record["validity"]["valid"]),
        (&"broken".into(), &false.into())
    );
    let result = &record["results"][0];
    assert!(result["operations"].as_u64() > Some(0), "{result:#}");
    assert!(!result["failures"].as_object().expect("kinds").is_empty(), "{result:#}");
}

#[test]
fn what_cannot_be_measured_is_refused_with_a_remedy_and_leaves_nothing() {
    let server = Postgres::start("");
    let folder = folder();
    let own = |text: &'static str| vec!["--ask", "own", "--statement", text];
    let here = server.url();
    let cases: Vec<(String, Vec<&str>, &str)> = vec![
        (here.clone(), own("selec 1"), "syntax error"),
        (here.clone(), own("select 1; select 2"), "multiple commands"),
        (here.clone(), own("select $1::int"), "write values in their place"),
        (here.clone(), own("select 1/0"), "division by zero"),
        (here.clone(), own("select * from generate_series(1, 100000)"), "add a LIMIT"),
        (here.clone(), own("select repeat('x', 20000000)"), "raise --rows and --size"),
        (here.clone(), own(";"), "the statement is empty"),
        (
            here.clone(),
            [own("select pg_sleep(60)"), vec!["--timeout", "200ms"]].concat(),
            "raise --timeout",
        ),
        (
            here.clone(),
            own("select set_config('default_transaction_read_only', 'off', false)"),
            "takes away the promise",
        ),
        (here.clone(), vec!["--depth", "2"], "use --pool and --callers"),
        (here.clone(), vec!["--nagle"], "every statement is sent at once"),
        (here.clone(), vec!["--ask", "own"], "write --statement SQL"),
        (here.clone(), vec!["--file", "/nowhere.sql"], "/nowhere.sql"),
        (format!("{here}x"), vec![], "does not exist; check the name"),
        (format!("{here}?sslmode=require"), vec![], "server does not support TLS"),
        (format!("{here}?sslmode=maybe"), vec![], "verify-full"),
        ("postgres://plumb@127.0.0.1:1/x".into(), vec![], "connection refused"),
        (here.replace('@', ":open-sesame-7@"), vec![], "set PGPASSWORD"),
        (format!("{here}?password=open-sesame-7"), vec![], "set PGPASSWORD"),
        ("db1".into(), vec![], "postgres://[USER@]HOST"),
    ];
    for (url, words, expected) in cases {
        let ended = ping(&url, &words, folder.path()).with(2);
        assert!(ended.stderr.contains(expected), "{url} {words:?}: {}", ended.stderr);
        assert!(!ended.stderr.contains(PASSWORD) && ended.stdout.is_empty(), "{ended:#?}");
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    }
    assert!(runs(folder.path()).is_empty());
}

#[test]
fn the_password_comes_from_its_usual_places_and_is_shown_nowhere() {
    let server = Postgres::start("");
    let folder = folder();
    let words = ["--over", "kept,connect", "--ask", "trivial", "--count", "20"];
    let run = |variables: &[&str]| {
        with_environment(variables, &server.url(), &words, folder.path()).wait()
    };
    let wrong = run(&["PGPASSWORD=open-sesame-8"]).with(2);
    assert!(wrong.stderr.contains("password authentication failed"), "{}", wrong.stderr);
    assert!(!wrong.stderr.contains("open-sesame"), "{}", wrong.stderr);
    let none = run(&["PGPASSWORD="]).with(2);
    assert!(none.stderr.contains("asks for a password"), "{}", none.stderr);

    let file = folder.path().join(".pgpass");
    fs::write(&file, format!("*:*:*:plumb:{PASSWORD}\n")).expect("a new file");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("it is ours");
    let open = run(&["PGPASSWORD="]).with(2);
    assert!(open.stderr.contains("chmod 600"), "{}", open.stderr);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("it is ours");
    let ended = run(&["PGPASSWORD="]).with(0);
    assert!(!ended.stdout.contains(PASSWORD), "{}", ended.stdout);
    let run = only_run(folder.path());
    for name in names_in(&run) {
        assert!(!read(&run.join(&name)).contains(PASSWORD), "{name}");
    }
}

#[test]
fn an_encrypted_connection_is_made_as_sslmode_says() {
    let key = rcgen::generate_simple_self_signed(vec!["127.0.0.1".into()]).expect("a certificate");
    let other = rcgen::generate_simple_self_signed(vec!["elsewhere".into()]).expect("another");
    let (cert, pem) = (key.cert.pem(), key.signing_key.serialize_pem());
    let files = [("server.crt", cert.as_str()), ("server.key", pem.as_str())];
    let server = Postgres::with_files("ssl = on", &files);
    let folder = folder();
    let authority = folder.path().join("authority.pem");
    let stranger = folder.path().join("stranger.pem");
    fs::write(&authority, &cert).expect("a new file");
    fs::write(&stranger, other.cert.pem()).expect("a new file");
    let words =
        ["--over", "connect", "--ask", "trivial", "--count", "10", "--warmup", "0s", "--json"];
    let url = |mode: &str, file: &Path| {
        format!("{}?sslmode={mode}&sslrootcert={}", server.url(), file.display())
    };
    for mode in ["prefer", "require", "verify-ca", "verify-full"] {
        let record = ping(&url(mode, &authority), &words, folder.path()).with(0).json();
        assert_eq!(record["results"][0]["tls_ns"]["count"], 10, "{mode}: {record:#}");
        assert!(record["target"]["server"].as_str().is_some_and(|it| it.ends_with("TLS")));
        let tls = record["target"]["transport"]["tls"].as_str().expect("version and cipher");
        let used = record["results"][0]["transports"].as_array().expect("transports");
        assert_eq!((used.len(), &used[0]["tls"]), (1, &tls.into()), "{used:?}");
        assert_eq!(used[0]["connections"], 10, "{used:?}");
        assert!(tls.starts_with("TLSv1.3 TLS13_"), "{tls}");
    }
    let plain = ping(&url("disable", &authority), &words, folder.path()).with(0).json();
    assert!(plain["results"][0]["tls_ns"].is_null(), "{plain:#}");
    assert!(plain["target"]["transport"]["tls"].is_null(), "{plain:#}");
    let refused = ping(&url("verify-full", &stranger), &words, folder.path()).with(2);
    assert!(refused.stderr.contains("no encrypted connection"), "{}", refused.stderr);
}

#[test]
fn an_echo_server_beside_the_database_tells_the_bare_round_trip() {
    let server = Postgres::start("");
    let echo = Server::start(&["--quiet"]);
    let words = ["--over", "kept", "--ask", "trivial", "--echo", &echo.address];
    let found = attribution(&eighty(&server.url(), &words, server.folder()).with(0));
    assert_eq!(found["times"]["echo server"]["count"], 200, "{found:#}");
}

/// The only run of `folder` is read again, and nobody is said to have altered it.
fn is_read_again(folder: &Path) {
    let run = only_run(folder).display().to_string();
    plumb(&["report", &run], folder).with(0);
}

#[test]
fn a_run_of_few_calls_is_read_again() {
    let server = Postgres::start("");
    let words = ["--over", "kept", "--ask", "trivial", "--count", "4", "--warmup", "0s", "--json"];
    let record = ping(&server.url(), &words, server.folder()).json();
    let result = &record["results"][0];
    assert_eq!((&result["operations"], &result["observed"]), (&4.into(), &1.into()), "{result:#}");
    assert!(result["attribution"].is_null(), "a look of one kind only: {result:#}");
    is_read_again(server.folder());
}

#[test]
fn calls_are_divided_among_remotes_that_begin_together() {
    let server = Postgres::start("");
    let at = folder();
    let words = [
        "--remotes",
        "local:3",
        "--ask",
        "trivial",
        "--over",
        "pool",
        "--callers",
        "4",
        "--pool",
        "2",
        "--count",
        "100",
        "--warmup",
        "0s",
        "--interval",
        "50s",
        "--foreign-limit",
        "100%",
        "--json",
    ];
    let record = ping(&server.url(), &words, at.path()).json();
    let result = &record["results"][0];
    // what was looked into counts as well
    assert_eq!(result["operations"], 100, "{result:#}");
    assert!(result["observed"].as_u64() > Some(0), "{result:#}");
    is_read_again(at.path());
    let clients = result["clients"].as_array().expect("a row for each");
    assert_eq!(clients.len(), 3);
    let driver = &result["driver"]["name"];
    assert!(driver.as_str().is_some_and(|name| name.contains("tokio-postgres")), "{driver}");
    assert!(record["plan"]["options"]["remotes-start-spread-ns"].is_u64(), "{record:#}");
}

//! Whether a data server or a back end can be used, and who is told when that changes.

use std::fmt::Display;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use plumb_engine::clock::MonotonicClock;
use plumb_measure::Clock as _;
use plumb_serve::Log;

/// Whether something outside can be used.
#[derive(Debug)]
pub(super) struct Presence {
    /// As the log calls it: `the data server plant`.
    what: String,
    /// When it could last not be used, nanoseconds on the monotonic clock; 0: it can.
    failed_ns: AtomicU64,
    log: OnceLock<Arc<Log>>,
}

impl Presence {
    /// Of `what`, which can be used until the contrary is known.
    pub(super) fn new(what: String) -> Self {
        Self { what, failed_ns: AtomicU64::new(0), log: OnceLock::new() }
    }

    /// Changes are told to `log` from now on, unless another one has them.
    pub(super) fn tell(&self, log: &Arc<Log>) {
        self.log.get_or_init(|| Arc::clone(log));
    }

    /// It answered at `at_ns`, nanoseconds on the monotonic clock. What it answered before it could not be used
    /// says nothing.
    pub(super) fn answered(&self, at_ns: u64) {
        let failed_ns = self.failed_ns.load(Ordering::Relaxed);
        if failed_ns == 0 || at_ns <= failed_ns {
            return;
        }
        let (order, otherwise) = (Ordering::Relaxed, Ordering::Relaxed);
        if self.failed_ns.compare_exchange(failed_ns, 0, order, otherwise).is_ok() {
            self.told(&format!("{} can be used again", self.what));
        }
    }

    /// It could not be used.
    pub(super) fn failed(&self, why: &impl Display) {
        if self.failed_ns.fetch_max(MonotonicClock.now_ns(), Ordering::Relaxed) == 0 {
            self.told(&format!("{} cannot be used: {why}", self.what));
        }
    }

    /// True from a failure until it has answered again.
    pub(super) fn is_away(&self) -> bool {
        self.failed_ns.load(Ordering::Relaxed) > 0
    }

    fn told(&self, event: &str) {
        if let Some(log) = self.log.get() {
            log.tell(event);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};
    use std::path::Path;
    use std::sync::{Arc, mpsc};

    use plumb_engine::clock::MonotonicClock;
    use plumb_measure::{Clock as _, Span};
    use plumb_serve::Log;
    use plumb_serve::database::DatabaseError;
    use plumb_transaction::{BackEndRequest, OutsideError};

    use super::super::DataServers;
    use super::super::back_end::BackEnds;
    use super::super::server::{CommitMode, DataServer};

    fn request() -> BackEndRequest<'static> {
        BackEndRequest {
            server: "erp",
            method: "GET",
            target: "/",
            headers: &[],
            media_type: "",
            body: b"",
            patience: Span::from_ms(60_000),
            trace: None,
            idempotency_key: None,
        }
    }

    #[test]
    fn what_goes_and_comes_is_told_once_each_time() {
        let folder = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("data-servers.toml", "[server.plant]\nurl = \"later/plant.db\"\n");
        write("back-ends.toml", &format!("[back-end.erp]\nurl = \"http://{address}\"\n"));
        let (events, told) = mpsc::channel();
        let told = || told.try_iter().collect::<Vec<String>>();
        let before = DataServers::read(folder.path()).unwrap();
        before.tell(&Arc::new(Log::new(events)));
        // what takes the place of others is told of as they were
        write("back-ends.toml", &format!("[back-end.erp]\nurl = \"http://{address}/a\"\n"));
        let servers = DataServers::read(folder.path()).unwrap().keeping(&before);
        let (_, pool) = servers.pools().next().unwrap();
        for _ in 0..2 {
            pool.take().unwrap_err();
        }
        assert!(pool.figures().away);
        let events = told();
        assert_eq!(events.len(), 1, "{events:?}");
        assert!(events[0].starts_with("the data server plant cannot be used: "), "{events:?}");
        fs::create_dir(folder.path().join("later")).unwrap();
        for _ in 0..2 {
            pool.take().unwrap();
        }
        assert!(!pool.figures().away);
        assert_eq!(told(), ["the data server plant can be used again"]);

        let request = request();
        let away = || servers.back_ends().figures().all(|(_, figures)| figures.away);
        drop(listener);
        for _ in 0..2 {
            servers.back_ends().call(&request).unwrap_err();
        }
        let events = told();
        assert!(away() && events.len() == 1, "{events:?}");
        assert!(events[0].starts_with("the back end erp cannot be used: "), "{events:?}");
        let listener = TcpListener::bind(address).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (mut connection, _) = listener.accept().unwrap();
                let mut head = [0; 1 << 10];
                assert!(connection.read(&mut head).unwrap() > 0);
                connection.write_all(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n").unwrap();
            });
            assert_eq!(servers.back_ends().call(&request).unwrap().status, 500);
        });
        assert!(!away());
        assert_eq!(told(), ["the back end erp can be used again"]);
    }

    /// A data server of a file in the folder `there`, whose statements are silent for `timeout`.
    fn plant(folder: &Path, timeout: &str) -> (Arc<DataServer>, mpsc::Receiver<String>) {
        let text = format!("[server.plant]\nurl = \"there/plant.db\"\ntimeout = \"{timeout}\"\n");
        let plans = super::super::file::parse(&text, folder).unwrap();
        let server = DataServers::new(plans).find("plant").unwrap();
        let (events, told) = mpsc::channel();
        server.pool.presence().tell(&Arc::new(Log::new(events)));
        (server, told)
    }

    #[test]
    fn a_data_server_whose_sessions_answer_is_not_away() {
        let folder = tempfile::tempdir().unwrap();
        let (there, gone) = (folder.path().join("there"), folder.path().join("gone"));
        fs::create_dir(&there).unwrap();
        let (server, told) = plant(folder.path(), "0s");
        let pool = &server.pool;
        let mut kept = pool.take().unwrap();
        fs::rename(&there, gone).unwrap();
        pool.take().unwrap_err();
        let figures = pool.figures();
        assert_eq!((figures.failed_log_ons, figures.away), (1, false));
        server.outside(&DatabaseError::Silent("late".into()), "SELECT 1");
        assert!(pool.figures().away);
        kept.batch("SELECT 1").unwrap();
        drop(kept);
        assert!(!pool.figures().away);
        // who asks nothing learns nothing
        server.outside(&DatabaseError::Silent("late".into()), "SELECT 1");
        drop(pool.take().unwrap());
        assert!(pool.figures().away);
        assert_eq!(told.try_iter().count(), 3);
    }

    #[test]
    fn a_silent_statement_says_nothing_of_a_data_server_that_answered_others_meanwhile() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("there")).unwrap();
        let (server, told) = plant(folder.path(), "24h");
        let mut other = server.pool.take().unwrap();
        other.batch("SELECT 1").unwrap();
        drop(other);
        server.outside(&DatabaseError::Silent("late".into()), "SELECT 1");
        assert!(!server.pool.figures().away);
        assert_eq!(told.try_iter().count(), 0);
    }

    #[test]
    fn a_session_that_is_in_use_counts_by_its_answers_and_not_by_its_end() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("there")).unwrap();
        let (server, told) = plant(folder.path(), "30s");
        let (pool, late) = (&server.pool, DatabaseError::Silent("late".into()));
        let (mut busy, mut quiet) = (pool.take().unwrap(), pool.take().unwrap());
        quiet.batch("SELECT 1").unwrap();
        // answered meanwhile, and still in use
        let since_ns = MonotonicClock.now_ns();
        busy.batch("SELECT 1").unwrap();
        server.was_silent(since_ns, &late);
        assert!(!pool.figures().away);
        // answered before, and given back meanwhile
        let since_ns = MonotonicClock.now_ns();
        drop(quiet);
        server.was_silent(since_ns, &late);
        assert!(pool.figures().away);
        drop(pool.take().unwrap());
        assert!(pool.figures().away);
        // an answer is noticed before the session is given back, be it a refusal
        busy.batch("SELECT x FROM nothing").unwrap_err();
        assert!(!pool.figures().away);
        assert_eq!(told.try_iter().count(), 2);
    }

    /// A `PostgreSQL` that lets everybody log on, and answers nothing from the first BEGIN on.
    fn silent_at_begin(mut stream: TcpStream) {
        let size = |head: &[u8]| u32::from_be_bytes(head.try_into().unwrap()) as usize;
        let mut head = [0; 5];
        stream.read_exact(&mut head[..4]).unwrap();
        let mut body = vec![0; size(&head[..4]) - 4];
        stream.read_exact(&mut body).unwrap();
        stream.write_all(b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I").unwrap();
        while stream.read_exact(&mut head).is_ok() {
            body.resize(size(&head[1..]) - 4, 0);
            stream.read_exact(&mut body).unwrap();
            if head[0] == b'Q' && !body.starts_with(b"BEGIN") {
                stream.write_all(b"C\0\0\0\x08SET\0Z\0\0\0\x05I").unwrap();
            }
        }
    }

    #[test]
    fn a_data_server_that_is_silent_at_the_begin_of_a_transaction_is_away() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let text = format!(
            "[server.plant]\nurl = \"postgres://a@{address}/b?sslmode=disable\"\ntimeout = \"20ms\"\n"
        );
        let plans = super::super::file::parse(&text, Path::new(".")).unwrap();
        let server = DataServers::new(plans).find("plant").unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| silent_at_begin(listener.accept().unwrap().0));
            drop(server.pool.take().unwrap());
            let error = server.begun(CommitMode::Direct).unwrap_err();
            assert!(matches!(error, OutsideError::Lost(_)), "{error}");
        });
        assert!(server.pool.figures().away);
    }

    #[test]
    fn a_back_end_that_is_tried_until_the_time_limit_is_away() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let text = format!(
            "[back-end.erp]\nurl = \"http://{}\"\nretries = 100\nretry-interval = \"100ms\"\n",
            listener.local_addr().unwrap()
        );
        let plans = super::super::back_end_file::parse(&text, Path::new(".")).unwrap();
        let back_ends = BackEnds::new(plans);
        let away = |patience_ms| {
            let request = BackEndRequest { patience: Span::from_ms(patience_ms), ..request() };
            let error = back_ends.call(&request).unwrap_err();
            assert!(matches!(error, OutsideError::Late(_)), "{error}");
            back_ends.figures().all(|(_, figures)| figures.away)
        };
        // one whose message had no time left for it may answer
        assert!(!away(20));
        drop(listener);
        assert!(away(300));
    }

    #[test]
    fn an_error_of_a_limit_names_the_setting_of_the_file() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let text = format!(
            "[server.plant]\nurl = \"postgres://a@{address}/b\"\nconnect-timeout = \"20ms\"\n"
        );
        let plans = super::super::file::parse(&text, Path::new(".")).unwrap();
        let servers = DataServers::new(plans);
        let (_, pool) = servers.pools().next().unwrap();
        let error = pool.take().unwrap_err().to_string();
        assert!(error.ends_with("(connect-timeout of data-servers.toml)"), "{error}");
    }
}

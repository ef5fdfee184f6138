//! A run under way: what it writes into its interval log, as it comes.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use plumb_measure::{Histogram, hdr, real};
use plumb_serve::Pieces;
use serde_json::json;

/// Between two looks at the file.
const PAUSE: Duration = Duration::from_millis(500);
/// Looks without news after which something is sent, so that a client that has gone is noticed.
const QUIET_MAX: u32 = 20;
/// Bytes that are taken at one look.
const PIECE: u64 = 4 << 20;
/// Looks in all; a browser that is still there asks again.
const LOOKS_MAX: u32 = 7_200;
/// Intervals that are sent of what was there before.
const BEFORE_MAX: usize = 600;

/// How far an interval log has been read.
#[derive(Debug)]
struct Tail {
    file: PathBuf,
    at: u64,
    /// The file that is read, which may be replaced by another of its name.
    inode: u64,
    /// A line without its end.
    rest: String,
}

impl Tail {
    fn new(folder: &Path) -> Self {
        Self { file: folder.join("intervals.hlog"), at: 0, inode: 0, rest: String::new() }
    }

    /// The lines that have come since the last time; nothing where there is no file yet.
    fn lines(&mut self) -> io::Result<Vec<String>> {
        let mut file = match File::open(&self.file) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let found = file.metadata()?;
        if found.ino() != self.inode || found.len() < self.at {
            (self.inode, self.at) = (found.ino(), 0);
            self.rest.clear();
        }
        file.seek(SeekFrom::Start(self.at))?;
        let mut bytes = Vec::new();
        self.at += file.take(PIECE).read_to_end(&mut bytes)? as u64;
        self.rest += &String::from_utf8_lossy(&bytes);
        let Some(end) = self.rest.rfind('\n') else {
            if self.rest.len() as u64 > PIECE {
                self.rest.clear(); // no line of ours is as long
            }
            return Ok(Vec::new());
        };
        let lines = self.rest[..end].lines().map(str::to_owned).collect();
        self.rest.drain(..=end);
        Ok(lines)
    }
}

/// What came of one interval at one point of the plan.
#[derive(Default)]
struct Came {
    length_ns: u64,
    /// Times of the right answers.
    right: Histogram,
    failed: u64,
}

/// An interval, as the page draws it: everything of one moment and one point of the plan.
fn intervals(lines: &[String]) -> Vec<String> {
    let mut found: BTreeMap<(u64, String), Came> = BTreeMap::new();
    for line in lines {
        let Some((tag, _)) = line.strip_prefix("Tag=").and_then(|rest| rest.split_once(',')) else {
            continue;
        };
        let (series, point) = tag.split_once(';').unwrap_or((tag, ""));
        if !matches!(series, "response" | "failed") {
            continue;
        }
        // a damaged line is no reason to show nothing of the others
        let Ok(read) = hdr::read_log(&format!("{line}\n"), tag) else { continue };
        for it in read {
            let came = found.entry((it.start_ns, point.to_owned())).or_default();
            came.length_ns = it.length_ns;
            if series == "failed" {
                came.failed += it.histogram.count();
            } else {
                came.right.merge(&it.histogram);
            }
        }
    }
    let skipped = found.len().saturating_sub(BEFORE_MAX);
    let told = found.iter().skip(skipped).map(|((start_ns, point), came)| {
        let seconds = real(came.length_ns.max(1)) / 1e9;
        let quantile = |q| (!came.right.is_empty()).then(|| came.right.quantile(q));
        json!({
            "point": point,
            "start_s": real(*start_ns) / 1e9,
            "length_s": seconds,
            "per_s": real(came.right.count()) / seconds,
            "failed": came.failed,
            "p50_ns": quantile(0.5),
            "p95_ns": quantile(0.95),
            "p99_ns": quantile(0.99),
        })
        .to_string()
    });
    told.collect()
}

/// True once the record of the run in `folder` says that it has ended.
fn has_ended(folder: &Path) -> bool {
    std::fs::read_to_string(folder.join("run.json"))
        .ok()
        .and_then(|text| serde_json::from_str::<serde_json::Value>(&text).ok())
        .is_some_and(|record| record["status"] != "running")
}

/// Sends the intervals of the run in `folder` until it has ended, the client has gone, or `stopped`
/// says so.
pub(crate) async fn follow(folder: PathBuf, pieces: Pieces, stopped: impl Fn() -> bool) {
    let mut tail = Tail::new(&folder);
    let mut quiet = 0;
    for _ in 0..LOOKS_MAX {
        if stopped() {
            break;
        }
        // asked before the lines are read, so that none of them is missed
        let ended = has_ended(&folder);
        let told = match tail.lines() {
            Ok(lines) => intervals(&lines),
            Err(error) => {
                let _ = pieces.send(event("trouble", &error.to_string())).await;
                break;
            }
        };
        quiet = if told.is_empty() { quiet + 1 } else { 0 };
        let mut news: Vec<Bytes> = told.iter().map(|data| event("interval", data)).collect();
        if ended {
            news.push(event("ended", ""));
        } else if quiet >= QUIET_MAX {
            quiet = 0;
            news.push(Bytes::from_static(b": still here\n\n"));
        }
        if !news.is_empty() && pieces.send(Bytes::from(news.concat())).await.is_err() {
            return;
        }
        if ended {
            break;
        }
        tokio::select! {
            () = pieces.gone() => return,
            () = tokio::time::sleep(PAUSE) => {}
        }
    }
    // whoever is gone needs no end
    let _ = pieces.end().await;
}

/// A server-sent event, of which no line is another event.
///
/// # Source
/// HTML, section 9.2: server-sent events.
pub(crate) fn event(name: &str, data: &str) -> Bytes {
    let mut text = format!("event: {name}\n");
    for line in data.split(['\n', '\r']) {
        text += &format!("data: {line}\n");
    }
    Bytes::from(text + "\n")
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::Write as _;

    use super::*;

    fn line(start_ns: u64, values: &[u64]) -> String {
        line_of("response", start_ns, values)
    }

    fn line_of(series: &str, start_ns: u64, values: &[u64]) -> String {
        let mut histogram = Histogram::new();
        values.iter().for_each(|value| histogram.record(*value));
        hdr::log_line(&format!("{series};size=500B"), start_ns, 1_000_000_000, &histogram)
    }

    #[test]
    fn lines_are_told_once_they_are_whole_and_once() {
        let folder = tempfile::tempdir().unwrap();
        let mut tail = Tail::new(folder.path());
        assert!(tail.lines().unwrap().is_empty());
        let path = folder.path().join("intervals.hlog");
        let add = |text: &str| {
            let mut file = OpenOptions::new().append(true).create(true).open(&path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        };
        let (one, two) = (line(0, &[5_000, 7_000]), line(1_000_000_000, &[6_000]));
        add(&hdr::log_header(0, "then"));
        add(&one);
        add(&two[..20]);
        let told = intervals(&tail.lines().unwrap());
        assert_eq!(told.len(), 1);
        let read: serde_json::Value = serde_json::from_str(&told[0]).unwrap();
        assert_eq!(read["point"], json!("size=500B"));
        assert!((5_000..5_010).contains(&read["p50_ns"].as_u64().unwrap()), "{read}");
        assert_eq!(read["per_s"], json!(2.0));
        assert!(tail.lines().unwrap().is_empty());
        add(&two[20..]);
        assert_eq!(intervals(&tail.lines().unwrap()).len(), 1);
        std::fs::remove_file(&path).unwrap();
        add(&one);
        assert_eq!(intervals(&tail.lines().unwrap()).len(), 1);
    }

    #[test]
    fn an_interval_tells_how_many_failed_beside_the_right_answers() {
        let lines = [line(0, &[5_000]), line_of("failed", 0, &[7, 8]), line(1_000_000_000, &[])];
        let told = intervals(&[&lines[..], &[line_of("failed", 1_000_000_000, &[9])]].concat());
        let told: Vec<serde_json::Value> =
            told.iter().map(|it| serde_json::from_str(it).unwrap()).collect();
        let figures = told.iter().map(|it| (it["per_s"].as_f64(), it["failed"].as_u64()));
        assert_eq!(figures.collect::<Vec<_>>(), [(Some(1.0), Some(2)), (Some(0.0), Some(1))]);
        assert!(told[1]["p50_ns"].is_null());
    }

    #[test]
    fn damaged_lines_and_other_series_are_passed_over() {
        let lines =
            ["", "#x", "Tag=response", "Tag=response,1,2,3,***", "Tag=service,0,1,1,x", "a,b"];
        let lines: Vec<String> = lines.iter().map(|it| (*it).to_owned()).collect();
        assert!(intervals(&lines).is_empty());
    }

    #[test]
    fn no_line_of_an_event_is_another_event() {
        let told = event("line", "a\nevent: ended\r\n\ndata: x");
        let text = String::from_utf8(told.to_vec()).unwrap();
        assert!(
            text.lines().skip(1).filter(|it| !it.is_empty()).all(|it| it.starts_with("data: "))
        );
        assert!(text.ends_with("\n\n") && !text[..text.len() - 1].contains("\n\n"));
    }
}

//! What a machine did while a run went on: the fine samples in its folder, thinned while they are
//! read.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use plumb_measure::real;

use crate::backlog::{Backlog, Line};
use crate::error::FolderError;
use crate::moment::wall_ns;
use crate::names::INTERVALS;
use crate::track::{COUNTERS, COUNTS, Counter, HostTrack, TrackPlace};

/// Places that a track keeps at most; of more samples, neighbours are joined.
const PLACES_MAX: usize = 240;
/// Tracks of one run: the machine that drove the load, and a far one.
const TRACKS_MAX: usize = 4;

/// Reads what the machines did over the run in the folder `path`, which began at `started`
/// (RFC 3339): a track for every CSV file of samples in it. The start is known to the millisecond
/// where the folder has its interval log, else to the second. A last line that was cut is left
/// out.
///
/// # Errors
/// [`FolderError::Read`] when a file is there and cannot be read.
pub fn read_host_tracks(path: &Path, started: &str) -> Result<Vec<HostTrack>, FolderError> {
    let Some(start_ns) = start_of_log(path).or_else(|| wall_ns(started)) else {
        return Ok(Vec::new());
    };
    let mut files: Vec<PathBuf> = match fs::read_dir(path) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
        Err(_) => Vec::new(),
    };
    files.retain(|file| file.extension().is_some_and(|extension| extension == "csv"));
    files.sort();
    let tracks = files.iter().take(TRACKS_MAX).map(|file| read_track(file, start_ns));
    let tracks: Result<Vec<_>, _> = tracks.collect();
    Ok(tracks?.into_iter().flatten().collect())
}

/// The moment from which the intervals of the log in a folder count, nanoseconds since 1970.
fn start_of_log(path: &Path) -> Option<u64> {
    let lines = BufReader::new(File::open(path.join(INTERVALS)).ok()?).lines();
    let head = lines.take(5).map_while(Result::ok);
    let mut base = head.filter_map(|line| {
        let (seconds, _) = line.strip_prefix("#[BaseTime: ")?.split_once(' ')?;
        let (whole, decimals) = seconds.split_once('.').unwrap_or((seconds, ""));
        let below: u64 = format!("{decimals:0<9}").get(..9)?.parse().ok()?;
        whole.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(below)
    });
    base.next()
}

/// `None` for a CSV file that holds no samples of a machine.
fn read_track(file: &Path, start_ns: u64) -> Result<Option<HostTrack>, FolderError> {
    let failed = |cause| FolderError::Read { path: file.into(), cause };
    let mut reader = BufReader::new(File::open(file).map_err(failed)?);
    let mut line = String::new();
    reader.read_line(&mut line).map_err(failed)?;
    let Some(columns) = Columns::of(line.trim_end()) else { return Ok(None) };
    let mut thinning = Thinning::default();
    let recorded =
        columns.counts.each_ref().map(|(counter, at)| Some(*counter).filter(|_| !at.is_empty()));
    let mut backlog = Backlog::new(recorded);
    loop {
        line.clear();
        if reader.read_line(&mut line).map_err(failed)? == 0 {
            break;
        }
        if line.ends_with('\n')
            && let Some(sample) = columns.sample(line.trim_end(), start_ns)
        {
            backlog.add(&sample, |place| thinning.add(place));
        }
    }
    backlog.end(|place| thinning.add(place));
    let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(thinning.ended(stem))
}

/// From which columns each figure comes.
struct Columns {
    count: usize,
    time: usize,
    interval: usize,
    shares: [(Counter, Option<usize>); 4],
    received: Vec<usize>,
    sent: Vec<usize>,
    /// What is counted, and may be read more seldom than samples are taken.
    counts: [(Counter, Vec<usize>); COUNTS],
}

impl Columns {
    fn of(header: &str) -> Option<Self> {
        let names: Vec<&str> = header.split(',').collect();
        let find = |name: &str| names.iter().position(|known| *known == name);
        let all = |wanted: &[&str]| wanted.iter().filter_map(|name| find(name)).collect();
        // packets tell an interface from the ports and protocols that count bytes, too
        let interfaces: Vec<&str> =
            names.iter().filter_map(|name| name.strip_suffix(":received_packets_per_s")).collect();
        let of_interfaces = |figure: &str| {
            interfaces.iter().filter_map(|device| find(&format!("{device}:{figure}"))).collect()
        };
        Some(Self {
            count: names.len(),
            time: find("time")?,
            interval: find("interval_s")?,
            shares: [
                (Counter::Busy, find("cpu_busy_pct")),
                (Counter::SoftInterrupts, find("cpu_softirq_pct")),
                (Counter::DiskWait, find("cpu_iowait_pct")),
                (Counter::Steal, find("cpu_steal_pct")),
            ],
            received: of_interfaces("received_bytes_per_s"),
            sent: of_interfaces("sent_bytes_per_s"),
            counts: [
                (Counter::Swapped, all(&["swapped_in", "swapped_out"])),
                (Counter::MajorFaults, all(&["major_faults"])),
                (Counter::SentAgain, all(&["tcp_retransmitted"])),
            ],
        })
    }

    /// The sample of one line; `None` for a line that is damaged.
    fn sample(&self, line: &str, start_ns: u64) -> Option<Line<COUNTS>> {
        let cells: Vec<&str> = line.split(',').collect();
        if cells.len() != self.count {
            return None;
        }
        let figure = |at: usize| cells[at].parse::<f64>().ok().filter(|value| value.is_finite());
        let interval_s = figure(self.interval).filter(|seconds| *seconds > 0.0)?;
        let to_s = seconds_between(start_ns, wall_ns(cells[self.time])?);
        let sum =
            |columns: &[usize]| columns.iter().filter_map(|at| figure(*at)).reduce(|a, b| a + b);
        let mut values = [f64::NAN; COUNTERS];
        let mut put = |counter: Counter, value: Option<f64>| {
            values[counter as usize] = value.unwrap_or(f64::NAN);
        };
        for (counter, at) in &self.shares {
            put(*counter, at.and_then(figure));
        }
        put(Counter::Received, sum(&self.received));
        put(Counter::Sent, sum(&self.sent));
        let counts = self.counts.each_ref().map(|(_, columns)| sum(columns));
        let place = to_s.map(|to_s| {
            let from_s = (to_s - interval_s).max(0.0);
            TrackPlace { from_s, to_s, values }
        });
        Some(Line { interval_s, counts, place })
    }
}

/// Seconds from one moment to a later one; `None` when it is not later.
fn seconds_between(from_ns: u64, to_ns: u64) -> Option<f64> {
    let ns = to_ns.checked_sub(from_ns).filter(|ns| *ns > 0)?;
    Some(real(ns) / 1e9)
}

/// Samples as they come, joined with their neighbours whenever there are too many.
#[derive(Default)]
struct Thinning {
    places: Vec<TrackPlace>,
    /// Samples in the last place.
    open: usize,
    /// Samples that a place joins; 0 before the first.
    joined: usize,
}

impl Thinning {
    fn add(&mut self, place: TrackPlace) {
        self.joined = self.joined.max(1);
        match self.places.last_mut() {
            Some(last) if self.open < self.joined => {
                *last = joined(last, &place);
                self.open += 1;
            }
            _ => {
                self.places.push(place);
                self.open = 1;
            }
        }
        if self.places.len() > PLACES_MAX {
            self.places = self
                .places
                .chunks(2)
                .filter_map(|pair| pair.iter().copied().reduce(|a, b| joined(&a, &b)))
                .collect();
            // the last place stays alone: the pairs are of an odd number of places
            self.joined *= 2;
        }
    }

    fn ended(self, name: String) -> Option<HostTrack> {
        let Self { places, joined, .. } = self;
        (!places.is_empty()).then_some(HostTrack { name, places, joined })
    }
}

/// Two neighbours as one: each figure the mean over the time of those that have it.
fn joined(a: &TrackPlace, b: &TrackPlace) -> TrackPlace {
    let (of_a, of_b) = (a.to_s - a.from_s, b.to_s - b.from_s);
    let mean = |x: f64, y: f64| match (x.is_finite(), y.is_finite()) {
        (true, true) if of_a + of_b > 0.0 => (x * of_a + y * of_b) / (of_a + of_b),
        (true, _) => x,
        (false, _) => y,
    };
    let values = std::array::from_fn(|at| mean(a.values[at], b.values[at]));
    TrackPlace { from_s: a.from_s.min(b.from_s), to_s: a.to_s.max(b.to_s), values }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "time,monotonic_s,interval_s,cpu_busy_pct,cpu_softirq_pct,swapped_in,\
        swapped_out,lo:received_bytes_per_s,lo:received_packets_per_s,\
        eth0:received_bytes_per_s,eth0:received_packets_per_s,smc:r_received_bytes_per_s\n";

    fn folder(lines: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("db1.csv"), format!("{HEADER}{lines}")).unwrap();
        fs::write(folder.path().join("notes.csv"), "what,why\n1,2\n").unwrap();
        folder
    }

    fn tracks(folder: &tempfile::TempDir) -> Vec<HostTrack> {
        read_host_tracks(folder.path(), "2026-11-21T10:00:00Z").unwrap()
    }

    #[test]
    fn a_track_counts_from_the_start_of_the_run_and_sums_up_interfaces() {
        let folder = folder(
            "2026-11-21T09:59:59.900Z,1.0,0.1,99,0,0,0,1,1,1,1,5\n\
             2026-11-21T10:00:00.500Z,1.6,0.5,40,2,3,1,100,1,20,1,5\n\
             2026-11-21T10:00:01.000Z,2.1,0.5,,4,0,0,,,30,1,5\n\
             2026-11-21T10:00:01.500Z,2.6,0.5,50",
        );
        let [track] = &tracks(&folder)[..] else { panic!("one track") };
        assert_eq!((track.name.as_str(), track.joined), ("db1", 1));
        let spans: Vec<(f64, f64)> =
            track.places.iter().map(|place| (place.from_s, place.to_s)).collect();
        assert_eq!(spans, [(0.0, 0.5), (0.5, 1.0)]);
        assert_eq!(track.of(Counter::Received), [120.0, 30.0]);
        assert_eq!(track.of(Counter::Swapped), [8.0, 0.0]);
        assert_eq!(track.of(Counter::SoftInterrupts), [2.0, 4.0]);
        assert!(track.of(Counter::Busy)[1].is_nan() && track.of(Counter::Steal)[0].is_nan());
    }

    #[test]
    fn counts_that_are_read_once_a_second_are_rates_over_that_second() {
        let folder = folder(
            "2026-11-21T10:00:00.250Z,1.25,0.25,40,2,1,1,1,1,1,1,5\n\
             2026-11-21T10:00:00.500Z,1.50,0.25,40,2,,,1,1,1,1,5\n\
             2026-11-21T10:00:00.750Z,1.75,0.25,40,2,,,1,1,1,1,5\n\
             2026-11-21T10:00:01.000Z,2.00,0.25,40,2,2,1,1,1,1,1,5\n",
        );
        let [track] = &tracks(&folder)[..] else { panic!("one track") };
        assert_eq!(track.of(Counter::Swapped), [8.0, 4.0, 4.0, 4.0]);
    }

    #[test]
    fn the_interval_log_knows_the_start_to_the_millisecond() {
        let folder = folder("2026-11-21T10:00:00.500Z,1.6,0.1,40,2,0,0,1,1,1,1,5\n");
        let head =
            "#[x]\n#[StartTime: 1795255200.250 (seconds)]\n#[BaseTime: 1795255200.250 (s)]\n";
        fs::write(folder.path().join("intervals.hlog"), head).unwrap();
        let place = tracks(&folder)[0].places[0];
        assert!((place.to_s - 0.25).abs() < 1e-9, "{place:?}");
    }

    #[test]
    fn many_samples_are_joined_and_keep_their_mean() {
        let mut thinning = Thinning::default();
        for at in 0..10_000u32 {
            let from_s = f64::from(at);
            let values = [f64::from(at % 2) * 10.0; COUNTERS];
            thinning.add(TrackPlace { from_s, to_s: from_s + 1.0, values });
        }
        let track = thinning.ended("x".into()).unwrap();
        assert!((PLACES_MAX / 2..=PLACES_MAX).contains(&track.places.len()));
        assert!(track.of(Counter::Busy).iter().all(|mean| (mean - 5.0).abs() < 1e-9));
        let whole: f64 = track.places.iter().map(|place| place.to_s - place.from_s).sum();
        assert!((whole - 10_000.0).abs() < 1e-6);
        assert!(track.places.windows(2).all(|pair| pair[0].to_s <= pair[1].from_s + 1e-9));
    }

    #[test]
    fn a_folder_without_samples_has_no_track() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(tracks(&folder), []);
    }
}

//! What a path and its query ask for. Every path stands here.

use plumb_wire::percent;

use crate::fields::{value, values};
use crate::index::Filter;

/// Pairs that are read of a query or a form.
const PAIRS_MAX: usize = 200;

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// The list of runs.
    List(Filter),
    /// The page of what lies in one folder.
    Show(String),
    /// Runs beside each other, the baseline first.
    Compare(Vec<String>),
    /// All series.
    Trends,
    /// The figures of one series over time.
    Trend(String),
    /// Runs with names.
    Baselines,
    /// What can be started, and what was.
    Work,
    /// The output of one command that was started.
    Job(u64),
    /// The events of a run under way.
    LiveEvents(String),
    /// The events of a command that was started.
    JobEvents(u64),
    /// The styles.
    Style,
    /// The script.
    Script,
    /// The script of the page that logs on.
    DoorScript,
    /// Nothing is there.
    Nowhere,
}

/// What is to be changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// A session for whoever shows this.
    LogOn(String),
    /// A run becomes the baseline of this name.
    SetBaseline { name: String, run: String },
    /// A name is forgotten.
    RemoveBaseline(String),
    /// A checkup begins, of this landscape file if one is named.
    StartCheckup { landscape: Option<String>, length: String },
    /// The experiment of this file begins.
    StartExperiment(String),
    /// A command that was started ends.
    StopJob(u64),
    /// Nothing is there.
    Nowhere,
}

impl Route {
    /// What `path` with `query` asks for.
    pub(crate) fn of(path: &str, query: &str) -> Self {
        let pairs = pairs(query);
        let value = |name| value(&pairs, name);
        match path {
            "/" => Self::List(Filter::of(&pairs)),
            "/show" => Self::Show(value("path")),
            "/compare" => Self::Compare(values(&pairs, "run")),
            "/trends" => Self::Trends,
            "/trend" => Self::Trend(value("series")),
            "/baselines" => Self::Baselines,
            "/work" => Self::Work,
            "/job" => value("id").parse().map_or(Self::Nowhere, Self::Job),
            "/live/events" => Self::LiveEvents(value("path")),
            "/job/events" => value("id").parse().map_or(Self::Nowhere, Self::JobEvents),
            "/ui.css" => Self::Style,
            "/ui.js" => Self::Script,
            "/door.js" => Self::DoorScript,
            _ => Self::Nowhere,
        }
    }

    /// True for what everybody gets: it says nothing of any run.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self, Self::Style | Self::DoorScript)
    }
}

impl Change {
    /// What `path` with the form `body` asks for.
    pub(crate) fn of(path: &str, body: &str) -> Self {
        let pairs = pairs(body);
        let value = |name| value(&pairs, name);
        match path {
            "/session" => Self::LogOn(value("secret")),
            "/baselines/set" => Self::SetBaseline { name: value("name"), run: value("run") },
            "/baselines/remove" => Self::RemoveBaseline(value("name")),
            "/work/checkup" => {
                let landscape = Some(value("landscape")).filter(|name| !name.is_empty());
                Self::StartCheckup { landscape, length: value("for") }
            }
            "/work/experiment" => Self::StartExperiment(value("file")),
            "/work/stop" => value("id").parse().map_or(Self::Nowhere, Self::StopJob),
            _ => Self::Nowhere,
        }
    }
}

/// The pairs of a query or a form.
fn pairs(text: &str) -> Vec<(String, String)> {
    let words = text.split('&').filter(|word| !word.is_empty()).take(PAIRS_MAX);
    let read = |word: &str| {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        (percent::form_decoded_lossy(name), percent::form_decoded_lossy(value))
    };
    words.map(read).collect()
}

/// The address of the page of what lies in the folder `path`.
pub(crate) fn show(path: &str) -> String {
    format!("/show?path={}", percent::form_encoded(path))
}

/// The address of the trend of a series.
pub(crate) fn trend(series: &str) -> String {
    format!("/trend?series={}", percent::form_encoded(series))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_where_they_say() {
        let show = Route::of("/show", "path=a%2Fb+c%26%3Cscript%3E");
        assert_eq!(show, Route::Show("a/b c&<script>".into()));
        let two = Route::of("/compare", "run=a&x=1&run=b&run");
        assert_eq!(two, Route::Compare(vec!["a".into(), "b".into(), String::new()]));
        for path in ["/nowhere", "", "//", "/show/", "/../etc/passwd", "/%2e%2e"] {
            assert_eq!(Route::of(path, ""), Route::Nowhere, "{path}");
        }
        assert_eq!(Route::of("/job", "id=x"), Route::Nowhere);
        assert_eq!(Route::of("/job", "id=7"), Route::Job(7));
    }

    #[test]
    fn addresses_are_read_as_they_were_made() {
        for path in ["a/b", "x y&z=1#?", "<script>", "ü", "%41"] {
            let address = super::show(path);
            let (at, query) = address.split_once('?').unwrap();
            assert_eq!(Route::of(at, query), Route::Show(path.into()), "{address}");
        }
    }

    #[test]
    fn forms_are_read_and_nothing_is_changed_elsewhere() {
        assert_eq!(Change::of("/session", "secret=a%2Bb"), Change::LogOn("a+b".into()));
        let begun = Change::of("/work/checkup", "landscape=&for=2s");
        assert_eq!(begun, Change::StartCheckup { landscape: None, length: "2s".into() });
        assert_eq!(Change::of("/", "secret=a"), Change::Nowhere);
        assert_eq!(Change::of("/work/stop", "id="), Change::Nowhere);
    }
}

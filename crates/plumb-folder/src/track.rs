//! What a machine did over a run, thinned to what a chart shows.

/// The figures of a track, in the order of their places in [`TrackPlace::values`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// Processors that were not idle and did not wait for disks, percent of all.
    Busy,
    /// Soft interrupts, percent of all processors.
    SoftInterrupts,
    /// Waiting for disks, percent of all processors.
    DiskWait,
    /// Taken by the hypervisor, percent of all processors.
    Steal,
    /// Received over all interfaces, loopback included, bytes a second.
    Received,
    /// Sent over all interfaces, loopback included, bytes a second.
    Sent,
    /// Pages swapped in and out, a second.
    Swapped,
    /// Faults that had to wait for a disk, a second.
    MajorFaults,
    /// TCP segments sent again, a second.
    SentAgain,
}

/// How many counters there are, and how many of them are counts in the file.
pub(crate) const COUNTERS: usize = 9;
pub(crate) const COUNTS: usize = 3;

/// One place of a track: the mean of one sample, or of several neighbours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrackPlace {
    /// Start of what it covers, seconds after the start of the run.
    pub from_s: f64,
    /// Its end.
    pub to_s: f64,
    /// The mean over that time of each [`Counter`]; not a number where it was not recorded.
    pub values: [f64; COUNTERS],
}

/// What one machine did over a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostTrack {
    /// The machine, as its file is called.
    pub name: String,
    /// In order of time.
    pub places: Vec<TrackPlace>,
    /// Samples that one place joins; 1 when every sample has its own.
    pub joined: usize,
}

impl HostTrack {
    /// The values of a counter, a place each.
    #[must_use]
    pub fn of(&self, counter: Counter) -> Vec<f64> {
        self.places.iter().map(|place| place.values[counter as usize]).collect()
    }
}

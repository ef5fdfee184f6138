//! What a user's operation passes on its way.

use serde::Serialize;

/// Elements of a landscape at most, pools and what is inside them together.
const ELEMENTS_MAX: usize = 64;
/// Pools inside each other at most.
const DEPTH_MAX: usize = 4;
/// Servers of a station and places of a pool at most.
pub const PLACES_MAX: u32 = 100_000;

/// Why a landscape cannot be computed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LandscapeError {
    /// Nothing in it.
    #[error("a landscape needs at least one station")]
    Empty,
    /// Too many elements, or pools inside too many others.
    #[error("a landscape has at most {ELEMENTS_MAX} elements, and pools at most {DEPTH_MAX} deep")]
    Large,
    /// Two elements of one name.
    #[error("two elements are called `{0}`: give each a name of its own")]
    Twice(String),
    /// A time that cannot be one.
    #[error("the service time or variation of `{0}` is negative, infinite or no number")]
    Time(String),
    /// No server, or too many.
    #[error("`{0}` must have from 1 to {PLACES_MAX} servers or places")]
    Places(String),
    /// Other work that leaves nothing, or is none of shared processors.
    #[error(
        "what runs without any load keeps all of `{0}` busy, so that nothing is left for operations: \
         give it more"
    )]
    Background(String),
}

/// The elements that an operation passes, in this order.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Landscape {
    /// The elements.
    pub elements: Vec<Element>,
}

/// A station, or a pool with what is done while one of its places is held.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Element {
    /// Work or a delay.
    Station(Station),
    /// A place that is held meanwhile.
    Pool(Pool),
}

/// Where an operation is worked on, or takes time without anybody's work.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Station {
    /// Its name.
    pub name: String,
    /// Who does the work.
    pub servers: Servers,
    /// Work of one operation, seconds of one server; of a delay, its length.
    pub service_s: f64,
    /// Variance of that over the square of its mean: 0 constant, 1 exponential.
    pub variation: f64,
    /// Of shared processors, so many as other work keeps busy all the time; of others 0.
    #[serde(skip_serializing_if = "is_none")]
    pub background: f64,
}

impl Station {
    /// Servers or processors; 1 of a delay.
    #[must_use]
    pub fn places(&self) -> u32 {
        match self.servers {
            Servers::Delay => 1,
            Servers::Queue(places) | Servers::Shared(places) => places,
        }
    }

    /// Those that other work leaves to operations.
    #[must_use]
    pub fn free(&self) -> f64 {
        f64::from(self.places()) - self.background
    }

    /// Seconds that an operation takes here when it is alone: longer than its work where less than
    /// one processor is left to it.
    #[must_use]
    pub fn alone_s(&self) -> f64 {
        match self.servers {
            Servers::Shared(_) => self.service_s / self.free().min(1.0),
            Servers::Delay | Servers::Queue(_) => self.service_s,
        }
    }

    /// Share of the servers that is busy when so many operations a second are done.
    #[must_use]
    pub fn busy_share(&self, rate_per_s: f64) -> f64 {
        (rate_per_s * self.service_s + self.background) / f64::from(self.places())
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_none(background: &f64) -> bool {
    *background <= 0.0
}

/// Who does the work of a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Servers {
    /// Nobody: a delay that is the same however many users are there.
    Delay,
    /// So many servers with one queue, first come, first served.
    Queue(u32),
    /// So many processors, shared evenly by all that is to be done.
    Shared(u32),
}

/// Places of which an operation holds one while it passes what is inside: work processes,
/// connections of a pool, threads.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pool {
    /// Its name.
    pub name: String,
    /// Its places.
    pub size: u32,
    /// Operations that may wait for a place; without a limit `None`. Only a simulation knows of it:
    /// the analytic model lets everybody wait.
    pub queue: Option<u32>,
    /// What is passed while a place is held.
    pub inside: Vec<Element>,
}

/// What can be made larger.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Resource {
    /// Its name.
    pub name: String,
    /// Servers, processors or places.
    pub places: u32,
    /// Those that other work leaves to operations.
    pub free: f64,
    /// Seconds for which an operation needs one of them when it is alone.
    pub held_s: f64,
    /// True of a pool.
    pub pool: bool,
}

impl Resource {
    /// Operations a second that it can do at most; infinite where it is not needed.
    #[must_use]
    pub fn rate_max_per_s(&self) -> f64 {
        self.free / self.held_s
    }
}

impl Element {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Station(station) => &station.name,
            Self::Pool(pool) => &pool.name,
        }
    }

    /// Seconds that an operation takes here when it is alone.
    #[must_use]
    pub fn alone_s(&self) -> f64 {
        match self {
            Self::Station(station) => station.alone_s(),
            Self::Pool(pool) => pool.inside.iter().map(Self::alone_s).sum(),
        }
    }
}

impl Landscape {
    /// Says what is wrong with it.
    ///
    /// # Errors
    /// [`LandscapeError`].
    pub fn check(&self) -> Result<(), LandscapeError> {
        if self.elements.is_empty() {
            return Err(LandscapeError::Empty);
        }
        let mut names = Vec::new();
        check(&self.elements, 0, &mut names)
    }

    /// Seconds that an operation takes when it is alone.
    #[must_use]
    pub fn alone_s(&self) -> f64 {
        self.elements.iter().map(Element::alone_s).sum()
    }

    /// What can be made larger: all pools and all stations that are no delays, in their order.
    #[must_use]
    pub fn resources(&self) -> Vec<Resource> {
        let mut found = Vec::new();
        resources(&self.elements, &mut found);
        found
    }

    /// Names of all stations and delays that take any time, in their order.
    #[must_use]
    pub fn stations(&self) -> Vec<String> {
        let mut found = Vec::new();
        stations(&self.elements, &mut found);
        found
    }

    /// The resource that is full first, and the operations a second at which it is; `None` where
    /// nothing has a limit.
    #[must_use]
    pub fn bottleneck(&self) -> Option<Resource> {
        let limited = self.resources().into_iter().filter(|it| it.held_s > 0.0);
        limited.min_by(|a, b| a.rate_max_per_s().total_cmp(&b.rate_max_per_s()))
    }

    /// The number of users at which the bottleneck is full if nobody ever waits: `(Z + R) X`, where
    /// `Z` is the think time, `R` the time of an operation that is alone and `X` what the bottleneck
    /// can do; beyond it waiting is all that grows.
    ///
    /// # Source
    /// Asymptotic bounds: Lazowska et al., Quantitative System Performance, 1984, chapter 5.
    #[must_use]
    pub fn knee_users(&self, think_s: f64) -> Option<f64> {
        self.bottleneck().map(|it| (think_s + self.alone_s()) * it.rate_max_per_s())
    }

    /// Gives the resource `name` so many `places`; false when there is none of that name, or it is
    /// a delay.
    pub fn resize(&mut self, name: &str, places: u32) -> bool {
        match find(&mut self.elements, name) {
            Some(Element::Pool(pool)) => {
                pool.size = places;
                true
            }
            Some(Element::Station(station)) => {
                station.servers = match station.servers {
                    Servers::Queue(_) => Servers::Queue(places),
                    Servers::Shared(_) => Servers::Shared(places),
                    Servers::Delay => return false,
                };
                true
            }
            None => false,
        }
    }

    /// The station `name`.
    pub fn station_mut(&mut self, name: &str) -> Option<&mut Station> {
        match find(&mut self.elements, name)? {
            Element::Station(station) => Some(station),
            Element::Pool(_) => None,
        }
    }

    /// The pool `name`.
    pub fn pool_mut(&mut self, name: &str) -> Option<&mut Pool> {
        match find(&mut self.elements, name)? {
            Element::Pool(pool) => Some(pool),
            Element::Station(_) => None,
        }
    }
}

fn check<'a>(
    elements: &'a [Element],
    depth: usize,
    names: &mut Vec<&'a str>,
) -> Result<(), LandscapeError> {
    for element in elements {
        let name = element.name();
        if names.contains(&name) {
            return Err(LandscapeError::Twice(name.into()));
        }
        names.push(name);
        if names.len() > ELEMENTS_MAX || depth > DEPTH_MAX {
            return Err(LandscapeError::Large);
        }
        match element {
            Element::Station(station) => check_station(station)?,
            Element::Pool(pool) => {
                check_places(name, pool.size)?;
                if pool.inside.is_empty() {
                    return Err(LandscapeError::Empty);
                }
                check(&pool.inside, depth + 1, names)?;
            }
        }
    }
    Ok(())
}

fn check_station(station: &Station) -> Result<(), LandscapeError> {
    let times = [station.service_s, station.variation];
    if times.iter().any(|it| !it.is_finite() || *it < 0.0) {
        return Err(LandscapeError::Time(station.name.clone()));
    }
    match station.servers {
        Servers::Delay => {}
        Servers::Queue(places) | Servers::Shared(places) => check_places(&station.name, places)?,
    }
    let shared = matches!(station.servers, Servers::Shared(_));
    let most = if shared { f64::from(station.places()) } else { f64::MIN_POSITIVE };
    // a number that is none lies in no range
    if (0.0..most).contains(&station.background) {
        Ok(())
    } else {
        Err(LandscapeError::Background(station.name.clone()))
    }
}

fn check_places(name: &str, places: u32) -> Result<(), LandscapeError> {
    if (1..=PLACES_MAX).contains(&places) {
        Ok(())
    } else {
        Err(LandscapeError::Places(name.into()))
    }
}

fn resources(elements: &[Element], found: &mut Vec<Resource>) {
    for element in elements {
        match element {
            Element::Station(Station { servers: Servers::Delay, .. }) => {}
            Element::Station(station) => found.push(Resource {
                name: station.name.clone(),
                places: station.places(),
                free: station.free(),
                held_s: station.service_s,
                pool: false,
            }),
            Element::Pool(pool) => {
                found.push(Resource {
                    name: pool.name.clone(),
                    places: pool.size,
                    free: f64::from(pool.size),
                    held_s: element.alone_s(),
                    pool: true,
                });
                resources(&pool.inside, found);
            }
        }
    }
}

fn stations(elements: &[Element], found: &mut Vec<String>) {
    for element in elements {
        match element {
            Element::Station(station) if station.service_s > 0.0 => {
                found.push(station.name.clone())
            }
            Element::Station(_) => {}
            Element::Pool(pool) => stations(&pool.inside, found),
        }
    }
}

fn find<'a>(elements: &'a mut [Element], name: &str) -> Option<&'a mut Element> {
    for element in elements {
        if element.name() == name {
            return Some(element);
        }
        if let Element::Pool(pool) = element
            && let Some(found) = find(&mut pool.inside, name)
        {
            return Some(found);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn station(name: &str, servers: Servers, service_s: f64) -> Element {
        let name = name.into();
        Element::Station(Station { name, servers, service_s, variation: 1.0, background: 0.0 })
    }

    fn shop() -> Landscape {
        let inside = vec![
            station("cores", Servers::Shared(4), 0.010),
            station("database", Servers::Delay, 0.030),
        ];
        let pool = Pool { name: "processes".into(), size: 10, queue: None, inside };
        Landscape { elements: vec![station("network", Servers::Delay, 0.001), Element::Pool(pool)] }
    }

    #[test]
    fn the_first_that_is_full_is_the_bottleneck() {
        let mut shop = shop();
        shop.check().unwrap();
        let full = shop.bottleneck().unwrap();
        assert_eq!((full.name.as_str(), full.pool), ("processes", true));
        assert!((full.rate_max_per_s() - 250.0).abs() < 1e-9);
        assert!((shop.knee_users(10.0).unwrap() - 10.041 * 250.0).abs() < 1e-6);
        assert!(shop.resize("processes", 20));
        assert_eq!(shop.bottleneck().unwrap().name, "cores");
        assert!(!shop.resize("database", 2) && !shop.resize("nothing", 2));
    }

    #[test]
    fn what_cannot_be_is_said_by_name() {
        assert_eq!(Landscape::default().check(), Err(LandscapeError::Empty));
        let mut twice = shop();
        twice.elements.push(station("cores", Servers::Queue(1), 0.1));
        assert_eq!(twice.check(), Err(LandscapeError::Twice("cores".into())));
        let mut none = shop();
        none.resize("processes", 0);
        assert_eq!(none.check(), Err(LandscapeError::Places("processes".into())));
        let mut time = shop();
        time.station_mut("cores").unwrap().service_s = f64::NAN;
        assert_eq!(time.check(), Err(LandscapeError::Time("cores".into())));
        for (name, background) in
            [("cores", 4.0), ("cores", -0.1), ("cores", f64::NAN), ("network", 0.1)]
        {
            let mut busy = shop();
            busy.station_mut(name).unwrap().background = background;
            assert_eq!(busy.check(), Err(LandscapeError::Background(name.into())));
        }
    }

    #[test]
    fn what_other_work_takes_is_left_to_nobody() {
        let mut shop = shop();
        shop.resize("processes", 100);
        shop.station_mut("cores").unwrap().background = 1.0;
        shop.check().unwrap();
        let full = shop.bottleneck().unwrap();
        assert_eq!((full.name.as_str(), full.places), ("cores", 4));
        assert!((full.rate_max_per_s() - 300.0).abs() < 1e-9);
        assert!((shop.alone_s() - 0.041).abs() < 1e-9);
        // of less than one processor, whoever is alone has that much as well
        shop.station_mut("cores").unwrap().background = 3.5;
        assert!((shop.alone_s() - 0.051).abs() < 1e-9);
        assert!((shop.bottleneck().unwrap().rate_max_per_s() - 50.0).abs() < 1e-9);
    }
}

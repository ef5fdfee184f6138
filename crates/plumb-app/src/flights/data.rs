//! The reads of the service, from the database here or through the back end.

use plumb_engine::clock::MonotonicClock;
use plumb_measure::Clock as _;
use plumb_wire::percent::encoded;

use crate::answer::Failure;
use crate::database::{Row, Value, wait};
use crate::step::Step;

/// One read, which the back end knows by the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Data {
    /// Every flight with its connection.
    Flights,
    /// The flights of a carrier with their connections.
    FlightsOf(String),
    /// A flight with its connection: carrier, connection, `YYYY-MM-DD`.
    Flight([String; 3]),
    /// Every flight without its connection.
    FlightRows,
    /// A flight without its connection.
    FlightRow([String; 3]),
    /// A connection.
    Connection([String; 2]),
    /// Every carrier.
    Carriers,
    /// A carrier.
    Carrier(String),
}

const FLIGHT: &str = "SELECT f.carrid, f.connid, f.fldate, f.price, f.currency, f.planetype, \
    f.seatsmax, f.seatsocc, f.paymentsum, f.seatsmax_b, f.seatsocc_b, f.seatsmax_f, f.seatsocc_f";
const CONNECTION: &str = "c.countryfr, c.cityfrom, c.airpfrom, c.countryto, c.cityto, c.airpto, \
    c.fltime, c.deptime, c.arrtime, c.distance, c.distid, c.fltype, c.period";
const BOTH: &str = "FROM flight f JOIN connection c ON c.carrid = f.carrid AND c.connid = f.connid";
const ORDER: &str = "ORDER BY f.carrid, f.connid, f.fldate";
const CARRIER: &str = "SELECT carrid, carrname, currcode, url FROM carrier";

impl Data {
    /// The rows, from wherever the data of this server lies.
    ///
    /// # Errors
    /// [`Failure`] when the database or the back end fails.
    pub(crate) fn read(&self, step: &mut Step<'_>) -> Result<Vec<Row>, Failure> {
        match &step.services.backend {
            Some(backend) => {
                step.database.rest();
                let began_ns = MonotonicClock.now_ns();
                let trace = step.asked.request.header("traceparent");
                let found = backend.rows(&self.path(), trace, &mut step.called.told);
                step.called.ns += MonotonicClock.now_ns().saturating_sub(began_ns);
                found
            }
            None => self.read_here(step),
        }
    }

    /// The rows from the database of this server.
    ///
    /// # Errors
    /// [`Failure`] when the database fails, or the configuration says that this flight does.
    pub(crate) fn read_here(&self, step: &mut Step<'_>) -> Result<Vec<Row>, Failure> {
        self.fail_as_configured(step)?;
        let (statement, values) = self.statement();
        Ok(step.database.rows(&statement, &values)?)
    }

    /// Fails, after the time that is set, for a flight that `flights.failing` names.
    fn fail_as_configured(&self, step: &mut Step<'_>) -> Result<(), Failure> {
        let (Self::Flight(key) | Self::FlightRow(key)) = self else { return Ok(()) };
        let (flights, key) = (&step.services.flights, key.join("/"));
        if !flights.failing.contains(&key) {
            return Ok(());
        }
        if let Some(time) = flights.failing_wait {
            wait(step.database, time)?;
        }
        let status = hyper::StatusCode::INTERNAL_SERVER_ERROR;
        Err(Failure::new(status, format!("flight {key} fails, as flights.failing says")))
    }

    fn statement(&self) -> (String, Vec<Value>) {
        let key = "WHERE f.carrid = $1 AND f.connid = $2 AND f.fldate = $3";
        let statement = match self {
            Self::Flights => format!("{FLIGHT}, {CONNECTION} {BOTH} {ORDER}"),
            Self::FlightsOf(_) => {
                format!("{FLIGHT}, {CONNECTION} {BOTH} WHERE f.carrid = $1 {ORDER}")
            }
            Self::Flight(_) => format!("{FLIGHT}, {CONNECTION} {BOTH} {key}"),
            Self::FlightRows => format!("{FLIGHT} FROM flight f {ORDER}"),
            Self::FlightRow(_) => format!("{FLIGHT} FROM flight f {key}"),
            Self::Connection(_) => {
                format!(
                    "SELECT {CONNECTION} FROM connection c WHERE c.carrid = $1 AND c.connid = $2"
                )
            }
            Self::Carriers => format!("{CARRIER} ORDER BY carrid"),
            Self::Carrier(_) => format!("{CARRIER} WHERE carrid = $1"),
        };
        (statement, self.words().iter().map(|word| word.as_str().into()).collect())
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Flights => "flights",
            Self::FlightsOf(_) => "flights-of",
            Self::Flight(_) => "flight",
            Self::FlightRows => "flight-rows",
            Self::FlightRow(_) => "flight-row",
            Self::Connection(_) => "connection",
            Self::Carriers => "carriers",
            Self::Carrier(_) => "carrier",
        }
    }

    fn words(&self) -> &[String] {
        match self {
            Self::Flights | Self::FlightRows | Self::Carriers => &[],
            Self::FlightsOf(id) | Self::Carrier(id) => std::slice::from_ref(id),
            Self::Connection(key) => key,
            Self::Flight(key) | Self::FlightRow(key) => key,
        }
    }

    /// The path of this read at the back end.
    fn path(&self) -> String {
        let words: String = self.words().iter().map(|word| format!("/{}", encoded(word))).collect();
        format!("/rest/flights/data/{}{words}", self.name())
    }

    /// The read that the back end is asked for by `words`.
    pub(crate) fn from_words(name: &str, words: Vec<String>) -> Option<Self> {
        let read = match name {
            "flights" if words.is_empty() => Self::Flights,
            "flight-rows" if words.is_empty() => Self::FlightRows,
            "carriers" if words.is_empty() => Self::Carriers,
            "flights-of" => Self::FlightsOf(only(words)?),
            "carrier" => Self::Carrier(only(words)?),
            "connection" => Self::Connection(words.try_into().ok()?),
            "flight" => Self::Flight(words.try_into().ok()?),
            "flight-row" => Self::FlightRow(words.try_into().ok()?),
            _ => return None,
        };
        Some(read)
    }
}

fn only(words: Vec<String>) -> Option<String> {
    let [word]: [String; 1] = words.try_into().ok()?;
    Some(word)
}

#[cfg(test)]
mod tests {
    use plumb_wire::percent::decoded;

    use super::*;

    #[test]
    fn the_back_end_understands_every_read() {
        let key = ["AA", "0017", "2011-06-01"].map(str::to_owned);
        for read in [
            Data::Flights,
            Data::FlightsOf("LH".into()),
            Data::Flight(key.clone()),
            Data::FlightRows,
            Data::FlightRow(key),
            Data::Connection(["A/".into(), "0017".into()]),
            Data::Carriers,
            Data::Carrier("a b".into()),
        ] {
            let path = read.path();
            let mut words = path.strip_prefix("/rest/flights/data/").unwrap().split('/');
            let name = words.next().unwrap();
            let words = words.map(|word| decoded(word).unwrap().into_owned()).collect();
            assert_eq!(Data::from_words(name, words), Some(read));
        }
        assert_eq!(Data::from_words("flight", vec!["AA".into()]), None);
    }
}

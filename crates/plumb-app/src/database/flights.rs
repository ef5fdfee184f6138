//! The flights: 16 connections on 25 days, the same on every machine.

use plumb_measure::statistics::SplitMix64;

use super::Value;

/// Carrier, name, currency, page.
pub(super) const CARRIERS: [[&str; 4]; 8] = [
    ["AA", "American Airlines", "USD", "http://www.aa.com"],
    ["AZ", "Alitalia", "EUR", "http://www.alitalia.it"],
    ["DL", "Delta Airlines", "USD", "http://www.delta-air.com"],
    ["JL", "Japan Airlines", "JPY", "http://www.jal.co.jp"],
    ["LH", "Lufthansa", "EUR", "http://www.lufthansa.com"],
    ["QF", "Qantas Airways", "AUD", "http://www.qantas.com.au"],
    ["SQ", "Singapore Airlines", "SGD", "http://www.singaporeair.com"],
    ["UA", "United Airlines", "USD", "http://www.ual.com"],
];

struct Connection {
    key: [&'static str; 2],
    from: [&'static str; 3],
    to: [&'static str; 3],
    minutes: i64,
    departure: &'static str,
    arrival: &'static str,
    distance: i64,
    price: i64,
    plane: usize,
    /// Days from the day of departure to that of arrival.
    days_later: u8,
}

const fn connection(
    key: [&'static str; 2],
    from: [&'static str; 3],
    to: [&'static str; 3],
    (minutes, departure, arrival): (i64, &'static str, &'static str),
    (distance, price, plane, days_later): (i64, i64, usize, u8),
) -> Connection {
    Connection { key, from, to, minutes, departure, arrival, distance, price, plane, days_later }
}

const NEW_YORK: [&str; 3] = ["US", "NEW YORK", "JFK"];
const SAN_FRANCISCO: [&str; 3] = ["US", "SAN FRANCISCO", "SFO"];
const FRANKFURT: [&str; 3] = ["DE", "FRANKFURT", "FRA"];
const BERLIN: [&str; 3] = ["DE", "BERLIN", "TXL"];
const ROME: [&str; 3] = ["IT", "ROME", "FCO"];
const TOKYO: [&str; 3] = ["JP", "TOKYO", "NRT"];
const SINGAPORE: [&str; 3] = ["SG", "SINGAPORE", "SIN"];

/// Times are of the clock on the wall at each end; distances in kilometres; prices in hundredths.
const CONNECTIONS: [Connection; 16] = [
    connection(
        ["AA", "0017"],
        NEW_YORK,
        SAN_FRANCISCO,
        (361, "11:00:00", "14:01:00"),
        (4139, 42_294, 0, 0),
    ),
    connection(
        ["AA", "0064"],
        SAN_FRANCISCO,
        NEW_YORK,
        (321, "09:00:00", "17:21:00"),
        (4139, 42_294, 1, 0),
    ),
    connection(["AZ", "0555"], ROME, FRANKFURT, (125, "19:00:00", "21:05:00"), (965, 18_500, 2, 0)),
    connection(["AZ", "0788"], ROME, TOKYO, (775, "12:00:00", "08:55:00"), (9888, 103_000, 3, 1)),
    connection(
        ["DL", "0106"],
        NEW_YORK,
        FRANKFURT,
        (475, "19:35:00", "09:30:00"),
        (6204, 61_134, 1, 1),
    ),
    connection(
        ["DL", "1699"],
        NEW_YORK,
        SAN_FRANCISCO,
        (382, "17:15:00", "20:37:00"),
        (4139, 42_294, 0, 0),
    ),
    connection(
        ["JL", "0407"],
        TOKYO,
        FRANKFURT,
        (725, "13:30:00", "17:35:00"),
        (9367, 106_136, 3, 0),
    ),
    connection(
        ["JL", "0408"],
        FRANKFURT,
        TOKYO,
        (675, "20:25:00", "15:40:00"),
        (9367, 106_136, 3, 1),
    ),
    connection(
        ["LH", "0400"],
        FRANKFURT,
        NEW_YORK,
        (444, "10:10:00", "11:34:00"),
        (6204, 66_600, 4, 0),
    ),
    connection(
        ["LH", "0401"],
        NEW_YORK,
        FRANKFURT,
        (435, "18:30:00", "07:45:00"),
        (6204, 66_600, 4, 1),
    ),
    connection(
        ["LH", "2402"],
        FRANKFURT,
        BERLIN,
        (65, "10:30:00", "11:35:00"),
        (546, 24_200, 2, 0),
    ),
    connection(
        ["QF", "0005"],
        SINGAPORE,
        FRANKFURT,
        (825, "22:50:00", "05:35:00"),
        (10_281, 124_000, 3, 1),
    ),
    connection(
        ["SQ", "0002"],
        SINGAPORE,
        SAN_FRANCISCO,
        (1125, "17:00:00", "18:25:00"),
        (14_163, 149_000, 3, 0),
    ),
    connection(
        ["SQ", "0988"],
        SINGAPORE,
        TOKYO,
        (400, "16:35:00", "00:15:00"),
        (5374, 85_400, 4, 1),
    ),
    connection(
        ["UA", "0941"],
        FRANKFURT,
        SAN_FRANCISCO,
        (696, "14:30:00", "17:06:00"),
        (9100, 87_900, 3, 0),
    ),
    connection(
        ["UA", "3516"],
        NEW_YORK,
        FRANKFURT,
        (420, "16:20:00", "05:20:00"),
        (6204, 61_134, 1, 1),
    ),
];

/// Plane, seats in economy, business and first class.
const PLANES: [(&str, [i64; 3]); 5] = [
    ("747-400", [385, 31, 21]),
    ("767-200", [260, 21, 11]),
    ("A319-100", [120, 8, 8]),
    ("A380-800", [475, 30, 20]),
    ("A340-600", [330, 30, 20]),
];

const DAYS: u64 = 25;
/// 2011-06-01, days since 1970-01-01, and the days from one flight to the next.
const FIRST_DAY: u64 = 15_126;
const EVERY_DAYS: u64 = 14;

/// Rows of `connection`.
pub(super) fn connections() -> impl Iterator<Item = Vec<Value>> {
    CONNECTIONS.iter().map(|it| {
        let mut row: Vec<Value> =
            [it.key.as_slice(), &it.from, &it.to].concat().into_iter().map(Value::from).collect();
        row.extend([
            Value::Int(it.minutes),
            it.departure.into(),
            it.arrival.into(),
            Value::Int(it.distance),
            "KM".into(),
            "".into(), // scheduled, as all of these are
            Value::Int(i64::from(it.days_later)),
        ]);
        row
    })
}

/// Rows of `flight`, in the order of their keys.
pub(super) fn flights() -> impl Iterator<Item = Vec<Value>> {
    CONNECTIONS.iter().enumerate().flat_map(|(line, it)| {
        (0..DAYS).map(move |number| {
            let mut random = SplitMix64::new((line as u64) << 32 | number);
            let (plane, seats) = PLANES[it.plane];
            let taken = seats.map(|seats| up_to(&mut random, seats));
            let [economy, business, first] = taken;
            let paid = it.price * (economy + 2 * business + 3 * first);
            let currency = CARRIERS.iter().find(|carrier| carrier[0] == it.key[0]);
            vec![
                it.key[0].into(),
                it.key[1].into(),
                Value::Text(day(FIRST_DAY + EVERY_DAYS * number)),
                Value::Int(it.price),
                currency.map_or("EUR", |carrier| carrier[2]).into(),
                plane.into(),
                Value::Int(seats[0]),
                Value::Int(economy),
                Value::Int(paid),
                Value::Int(seats[1]),
                Value::Int(business),
                Value::Int(seats[2]),
                Value::Int(first),
            ]
        })
    })
}

/// `YYYY-MM-DD` of a day since 1970-01-01.
fn day(since_1970: u64) -> String {
    let seconds = i64::try_from(since_1970 * 86_400).unwrap_or(0);
    let moment = jiff::Timestamp::from_second(seconds).unwrap_or_default();
    moment.strftime("%Y-%m-%d").to_string()
}

/// A number from 0 to `most` that looks drawn.
fn up_to(random: &mut SplitMix64, most: i64) -> i64 {
    let range = u64::try_from(most).unwrap_or(0) + 1;
    i64::try_from(random.next_u64() % range).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_four_hundred_flights_with_keys_of_their_own() {
        let mut keys: Vec<_> = flights().map(|row| format!("{:?}", &row[..3])).collect();
        assert_eq!(keys.len(), 400);
        let in_order = keys.is_sorted();
        keys.sort();
        keys.dedup();
        assert_eq!((keys.len(), in_order), (400, true));
        assert_eq!(flights().next().unwrap()[2], Value::from("2011-06-01"));
    }

    #[test]
    fn no_flight_is_fuller_than_its_plane() {
        let number = |value: &Value| match value {
            Value::Int(number) => *number,
            other => panic!("{other:?} is no number"),
        };
        for row in flights() {
            for seats in [6, 9, 11] {
                let (most, taken) =
                    (number(&row[seats]), number(&row[if seats == 6 { 7 } else { seats + 1 }]));
                assert!((0..=most).contains(&taken), "{row:?}");
            }
        }
    }
}

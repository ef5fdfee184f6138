//! How fast the model and the simulation are: `cargo run --release -p plumb-size --example events`.
//! Measure with `time`, by user time.
//!
//! Without words: a ladder of 12 steps and 8 stations, a thousand times. With a number of users: ten
//! minutes of as many users who think for 10 s, against a pool of work processes.

use std::error::Error;

use plumb_size::analysis::Analysis;
use plumb_size::landscape::{Element, Landscape, Pool, Servers, Station};
use plumb_size::simulation::{Load, Patience, Plan};

fn main() -> Result<(), Box<dyn Error>> {
    match std::env::args().nth(1) {
        None => ladders(),
        Some(users) => simulation(users.parse()?),
    }
}

fn station(name: &str, servers: Servers, service_s: f64) -> Element {
    let name = name.into();
    Element::Station(Station { name, servers, service_s, variation: 1.0, background: 0.0 })
}

#[expect(clippy::print_stdout, reason = "an example for whoever runs it")]
fn ladders() -> Result<(), Box<dyn Error>> {
    let stations = (1..=8_u32)
        .map(|at| station(&format!("station {at}"), Servers::Queue(at * 2), 0.004 * f64::from(at)));
    let landscape = Landscape { elements: stations.collect() };
    let mut sum = 0.0;
    for _ in 0..1_000 {
        let solved = Analysis::of(&landscape, 1.0, 600)?;
        for step in 1..=12 {
            sum += solved.at(step * 50).p95_s;
        }
    }
    println!("1,000 ladders of 12 steps and 8 stations; the sum of their p95 is {sum:.3} s");
    Ok(())
}

#[expect(clippy::print_stdout, reason = "an example for whoever runs it")]
fn simulation(users: u32) -> Result<(), Box<dyn Error>> {
    // as many processors and places as keep them busy for about two thirds of the time
    let rate = users / 10;
    let cores = (rate * 2 / 1_000 * 3 / 2).max(1);
    let inside = vec![
        station("cores", Servers::Shared(cores), 0.002),
        station("database", Servers::Queue(cores), 0.002),
    ];
    let pool = Pool { name: "processes".into(), size: cores * 3, queue: None, inside };
    let plan = Plan {
        landscape: Landscape { elements: vec![Element::Pool(pool)] },
        load: Load::Closed { users, think_s: 10.0, variation: 1.0 },
        for_s: 540.0,
        warm_up_s: 60.0,
        patience: Patience::default(),
        sessions: None,
        bursts: None,
        seed: 1,
    };
    let found = plan.simulate()?;
    println!("{} events, {} operations", found.events, found.operations);
    println!("{found:?}");
    Ok(())
}

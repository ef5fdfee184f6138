use std::num::NonZeroU32;

use proptest::prelude::*;

use super::*;
use crate::{Distribution, Histogram};

fn stamps(called: u64, sent: u64, received: u64, woken: u64) -> MessageStamps {
    MessageStamps {
        called,
        sent: Some(sent),
        received: Some(received),
        woken,
        by_interface_ns: None,
    }
}

const START: u64 = 1_700_000_000_000_000_000;

fn moments(sent: u64, service_ns: u64) -> Moments {
    Moments { due: sent, sent, first: sent + service_ns, last: sent + service_ns }
}

#[test]
fn a_message_is_the_sum_of_its_parts() {
    let parts =
        RoundTripParts::of(57_060, stamps(START, START + 4_000, START + 40_000, START + 57_000));
    let parts = parts.unwrap();
    assert_eq!((parts.sending_ns, parts.away_ns, parts.waking_ns), (4_060, 36_000, 17_000));
    assert_eq!(parts.sending_ns + parts.away_ns + parts.waking_ns, 57_060);
}

#[test]
fn what_is_away_is_by_the_clock_of_the_interface_where_it_has_one() {
    let all = stamps(START, START + 4_000, START + 40_000, START + 57_000);
    let of = |ns| RoundTripParts::of(57_000, MessageStamps { by_interface_ns: Some(ns), ..all });
    let by_interface = RoundTripParts {
        sending_ns: 4_000,
        away_ns: 30_000,
        waking_ns: 23_000,
        by_interface: true,
    };
    assert_eq!(of(30_000), Ok(by_interface));
    // packets are within their stamps of the kernel: a clock that says otherwise is not believed
    let by_kernel =
        RoundTripParts { away_ns: 36_000, waking_ns: 17_000, by_interface: false, ..by_interface };
    assert_eq!(of(36_001), Ok(by_kernel));
    let mut times = RoundTripTimes::default();
    times.record(moments(0, 57_000), by_interface, ServerHalf::Unknown).unwrap();
    let clock = |times: &RoundTripTimes| RoundTrip::of(times, one_in(1), None).unwrap().clock;
    assert_eq!(clock(&times), "hardware");
    let mut both = RoundTripTimes::default();
    both.record(moments(0, 57_000), by_kernel, ServerHalf::Unknown).unwrap();
    both.merge(&times);
    assert_eq!(clock(&both), "software", "unless it is that of all");
}

#[test]
fn what_cannot_be_is_left_out_with_its_reason() {
    let at = |called: u64, sent: u64, received: u64, woken: u64| {
        RoundTripParts::of(
            57_000,
            stamps(START + called, START + sent, START + received, START + woken),
        )
    };
    let whole = stamps(START, START + 1, START + 2, START + 57_000);
    let of = |stamps| RoundTripParts::of(57_000, stamps);
    assert_eq!(of(MessageStamps { sent: None, ..whole }), Err(Unsplit::NotSent));
    assert_eq!(of(MessageStamps { received: None, ..whole }), Err(Unsplit::NotReceived));
    // the clock was set forwards or back, before a packet left, meanwhile, or before the program woke
    for step in [50_000, 1_000_000_000] {
        assert_eq!(at(0, 4_000 + step, 40_000 + step, 57_000 + step), Err(Unsplit::Clock));
        assert_eq!(at(0, 4_000, 40_000 + step, 57_000 + step), Err(Unsplit::Clock));
        assert_eq!(at(0, 4_000, 40_000, 57_000 + step), Err(Unsplit::Clock));
        assert_eq!(at(step, 4_000, 40_000, 57_000), Err(Unsplit::Clock));
    }
    assert_eq!(at(0, 40_000, 4_000, 57_000), Err(Unsplit::Clock));
}

#[test]
fn a_server_cannot_have_a_message_for_longer_than_it_was_away() {
    let parts = RoundTripParts { sending_ns: 4, away_ns: 36, waking_ns: 17, by_interface: false };
    let told = Residence { waking_ns: 12, work_ns: 20, sending_ns: 4 };
    let mut times = RoundTripTimes::default();
    assert_eq!(times.record(moments(0, 57), parts, ServerHalf::Told(told)), Ok(()));
    let longer = Residence { work_ns: 21, ..told };
    assert_eq!(times.record(moments(0, 57), parts, ServerHalf::Told(longer)), Err(Unsplit::Clock));
    assert_eq!(times.row.response.count(), 1);
}

fn one_in(n: u32) -> NonZeroU32 {
    NonZeroU32::new(n).unwrap()
}

/// A hundred messages of which the last ten waited at the server.
fn recorded(told: impl Fn(Residence) -> ServerHalf) -> RoundTripTimes {
    let mut times = RoundTripTimes::default();
    for n in 0..100 {
        let waiting_ns = if n < 90 { 12_000 } else { 500_000 };
        let residence = Residence { waking_ns: waiting_ns, work_ns: 2_000, sending_ns: 1_000 };
        let away_ns = 21_000 + residence.total_ns();
        let parts =
            RoundTripParts { sending_ns: 4_000, away_ns, waking_ns: 17_000, by_interface: false };
        let moments = moments(n * 100_000_000, 21_000 + away_ns);
        times.record(moments, parts, told(residence)).unwrap();
    }
    times
}

#[test]
fn a_stamp_costs_what_shows_beside_all_messages() {
    let of = |usual: u64, others: u64| {
        let mut times = Histogram::new();
        times.record_n(usual, 6_000);
        times.record_n(others, 4_000);
        Distribution::of(&times).unwrap()
    };
    let stamped = recorded(ServerHalf::Told); // 57 us, a tenth of them 545 us
    let costs =
        |all: &Distribution| RoundTrip::of(&stamped, one_in(64), Some(all)).unwrap().stamp_costs_ns;
    assert!(costs(&of(55_000, 54_000)).is_some_and(|ns| ns.abs_diff(2_000) < 200));
    assert_eq!(costs(&of(58_000, 58_000)), None, "none is below nothing");
    let mut mixed = RoundTripTimes::default();
    for n in 0..64 {
        let away_ns = if n % 2 == 0 { 40_000 } else { 7_000_000 };
        let parts =
            RoundTripParts { sending_ns: 4_000, away_ns, waking_ns: 17_000, by_interface: false };
        mixed
            .record(moments(n * 100_000_000, 21_000 + away_ns), parts, ServerHalf::Unknown)
            .unwrap();
    }
    let all = of(61_000, 7_021_000);
    assert_eq!(RoundTrip::of(&mixed, one_in(64), Some(&all)).unwrap().stamp_costs_ns, None);
}

#[test]
fn means_add_up_and_the_slowest_are_told_apart() {
    let times = recorded(ServerHalf::Told);
    let all = Distribution::of(&times.row.response);
    let trip = RoundTrip::of(&times, one_in(64), all.as_ref()).unwrap();
    let sum: i64 = trip.account.parts.iter().map(|part| part.time.mean_ns).sum();
    assert_eq!(sum, trip.account.client.mean_ns);
    assert_eq!(trip.mean_ns(PartKind::Wire), Some(21_000));
    assert_eq!(trip.mean_ns(PartKind::ServerWaking), Some(60_800));
    assert!(trip.server_told && trip.stamp_costs_ns.is_none(), "it does not show");
    let slowest = trip.slowest.clone().unwrap();
    assert_eq!(slowest.client.count, 10, "the band of the slowest");
    let sum: i64 = slowest.parts.iter().map(|part| part.time.mean_ns).sum();
    assert_eq!(sum, slowest.client.mean_ns);
    let waking = slowest.parts.iter().find(|part| part.kind == PartKind::ServerWaking);
    assert_eq!(waking.unwrap().time.mean_ns, 500_000);
    assert!(trip.account.cannot_be_split.is_none() && trip.account.account().is_ok());
    assert_eq!(trip.account.percentiles.len(), 2, "p50 and p95 of a hundred");
    let text = serde_json::to_string(&trip).unwrap();
    assert_eq!(serde_json::from_str::<RoundTrip>(&text).unwrap(), trip);
}

#[test]
fn a_line_says_whose_the_time_is() {
    let trip =
        |of: fn(Residence) -> ServerHalf| RoundTrip::of(&recorded(of), one_in(64), None).unwrap();
    let means = |of| RoundTripMeans::of(&trip(of)).unwrap();
    let untold = |_| ServerHalf::Unknown;
    let told = means(ServerHalf::Told);
    assert_eq!(told.line(), "client 4.0 + 17.0 us, wire 21.0, server 60.8 + 3.0");
    let found = told.finding();
    // the whole is no mean of all messages, and says so
    assert!(
        found.starts_with(
            "77.8 us of 106 us, the mean of the round trips with time stamps, are waking"
        ),
        "{found}"
    );
    assert!(found.contains("plumb host idle") && found.contains("the wire 21.0 us"), "{found}");
    assert!(
        found.ends_with("sending on both machines 5.00 us, the server's own work 2.00 us."),
        "{found}"
    );
    let line = "client 4.0 + 17.0 us, away 84.8 (the server tells nothing)";
    assert_eq!(means(untold).line(), line);
    assert!(means(untold).finding().contains("does not tell"));
    let legend = trip(untold).legend();
    assert!(legend.contains("100 messages, one in 64"), "{legend}");
    let says = |told: Residence| ServerHalf::Said(told.work_ns);
    let line = "client 4.0 + 17.0 us, away 82.8, server 2.0 (by its own account)";
    assert_eq!(means(says).line(), line);
    assert!(means(says).finding().contains("worked for 2.00 us by its own account"));
    assert!(trip(says).legend().contains("what it says that it worked"));
    let costs = |ns| RoundTripMeans { stamp_costs_ns: Some(ns), ..told };
    let said = "At the median a stamped message takes 72 ns";
    assert_eq!(costs(-72).stamp_cost(), Some(format!("{said} less than all do.")));
    assert_eq!(costs(72).stamp_cost(), Some(format!("{said} longer than all do.")));
    assert_eq!(told.stamp_cost(), None);
    for means in [told, costs(-72), means(untold), means(says)] {
        let text = serde_json::to_string(&means).unwrap();
        assert_eq!(serde_json::from_str::<RoundTripMeans>(&text).unwrap(), means);
    }
}

#[test]
fn a_server_cannot_have_worked_for_longer_than_a_message_was_away() {
    let parts = RoundTripParts { sending_ns: 4, away_ns: 36, waking_ns: 17, by_interface: false };
    let mut times = RoundTripTimes::default();
    assert_eq!(times.record(moments(0, 57), parts, ServerHalf::Said(36)), Ok(()));
    assert_eq!(times.record(moments(0, 57), parts, ServerHalf::Said(37)), Err(Unsplit::Clock));
    assert_eq!(times.row.response.count(), 1);
}

#[test]
fn what_was_left_out_is_counted_by_reason() {
    assert!(RoundTrip::of(&RoundTripTimes::default(), one_in(1), None).is_none());
    let mut times = RoundTripTimes::default();
    times.leave_out(Unsplit::Clock);
    times.leave_out(Unsplit::Untold);
    times.leave_out(Unsplit::Untold);
    let trip = RoundTrip::of(&times, one_in(1), None).unwrap();
    assert_eq!((trip.count(), RoundTripMeans::of(&trip)), (0, None));
    let said = trip.left_out().unwrap();
    assert!(said.contains("1 (the clock was set") && said.contains("2 (the server said"), "{said}");
}

#[test]
fn what_a_server_says_of_other_messages_is_no_more_than_these_were_away() {
    let trip = RoundTrip::of(&recorded(|_| ServerHalf::Unknown), one_in(1), None).unwrap();
    let server = |mean_ns| crate::Estimate { mean_ns, half_width_ns: Some(100), count: 9 };
    let with = |mean_ns| trip.clone().with_server(server(mean_ns), "its clock");
    let means = RoundTripMeans::of(&with(4_800)).unwrap();
    assert_eq!(means.away, Away::Said { away_ns: 80_000, server_ns: 4_800 });
    // no more than all of the time away, be it a little longer by the clock of another
    let means = RoundTripMeans::of(&with(85_000)).unwrap();
    assert_eq!(means.away, Away::Said { away_ns: 0, server_ns: 84_800 });
    assert_eq!(with(500_000), trip);
    assert_eq!(with(-1), trip);
    assert_eq!(with(4_800).with_server(server(1), ""), with(4_800), "once");
}

proptest! {
    #[test]
    fn parts_of_any_stamps_are_the_whole_or_nothing(
        service_ns in 0_u64..1 << 40,
        called in 0_u64..1 << 20,
        sent in 0_u64..1 << 20,
        received in 0_u64..1 << 40,
        woken in 0_u64..1 << 40,
    ) {
        if let Ok(parts) = RoundTripParts::of(service_ns, stamps(called, sent, received, woken)) {
            prop_assert_eq!(parts.sending_ns + parts.away_ns + parts.waking_ns, service_ns);
        }
    }

    #[test]
    fn merged_halves_are_the_whole(split in 0_usize..100) {
        let (mut one, mut other) = (RoundTripTimes::default(), RoundTripTimes::default());
        let mut all = RoundTripTimes::default();
        for n in 0..100_usize {
            let parts = RoundTripParts { sending_ns: 1, away_ns: n as u64, waking_ns: 2, by_interface: false };
            let moments = moments(n as u64 * 1_000_000, n as u64 + 3);
            let half = if n < split { &mut one } else { &mut other };
            half.record(moments, parts, ServerHalf::Unknown).unwrap();
            all.record(moments, parts, ServerHalf::Unknown).unwrap();
            if n % 7 == 0 {
                half.leave_out(Unsplit::NotSent);
                all.leave_out(Unsplit::NotSent);
            }
        }
        one.merge(&other);
        let json = |times: &RoundTripTimes| {
            serde_json::to_value(RoundTrip::of(times, one_in(2), None).unwrap()).unwrap()
        };
        prop_assert_eq!(json(&one)["account"]["parts"].clone(), json(&all)["account"]["parts"].clone());
        prop_assert_eq!(&one.not_sent, &all.not_sent);
    }
}

//! Runs of the HTTP layer: pages of one server, and a server that only refuses.

use std::collections::BTreeMap;

use plumb_measure::{
    FindingKind, FirstHit, LengthFigures, PairDifference, PairRecord, PartRecord, RunRecord, Scope,
    StepRecord,
};

use super::build::{Load, Shape, distribution, labels, run};

const SERVER: &str = "http://erp.example:8000";

/// A page with a session in its path, an image and a service that tells its own times, in turn.
pub(crate) fn pages() -> RunRecord {
    let page = Shape { base_ns: 21_400_000, tail_ns: 2_900_000 };
    let image = Shape { base_ns: 1_730_000, tail_ns: 40_000 };
    let mut result = Load {
        labels: labels(&[("connections", "1")]),
        shape: page,
        operations: 1_200,
        duration_ns: 16_000_000_000,
        codes: vec![(200, 1_200)],
        length_bytes: Some((1_026, 1_026, 4_100)),
        in_pieces: true,
        ..Load::default()
    }
    .done();
    let mut service = part("/sap/opu/odata/FLIGHTS", page, 18_700);
    service.told_ns = BTreeMap::from([
        (
            "gwapp".into(),
            distribution(&Shape { base_ns: 11_000_000, tail_ns: 90_000 }.histogram(400)),
        ),
        (
            "gwtotal".into(),
            distribution(&Shape { base_ns: 17_000_000, tail_ns: 90_000 }.histogram(400)),
        ),
    ]);
    let mut mangled = part("/sap/bc/bsp/it03/text1kb.htm", page, 1_026);
    mangled.steps.insert(
        0,
        StepRecord { status: 302, text: "-> /sap(bD1ZS0PRF1Rw==)/bc/bsp/it03/text1kb.htm".into() },
    );
    mangled.steps.insert(
        1,
        StepRecord { status: 401, text: "Basic realm=\"SAP NetWeaver [DEV/000]\"".into() },
    );
    result.parts = vec![mangled, part("/sap/bc/bsp/it03/image1kb.gif", image, 1_026), service];
    result.pair = Some(PairRecord {
        dynamic: format!("{SERVER}/sap/bc/bsp/it03/text1kb.htm"),
        fixed: format!("{SERVER}/sap/bc/bsp/it03/image1kb.gif"),
        method: "each interval of the run gives one difference of medians".into(),
        blocks: 20,
        first_byte: Some(PairDifference {
            ns: 19_670_000.0,
            low_ns: Some(19_410_000.0),
            high_ns: Some(19_980_000.0),
            level: Some(0.9531),
        }),
        last_byte: Some(PairDifference { ns: -200.0, low_ns: None, high_ns: None, level: None }),
    });
    run(
        "http",
        "ping",
        "http://erp.example:8000/sap/bc/bsp/it03/text1kb.htm and 2 more",
        vec![result],
    )
}

fn part(path: &str, shape: Shape, bytes: u64) -> PartRecord {
    let (first, last) = (distribution(&shape.histogram(400)), distribution(&shape.histogram(400)));
    PartRecord {
        name: format!("{SERVER}{path}"),
        operations: 400,
        throughput_per_s: 25.0,
        response_ns: Some(last.clone()),
        service_ns: Some(last),
        first_byte_ns: Some(first),
        codes: BTreeMap::from([("200".into(), 400)]),
        length: Some(LengthFigures { min: bytes, p25: None, p50: bytes, p75: None, max: bytes }),
        steps: vec![StepRecord { status: 200, text: format!("{bytes} bytes") }],
        first_hit: Some(FirstHit {
            connect_ns: 212_000,
            tls_ns: None,
            first_byte_ns: 3_405_890_000,
            last_byte_ns: 3_406_010_000,
            length: bytes,
        }),
        ..PartRecord::default()
    }
}

/// Thousands of answers a second, all of them 401.
pub(crate) fn refused() -> RunRecord {
    const REFUSED: u64 = 41_233;
    let mut result = Load {
        labels: labels(&[("connections", "1")]),
        operations: 0,
        failures: vec![("unexpected-status", REFUSED)],
        codes: vec![(401, REFUSED)],
        ..Load::default()
    }
    .found(
        FindingKind::UnexpectedStatus,
        Scope::Everything,
        "every answer had a status that was not expected (41,233 with 401): this is how fast the \
         target refuses, not how fast it works",
    )
    .found(FindingKind::NoOperations, Scope::Everything, "no operation succeeded")
    .done();
    result.unexpected_codes = BTreeMap::from([("401".into(), REFUSED)]);
    let refused = Shape { base_ns: 24_000, tail_ns: 900 };
    result.failed_ns = Some(distribution(&refused.histogram(REFUSED)));
    run("http", "ping", "http://erp.example:8000/sap/bc/page", vec![result])
}

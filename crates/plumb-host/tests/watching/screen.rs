//! The screen of `plumb host watch`, as it stands in `tests/golden`.

use crate::kit::{Machine, check};
use jiff::tz::TimeZone;
use plumb_host::view::{History, Paint, line, render};
use plumb_host::{Sample, Subject, sample};
use plumb_measure::Span;
use plumb_procfs::{Label, State};

/// A history of a machine that was busy up and down, and ends with its recorded sample.
fn history(name: &'static str) -> History {
    let last = Sample { top: top(), ..Machine::new(name).second(1_000_000_000) };
    let mut history = History::new("db-prod-07", Span::from_ms(1000), TimeZone::UTC);
    for step in 0..150_u32 {
        let mut sample = last.clone();
        let factor = 0.55 + 0.45 * (f64::from(step) / 11.0).sin();
        if let Some(cpu) = &mut sample.cpu {
            cpu.share.busy_pct *= factor;
        }
        for interface in &mut sample.interfaces {
            interface.received_bytes_per_s *= factor;
        }
        for disk in &mut sample.disks {
            disk.write_bytes_per_s *= f64::from(step % 17) / 8.0;
        }
        history.push(&sample);
    }
    history.push(&last);
    history
}

fn top() -> Vec<sample::ProcessSample> {
    let names = ["postgres", "java", "kworker/3:1", "plumb", "sshd"];
    let process = |(place, name): (u32, &str)| sample::ProcessSample {
        pid: 1000 + 17 * place,
        interval_ns: 5_000_000_000,
        name: Label::new(name.as_bytes()),
        cpu_pct: 180.5 / f64::from(place + 1),
        user_pct: 120.0 / f64::from(place + 1),
        system_pct: 60.5 / f64::from(place + 1),
        resident_bytes: 3_400_000_000 >> (2 * place),
        threads: 64 >> place,
        ..sample::ProcessSample::default()
    };
    (0..).zip(names).map(process).collect()
}

fn golden(name: &'static str, width: usize, height: usize) {
    let screen = render(&history(name), width, height, Paint::Plain);
    assert_eq!(screen.split('\n').count(), height, "as many lines as the screen has");
    for line in screen.lines() {
        assert!(line.chars().count() <= width, "{line}");
    }
    check(&format!("screen-{name}-{width}x{height}.txt"), &(screen + "\n"));
}

#[test]
fn two_processors_on_a_small_screen() {
    golden("two", 80, 24);
}

#[test]
fn two_processors_on_a_large_screen() {
    golden("two", 200, 60);
}

#[test]
fn many_processors_on_a_small_screen() {
    golden("large", 80, 24);
}

#[test]
fn many_processors_on_a_large_screen() {
    golden("large", 200, 60);
}

#[test]
fn every_size_is_filled_and_never_overrun() {
    let history = history("large");
    for width in (1..260).step_by(13) {
        for height in (1..80).step_by(7) {
            let screen = render(&history, width, height, Paint::Plain);
            assert_eq!(screen.split('\n').count(), height.max(8), "{width}x{height}");
            assert!(screen.lines().all(|line| line.chars().count() <= width.max(40)));
        }
    }
}

#[test]
fn colours_change_no_character() {
    let history = history("two");
    let painted = render(&history, 120, 40, Paint::Ansi);
    let mut plain = String::new();
    let mut rest = painted.as_str();
    while let Some((before, after)) = rest.split_once("\x1b[") {
        plain += before;
        rest = after.split_once('m').expect("a code ends with m").1;
    }
    plain += rest;
    assert!(painted.contains("\x1b[32m"));
    let trimmed: Vec<&str> = plain.lines().map(str::trim_end).collect();
    assert_eq!(trimmed.join("\n"), render(&history, 120, 40, Paint::Plain));
}

#[test]
fn nothing_seen_yet_is_said() {
    let history = History::new("vm", Span::from_ms(1000), TimeZone::UTC);
    assert!(render(&history, 80, 24, Paint::Plain).contains("waiting for the second reading"));
}

#[test]
fn a_sampler_that_failed_is_named_at_the_foot() {
    let mut history = history("two");
    history.tell(vec![
        (Subject::Rdma, State::Failed("no".into())),
        (Subject::Smc, State::Unsupported("no".into())),
    ]);
    let foot = |width| {
        let screen = render(&history, width, 24, Paint::Plain);
        screen.lines().last().unwrap_or_default().to_owned()
    };
    assert!(foot(80).ends_with("Ctrl-C ends it  failed: rdma"), "{}", foot(80));
    assert!(foot(200).ends_with("failed: rdma  this machine does not tell: smc"), "{}", foot(200));
}

#[test]
fn a_pipe_gets_a_line() {
    check("line.txt", &(line(&Machine::new("large").second(1_000_000_000)) + "\n"));
}

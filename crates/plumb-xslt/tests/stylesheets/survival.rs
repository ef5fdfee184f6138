//! Processes that end, and hostile bytes.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::Arc;

use plumb_measure::Span;
use plumb_transaction::xslt::{Stylesheets, XsltError, XsltLimits};
use plumb_wire::stylesheet::{FrameHead, FrameKind};
use proptest::prelude::*;

use crate::fixture::{PATIENCE, program, sheet, stylesheets};

/// The processes of the program that this process has started with this limit on memory, which tells
/// those of one test from those of others.
pub(crate) fn children(memory: u64) -> Vec<i32> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap() {
        let folder = entry.unwrap().path();
        let Some(id) = folder.file_name().and_then(|it| it.to_str()?.parse().ok()) else {
            continue;
        };
        let words = fs::read_to_string(folder.join("cmdline")).unwrap_or_default();
        let stat = fs::read_to_string(folder.join("stat")).unwrap_or_default();
        let is_zombie = stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('Z'));
        if words.contains("plumb-xslt") && words.contains(&memory.to_string()) && !is_zombie {
            found.push(id);
        }
    }
    found
}

/// Processor time of a process, in ticks of a hundredth of a second.
fn ticks(id: i32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
    let (_, rest) = stat.rsplit_once(") ").unwrap();
    let mut fields = rest.split(' ').skip(11);
    let mut next = || fields.next().unwrap().parse::<u64>().unwrap();
    next() + next()
}

/// Kills a process that may have ended meanwhile.
fn kill(id: i32) {
    let id = rustix::process::Pid::from_raw(id).unwrap();
    let _ = rustix::process::kill_process(id, rustix::process::Signal::KILL);
}

#[test]
fn a_process_killed_in_the_middle_of_a_document_is_told_of_and_replaced() {
    let limits = XsltLimits { document_bytes: (4 << 20) + 17, processes: 1 };
    let ours = Stylesheets::of_program(program(), limits);
    let loops = (0..8).fold("<x/>".to_string(), |inner, _| {
        format!("<xsl:for-each select='//b'>{inner}</xsl:for-each>")
    });
    let busy = sheet(&format!(
        "<xsl:template match='/a'>{loops}</xsl:template><xsl:template match='/b'>fine</xsl:template>"
    ));
    ours.check(&busy, PATIENCE).unwrap();
    let document = format!("<a>{}</a>", "<b/>".repeat(1000));
    let error = std::thread::scope(|scope| {
        let working = scope.spawn(|| ours.transform(&busy, document.as_bytes(), PATIENCE));
        let [id] = *children(limits.memory_bytes()) else {
            unreachable!("one process was started")
        };
        // it works once it takes far more than it took to answer that the stylesheet is compiled
        let (idle, long) = (ticks(id), 10);
        while ticks(id) < idle + long {
            std::thread::yield_now();
        }
        kill(id);
        working.join().unwrap()
    });
    let error = error.unwrap_err();
    assert!(matches!(error, XsltError::Ended { by_others: true, .. }), "{error}");
    assert_eq!(error.to_string(), "sheet.xsl: plumb-xslt was killed by somebody else");
    assert!(ours.transform(&busy, b"<b/>", PATIENCE).unwrap().ends_with(b"fine\n"));
    assert_eq!(ours.figures().started, 2);
}

#[test]
fn a_process_is_confined_before_it_is_given_anything() {
    let limits = XsltLimits { document_bytes: (4 << 20) + 20, processes: 1 };
    let ours = Stylesheets::of_program(program(), limits);
    ours.check(&sheet("<xsl:output method='text'/>"), PATIENCE).unwrap();
    let [id] = *children(limits.memory_bytes()) else { unreachable!("one process was started") };
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let own = fs::read_to_string("/proc/self/status").unwrap();
    let number = |status: &str, name: &str| -> u32 {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().parse().unwrap()
    };
    assert_eq!(number(&status, "NoNewPrivs:"), 1);
    // two filters of system calls beside those that this test has itself
    let filters = "Seccomp_filters:";
    assert_eq!(number(&status, filters), number(&own, filters) + 2);
    let set = fs::read_to_string(format!("/proc/{id}/limits")).unwrap();
    let memory = limits.memory_bytes().to_string();
    for (limit, most) in [
        ("Max open files", "0"),
        ("Max processes", "0"),
        ("Max core file size", "0"),
        ("Max address space", &*memory),
    ] {
        let line = set.lines().find(|line| line.starts_with(limit)).unwrap();
        let words: Vec<&str> = line[limit.len()..].split_whitespace().take(2).collect();
        assert_eq!(words, [most, most], "{line}");
    }
}

#[test]
fn an_idle_process_that_was_killed_is_replaced_unseen() {
    let limits = XsltLimits { document_bytes: (4 << 20) + 18, processes: 1 };
    let ours = Stylesheets::of_program(program(), limits);
    let text = sheet("<xsl:output method='text'/>");
    assert_eq!(ours.transform(&text, b"<a>1</a>", PATIENCE).unwrap(), b"1");
    let [id] = *children(limits.memory_bytes()) else { unreachable!("one process was started") };
    kill(id);
    // gone, or a zombie that only its parent has to take note of
    while children(limits.memory_bytes()).contains(&id) {
        std::thread::yield_now();
    }
    assert_eq!(ours.transform(&text, b"<a>2</a>", PATIENCE).unwrap(), b"2");
    let figures = ours.figures();
    assert_eq!((figures.started, figures.replaced, figures.killed), (2, 1, 0));
}

#[test]
fn as_many_processes_as_may_be_serve_as_many_threads_as_come() {
    let limits = XsltLimits { document_bytes: 1 << 20, processes: 2 };
    let ours = Stylesheets::of_program(program(), limits);
    let text = sheet("<xsl:output method='text'/>");
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (ours, text) = (&ours, &text);
            scope.spawn(move || {
                for round in 0..20 {
                    let document = format!("<a>{thread}.{round}</a>");
                    let result = ours.transform(text, document.as_bytes(), PATIENCE).unwrap();
                    assert_eq!(result, format!("{thread}.{round}").as_bytes());
                }
            });
        }
    });
    let figures = ours.figures();
    assert!((1..=2).contains(&figures.started) && figures.replaced == 0, "{figures:?}");
    ours.keep(&[]);
    assert_eq!(ours.figures().running, 0);
}

#[test]
fn a_busy_pool_says_so() {
    let limits = XsltLimits { document_bytes: (4 << 20) + 19, processes: 1 };
    let ours = Stylesheets::of_program(program(), limits);
    let loops = (0..8).fold("<x/>".to_string(), |inner, _| {
        format!("<xsl:for-each select='//b'>{inner}</xsl:for-each>")
    });
    let busy = sheet(&format!("<xsl:template match='/'>{loops}</xsl:template>"));
    ours.check(&busy, PATIENCE).unwrap();
    let document = format!("<a>{}</a>", "<b/>".repeat(1000));
    std::thread::scope(|scope| {
        let working = scope.spawn(|| ours.transform(&busy, document.as_bytes(), PATIENCE));
        // whoever comes second is told; which of them that is does not matter here
        let error = loop {
            match ours.transform(&busy, document.as_bytes(), Span::from_ms(1)) {
                Err(error @ XsltError::Busy { .. }) => break error,
                Err(XsltError::Late { .. }) => {}
                other => unreachable!("{other:?}"),
            }
        };
        assert_eq!(error.to_string(), "sheet.xsl: all 1 processes of it were busy for too long");
        while !working.is_finished() {
            children(limits.memory_bytes()).into_iter().for_each(kill);
            std::thread::yield_now();
        }
        assert!(working.join().unwrap().is_err());
    });
}

#[test]
fn a_program_that_is_not_there_or_is_another_is_told_of() {
    let limits = XsltLimits::default();
    let text = sheet("<xsl:output method='text'/>");
    let of = |program: &str| {
        let error = Stylesheets::of_program(program.into(), limits).check(&text, PATIENCE);
        error.unwrap_err().to_string()
    };
    assert!(
        of("/nowhere/plumb-xslt").starts_with("cannot start /nowhere/plumb-xslt: No such file")
    );
    assert_eq!(of("/bin/true"), "sheet.xsl: plumb-xslt ended without an answer");
}

/// What the program does with these bytes on its standard input: its status, and what it says.
fn fed(input: &[u8]) -> (Option<i32>, String) {
    let limits = XsltLimits { document_bytes: 1 << 16, processes: 1 };
    let mut child = Command::new(program())
        .args([limits.document_bytes.to_string(), limits.memory_bytes().to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // it may have ended before all is written
    let _ = child.stdin.take().unwrap().write_all(input);
    let done = child.wait_with_output().unwrap();
    (done.status.code(), String::from_utf8_lossy(&done.stderr).into_owned())
}

#[test]
fn a_standard_error_that_is_a_file_does_no_harm() {
    let said = tempfile::NamedTempFile::new().unwrap();
    let mut child = Command::new(program())
        .args(["1000", "500000000"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(said.reopen().unwrap())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"no frame, and no kind").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(2));
    assert_eq!(
        fs::read_to_string(said.path()).unwrap(),
        "plumb-xslt: in its input: a frame of no kind\n"
    );
}

#[test]
fn frames_that_are_none_end_it() {
    let head = |kind, length| FrameHead { kind, number: 5, length }.encode().to_vec();
    assert_eq!(fed(b""), (Some(0), String::new()));
    assert_eq!(fed(b"x23456789").0, Some(2));
    assert_eq!(fed(b"s123").0, Some(2));
    let (status, said) = fed(&head(FrameKind::Document, 0));
    assert_eq!(
        (status, &*said),
        (Some(2), "plumb-xslt: in its input: a Document where none is expected\n")
    );
    let (status, said) = fed(&head(FrameKind::Stylesheet, 1 << 17));
    assert_eq!(
        (status, &*said),
        (Some(2), "plumb-xslt: in its input: 131072 bytes, at most 65536\n")
    );
}

#[test]
fn a_stylesheet_may_be_larger_than_documents() {
    let limits = XsltLimits { document_bytes: 1 << 16, processes: 1 };
    let ours = Stylesheets::of_program(program(), limits);
    let padding = "x".repeat(1_000);
    let templates: String =
        (0..900).map(|n| format!("<xsl:template match='t{n}'>{padding}</xsl:template>")).collect();
    let large = sheet(&format!("<xsl:output method='text'/>{templates}"));
    assert!(large.text().len() > 900_000);
    assert_eq!(ours.transform(&large, b"<t7/>", PATIENCE).unwrap(), padding.as_bytes());
    let error = ours.transform(&large, &[b' '; (1 << 16) + 1], PATIENCE).unwrap_err();
    assert!(matches!(error, XsltError::DocumentTooLarge { found: 65_537, most: 65_536 }));
}

#[test]
fn processes_of_a_stylesheet_that_was_replaced_end_with_its_last_message() {
    let ours = stylesheets();
    let [before, after] = ["<xsl:output method='text'/>", "<xsl:output  method='text'/>"]
        .map(|body| Arc::new(sheet(body)));
    ours.check(&before, PATIENCE).unwrap();
    ours.keep(&[Arc::clone(&before)]);
    assert_eq!(ours.transform(&before, b"<a>1</a>", PATIENCE).unwrap(), b"1");
    ours.check(&after, PATIENCE).unwrap();
    assert_eq!(ours.figures().running, 2, "both, before that comes into force");
    ours.keep(&[Arc::clone(&after)]);
    assert_eq!(ours.figures().running, 1);
    // a message that began before
    assert_eq!(ours.transform(&before, b"<a>2</a>", PATIENCE).unwrap(), b"2");
    assert_eq!(ours.figures().running, 1, "that of the message has ended");
    assert_eq!(ours.transform(&after, b"<a>3</a>", PATIENCE).unwrap(), b"3");
    assert_eq!(ours.figures().started, 3);
    // and back
    ours.check(&before, PATIENCE).unwrap();
    ours.keep(&[Arc::clone(&before)]);
    assert_eq!(ours.transform(&before, b"<a>4</a>", PATIENCE).unwrap(), b"4");
    let figures = ours.figures();
    assert_eq!((figures.running, figures.started, figures.replaced), (1, 4, 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn hostile_bytes_are_refused_or_done_and_never_break_it(
        garbage in proptest::collection::vec(any::<u8>(), 0..200),
        at in 0_usize..400,
    ) {
        let ours = stylesheets();
        let text = sheet("<xsl:output method='text'/>");
        let (order, _) = plumb_transaction::sample::production_order(1, 0);
        let mut document = order.into_bytes();
        document.splice(at..at, garbage);
        for document in [&document[..], &document[at..]] {
            match ours.transform(&text, document, PATIENCE) {
                Ok(_) => {}
                Err(XsltError::Failed { problem, .. }) => prop_assert!(problem.contains("document")),
                Err(other) => prop_assert!(false, "{other}"),
            }
        }
    }

    #[test]
    fn frames_of_any_bytes_end_with_a_status(input: Vec<u8>) {
        prop_assert!(matches!(fed(&input).0, Some(0 | 2)));
    }
}

//! The sentence over a run, and what it counts.

use plumb_measure::{Finding, FindingKind, RunRecord, Scope, Validity};

use plumb_page::wrap::WIDTH;

use crate::{comparisons, records};

#[test]
fn a_result_that_was_not_checked_is_not_counted_as_invalid() {
    let mut record = records::sweep();
    record.results.truncate(3);
    let found = [
        vec![(FindingKind::Failures, Scope::Everything, "5 failures")],
        vec![(FindingKind::ForeignLoad, Scope::Unchecked, "too short")],
        Vec::new(),
    ];
    for (result, found) in record.results.iter_mut().zip(found) {
        let finding =
            |(kind, scope, text): (_, _, &str)| Finding { kind, scope, text: text.into() };
        result.validity = Validity::of(found.into_iter().map(finding));
    }
    record.validity = Validity::of_all(record.results.iter().map(|it| ("", &it.validity)));
    let said = plumb_report::sentence(&record);
    let expected = "1 of 3 results is invalid, so the run as a whole proves nothing. 5 failures.";
    assert_eq!(said, expected);
    let page = plumb_report::markdown::render(&record);
    assert!(page.contains("No figure of 1 of 3 results may be quoted"), "{page}");
}

#[test]
fn what_others_took_under_a_raised_limit_stands_in_the_records_of_the_remotes() {
    let named = |name: &str| records::all().into_iter().find(|(it, _)| *it == name).unwrap().1;
    let mut record = named("limit-raised");
    let remotes = serde_json::json!([{ "name": "app-1" }]);
    record.plan.options.insert("remotes".into(), remotes);
    let said = plumb_report::markdown::render;
    assert!(said(&record).contains("Others took up to 38.0 %"), "this machine is one of them");
    record.results[0].host = None;
    let page = said(&record);
    let where_it_is =
        "What others took is in the record of each remote (remotes/NAME.json): the limit";
    assert!(page.contains(where_it_is), "{page}");
}

#[test]
fn processor_time_that_a_server_does_not_tell_is_absent() {
    let mut record = records::all().into_iter().find(|(it, _)| *it == "streams").unwrap().1;
    record.results.iter_mut().for_each(|it| it.stream.as_mut().unwrap().server_cpu_ns = 0);
    let page = plumb_report::markdown::render(&record);
    assert!(page.contains("| 0.19 s | - | 2.00 s |"), "{page}");
}

#[test]
fn a_sentence_that_names_its_point_among_what_all_share_is_not_given_it_again() {
    let mut record = comparisons::several();
    for (at, contrast) in record.contrasts.iter_mut().enumerate() {
        let clients = if at == 0 { "1" } else { "5" };
        contrast.labels.insert("clients".into(), clients.into());
        contrast.sentence = format!("At {}: {} is faster.", contrast.name(), contrast.candidate);
    }
    let named = |it: &plumb_comparison::Contrast| {
        let mut labels = it.labels.clone();
        labels.remove("connections");
        let words: Vec<String> =
            labels.iter().map(|(key, value)| format!("{key} {value}")).collect();
        words.join(", ")
    };
    let text = plumb_report::comparison::terminal(&record, WIDTH);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for contrast in &record.contrasts {
        let twice = format!("{}: At ", named(contrast));
        assert!(!text.to_lowercase().contains(&twice.to_lowercase()), "{twice}\n{text}");
    }
    assert!(text.contains("At clients 5, connections 1, size"), "{text}");
}

#[test]
fn the_figures_of_a_layer_stand_beside_several_results_too() {
    let text = plumb_report::terminal::render(&records::sweep(), WIDTH);
    let line = |name: &str| text.lines().find(|line| line.contains(name)).unwrap_or_default();
    assert!(line("two-way").contains("connections"), "{text}");
    assert!(text.contains("one-way = 8 * size [B] * msgs/s"), "{text}");
}

#[test]
fn a_server_of_a_load_that_was_over_at_once_is_not_said_to_be_elsewhere() {
    let mut record = records::far_host();
    record.results[0].cpu.as_mut().unwrap().server_ns_per_op = None;
    record.results[0].host.as_mut().unwrap().tested.clear();
    let said = |record: &RunRecord| {
        let text = plumb_report::terminal::render(record, 1_000);
        text.lines().find(|line| line.starts_with("CPU ")).unwrap().to_owned()
    };
    let none = "server not measured (no process of it was found on this machine)";
    record.results[0].duration_ns = 1_000_000_000;
    assert!(said(&record).contains(none), "{}", said(&record));
    record.results[0].duration_ns = 3_000_000;
    let over = "on this machine: a load of 3.00 ms may be over before it is looked for)";
    assert!(said(&record).contains(over), "{}", said(&record));
}

#[test]
fn of_a_connection_that_ended_quietly_it_is_not_said_that_a_new_one_came() {
    let all = records::all();
    let mut record = all.into_iter().find(|(name, _)| *name == "pages").unwrap().1;
    record.results[0].driver.quiet_closes = 2;
    record.results[0].failures.insert("connect-refused".into(), 44);
    let text = plumb_report::markdown::render(&record);
    assert!(text.contains("ended 2 connections on which it owed no answer"), "{text}");
    assert!(text.contains("one that could not be made again counts as one"), "{text}");
}

use super::*;

const LOG: &str = include_str!("../../tests/files/access.log");

fn made(text: &str, change: impl Fn(&mut ImportOptions)) -> Result<Draft, SourceError> {
    let source = Source { path: "access.log".into(), text: text.into() };
    let mut options = ImportOptions::of("access.log");
    change(&mut options);
    import(&source, &options)
}

fn notes(draft: &Draft) -> Vec<String> {
    draft.notes.sorted().iter().map(ToString::to_string).collect()
}

#[test]
fn a_log_is_a_step_for_each_shape_and_a_line_for_each_request() {
    let draft = made(LOG, |_| ()).unwrap();
    let scenario = &draft.file.scenario[0];
    let names: Vec<String> =
        scenario.step.iter().map(|step| step.name.as_ref().unwrap().get_ref().clone()).collect();
    assert_eq!(
        names,
        ["GET /flights/*", "GET /flights", "GET /login", "GET /static/*.css", "HEAD /flights"]
    );
    let statuses = |at: usize| {
        let check = scenario.step[at].check.as_ref().unwrap().get_ref();
        check.status.clone().unwrap()
    };
    assert_eq!((statuses(0).as_str(), statuses(3).as_str()), ("200,404", "200"));
    let data = draft.data.unwrap().text;
    assert_eq!(
        data.lines().collect::<Vec<_>>(),
        [
            "row,target",
            "2,\"/flights?day=2026-11-21\"",
            "4,\"/static/app.css\"",
            "1,\"/flights/400\"",
            "1,\"/flights/402?x=%22\"",
            "5,\"/flights\"",
            "1,\"/flights/999\"",
            "3,\"/login?token=MASKED&a=b\"",
        ]
    );
}

#[test]
fn what_is_left_out_is_counted_with_its_lines() {
    let draft = made(LOG, |_| ()).unwrap();
    let said = notes(&draft);
    for words in [
        "line 8: 1 line (line 8): POST may change something; left out without --all-methods",
        "line 9: 2 lines (line 9, 10): no request such as",
        "line 11: 1 line (line 11): no time such as",
        "line 7: 1 line (line 7): secrets in the query are MASKED",
    ] {
        assert!(said.iter().any(|note| note.contains(words)), "{words}: {said:#?}");
    }
    assert_eq!(said.len(), 4);
    let all = made(LOG, |options| options.all_methods = true).unwrap();
    assert!(notes(&all).iter().any(|note| note.contains("a log holds no content")));
    let names = all.file.scenario[0].step.iter().map(|step| step.name.as_ref().unwrap().get_ref());
    assert!(names.into_iter().any(|name| name == "POST /bookings"));
}

#[test]
fn the_pace_is_that_of_the_log_or_faster() {
    let length = |speed: f64| {
        let draft = made(LOG, |options| options.speed = speed).unwrap();
        let stages = &draft.file.scenario[0].stages;
        stages.iter().map(|stage| stage.get_ref().over.ns()).sum::<u64>() / 1_000_000
    };
    assert_eq!((length(1.0), length(2.0)), (5_000, 2_500));
}

#[test]
fn a_log_without_requests_is_refused_by_its_lines() {
    let error = made("a\nb\n", |_| ()).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("no line of it is a request") && error.contains("2 lines"), "{error}");
    let error = made("", |_| ()).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("no line of it is a request"), "{error}");
}

#[test]
fn what_was_wanted_in_parts_or_not_waited_for_is_asked_for_whole() {
    let line = |status: u16| {
        format!("h - - [21/Nov/2026:03:16:39 +0100] \"GET /a.mp4 HTTP/1.1\" {status} 9\n")
    };
    let check = |statuses: &[u16]| {
        let text: String = statuses.iter().map(|status| line(*status)).collect();
        let draft = made(&text, |_| ()).unwrap();
        draft.file.scenario[0].step[0].check.as_ref().unwrap().get_ref().status.clone().unwrap()
    };
    for status in [206, 304, 416, 499] {
        assert_eq!(check(&[status]), "200", "{status}");
    }
    assert_eq!(check(&[206, 404]), "200,404");
}

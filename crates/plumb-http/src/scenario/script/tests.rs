use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::scenario::cursor::{Around, Cursor, Halt};

const WHOLE: &str = include_str!("../../../../../examples/scenarios/user-mix.toml");
const LIST: &str = include_str!("../../../../../examples/scenarios/list-details.toml");

fn overrides(exclude: &[String]) -> Overrides {
    Overrides {
        headers: Pairs::new(),
        exclude: Patterns::new(exclude),
        credentials: None,
        body_bytes_max: u64::MAX,
        part: LoadPart::default(),
        close: false,
        initiators: Initiators::default(),
        refused: RefusedLogOns::default(),
    }
}

fn compiled_of(text: &str) -> Result<CompiledScenario, HttpError> {
    let source = ScenarioSource::parse(Path::new("s.toml"), text.into())?;
    let origins = Arc::new(Origins::new(&source, None, None)?);
    compile(&source, &origins, &overrides(&[]), 1, &[])
}

#[test]
fn a_whole_file_becomes_scripts_with_their_rows() {
    let compiled = compiled_of(WHOLE).unwrap();
    let rows = compiled.rows.iter().map(|row| format!("{}/{}", row.scenario, row.name));
    let own = rows.filter(|row| !row.contains("(redirect"));
    assert_eq!(own.collect::<Vec<_>>(), ["eager/part", "calm/part", "background/message"]);
    assert_eq!((compiled.scripts.len(), compiled.groups.len()), (3, 2 + 3));
    assert!(compiled.preparation.is_none());
    assert_ne!(compiled.scripts[0].seed, compiled.scripts[1].seed);
    let compiled = compiled_of(LIST).unwrap();
    assert_eq!((compiled.prepared, compiled.rows.len()), ((1, 0), 3 + 2 * 5));
    assert_eq!(compiled.preparation.unwrap().iterations, Some(1));
}

#[test]
fn a_check_whose_variable_nothing_gives_a_value_is_refused_with_its_line() {
    let text = "base = \"http://h\"\n[[scenario]]\nname = \"a\"\niterations = 1\n\
                [[scenario.step]]\nget = \"/\"\ncheck = { contains-not = [\"${nobody}\"] }\n";
    let error = compiled_of(text).unwrap_err().to_string();
    assert!(error.contains("line 7") && error.contains("nobody"), "{error}");
}

#[test]
fn what_is_left_out_takes_its_loops_and_groups_along() {
    let source = ScenarioSource::parse(Path::new("s.toml"), WHOLE.into()).unwrap();
    let origins = Arc::new(Origins::new(&source, None, None).unwrap());
    let error = compile(&source, &origins, &overrides(&["*kb.*".into()]), 1, &[]).unwrap_err();
    assert!(error.to_string().contains("--exclude leaves nothing"), "{error}");
    let compiled = compile(&source, &origins, &overrides(&["kb.htm".into()]), 1, &[]).unwrap();
    assert_eq!(compiled.steps(), 1 + 1 + 1);
}

impl CompiledScenario {
    fn steps(&self) -> usize {
        let programs = self.scripts.iter().map(|script| &script.program);
        let requests = |program: &Program| program.iter().flat_map(Instruction::requests).count();
        programs.map(requests).sum()
    }
}

/// Walks a script for a while, whatever it is.
fn wander(script: &Script) {
    let mut variables = plumb_scenario::variables::Variables::new(Arc::clone(&script.common));
    let mut draw = plumb_scenario::draw::Draw::of_user(script.seed, 0);
    let (mut cursor, mut complete, mut undecided) = (Cursor::default(), Vec::new(), None);
    for _ in 0..20 {
        let halt = cursor.go(&mut Around {
            program: &script.program,
            variables: &mut variables,
            draw: &mut draw,
            shared: &script.shared,
            complete: &mut complete,
            undecided: &mut undecided,
        });
        match halt {
            Halt::Request(step) | Halt::Undecided(step) => {
                assert!(usize::from(step) < script.steps.len());
                cursor.pass();
            }
            Halt::Pause(_) => {}
            Halt::Parallel => cursor.pass(),
            Halt::End => return,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_file_that_was_changed_anywhere_is_read_or_refused(
        at in 0usize..4_000,
        gone in 0usize..40,
        put in "[ -~\n]{0,12}",
        whole in any::<bool>(),
    ) {
        let text = if whole { WHOLE } else { LIST };
        let at = at.min(text.len());
        let end = (at + gone).min(text.len());
        let changed = format!("{}{put}{}", &text[..at], &text[end..]);
        if let Ok(compiled) = compiled_of(&changed) {
            compiled.scripts.iter().for_each(|script| wander(script));
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,200}") {
        let _ = compiled_of(&text);
    }
}

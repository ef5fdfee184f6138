//! What libxslt prints of errors, put shortly.

/// Lines that begin so say where, and the next one what.
const PLACES: [&str; 2] = ["runtime error", "compilation error"];
/// What follows is a list of templates and variables.
const LISTS: &str = "Templates:";
/// A word about an option of xsltproc.
const ADVICE: &str = "You can adjust xsltMaxDepth";

/// Whether a line says where something happened.
pub(super) fn is_place(line: &str) -> bool {
    PLACES.iter().any(|it| line.starts_with(it)) || line.trim() == "error"
}

/// The line of the stylesheet that is named first, or 0, and each thing that is said, once.
pub(super) fn in_short(said: &str) -> (u32, String) {
    let mut first = 0;
    let mut place = String::new();
    let mut things: Vec<String> = Vec::new();
    let denied = said.contains(" denied");
    for line in said.lines().map(str::trim).take_while(|line| *line != LISTS) {
        if is_place(line) {
            let number = number_of(line);
            first = if first == 0 { number } else { first };
            place = place_of(line, number);
            continue;
        }
        // what is denied is told with the file before, too
        let is_told = denied && line.ends_with(" refused");
        let thing = format!("{place}{line}");
        if !line.is_empty() && !line.starts_with(ADVICE) && !is_told && !things.contains(&thing) {
            things.push(thing);
        }
    }
    let mut text = things.join("; ");
    if denied {
        text += ": a stylesheet has its document, and no other file or address";
    }
    (first, text)
}

fn number_of(line: &str) -> u32 {
    let number = line.split_once(" line ").and_then(|(_, rest)| rest.split(' ').next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn place_of(line: &str, number: u32) -> String {
    match (number, line.split_once(" element ")) {
        (0, _) => String::new(),
        (_, Some((_, element))) => format!("line {number}, {element}: "),
        (_, None) => format!("line {number}: "),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::in_short;

    #[test]
    fn places_stand_before_what_is_said_and_nothing_is_said_twice() {
        let said = "runtime error: file stylesheet line 7 element copy-of\n\
                    Local file read for /x refused\n\
                    runtime error: file stylesheet line 7 element copy-of\n\
                    xsltLoadDocument: read rights for /x denied\n";
        let expected = "line 7, copy-of: xsltLoadDocument: read rights for /x denied: a stylesheet \
                        has its document, and no other file or address";
        assert_eq!(in_short(said), (7, expected.into()));
        let said = "error\na\na\n\nruntime error: file stylesheet line 2 element x\nb\n\
                    You can adjust xsltMaxDepth (--maxdepth)\nTemplates:\n#0 name r";
        assert_eq!(in_short(said), (2, "a; line 2, x: b".into()));
        assert_eq!(in_short(""), (0, String::new()));
    }

    proptest! {
        #[test]
        fn whatever_is_said_is_put_shortly(said: String) {
            in_short(&said);
        }
    }
}

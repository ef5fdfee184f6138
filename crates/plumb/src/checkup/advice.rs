//! What a measurement advises, for whoever writes a landscape file: options of a command are keys there.

use plumb_measure::Finding;

/// Advice of a command that measures, and the same of a file.
const ADVICE: [(&str, &str); 13] = [
    ("raise --timeout", "raise timeout in [database]"),
    (", or raise --rows and --size", ""),
    (" to plumb net ping; net check, net stream and niping do not speak it", ""),
    (
        ": --allow-writes measures it, and rolls each call back",
        ": name one that reads in [database]; a checkup asks nothing that writes",
    ),
    (" (--pool, or --connections of a replay)", ""),
    ("write --target-kind redis", "write kind = \"redis\" in [lock]"),
    ("name a file with --password-file", "name a file with password-file"),
    ("name that with --password-file", "name that with password-file"),
    ("the first line of --password-file is", "the first line of password-file is"),
    ("name its authority with --ca FILE", "name its authority with ca in [http] or [flow]"),
    ("name the authority with --ca FILE", "name the authority with ca in [http] or [flow]"),
    ("is --ca FILE that authority", "is the file of ca that authority"),
    (
        "speaks TLS: add --tls",
        "speaks TLS: a checkup measures only pages, messages (https://) and a database over it",
    ),
];

/// What is wrong with a measurement, advised by keys of the file that asked for it.
pub(super) fn for_a_file(error: &str) -> String {
    ADVICE.iter().fold(error.to_owned(), |text, (option, key)| text.replace(option, key))
}

/// The same of what handshakes complained of: these are words of this tool, those of a server stay.
pub(super) fn of_handshakes(reasons: &mut [Finding]) {
    for complaint in reasons.iter_mut().filter(|it| it.is_of_handshake()) {
        complaint.text = for_a_file(&complaint.text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_measure::{FindingKind, Scope};

    #[test]
    fn a_certificate_nobody_trusts_is_advised_by_a_key_and_an_answer_keeps_its_words() {
        let complaint = |start: &str| Finding {
            kind: FindingKind::Complaint,
            scope: Scope::Nothing,
            text: format!("{start}: name its authority with --ca FILE"),
        };
        let mut reasons = [complaint("a handshake that failed: no"), complaint("an answer")];
        of_handshakes(&mut reasons);
        assert!(reasons[0].text.ends_with("name its authority with ca in [http] or [flow]"));
        assert!(reasons[1].text.ends_with("--ca FILE"));
    }

    #[test]
    fn what_a_landscape_file_can_say_is_advised() {
        for (said, advised) in [
            (
                "the own statement has no answer within 5s: raise --timeout",
                "the own statement has no answer within 5s: raise timeout in [database]",
            ),
            (
                "make fewer connections (--pool, or --connections of a replay), or raise it",
                "make fewer connections, or raise it",
            ),
            (
                "the own statement returns no rows or writes: --allow-writes measures it, and rolls each call back",
                "the own statement returns no rows or writes: name one that reads in [database]; a checkup asks nothing that writes",
            ),
            ("for Redis write --target-kind redis", "for Redis write kind = \"redis\" in [lock]"),
            ("name its authority with --ca FILE", "name its authority with ca in [http] or [flow]"),
            ("name that with --password-file, or set P", "name that with password-file, or set P"),
            ("connection refused", "connection refused"),
        ] {
            assert_eq!(for_a_file(said), advised);
        }
    }
}

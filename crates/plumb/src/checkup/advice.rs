//! What a measurement advises, for whoever writes a landscape file: options of a command are keys there.

/// Advice of a command that measures, and the same of a file.
const ADVICE: [(&str, &str); 6] = [
    ("raise --timeout", "raise timeout in [database]"),
    (", or raise --rows and --size", ""),
    (" (--pool, or --connections of a replay)", ""),
    ("write --target-kind redis", "write kind = \"redis\" in [lock]"),
    ("name a file with --password-file", "name a file with password-file"),
    (
        "speaks TLS: add --tls",
        "speaks TLS: a checkup measures only pages, messages (https://) and a database over it",
    ),
];

/// What is wrong with a measurement, advised by keys of the file that asked for it.
pub(super) fn for_a_file(error: &str) -> String {
    ADVICE.iter().fold(error.to_owned(), |text, (option, key)| text.replace(option, key))
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ("for Redis write --target-kind redis", "for Redis write kind = \"redis\" in [lock]"),
            ("connection refused", "connection refused"),
        ] {
            assert_eq!(for_a_file(said), advised);
        }
    }
}

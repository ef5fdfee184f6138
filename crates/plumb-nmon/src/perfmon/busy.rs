//! Which counter of a log of Windows is the busy share of all processors.

/// Parts of the words for a processor, and for time, in the languages of Windows that spell them alike.
const PROCESSOR: [&str; 2] = ["proc", "proz"];
const TIME: [&str; 5] = ["time", "zeit", "temps", "tiempo", "tempo"];
/// Objects that begin as that of the processors does: programs.
const PROGRAMS: [&str; 5] = ["process", "prozess", "processus", "proceso", "processo"];

/// True for `Processor(_Total)\% Processor Time` of the first host of a log, in the language of its
/// Windows; that of `Processor Information`, too.
pub(crate) fn is_busy_share(title: &str, counter: &str) -> bool {
    let (title, counter) = (title.to_lowercase(), counter.to_lowercase());
    let Some(object) = title.strip_suffix("(_total)") else { return false };
    let names = |words: &str, parts: &[&str]| parts.iter().any(|part| words.contains(part));
    PROCESSOR.iter().any(|part| object.starts_with(part))
        && !PROGRAMS.contains(&object)
        && counter.contains('%')
        && names(&counter, &PROCESSOR)
        && names(&counter, &TIME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busy_share_of_all_processors_is_found_in_any_language() {
        for (object, counter) in [
            ("Processor(_Total)", "% Processor Time"),
            ("Processor Information(_Total)", "% Processor Time"),
            ("Prozessor(_Total)", "Prozessorzeit (%)"),
            ("Processeur(_Total)", "% temps processeur"),
            ("Procesador(_Total)", "% de tiempo de procesador"),
        ] {
            assert!(is_busy_share(object, counter), "{object}");
        }
        for (object, counter) in [
            ("Process(_Total)", "% Processor Time"),
            ("Prozess(_Total)", "Prozessorzeit (%)"),
            ("Processor(0)", "% Processor Time"),
            ("Processor(_Total)", "% User Time"),
            ("Processor(_Total)", "Interrupts/sec"),
            ("\\\\SAP02\\Processor(_Total)", "% Processor Time"),
        ] {
            assert!(!is_busy_share(object, counter), "{object} {counter}");
        }
    }
}

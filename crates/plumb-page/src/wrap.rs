//! Paragraphs with a hanging indent, for a terminal.

/// Columns of text where no terminal says another width.
pub const WIDTH: usize = 80;
/// Width of the names in front of a fact.
pub const NAME_WIDTH: usize = 13;

/// A name and what is said under it, with a hanging indent, in lines of at most `width` columns.
pub fn fact(name: &str, text: &str, width: usize) -> String {
    paragraph(&format!("{name:<NAME_WIDTH$}  "), text, width)
}

/// Text that cannot steer the terminal: names and banners come from the other side.
pub fn harmless(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' { '?' } else { c }).collect()
}

/// `text` broken at blanks into lines of at most `width` columns, the first behind `head`, the
/// others indented as far. A word longer than a line stays whole. Ends with a line end.
pub fn paragraph(head: &str, text: &str, width: usize) -> String {
    let indent = head.chars().count();
    let mut out = String::from(head);
    let mut column = indent;
    let mut fresh = true; // nothing stands on this line behind the indent
    for word in text.split_whitespace() {
        let long = word.chars().count();
        if !fresh && column + 1 + long > width {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            column = indent;
            fresh = true;
        }
        if !fresh {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += long;
        fresh = false;
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_hang_below_the_first_word() {
        let text = paragraph("note  ", "one two three four", 14);
        assert_eq!(text, "note  one two\n      three\n      four\n");
    }

    #[test]
    fn a_long_word_stays_whole_and_nothing_is_one_line() {
        assert_eq!(paragraph("", "abcdefghij kl", 4), "abcdefghij\nkl\n");
        assert_eq!(paragraph("head  ", "", 10), "head\n");
    }

    #[test]
    fn what_steers_a_terminal_is_shown_and_line_ends_stay() {
        assert_eq!(harmless("a\u{1b}[31m\nb\t"), "a?[31m\nb?");
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_asked_unless_one_word_is(
            words in prop::collection::vec("[a-z]{1,9}", 0..40),
        ) {
            let text = paragraph("    ", &words.join(" "), 20);
            prop_assert!(text.lines().all(|line| line.len() <= 20), "{text}");
            prop_assert_eq!(text.split_whitespace().collect::<Vec<_>>(), words);
        }
    }
}

//! Paths as they are written.

use super::{NameTest, NodeTest, Operand, Path, Predicate, Reach, Relation, Step};
use crate::expression::{Cursor, PathError};

/// Steps of a path, and conditions of a step, at most.
const STEPS_MAX: usize = 64;

const STEP: &str = "a name, `*`, `@name` or `text()`";
const CONDITION: &str = "a position, last(), position(), `@name`, a child, `.`, text(), \
                         local-name() or name()";

pub(super) fn path(text: &str) -> Result<Path, PathError> {
    let mut cursor = Cursor::new(text)?;
    let mut steps: Vec<Step> = Vec::new();
    loop {
        let begin = cursor.clone();
        let Some(reach) = reach(&mut cursor) else { break };
        if steps.last().is_some_and(|last| !matches!(last.node, NodeTest::Element(_))) {
            let end = "the end of the expression: attributes and texts hold no elements";
            return Err(begin.expected(end));
        }
        if steps.len() == STEPS_MAX {
            return Err(cursor.expected(format!("at most {STEPS_MAX} steps")));
        }
        let node = node_test(&mut cursor)?;
        let begin = cursor.clone();
        let predicates = predicates(&mut cursor)?;
        if !predicates.is_empty() && matches!(node, NodeTest::Attribute(_)) {
            return Err(begin.expected("the end of the expression: attributes have no conditions"));
        }
        steps.push(Step { reach, node, predicates });
    }
    if steps.is_empty() {
        return Err(cursor.expected("`/` or `//`"));
    }
    cursor.skip_space();
    cursor.require_end()?;
    Ok(Path { steps })
}

fn reach(cursor: &mut Cursor<'_>) -> Option<Reach> {
    cursor.skip_space();
    if cursor.eat("//") {
        Some(Reach::Descendants)
    } else if cursor.eat("/") {
        Some(Reach::Children)
    } else {
        None
    }
}

fn node_test(cursor: &mut Cursor<'_>) -> Result<NodeTest, PathError> {
    cursor.skip_space();
    let begin = cursor.clone();
    if cursor.eat("@") {
        return Ok(NodeTest::Attribute(name_test(cursor)?));
    }
    let name = name_test(cursor).map_err(|error| begin.nothing_read(error, STEP))?;
    match (&name, cursor.eat("()")) {
        (_, false) if cursor.peek() != Some('(') => Ok(NodeTest::Element(name)),
        (NameTest::Written(text), true) if text == "text" => Ok(NodeTest::Text),
        _ => Err(begin.expected(format!("{STEP}: other functions are not supported"))),
    }
}

fn name_test(cursor: &mut Cursor<'_>) -> Result<NameTest, PathError> {
    if cursor.eat("*") {
        return if cursor.eat(":") {
            Ok(NameTest::Local(name(cursor)?.into()))
        } else {
            Ok(NameTest::Any)
        };
    }
    let first = name(cursor)?;
    if cursor.rest().starts_with("::") {
        return Err(cursor.expected("the end of the name: axes are not supported"));
    }
    if !cursor.eat(":") {
        return Ok(NameTest::Written(first.into()));
    }
    if cursor.eat("*") {
        return Ok(NameTest::Prefix(first.into()));
    }
    Ok(NameTest::Written(format!("{first}:{}", name(cursor)?)))
}

/// A name without colon.
fn name<'a>(cursor: &mut Cursor<'a>) -> Result<&'a str, PathError> {
    let is_first = |char: char| char.is_ascii_alphabetic() || char == '_' || !char.is_ascii();
    if !cursor.peek().is_some_and(is_first) {
        return Err(cursor.expected("a name"));
    }
    Ok(cursor.take_while(|char| is_first(char) || char.is_ascii_digit() || "-.".contains(char)))
}

fn predicates(cursor: &mut Cursor<'_>) -> Result<Vec<Predicate>, PathError> {
    let mut predicates = Vec::new();
    loop {
        cursor.skip_space();
        if !cursor.eat("[") {
            return Ok(predicates);
        }
        predicates.push(predicate(cursor)?);
        // behind `and` a position would count other elements than here
        while and(cursor) {
            let begin = cursor.clone();
            match predicate(cursor)? {
                condition @ Predicate::Condition(..) => predicates.push(condition),
                Predicate::Position(_) | Predicate::Last => {
                    return Err(begin.expected("a condition: a position comes first"));
                }
            }
        }
        cursor.skip_space();
        if !cursor.eat("]") {
            return Err(cursor.expected("`]`, or `and` and a further condition"));
        }
        if predicates.len() > STEPS_MAX {
            return Err(cursor.expected(format!("at most {STEPS_MAX} conditions")));
        }
    }
}

fn and(cursor: &mut Cursor<'_>) -> bool {
    let before = cursor.clone();
    cursor.skip_space();
    let here = cursor.eat("and") && cursor.peek().is_some_and(|char| " \t\r\n@.".contains(char));
    if !here {
        *cursor = before;
    }
    here
}

fn predicate(cursor: &mut Cursor<'_>) -> Result<Predicate, PathError> {
    cursor.skip_space();
    if cursor.peek().is_some_and(|char| char.is_ascii_digit()) {
        return position(cursor);
    }
    if cursor.eat("last()") {
        return Ok(Predicate::Last);
    }
    if cursor.eat("position()") {
        cursor.skip_space();
        cursor.require("=")?;
        cursor.skip_space();
        return if cursor.eat("last()") { Ok(Predicate::Last) } else { position(cursor) };
    }
    let operand = operand(cursor)?;
    let relation = relation(cursor)?;
    if relation == Relation::Exists
        && matches!(operand, Operand::LocalName | Operand::Name | Operand::Whole)
    {
        return Err(cursor.expected("`=` or `!=` and a text in quotes"));
    }
    Ok(Predicate::Condition(operand, relation))
}

fn position(cursor: &mut Cursor<'_>) -> Result<Predicate, PathError> {
    let begin = cursor.clone();
    let digits = cursor.take_while(|char| char.is_ascii_digit());
    match digits.parse() {
        Ok(position @ 1..) => Ok(Predicate::Position(position)),
        _ => Err(begin.expected("a position, from 1")),
    }
}

fn operand(cursor: &mut Cursor<'_>) -> Result<Operand, PathError> {
    let begin = cursor.clone();
    if cursor.eat("@") {
        return Ok(Operand::Attribute(name_test(cursor)?));
    }
    if cursor.eat(".") {
        return Ok(Operand::Whole);
    }
    const FUNCTIONS: [(&str, Operand); 3] = [
        ("text()", Operand::Texts),
        ("local-name()", Operand::LocalName),
        ("name()", Operand::Name),
    ];
    if let Some((_, operand)) = FUNCTIONS.into_iter().find(|(word, _)| cursor.eat(word)) {
        return Ok(operand);
    }
    let name = name_test(cursor).map_err(|error| begin.nothing_read(error, CONDITION))?;
    if cursor.peek() == Some('(') {
        return Err(begin.expected(format!("{CONDITION}; other functions are not supported")));
    }
    Ok(Operand::Child(name))
}

fn relation(cursor: &mut Cursor<'_>) -> Result<Relation, PathError> {
    let before = cursor.clone();
    cursor.skip_space();
    let differs = cursor.eat("!=");
    if !differs && !cursor.eat("=") {
        *cursor = before;
        return Ok(Relation::Exists);
    }
    cursor.skip_space();
    let text = quoted(cursor)?;
    Ok(if differs { Relation::IsNot(text) } else { Relation::Is(text) })
}

/// A text in single or double quotes; there are no escapes.
fn quoted(cursor: &mut Cursor<'_>) -> Result<String, PathError> {
    let quote = match cursor.peek() {
        Some(quote @ ('\'' | '"')) => quote,
        _ => return Err(cursor.expected("a text in quotes")),
    };
    cursor.next();
    let text = cursor.take_while(|char| char != quote);
    match cursor.next() {
        Some(_) => Ok(text.into()),
        None => Err(cursor.expected(format!("the closing {quote}"))),
    }
}

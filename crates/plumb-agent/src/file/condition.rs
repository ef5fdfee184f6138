//! Conditions as a file writes them.

use plumb_wire::document::Wrong;
use toml::Spanned;

use super::Place;
use super::raw::{ConditionFile, Literal, TriggerFile};
use crate::change::TagValue;
use crate::condition::{Condition, Side, Threshold};
use crate::trigger::{Sent, Trigger};

/// Conditions within each other, at most.
const DEPTH_MAX: usize = 32;

pub(super) fn trigger(place: &Place<'_>, file: &Spanned<TriggerFile>) -> Result<Trigger, Wrong> {
    let TriggerFile { when, fires, tags, send } = file.get_ref();
    let names = |names: &[String]| names.iter().map(|name| name.as_str().into()).collect();
    let sent = match send {
        None => Sent::Change,
        Some(send) if send.get_ref().is_empty() => {
            let problem = "`send` names tags; leave it out to send the change that fires";
            return Err(place.wrong(&send.span(), problem));
        }
        Some(send) => Sent::Tags(names(send.get_ref())),
    };
    Ok(Trigger { when: condition(place, when, 0)?, fires: *fires, tags: names(tags), sent })
}

fn condition(
    place: &Place<'_>,
    written: &Spanned<ConditionFile>,
    depth: usize,
) -> Result<Condition, Wrong> {
    let at = written.span();
    if depth > DEPTH_MAX {
        return Err(place.wrong(&at, "conditions stand 32 deep in each other at most"));
    }
    let each = |list: &[Spanned<ConditionFile>]| {
        if list.is_empty() {
            return Err(place.wrong(&at, "it has no condition: write one at least"));
        }
        list.iter().map(|it| condition(place, it, depth + 1)).collect()
    };
    let file = written.get_ref();
    let ConditionFile { all, any, not, changed, tag, .. } = file;
    match (all, any, not, changed, tag) {
        (Some(all), None, None, None, None) => Ok(Condition::All(each(all)?)),
        (None, Some(any), None, None, None) => Ok(Condition::Any(each(any)?)),
        (None, None, Some(not), None, None) => {
            Ok(Condition::Not(Box::new(condition(place, not, depth + 1)?)))
        }
        (None, None, None, Some(tag), None) => Ok(Condition::Changed(tag.as_str().into())),
        (None, None, None, None, Some(tag)) => {
            of_tag(file, tag).map_err(|problem| place.wrong(&at, problem))
        }
        _ => {
            Err(place.wrong(&at, "a condition has one of `all`, `any`, `not`, `changed` and `tag`"))
        }
    }
}

fn of_tag(file: &ConditionFile, tag: &str) -> Result<Condition, &'static str> {
    let threshold = |side, limit: f64, until: Option<f64>| {
        let until = until.unwrap_or(limit);
        let beyond = match side {
            Side::Above => until > limit,
            Side::Below => until < limit,
        };
        if beyond || !limit.is_finite() || !until.is_finite() {
            return Err("`until` lies where the condition does not hold: not above `above`, not \
                        below `below`");
        }
        Ok(Condition::Threshold(Threshold { tag: tag.into(), side, limit, until, holds: false }))
    };
    match (file.above, file.below, &file.equals) {
        (Some(limit), None, None) => threshold(Side::Above, limit, file.until),
        (None, Some(limit), None) => threshold(Side::Below, limit, file.until),
        (None, None, Some(value)) if file.until.is_none() => {
            let value = match value {
                Literal::Flag(flag) => TagValue::Flag(*flag),
                Literal::Number(number) => TagValue::Number(*number),
                Literal::Text(text) => TagValue::Text(text.as_str().into()),
            };
            Ok(Condition::Equals(tag.into(), value))
        }
        _ => Err("the condition of a tag has one of `above`, `below` (both may have `until`) and \
                  `equals`"),
    }
}

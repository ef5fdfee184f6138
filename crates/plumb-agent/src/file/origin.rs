//! Sources as a file writes them.

use std::path::PathBuf;

use plumb_measure::Span;
use plumb_wire::document::Wrong;
use toml::Spanned;

use super::raw::{
    MqttFile, NodeFile, OpcUaFile, PaceFile, ReadHow, ReplayFile, ReplayForm, ShapeName, SimFile,
    SimTagFile, SourceFile,
};
use super::target::trusted;
use super::{Place, secrets};
use crate::source::{
    Columns, MqttPlan, MqttTls, NO_OPCUA, OpcUaPlan, Pace, ReplayPlan, Shape, SimPlan, SimTag,
    SourcePlan, TagName,
};

/// Simulated tags at most.
const TAGS_MAX: usize = 1_000_000;
const RATE_MAX: f64 = 10_000_000.0;

pub(super) fn plan(place: &Place<'_>, file: &Spanned<SourceFile>) -> Result<SourcePlan, Wrong> {
    let SourceFile { sim, file: replay, mqtt, opc_ua } = file.get_ref();
    match (sim, replay, mqtt, opc_ua) {
        (Some(it), None, None, None) => sim_plan(place, it).map(SourcePlan::Sim),
        (None, Some(it), None, None) => replay_plan(place, it.get_ref()).map(SourcePlan::Replay),
        (None, None, Some(it), None) => {
            mqtt_plan(place, it.get_ref()).map(|it| SourcePlan::Mqtt(Box::new(it)))
        }
        (None, None, None, Some(it)) => opc_ua_plan(place, it).map(SourcePlan::OpcUa),
        _ => {
            Err(place
                .wrong(&file.span(), "an agent has one source: `sim`, `file`, `mqtt` or `opc-ua`"))
        }
    }
}

/// The source of a copy: what is drawn differs, and no two are one client.
pub(super) fn copy(source: &SourcePlan, number: u32) -> SourcePlan {
    match source {
        SourcePlan::Sim(sim) => {
            SourcePlan::Sim(SimPlan { seed: sim.seed.wrapping_add(number.into()), ..sim.clone() })
        }
        SourcePlan::Replay(replay) => SourcePlan::Replay(replay.clone()),
        SourcePlan::Mqtt(mqtt) => {
            let client_id = format!("{}-{number}", mqtt.client_id);
            SourcePlan::Mqtt(Box::new(MqttPlan { client_id, ..(**mqtt).clone() }))
        }
        SourcePlan::OpcUa(nodes) => SourcePlan::OpcUa(nodes.clone()),
    }
}

fn sim_plan(place: &Place<'_>, file: &Spanned<SimFile>) -> Result<SimPlan, Wrong> {
    let SimFile { seed, rate, changes, tag } = file.get_ref();
    if let Some(rate) = rate {
        positive(place, rate, "`rate`")?;
    }
    let mut tags = Vec::new();
    for written in tag {
        let it = written.get_ref();
        let shape = shape(it).map_err(|problem| place.wrong(&written.span(), problem))?;
        match it.count {
            None => tags.push(SimTag { name: it.name.as_str().into(), shape }),
            Some(count) if count > 0 && tags.len() + (count as usize) <= TAGS_MAX => {
                let name = |number| format!("{}-{number}", it.name).into();
                tags.extend((1..=count).map(|number| SimTag { name: name(number), shape }));
            }
            Some(_) => {
                let problem = format!("`count` is 1 at least, and {TAGS_MAX} tags at most");
                return Err(place.wrong(&written.span(), problem));
            }
        }
    }
    if tags.is_empty() {
        return Err(place.wrong(&file.span(), "it simulates no tag: write [[source.sim.tag]]"));
    }
    let rate = rate.as_ref().map(|it| *it.get_ref());
    Ok(SimPlan { seed: seed.unwrap_or(1), tags, rate, changes: *changes })
}

fn positive(place: &Place<'_>, written: &Spanned<f64>, name: &str) -> Result<(), Wrong> {
    let value = *written.get_ref();
    if value > 0.0 && value <= RATE_MAX {
        return Ok(());
    }
    let problem = format!("{name} is a number above 0, up to {RATE_MAX}");
    Err(place.wrong(&written.span(), problem))
}

fn shape(file: &SimTagFile) -> Result<Shape, &'static str> {
    let SimTagFile { value, low, high, period, step, steps, every, .. } = *file;
    let others = |names: &[bool]| !names.iter().any(|given| *given);
    let ends = |low: f64, high: f64| low.is_finite() && high.is_finite() && low <= high;
    match file.shape {
        ShapeName::Constant => match value {
            Some(value) if value.is_finite() && others(&[low.is_some(), high.is_some()]) => {
                Ok(Shape::Constant { value })
            }
            _ => Err("`constant` has `value` alone"),
        },
        ShapeName::Sine => match (low, high, period) {
            (Some(low), Some(high), Some(period)) if ends(low, high) && period > 0.0 => {
                Ok(Shape::Sine { low, high, period })
            }
            _ => Err("`sine` has `low`, `high` and `period` (samples of one wave, above 0)"),
        },
        ShapeName::RandomWalk => match (low, high, step) {
            (Some(low), Some(high), Some(step)) if ends(low, high) && step >= 0.0 => {
                Ok(Shape::RandomWalk { low, high, step })
            }
            _ => Err("`random-walk` has `low`, `high` and `step` (the deviation of one)"),
        },
        ShapeName::Steps => match (low, high, steps, every.unwrap_or(1.0)) {
            (Some(low), Some(high), Some(steps), every)
                if ends(low, high) && steps >= 2 && every > 0.0 =>
            {
                Ok(Shape::Steps { low, high, steps, every })
            }
            _ => {
                Err("`steps` has `low`, `high`, `steps` (2 at least) and `every` (samples of each)")
            }
        },
    }
}

fn replay_plan(place: &Place<'_>, file: &ReplayFile) -> Result<ReplayPlan, Wrong> {
    let columns = match file.form {
        ReplayForm::Lines => None,
        ReplayForm::Csv => Some(columns(place, file)?),
    };
    let has_times = columns.as_ref().is_some_and(|it| it.time.is_some());
    let pace = match &file.pace {
        None => Pace::Full,
        Some(written) => pace(place, written, has_times)?,
    };
    let path = place.folder.join(file.path.get_ref());
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(ReplayPlan {
        tag: file.tag.clone().unwrap_or(stem).into(),
        file: path,
        columns,
        follows: file.read == ReadHow::Follow,
        pace,
    })
}

fn columns(place: &Place<'_>, file: &ReplayFile) -> Result<Columns, Wrong> {
    match (&file.tag_column, &file.value_column) {
        (Some(_), Some(_)) | (None, None) => {}
        (Some(only), None) | (None, Some(only)) => {
            let problem = "`tag-column` and `value-column` belong together; without them each \
                           column is a tag";
            return Err(place.wrong(&only.span(), problem));
        }
    }
    let delimiter = match &file.delimiter {
        None => b',',
        Some(written) => match written.get_ref().as_bytes() {
            [byte] if byte.is_ascii() && !b"\"\r\n".contains(byte) => *byte,
            _ => return Err(place.wrong(&written.span(), "`delimiter` is one character of ASCII")),
        },
    };
    let own = |it: &Option<Spanned<String>>| it.as_ref().map(|it| it.get_ref().clone());
    Ok(Columns {
        time: file.time_column.clone(),
        tag: own(&file.tag_column),
        value: own(&file.value_column),
        delimiter,
    })
}

fn pace(place: &Place<'_>, file: &Spanned<PaceFile>, has_times: bool) -> Result<Pace, Wrong> {
    let fits = |value: f64| value > 0.0 && value <= RATE_MAX;
    match (file.get_ref().rate, file.get_ref().speed) {
        (Some(rate), None) if fits(rate) => Ok(Pace::Rate(rate)),
        (None, Some(speed)) if fits(speed) && has_times => Ok(Pace::TimeStamps(speed)),
        (None, Some(_)) if !has_times => Err(place
            .wrong(&file.span(), "`speed` needs `time-column`: the pace is that of time stamps")),
        _ => Err(place.wrong(
            &file.span(),
            "`pace` has `rate` (changes a second) or `speed` (1.0: as the time stamps), above 0",
        )),
    }
}

fn mqtt_plan(place: &Place<'_>, file: &MqttFile) -> Result<MqttPlan, Wrong> {
    let at = file.broker.span();
    let text = file.broker.get_ref();
    let expected = "write mqtt://HOST:PORT, or mqtts://HOST:PORT over TLS";
    let (encrypted, rest) = match (text.strip_prefix("mqtt://"), text.strip_prefix("mqtts://")) {
        (Some(rest), None) => (false, rest),
        (None, Some(rest)) => (true, rest),
        _ => return Err(place.wrong(&at, expected)),
    };
    if rest.contains('@') {
        let problem = "a name stands in the URL: write `user` and `password-file`";
        return Err(Wrong { excerpt: String::new(), ..place.wrong(&at, problem) });
    }
    let (host, port) = match rest.rsplit_once(':') {
        Some((host, port)) => (host, port.parse().map_err(|_| place.wrong(&at, expected))?),
        None => (rest, if encrypted { 8_883 } else { 1_883 }),
    };
    if host.is_empty() || host.contains('/') {
        return Err(place.wrong(&at, expected));
    }
    let topics = file.topics.get_ref().clone();
    if topics.is_empty() || topics.iter().any(String::is_empty) {
        return Err(place.wrong(&file.topics.span(), "`topics` names one filter at least"));
    }
    let tls = match (encrypted, &file.ca) {
        (false, None) => None,
        (false, Some(ca)) => return Err(place.wrong(&ca.span(), "`ca` belongs to mqtts://")),
        (true, ca) => {
            let span = ca.as_ref().map_or(at.clone(), Spanned::span);
            let path = ca.as_ref().map(|it| place.folder.join(it.get_ref()));
            let roots = trusted(path.as_deref()).map_err(|it| place.wrong(&span, it))?;
            Some(MqttTls::new(roots))
        }
    };
    let login =
        login(place, file.user.as_ref(), file.password_file.as_ref(), file.password_env.as_ref())?;
    let client_id = match &file.client_id {
        Some(written) => written.get_ref().clone(),
        None => {
            let problem = "it needs `client-id`, which the broker knows it by: a text of its own";
            return Err(place.wrong(&at, problem));
        }
    };
    Ok(MqttPlan {
        host: host.into(),
        port,
        version: file.version,
        client_id,
        topics,
        payload: file.payload,
        sequence: file.sequence.as_ref().map(|it| it.get_ref().clone()),
        login,
        tls,
    })
}

/// Name and password; neither without the other.
fn login(
    place: &Place<'_>,
    user: Option<&Spanned<String>>,
    file: Option<&Spanned<PathBuf>>,
    variable: Option<&Spanned<String>>,
) -> Result<Option<(String, String)>, Wrong> {
    let at = file.map(Spanned::span).or(variable.map(Spanned::span)).unwrap_or_default();
    match (user, secrets::secret(place, file, variable)?) {
        (None, None) => Ok(None),
        (Some(user), Some(password)) => Ok(Some((user.get_ref().clone(), password))),
        (Some(user), None) => {
            let problem = "`user` needs `password-file` or `password-env`";
            Err(place.wrong(&user.span(), problem))
        }
        (None, Some(_)) => Err(place.wrong(&at, "a password needs `user`")),
    }
}

fn opc_ua_plan(place: &Place<'_>, file: &Spanned<OpcUaFile>) -> Result<OpcUaPlan, Wrong> {
    if cfg!(not(feature = "opcua")) {
        return Err(place.wrong(&file.span(), NO_OPCUA));
    }
    let OpcUaFile { url, node, sequence, interval, user, password_file, password_env } =
        file.get_ref();
    let host = url.get_ref().strip_prefix("opc.tcp://").unwrap_or_default();
    if host.contains('@') {
        let problem = "a name stands in the URL: write `user` and `password-file`";
        return Err(Wrong { excerpt: String::new(), ..place.wrong(&url.span(), problem) });
    }
    if host.is_empty() {
        return Err(place.wrong(&url.span(), "write opc.tcp://HOST:PORT"));
    }
    if node.get_ref().is_empty() {
        return Err(place.wrong(&node.span(), "it names no node: write [[source.opc-ua.node]]"));
    }
    let tag = |it: &NodeFile| (it.id.clone(), it.tag.as_ref().unwrap_or(&it.id).as_str().into());
    let nodes: Vec<(String, TagName)> = node.get_ref().iter().map(tag).collect();
    if let Some(name) = sequence
        && nodes.iter().all(|(_, tag)| **tag != **name.get_ref())
    {
        return Err(place.wrong(&name.span(), "no node has this tag: `sequence` is the tag of one"));
    }
    Ok(OpcUaPlan {
        url: url.get_ref().clone(),
        nodes,
        sequence: sequence.as_ref().map(|it| it.get_ref().as_str().into()),
        interval_ms: interval.unwrap_or(Span::from_ms(100)).ns() / 1_000_000,
        login: login(place, user.as_ref(), password_file.as_ref(), password_env.as_ref())?,
    })
}

//! How think times and picks are written.

use plumb_measure::Span;
use serde::{Deserialize, Serialize};

use crate::file::{Pick, Think};

/// A think time as it is written.
#[derive(Deserialize, Serialize)]
#[serde(untagged)]
enum WrittenThink {
    Fixed(Span),
    Drawn(Drawn),
}

#[derive(Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Drawn {
    #[serde(skip_serializing_if = "Option::is_none")]
    uniform: Option<[Span; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exponential: Option<Span>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max: Option<Span>,
    #[serde(skip_serializing_if = "Option::is_none")]
    normal: Option<Span>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deviation: Option<Span>,
}

const THINK: &str = "a think time is \"10s\", { uniform = [\"5s\", \"15s\"] }, \
                     { exponential = \"10s\", max = \"60s\" } or \
                     { normal = \"10s\", deviation = \"2s\" }";

impl<'de> Deserialize<'de> for Think {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let refused = |why: &str| serde::de::Error::custom(format!("{why}; {THINK}"));
        let drawn = match WrittenThink::deserialize(deserializer) {
            Ok(WrittenThink::Fixed(span)) => return Ok(Self::Fixed(span)),
            Ok(WrittenThink::Drawn(drawn)) => drawn,
            Err(_) => return Err(refused("this is no think time")),
        };
        match drawn {
            Drawn {
                uniform: Some([from, to]),
                exponential: None,
                max: None,
                normal: None,
                deviation: None,
            } => {
                if from <= to {
                    Ok(Self::Uniform(from, to))
                } else {
                    Err(refused("the shorter time comes first"))
                }
            }
            Drawn {
                uniform: None,
                exponential: Some(mean),
                max,
                normal: None,
                deviation: None,
            } => Ok(Self::Exponential(mean, max)),
            Drawn {
                uniform: None,
                exponential: None,
                max: None,
                normal: Some(mean),
                deviation: Some(deviation),
            } => Ok(Self::Normal(mean, deviation)),
            _ => Err(refused("these keys do not belong together")),
        }
    }
}

impl Serialize for Think {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let written = match *self {
            Self::Fixed(span) => WrittenThink::Fixed(span),
            Self::Uniform(from, to) => {
                WrittenThink::Drawn(Drawn { uniform: Some([from, to]), ..Drawn::default() })
            }
            Self::Exponential(mean, max) => {
                WrittenThink::Drawn(Drawn { exponential: Some(mean), max, ..Drawn::default() })
            }
            Self::Normal(mean, deviation) => WrittenThink::Drawn(Drawn {
                normal: Some(mean),
                deviation: Some(deviation),
                ..Drawn::default()
            }),
        };
        written.serialize(serializer)
    }
}

/// A pick as it is written.
#[derive(Deserialize, Serialize)]
#[serde(untagged)]
enum WrittenPick {
    Number(u64),
    Word(String),
}

impl<'de> Deserialize<'de> for Pick {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "a pick is \"first\", \"all\", \"random\" or a number from 1";
        match WrittenPick::deserialize(deserializer) {
            Ok(WrittenPick::Number(number @ 1..)) => Ok(Self::Number(number)),
            Ok(WrittenPick::Word(word)) if word == "first" => Ok(Self::First),
            Ok(WrittenPick::Word(word)) if word == "all" => Ok(Self::All),
            Ok(WrittenPick::Word(word)) if word == "random" => Ok(Self::Random),
            _ => Err(serde::de::Error::custom(expected)),
        }
    }
}

impl Serialize for Pick {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Self::First => serializer.serialize_str("first"),
            Self::All => serializer.serialize_str("all"),
            Self::Random => serializer.serialize_str("random"),
            Self::Number(number) => serializer.serialize_u64(number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize, Serialize)]
    struct Line {
        think: Think,
        pick: Pick,
    }

    #[test]
    fn what_is_written_is_read_again() {
        for (think, pick) in [
            ("\"10s\"", "\"all\""),
            ("{ uniform = [\"5s\", \"15s\"] }", "\"first\""),
            ("{ exponential = \"10s\", max = \"1m\" }", "3"),
            ("{ normal = \"10s\", deviation = \"2s\" }", "\"random\""),
        ] {
            let text = format!("think = {think}\npick = {pick}\n");
            let line: Line = toml::from_str(&text).unwrap();
            let again: Line = toml::from_str(&toml::to_string(&line).unwrap()).unwrap();
            assert_eq!((line.think, line.pick), (again.think, again.pick), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_can() {
        for think in [
            "\"10x\"",
            "{ uniform = [\"5s\", \"1s\"] }",
            "{ normal = \"1s\" }",
            "{ mean = \"1s\" }",
        ] {
            let text = format!("think = {think}\npick = 1\n");
            let error = toml::from_str::<Line>(&text).unwrap_err().to_string();
            assert!(error.contains("a think time is"), "{error}");
        }
        let error = toml::from_str::<Line>("think = \"1s\"\npick = 0\n").unwrap_err().to_string();
        assert!(error.contains("a pick is"), "{error}");
    }
}

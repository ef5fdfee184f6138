//! Actions that reach outside, as they are done: statements and calls of back ends.

use plumb_scenario::variables::{Names, Value, Variables};
use plumb_wire::secret::masked_url;

use super::document::Document;
use super::failure::{FailureKind, Trouble};
use super::run::{Execution, Traced, written};
use super::shaping::escaped;
use super::{BackEndAnswer, BackEndCall, BackEndRequest, Sql, SqlAnswer, SqlRequest, headers};

/// What a body is unless the action says.
const PLAIN: &str = "text/plain";

impl Execution<'_, '_> {
    pub(super) fn sql(
        &mut self,
        sql: &Sql,
        names: &Names,
        variables: &mut Variables,
    ) -> Result<(), Trouble> {
        let held: Vec<Option<Value>> =
            sql.values.iter().map(|slot| variables.get(*slot).cloned()).collect();
        let values: Vec<Option<&str>> =
            held.iter().map(|value| self.text_of(value.as_ref())).collect();
        let named: Vec<_> =
            sql.values.iter().map(|slot| names.name(*slot)).zip(values.iter().copied()).collect();
        self.traced(Traced::Statement { text: &sql.text, values: &named });
        let request = SqlRequest { server: &sql.server, text: &sql.text, values: &values };
        if sql.used.is_empty() && !self.trace.wants_answers() {
            return Ok(self.outside.sql_later(&request)?);
        }
        let answer = self.outside.sql(&request)?;
        self.traced(Traced::Answer(&answer));
        for (name, slot) in &sql.used {
            let column = answer.first.iter().find(|(column, _)| column == &**name);
            let value = match (column, &**name) {
                (Some((_, text)), _) => self.value_of(text.as_deref()),
                (None, "changed") => Value::text(&answer.changed.to_string()),
                (None, name) => return Err(no_column(name, &answer).into()),
            };
            variables.set(*slot, value);
        }
        Ok(())
    }

    pub(super) fn back_end(
        &mut self,
        call: &BackEndCall,
        names: &Names,
        variables: &mut Variables,
    ) -> Result<(), Trouble> {
        let target = written(&call.target, names, variables)?;
        let headers = headers::lines(&call.headers, names, variables)?;
        let document = self.document.clone();
        let own = match &call.body {
            Some(body) => {
                let kind = call.media_type.as_deref().unwrap_or(PLAIN);
                let mut out = Vec::new();
                body.write_with(variables, |text, out| escaped(kind, text, out), &mut out)
                    .map_err(|missing| missing.words(names))?;
                Some(out)
            }
            None => None,
        };
        let bodiless = ["GET", "HEAD", "DELETE"].contains(&&*call.method);
        let (kind, body) = match &own {
            Some(own) => (PLAIN, own.as_slice()),
            None if bodiless => ("", &[][..]),
            None => (document.body().media_type(), document.body().bytes()),
        };
        let request = BackEndRequest {
            server: &call.back_end,
            method: &call.method,
            target: &target,
            headers: &headers,
            media_type: call.media_type.as_deref().unwrap_or(kind),
            body,
            patience: self.time_left(),
            // who runs the transaction knows them
            trace: None,
            idempotency_key: None,
        };
        let answer = self.outside.call(&request)?;
        self.traced(Traced::BackEnd { target: &target, answer: &answer });
        let looks = call.used.iter().any(|(name, _)| &**name == "status");
        if !looks && !is_success(answer.status) {
            return Err(unwelcome(call, &answer));
        }
        for (name, slot) in &call.used {
            let text = match &**name {
                "status" => answer.status.to_string(),
                "type" => answer.media_type.clone(),
                _ => String::from_utf8(answer.body.clone())
                    .map_err(|_| "its answer is no text in UTF-8".to_owned())?,
            };
            variables.set(*slot, Value::text(&text));
        }
        if call.replaces && is_success(answer.status) {
            let is_json = answer.media_type.contains("json");
            let body = answer.body.into();
            self.document =
                if is_json { Document::MadeJson(body) } else { Document::MadeXml(body) };
        }
        Ok(())
    }
}

fn no_column(name: &str, answer: &SqlAnswer) -> String {
    let columns: Vec<&str> = answer.first.iter().map(|(column, _)| &**column).collect();
    match &*columns {
        [] => format!("the statement brings no rows, so no column `{name}`"),
        _ => format!("the statement brings no column `{name}`; it brings {}", columns.join(", ")),
    }
}

/// Whether a back end has done what it was asked for: one that sends the request elsewhere has not.
fn is_success(status: u16) -> bool {
    (200..300).contains(&status)
}

/// An answer that is none of success, where the transaction does not look at the status itself.
fn unwelcome(call: &BackEndCall, answer: &BackEndAnswer) -> Trouble {
    let (back_end, method, status) = (&call.back_end, &call.method, answer.status);
    let elsewhere = match &answer.location {
        Some(location) if (300..400).contains(&status) => {
            format!(", which is not followed, to {}", shown(masked_url(location).as_bytes()))
        }
        _ => String::new(),
    };
    let problem = format!(
        "the back end {back_end} answers {method} {status}{elsewhere}: {}",
        shown(&answer.body)
    );
    // what the server cannot do now it may do later; what it does not like stays so
    let lost = status >= 500 || [408, 425, 429].contains(&status);
    Trouble { kind: if lost { FailureKind::Lost } else { FailureKind::Refused }, problem }
}

/// The beginning of what a back end says.
fn shown(said: &[u8]) -> String {
    let text = String::from_utf8_lossy(&said[..said.len().min(400)]);
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(200).collect()
}

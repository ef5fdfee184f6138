//! Transactions as web services: SOAP 1.1, document/literal.
//!
//! # Source
//! Simple Object Access Protocol 1.1; Web Services Description Language 1.1.

mod envelope;

use std::fmt::Write as _;

use bytes::Bytes;
use hyper::header::HOST;
use plumb_serve::Peer;
use plumb_wire::percent::encoded;
use quick_xml::escape::escape;

use super::document::{Document, Form};
use super::parameters::Pairs;
use super::submit::{Keys, Order, Response, Submitted};
use crate::answer::{Answer, Failure, SOAP, Times};
use plumb_transaction::Transaction;

/// The namespace of envelopes.
const ENVELOPE: &str = "http://schemas.xmlsoap.org/soap/envelope/";

/// The namespace of the messages of the transaction `name`.
fn namespace(name: &str) -> String {
    format!("urn:plumb:flow:{}", encoded(name))
}

/// What a call of the transaction `name` asks, out of its envelope.
///
/// # Errors
/// [`Failure`] for an envelope that is none, with the place of what is wrong.
pub(super) fn read(
    name: &str,
    content_type: &str,
    bytes: Bytes,
    keys: Keys,
) -> Result<Order, Failure> {
    let form = Form::of(content_type, &bytes)?;
    if form != Form::Xml || bytes.is_empty() {
        return Err(Failure::bad_request("a call is an envelope of SOAP 1.1 in text/xml"));
    }
    // well-formed first: what reads the envelope need not look at it again
    let whole = Document::check(form, bytes)?;
    let call = envelope::read(&whole.bytes, &namespace(name))?;
    let document = Document { form: Form::Xml, bytes: call.document.into() };
    let (transaction, parameters) = (name.to_owned(), call.parameters);
    Ok(Order { transaction, mode: None, parameters, document, keys })
}

/// The envelope that says what came of a call.
pub(super) fn answer(name: &str, submitted: Submitted) -> Answer {
    let (id, state, status, media_type, text, timings) = match submitted {
        Submitted::Done(response) => {
            let Response { id, completed: done, timings } = *response;
            (id, "done", done.status, done.media_type, done.text, Some(timings))
        }
        Submitted::Accepted(accepted, _) => {
            (accepted.id, "accepted", 202, String::new(), String::new(), None)
        }
    };
    let forbidden = |char: &char| *char >= ' ' || matches!(char, '\t' | '\n' | '\r');
    let text: String = text.chars().filter(forbidden).collect();
    let body = format!(
        "<soap:Envelope xmlns:soap=\"{ENVELOPE}\"><soap:Body><Response xmlns=\"{}\">\
         <Execution>{id}</Execution><State>{state}</State><Status>{status}</Status>\
         <MediaType>{}</MediaType><Text>{}</Text></Response></soap:Body></soap:Envelope>",
        escape(namespace(name)),
        escape(&media_type),
        escape(&text)
    );
    let answer = Answer::new(SOAP, body).of_execution(id);
    match timings {
        Some(timings) => answer.timed(Times::of_execution(&timings)),
        None => answer,
    }
}

/// What describes the transaction to a client, which asked `headers` and comes as `peer`.
pub(super) fn wsdl(transaction: &Transaction, headers: &hyper::HeaderMap, peer: Peer) -> Answer {
    let host = headers.get(HOST).and_then(|value| value.to_str().ok()).unwrap_or("localhost");
    let scheme = if peer.tls { "https" } else { "http" };
    let address = format!("{scheme}://{host}/soap/{}", encoded(&transaction.name));
    let about = transaction.about.as_deref().unwrap_or("A transaction of messages");
    let text = description(
        &escape(namespace(&transaction.name)),
        &escape(about),
        &escape(&address),
        &parameters(transaction),
    );
    Answer::new(SOAP, text)
}

/// The elements of its parameters. What is no name of an element cannot be given by this door.
fn parameters(transaction: &Transaction) -> String {
    let mut elements = String::new();
    for (name, required) in transaction.parameters().filter(|(name, _)| is_element(name)) {
        let least = u8::from(required);
        // a String takes everything
        let _ = write!(
            elements,
            "<xsd:element name=\"{name}\" type=\"xsd:string\" minOccurs=\"{least}\"/>"
        );
    }
    elements
}

/// A name that every schema takes, and that is not the document's.
fn is_element(name: &str) -> bool {
    let plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-' | '.');
    name != "Document"
        && name.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_')
        && name.chars().all(plain)
}

fn description(namespace: &str, about: &str, address: &str, parameters: &str) -> String {
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<definitions xmlns="http://schemas.xmlsoap.org/wsdl/" xmlns:soap="http://schemas.xmlsoap.org/wsdl/soap/" xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:t="{namespace}" targetNamespace="{namespace}" name="Transaction">
  <documentation>{about}</documentation>
  <types>
    <xsd:schema targetNamespace="{namespace}" elementFormDefault="qualified">
      <xsd:element name="Request"><xsd:complexType><xsd:sequence>
        {parameters}
        <xsd:element name="Document" minOccurs="0"><xsd:complexType><xsd:sequence>
          <xsd:any minOccurs="0" processContents="skip"/>
        </xsd:sequence></xsd:complexType></xsd:element>
      </xsd:sequence></xsd:complexType></xsd:element>
      <xsd:element name="Response"><xsd:complexType><xsd:sequence>
        <xsd:element name="Execution" type="xsd:string"/>
        <xsd:element name="State" type="xsd:string"/>
        <xsd:element name="Status" type="xsd:int"/>
        <xsd:element name="MediaType" type="xsd:string"/>
        <xsd:element name="Text" type="xsd:string"/>
      </xsd:sequence></xsd:complexType></xsd:element>
    </xsd:schema>
  </types>
  <message name="Request"><part name="parameters" element="t:Request"/></message>
  <message name="Response"><part name="parameters" element="t:Response"/></message>
  <portType name="Transaction">
    <operation name="Run"><input message="t:Request"/><output message="t:Response"/></operation>
  </portType>
  <binding name="TransactionSoap" type="t:Transaction">
    <soap:binding style="document" transport="http://schemas.xmlsoap.org/soap/http"/>
    <operation name="Run">
      <soap:operation soapAction="" style="document"/>
      <input><soap:body use="literal"/></input>
      <output><soap:body use="literal"/></output>
    </operation>
  </binding>
  <service name="Transaction">
    <documentation>{about}</documentation>
    <port name="TransactionSoap" binding="t:TransactionSoap"><soap:address location="{address}"/></port>
  </service>
</definitions>
"#
    )
}

/// What an envelope asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Call {
    parameters: Pairs,
    /// Empty when there is none.
    document: Vec<u8>,
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "about = \"a < b\"\n[parameters]\nplant = \"1\"\n\"1st\" = \"\"\n\
        shift = { about = \"early\" }\n[[action]]\nlog = \"${plant}\"\n";

    #[test]
    fn the_description_is_xml_and_names_the_parameters() {
        let transaction = Transaction::parse("a b", FILE).unwrap();
        let mut headers = hyper::HeaderMap::new();
        headers.insert(HOST, "erp:50000".parse().unwrap());
        let answer = wsdl(&transaction, &headers, Peer { address: None, tls: true, connection: 0 });
        let text = std::str::from_utf8(&answer.body).unwrap();
        let document = roxmltree::Document::parse(text).unwrap();
        let find =
            |name: &str| document.descendants().find(|it| it.attribute("name") == Some(name));
        assert_eq!(find("plant").unwrap().attribute("minOccurs"), Some("0"));
        assert_eq!(find("shift").unwrap().attribute("minOccurs"), Some("1"));
        assert!(find("1st").is_none());
        let address = document.descendants().find(|it| it.has_attribute("location")).unwrap();
        assert_eq!(address.attribute("location"), Some("https://erp:50000/soap/a%20b"));
        assert!(text.contains("urn:plumb:flow:a%20b"));
    }

    #[test]
    fn a_call_that_is_no_envelope_is_refused() {
        let read = |kind: &str, text: &'static str| {
            read("t", kind, Bytes::from(text), Keys::default()).unwrap_err()
        };
        assert!(read("text/xml", "").message.contains("an envelope of SOAP 1.1"));
        assert!(read("application/json", "{}").message.contains("an envelope of SOAP 1.1"));
        let cut = read("text/xml", "<e:Envelope xmlns:e='x'>\n<a>");
        assert!(cut.at.is_some(), "{cut:?}");
    }
}

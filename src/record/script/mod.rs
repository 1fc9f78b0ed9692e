//! Scripted sessions: the notation of session-model.md 0, read into envelopes, so that the examples
//! of that page are test cases and fixtures word for word. Start with `session`.

mod attributes;
mod loose;
mod message;
#[cfg(test)]
mod tests;

use bytes::Bytes;

use self::{attributes::Attributes, loose::Loose, message::Asked};
use super::envelope::{Direction, Envelope, HttpFields, Payload, Peek, Seq, Transport};
use crate::{
    base::Timestamp,
    wire::{Raw, json},
};

/// The instant of the first frame of a script: 2026-09-01T08:00:00Z.
pub const START: Timestamp = Timestamp::from_nanos(1_788_249_600_000_000_000);

/// Why a script cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// Neither a direction nor one of the other beginnings.
    #[error("`{item}` does not begin like a frame")]
    Beginning {
        /// The frame as written.
        item: String,
    },
    /// What follows the direction is no message, value or text.
    #[error("`{item}` carries nothing that can be read")]
    Body {
        /// The frame as written.
        item: String,
    },
}

/// Reads a script: frames on lines of their own or separated by `, `; blank lines, lines that begin
/// with `//`, backticks, and remarks in parentheses behind a frame are left out.
///
/// # Errors
/// The first frame that cannot be read.
pub fn session(text: &str) -> Result<Vec<Envelope>, ScriptError> {
    let items: Vec<_> = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(split_items)
        .map(|item| Item::read(&item))
        .collect::<Result<_, _>>()?;
    let is_http = items.iter().any(|item| item.attributes.is_http());
    let mut reader = Reader {
        transport: if is_http {
            Transport::Http
        } else {
            Transport::Stdio
        },
        next: 1,
        asked: Vec::new(),
        out: Vec::new(),
    };
    for item in &items {
        reader.read(item)?;
    }
    Ok(reader.out)
}

/// Cuts a line before each beginning of a frame that lies outside quotes and brackets, or behind
/// the attributes of a cut frame, whose own brackets stay open.
fn split_items(line: &str) -> Vec<String> {
    let line = spelled_out(line);
    let mut items = Vec::new();
    let (mut depth, mut quoted, mut escaped, mut start) = (0_i32, false, false, 0);
    for (at, symbol) in line.char_indices() {
        let item = line.get(start..at).unwrap_or_default();
        if symbol == ',' && is_beginning(line.get(at + 1..).unwrap_or_default()) {
            let is_cut = item.ends_with(']')
                && item
                    .rsplit_once(" [")
                    .is_some_and(|(_, group)| group.contains("trunc"));
            if is_cut || depth == 0 && !quoted {
                items.push(item.to_owned());
                (start, depth, quoted) = (at + 1, 0, false);
            }
        }
        match symbol {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '{' | '[' if !quoted => depth += 1,
            '}' | ']' if !quoted => depth -= 1,
            _ => {}
        }
    }
    items.push(line.get(start..).unwrap_or_default().to_owned());
    items.retain(|item| {
        let item = item.trim();
        !matches!(item, "" | "…") && !item.ends_with(" never seen")
    });
    items
}

/// A line with what the page abbreviates in words of its own.
fn spelled_out(line: &str) -> String {
    line.replace("` then `", ", ")
        .replace('`', "")
        .replace(" with trunc", " [trunc]")
        .replace(
            "\"error\":{…}",
            "\"error\":{\"code\":-32603,\"message\":\"error\"}",
        )
}

fn is_beginning(text: &str) -> bool {
    let text = text.trim_start();
    let marks = [
        "> ",
        "< ",
        "stderr",
        "closed:",
        "unobserved",
        "meta ",
        "end{",
        "end ",
    ];
    marks.iter().any(|mark| text.starts_with(mark))
        || text
            .strip_prefix(['#', '@'])
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// One frame as written, its marks taken off.
struct Item {
    written: String,
    body: String,
    seq: Option<u64>,
    millis: i64,
    attributes: Attributes,
}

impl Item {
    fn read(written: &str) -> Result<Self, ScriptError> {
        let mut body = written.trim();
        body = body.strip_prefix('…').unwrap_or(body).trim_start();
        body = body.strip_prefix("then ").unwrap_or(body);
        let (mut seq, mut millis) = (None, 0);
        while let Some((mark, rest)) = body
            .starts_with(['#', '@'])
            .then(|| body.split_once(' ').unwrap_or((body, "")))
        {
            let number = mark.get(1..).and_then(|digits| digits.parse::<u64>().ok());
            let number = number.ok_or_else(|| ScriptError::Beginning {
                item: written.to_owned(),
            })?;
            if mark.starts_with('#') {
                seq = Some(number);
            } else {
                millis = i64::try_from(number).unwrap_or(i64::MAX);
            }
            body = rest.trim_start();
        }
        let mut attributes = Attributes::default();
        loop {
            let shorter = attributes.take_last(body).or_else(|| without_remark(body));
            match shorter {
                Some(shorter) => body = shorter.trim_end(),
                None => break,
            }
        }
        Ok(Self {
            written: written.trim().to_owned(),
            body: body.to_owned(),
            seq,
            millis,
            attributes,
        })
    }
}

/// Takes a remark like ` (resent)` off the end.
fn without_remark(body: &str) -> Option<&str> {
    let (head, remark) = body.strip_suffix(')')?.rsplit_once(" (")?;
    (!remark.contains(['"', '{', '(', ')'])).then_some(head)
}

struct Reader {
    transport: Transport,
    next: u64,
    asked: Vec<Asked>,
    out: Vec<Envelope>,
}

impl Reader {
    fn read(&mut self, item: &Item) -> Result<(), ScriptError> {
        self.next = item.seq.unwrap_or(self.next);
        let fail = || ScriptError::Body {
            item: item.written.clone(),
        };
        let body = item.body.as_str();
        if let Some(rest) = body.strip_prefix('>') {
            self.frame(item, Direction::ClientToServer, rest.trim_start())
                .ok_or_else(fail)
        } else if let Some(rest) = body.strip_prefix('<') {
            self.frame(item, Direction::ServerToClient, rest.trim_start())
                .ok_or_else(fail)
        } else if let Some(rest) = body.strip_prefix("stderr") {
            let text = text_of(rest.trim_start(), false).ok_or_else(fail)?;
            self.push(item, Direction::Stderr, text_payload(&text));
            Ok(())
        } else {
            let raw = control(item).ok_or_else(|| ScriptError::Beginning {
                item: item.written.clone(),
            })?;
            self.push(item, Direction::Meta, raw_payload(raw));
            Ok(())
        }
    }

    /// A frame of one of the two peers; `None` when its body cannot be read.
    fn frame(&mut self, item: &Item, direction: Direction, body: &str) -> Option<()> {
        let truncated = item.attributes.is_truncated();
        if let Some(text) = body.strip_prefix('T').filter(|rest| !rest.starts_with('"')) {
            let text = text_of(text.trim_start(), truncated)?;
            self.push(item, direction, text_payload(&text));
        } else if let Some(status) = body.strip_prefix('H') {
            let status: u16 = status.parse().ok()?;
            let index = self.push(item, direction, Payload::Nothing);
            let envelope = self.out.get_mut(index)?;
            envelope.http.get_or_insert_default().status = status;
        } else if truncated {
            self.push(item, direction, text_payload(body));
        } else if let Some(inner) = body
            .strip_prefix('[')
            .and_then(|body| body.strip_suffix(']'))
        {
            self.batch(item, &direction, inner)?;
        } else {
            let raw = self.value(item, &direction, body)?;
            self.push(item, direction, raw_payload(raw));
        }
        Some(())
    }

    /// An array: a frame for each element, as the recorder splits it.
    fn batch(&mut self, item: &Item, direction: &Direction, inner: &str) -> Option<()> {
        let elements = split_elements(inner);
        if elements.is_empty() {
            let index = self.push(item, direction.clone(), raw_payload("[]".into()));
            self.out.get_mut(index)?.batch = true;
        }
        let size = u32::try_from(elements.len()).ok()?;
        for (position, element) in (0..).zip(&elements) {
            let raw = self.value(item, direction, element)?;
            let index = self.push(item, direction.clone(), raw_payload(raw));
            let envelope = self.out.get_mut(index)?;
            (envelope.batch, envelope.batch_index, envelope.batch_size) = (true, position, size);
        }
        Some(())
    }

    /// A message or any other JSON value.
    fn value(&mut self, item: &Item, direction: &Direction, body: &str) -> Option<String> {
        if json::whole_value(body.as_bytes()).is_some() && !body.contains("\"[R]\"") {
            return Some(body.into());
        }
        let from_client = *direction == Direction::ClientToServer;
        // On stdio there is no header that could declare a revision.
        let declared = item
            .attributes
            .version()
            .filter(|_| self.transport == Transport::Stdio);
        message::message(body, from_client, declared, &mut self.asked).or_else(|| {
            Loose::parse(body)
                .filter(|_| body.starts_with('{'))
                .map(|all| all.json())
        })
    }

    /// Appends a frame with the attributes of its item; answers its index.
    fn push(&mut self, item: &Item, direction: Direction, payload: Payload) -> usize {
        let attributes = &item.attributes;
        let mut http = attributes.http.clone();
        if self.transport == Transport::Stdio && direction == Direction::ClientToServer {
            http.mcp_protocol_version = None;
        }
        if direction == Direction::Meta {
            http = HttpFields::default();
        }
        self.out.push(Envelope {
            session_id: "s".into(),
            server_label: "server".into(),
            seq: Seq(self.next),
            ts: item
                .millis
                .checked_mul(1_000_000)
                .and_then(|nanos| START.as_nanos().checked_add(nanos))
                .map(Timestamp::from_nanos),
            direction,
            transport: self.transport.clone(),
            payload,
            batch: false,
            batch_index: 0,
            batch_size: 0,
            truncated: attributes.is_truncated(),
            redacted: attributes.redacted,
            wire_bytes: attributes.wire_bytes,
            raw_newlines: false,
            text_bytes: None,
            peek: attributes.peek.clone().map(Box::new),
            http: (http != HttpFields::default()).then(|| Box::new(http)),
        });
        self.next += 1;
        self.out.len() - 1
    }
}

/// The elements between the brackets of a batch.
fn split_elements(inner: &str) -> Vec<String> {
    let mut elements = vec![String::new()];
    let (mut depth, mut quoted) = (0_i32, false);
    for symbol in inner.chars() {
        match symbol {
            '"' => quoted = !quoted,
            '{' | '[' if !quoted => depth += 1,
            '}' | ']' if !quoted => depth -= 1,
            _ => {}
        }
        match elements.last_mut() {
            Some(last) if symbol != ',' || depth > 0 || quoted => last.push(symbol),
            _ => elements.push(String::new()),
        }
    }
    let trimmed = elements.iter().map(|element| element.trim().to_owned());
    trimmed.filter(|element| !element.is_empty()).collect()
}

/// The text between the outermost quotes; escapes are read when it is a proper JSON string.
fn text_of(text: &str, truncated: bool) -> Option<String> {
    if let Some(text) = json::whole_value(text.as_bytes())
        .and_then(|_| json::string(text.as_bytes()))
        .filter(|_| !truncated)
    {
        return Some(text.into_owned());
    }
    let inner = text.strip_prefix('"')?;
    Some(inner.strip_suffix('"').unwrap_or(inner).to_owned())
}

fn text_payload(text: &str) -> Payload {
    if text.is_empty() {
        return Payload::Nothing;
    }
    Payload::Text(Bytes::copy_from_slice(text.as_bytes()))
}

fn raw_payload(json: String) -> Payload {
    Payload::Raw(Raw::new(json.into()))
}

/// The `raw` of a control record: `closed: client[, reason]`, `unobserved`, `end{…}`, `meta {…}`.
fn control(item: &Item) -> Option<String> {
    let exchange = item.attributes.http.exchange;
    let exchange = match exchange {
        0 => String::new(),
        number => format!(",\"exchange\":{number}"),
    };
    let body = item.body.as_str();
    if let Some(rest) = body.strip_prefix("closed:") {
        let (who, reason) = rest.split_once(',').unwrap_or((rest, ""));
        let reason = match reason.trim() {
            "" => String::new(),
            reason => format!(",\"reason\":{}", loose::quote(reason)),
        };
        let who = loose::quote(who.trim());
        return Some(format!(
            "{{\"command\":null,\"event\":\"exchange_closed\"{exchange},\"closed\":{who}{reason}}}"
        ));
    }
    if body.starts_with("unobserved") {
        return Some(format!(
            "{{\"command\":null,\"event\":\"unobserved\"{exchange},\"reason\":\"too large\"}}"
        ));
    }
    let (is_end, rest) = match body.strip_prefix("end") {
        Some(rest) => (true, rest),
        None => (false, body.strip_prefix("meta")?),
    };
    let inside = match rest.trim() {
        "" => "{}".to_owned(),
        rest => Loose::parse(rest)?.json(),
    };
    let members = inside.strip_prefix('{')?;
    let comma = if members == "}" { "" } else { "," };
    if !is_end {
        return Some(inside);
    }
    Some(format!(
        "{{\"command\":null,\"event\":\"end\"{comma}{members}"
    ))
}

/// What was found in a cut message, as `peek={id:1,has:result}` writes it.
fn peek(text: &str) -> Option<Peek> {
    let object = Loose::parse(text)?.json();
    let text = |name: &str| {
        json::member(object.as_bytes(), name)
            .and_then(json::string)
            .map(Into::into)
    };
    Some(Peek {
        id: json::member(object.as_bytes(), "id").map(Bytes::copy_from_slice),
        method: text("method"),
        has: text("has"),
    })
}

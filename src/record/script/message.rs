//! Messages as scripts abbreviate them: `Q7 call t`, `R7 IR{k;st=S}`, `E7 -32603`, `N cancelled{7}`.

use super::loose::{Entry, Loose, PLACEHOLDER, quote};
use crate::wire::json;

const META: &str = "io.modelcontextprotocol/";

/// Notifications that scripts name without their prefix.
const NOTIFICATIONS: [&str; 12] = [
    "cancelled",
    "progress",
    "initialized",
    "message",
    "tools/list_changed",
    "prompts/list_changed",
    "resources/list_changed",
    "resources/updated",
    "roots/list_changed",
    "elicitation/complete",
    "tasks",
    "tasks/status",
];

/// A request that may be continued by a `retry`.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) from_client: bool,
    id: String,
    method: String,
    params: String,
    /// The state of its interim answer, if it had such an answer.
    state: Option<State>,
}

/// `requestState` in JSON; empty for none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct State(String);

/// Members of an object under construction; what belongs into `_meta` apart.
#[derive(Default)]
struct Members {
    plain: Vec<(String, String)>,
    meta: Vec<(String, String)>,
}

impl Members {
    fn json(&self) -> String {
        let write = |all: &[(String, String)]| {
            let all: Vec<_> = all
                .iter()
                .map(|(key, value)| format!("{}:{value}", quote(key)))
                .collect();
            format!("{{{}}}", all.join(","))
        };
        let mut plain = self.plain.clone();
        if !self.meta.is_empty() {
            plain.push(("_meta".into(), write(&self.meta)));
        }
        write(&plain)
    }

    fn set(&mut self, key: &str, value: String) {
        self.plain.push((key.into(), value));
    }

    fn set_meta(&mut self, key: &str, value: String) {
        self.meta.push((format!("{META}{key}"), value));
    }

    /// Takes an entry whose meaning is the same in parameters and results.
    fn common(&mut self, key: &str, value: &Loose) {
        let named = |name: &str| format!("{{\"name\":{},\"version\":\"1\"}}", quote(name));
        match (key, value) {
            ("st", state) => self.set("requestState", state.text_json()),
            ("sub", id) => self.set_meta("subscriptionId", id.json()),
            ("_meta", Loose::Word(word)) => match word.strip_prefix("serverInfo ") {
                Some(name) => self.set_meta("serverInfo", named(name)),
                None => self.set_meta("protocolVersion", quote(word)),
            },
            ("serverInfo", Loose::Word(name)) => self.set("serverInfo", named(name)),
            ("clientInfo", Loose::Word(name)) if !self.meta.is_empty() => {
                self.set_meta("clientInfo", named(name));
            }
            ("clientInfo", Loose::Word(name)) => self.set("clientInfo", named(name)),
            ("tools", Loose::Array(all)) => {
                let tool = |tool: &Loose| match tool {
                    Loose::Word(name) => {
                        format!(
                            "{{\"name\":{},\"inputSchema\":{{\"type\":\"object\"}}}}",
                            quote(name)
                        )
                    }
                    other => other.json(),
                };
                let all: Vec<_> = all.iter().map(tool).collect();
                self.set("tools", format!("[{}]", all.join(",")));
            }
            (key, value) => self.set(key, value.json()),
        }
    }
}

/// Builds the JSON of one message; `None` when the text is none. `declared` goes into `_meta` of a
/// request or notification. Requests are added to `asked`.
pub(super) fn message(
    text: &str,
    from_client: bool,
    declared: Option<&str>,
    asked: &mut Vec<Asked>,
) -> Option<String> {
    if let Some(rest) = text.strip_prefix("N ") {
        let (method, rest) = word(rest);
        let method = match method {
            _ if NOTIFICATIONS.contains(&method) => format!("notifications/{method}"),
            "…/acknowledged" => "notifications/subscriptions/acknowledged".into(),
            other => other.into(),
        };
        let params = params(&method, rest, declared)?;
        return Some(call(None, &method, &params));
    }
    let (letter, rest) = text.split_at_checked(1)?;
    let (id, rest) = id(rest)?;
    match letter {
        "Q" => request(&id, rest, from_client, declared, asked),
        "R" => {
            if let Some(inside) = rest.strip_prefix("IR") {
                let state = state_of(inside)?;
                let answered = asked
                    .iter_mut()
                    .rev()
                    .find(|one| one.from_client != from_client && one.id == id);
                if let Some(answered) = answered {
                    answered.state = Some(state);
                }
            }
            let result = result(rest)?;
            Some(format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}"
            ))
        }
        "E" => {
            let (code, rest) = word(rest);
            json::whole_value(code.as_bytes())?;
            let (message, data) = match Loose::parse(rest) {
                Some(Loose::Json(text)) if text.starts_with('"') => (text, String::new()),
                Some(Loose::Word(text)) if text.is_empty() => (quote("error"), String::new()),
                Some(data) => (quote("error"), format!(",\"data\":{}", data.json())),
                None => return None,
            };
            Some(format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":{code},\"message\":{message}{data}}}}}"
            ))
        }
        _ => None,
    }
}

fn request(
    id: &str,
    rest: &str,
    from_client: bool,
    declared: Option<&str>,
    asked: &mut Vec<Asked>,
) -> Option<String> {
    let (method, rest) = word(rest);
    if method == "retry" {
        let (root, params) = retry(rest, from_client, declared, asked)?;
        let method = root.method.clone();
        asked.push(Asked {
            id: id.into(),
            state: None,
            ..root
        });
        return Some(call(Some(id), &method, &params));
    }
    let (method, params) = match method {
        "call" => {
            let (name, rest) = word(rest);
            let mut members = Members::default();
            members.set("name", quote(name));
            fill(&mut members, "tools/call", rest, declared)?;
            ("tools/call", members.json())
        }
        "listen" => (
            "subscriptions/listen",
            params("subscriptions/listen", rest, declared)?,
        ),
        "…" => ("x", String::new()),
        other => (other, params(other, rest, declared)?),
    };
    asked.push(Asked {
        from_client,
        id: id.into(),
        method: method.into(),
        params: params.clone(),
        state: None,
    });
    Some(call(Some(id), method, &params))
}

fn call(id: Option<&str>, method: &str, params: &str) -> String {
    let id = id.map_or_else(String::new, |id| format!(",\"id\":{id}"));
    let comma = if params.is_empty() {
        ""
    } else {
        ",\"params\":"
    };
    format!(
        "{{\"jsonrpc\":\"2.0\"{id},\"method\":{}{comma}{params}}}",
        quote(method)
    )
}

/// A retry repeats the parameters of the request whose interim answer had its state, else of the
/// last one with an interim answer, else of the last one. Answers that request beside them.
fn retry(
    text: &str,
    from_client: bool,
    declared: Option<&str>,
    asked: &[Asked],
) -> Option<(Asked, String)> {
    let state = state_of(text)?;
    let candidates = || {
        asked
            .iter()
            .rev()
            .filter(|one| one.from_client == from_client)
    };
    let root = candidates()
        .find(|one| one.state.as_ref() == Some(&state))
        .or_else(|| candidates().find(|one| one.state.is_some()))
        .or_else(|| candidates().next())?;
    let mut members = Members::default();
    for (key, value) in json::members(root.params.as_bytes()) {
        let key = String::from_utf8_lossy(key);
        if key != "_meta" || declared.is_none() {
            members.set(&key, String::from_utf8_lossy(value).into_owned());
        }
    }
    if let Some(declared) = declared {
        members.set_meta("protocolVersion", quote(declared));
    }
    let answer = |value: Option<&Loose>| match value {
        Some(Loose::Word(action)) => format!("{{\"action\":{}}}", quote(action)),
        Some(other) => other.json(),
        None => "{\"action\":\"accept\",\"content\":{}}".into(),
    };
    keyed(&mut members, text, "inputResponses", answer)?;
    Some((root.clone(), members.json()))
}

/// Adds what `{k1,k2:v;st=S}` says: an object with the keys under `name`, and the state.
fn keyed(
    members: &mut Members,
    text: &str,
    name: &str,
    value: impl Fn(Option<&Loose>) -> String,
) -> Option<()> {
    let entries = entries(text)?;
    let (state, keys): (Vec<_>, Vec<_>) = entries
        .iter()
        .partition(|entry| entry.key.as_deref() == Some("st"));
    let keys: Vec<_> = keys
        .iter()
        .map(|entry| match &entry.key {
            Some(key) => format!("{}:{}", quote(key), value(Some(&entry.value))),
            None => format!("{}:{}", quote(&entry.value.word()), value(None)),
        })
        .collect();
    if !keys.is_empty() {
        members.set(name, format!("{{{}}}", keys.join(",")));
    }
    for entry in state {
        members.set("requestState", entry.value.text_json());
    }
    Some(())
}

fn state_of(text: &str) -> Option<State> {
    let entries = entries(text)?;
    let state = entries
        .iter()
        .find(|entry| entry.key.as_deref() == Some("st"));
    Some(State(
        state.map_or_else(String::new, |entry| entry.value.text_json()),
    ))
}

fn entries(text: &str) -> Option<Vec<Entry>> {
    match Loose::parse(text)? {
        Loose::Object(entries) => Some(entries),
        _ => None,
    }
}

/// The result after `R7`.
fn result(text: &str) -> Option<String> {
    if text.is_empty() {
        return Some("{}".into());
    }
    if let Some(inside) = text.strip_prefix("IR") {
        let mut members = Members::default();
        members.set("resultType", quote("input_required"));
        keyed(&mut members, inside, "inputRequests", asked_for)?;
        return Some(members.json());
    }
    if json::whole_value(text.as_bytes()).is_some() {
        return Some(text.into());
    }
    let (head, rest) = word(text);
    if head == "task" {
        let (id, status) = word(rest);
        let (id, status) = (quote(id), quote(status));
        return Some(format!(
            "{{\"resultType\":\"task\",\"taskId\":{id},\"status\":{status}}}"
        ));
    }
    if !head.is_empty() && rest.starts_with('{') {
        let inner = result(rest)?;
        return Some(format!("{{\"status\":{},\"result\":{inner}}}", quote(head)));
    }
    let Loose::Object(entries) = Loose::parse(text)? else {
        return Loose::parse(text).map(|value| value.json());
    };
    let mut members = Members::default();
    for entry in &entries {
        match &entry.key {
            Some(key) => members.common(key, &entry.value),
            None if entry.value.word().starts_with("20") => {
                members.set("protocolVersion", entry.value.text_json());
            }
            None => members.set(&entry.value.word(), "true".into()),
        }
    }
    Some(members.json())
}

/// One input request: `form`, `url U`, `sampling`, `roots`, or a whole object.
fn asked_for(value: Option<&Loose>) -> String {
    let form = "{\"method\":\"elicitation/create\",\"params\":{\"mode\":\"form\",\"message\":\"m\",\
                \"requestedSchema\":{\"type\":\"object\",\"properties\":{}}}}";
    match value {
        Some(Loose::Word(kind)) => match (kind.as_str(), kind.strip_prefix("url ")) {
            (_, Some(url)) => format!(
                "{{\"method\":\"elicitation/create\",\"params\":{{\"mode\":\"url\",\"message\":\"m\",\"url\":{}}}}}",
                quote(url)
            ),
            ("sampling", _) => {
                "{\"method\":\"sampling/createMessage\",\"params\":{\"messages\":[],\
                                \"maxTokens\":1}}"
                    .into()
            }
            ("roots", _) => "{\"method\":\"roots/list\"}".into(),
            _ => form.into(),
        },
        Some(Loose::Json(text)) if text == PLACEHOLDER => text.clone(),
        Some(other) => other.json(),
        None => form.into(),
    }
}

/// The parameters after a method; empty when there are none.
fn params(method: &str, text: &str, declared: Option<&str>) -> Option<String> {
    if declared.is_none() && (text.is_empty() || json::whole_value(text.as_bytes()).is_some()) {
        return Some(text.into());
    }
    let mut members = Members::default();
    fill(&mut members, method, text, declared)?;
    Some(members.json())
}

/// Adds the parameters in `text` as `method` abbreviates them.
fn fill(members: &mut Members, method: &str, text: &str, declared: Option<&str>) -> Option<()> {
    if let Some(declared) = declared {
        members.set_meta("protocolVersion", quote(declared));
    }
    if text.is_empty() {
        return Some(());
    }
    let mut filters = Vec::new();
    let mut bare = 0;
    for entry in entries(text)? {
        if let Some(key) = &entry.key {
            members.common(key, &entry.value);
            continue;
        }
        let value = &entry.value;
        match (method, bare) {
            ("notifications/cancelled", 0) => members.set("requestId", value.json()),
            ("initialize", 0) => members.set("protocolVersion", value.text_json()),
            ("elicitation/create", 0) => members.set("mode", value.text_json()),
            ("subscriptions/listen" | "notifications/subscriptions/acknowledged", _) => {
                filters.push(format!("{}:true", quote(&value.word())));
            }
            (task, 0) if task.contains("tasks") => members.set("taskId", value.text_json()),
            (task, 1) if task.contains("tasks") => members.set("status", value.text_json()),
            (_, _) if value.word() == "reason" => members.set("reason", quote("reason")),
            _ => members.set(&value.word(), "true".into()),
        }
        bare += 1;
    }
    if method.starts_with("subscriptions/") || method.contains("/subscriptions/") {
        members.set("notifications", format!("{{{}}}", filters.join(",")));
    }
    Some(())
}

/// The id behind `Q`, `R` or `E` as JSON, and what follows.
fn id(text: &str) -> Option<(String, &str)> {
    if let Some(rest) = text.strip_prefix("[R]") {
        return Some((PLACEHOLDER.into(), rest.trim_start()));
    }
    if let Some(rest) = text.strip_prefix('(') {
        let (id, rest) = rest.split_once(')')?;
        json::whole_value(id.as_bytes())?;
        return Some((id.into(), rest.trim_start()));
    }
    let end = match text.as_bytes().first()? {
        b'"' | b'{' | b'[' => json::value_end(text.as_bytes(), 0, 64).ok()?,
        _ => text.find([' ', '{']).unwrap_or(text.len()),
    };
    let (id, rest) = text.split_at_checked(end)?;
    json::whole_value(id.as_bytes())?;
    Some((id.into(), rest.trim_start()))
}

/// The first word, which a brace or a blank ends, and what follows.
fn word(text: &str) -> (&str, &str) {
    let end = text.find([' ', '{']).unwrap_or(text.len());
    let (word, rest) = text.split_at_checked(end).unwrap_or((text, ""));
    (word, rest.trim_start())
}

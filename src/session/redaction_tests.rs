//! P11 of session-model.md 23: whatever redaction takes out of a conforming capture, nobody is
//! accused for it.

use std::sync::Arc;

use super::{property_tests::CONFORMING, *};
use crate::{
    record::{Envelope, HostName, Payload, SessionKey, script},
    wire::Raw,
};

/// What is taken out, as it stands in the JSON of the captures, and what comes in its place.
const VALUES: [(&str, &str); 14] = [
    (
        "\"progressToken\":\"p\"",
        "\"progressToken\":\"[REDACTED]\"",
    ),
    ("\"taskId\":\"t\"", "\"taskId\":\"[REDACTED]\""),
    ("\"status\":\"working\"", "\"status\":\"[REDACTED]\""),
    ("\"status\":\"completed\"", "\"status\":\"[REDACTED]\""),
    ("\"resultType\":\"task\"", "\"resultType\":\"[REDACTED]\""),
    ("\"task\":{}", "\"task\":\"[REDACTED]\""),
    (
        "\"_meta\":{\"progressToken\":\"p\"}",
        "\"_meta\":\"[REDACTED]\"",
    ),
    (
        "\"task\":{\"taskId\":\"t\",\"status\":\"working\"}",
        "\"task\":\"[REDACTED]\"",
    ),
    ("\"progress\":1", "\"progress\":\"[REDACTED]\""),
    ("subscriptionId\":1", "subscriptionId\":\"[REDACTED]\""),
    ("\"id\":1,", "\"id\":\"[REDACTED]\","),
    ("\"id\":2,", "\"id\":\"[REDACTED]\","),
    ("\"requestId\":1", "\"requestId\":\"[REDACTED]\""),
    ("\"name\":\"s\"", "\"name\":\"[REDACTED]\""),
];

/// The frame without a value; `None` when it does not hold it.
fn without(envelope: &Envelope, (value, placeholder): (&str, &str)) -> Option<Envelope> {
    let Payload::Raw(raw) = &envelope.payload else {
        return None;
    };
    let text = std::str::from_utf8(raw.bytes()).unwrap();
    let redacted = text.replace(value, placeholder);
    (redacted != text).then(|| Envelope {
        payload: Payload::Raw(Raw::new(redacted.into())),
        redacted: true,
        ..envelope.clone()
    })
}

fn warnings(frames: &[Envelope]) -> Vec<String> {
    let key = SessionKey {
        host: HostName::local(),
        id: Arc::from("s"),
    };
    let mut model = Model::new(Limits::NONE);
    for frame in frames {
        model.ingest(&key, frame, None, None, &mut Vec::new());
    }
    let session = model.session(&key).unwrap();
    let rows = (0..session.row_count()).filter_map(|at| session.row(at));
    rows.filter_map(|row| session.extra(row.id))
        .flat_map(|extra| &extra.remarks)
        .filter(|remark| remark.level == Level::Warning)
        .map(|remark| format!("{} {}", remark.code.name(), remark.text))
        .collect()
}

#[test]
fn p11_redaction_accuses_nobody() {
    let mut tried = 0;
    for text in CONFORMING {
        let frames = script::session(text).unwrap();
        for value in VALUES {
            let touched: Vec<(usize, Envelope)> = frames
                .iter()
                .enumerate()
                .filter_map(|(at, frame)| Some((at, without(frame, value)?)))
                .collect();
            for chosen in 1..1_u32 << touched.len().min(8) {
                let mut redacted = frames.clone();
                for (bit, (at, frame)) in touched.iter().enumerate() {
                    if chosen & (1 << bit) != 0 {
                        redacted[*at] = frame.clone();
                    }
                }
                tried += 1;
                assert_eq!(warnings(&redacted), [""; 0], "{text}\n{value:?} {chosen:b}");
            }
        }
    }
    assert!(tried > 150, "{tried}");
}

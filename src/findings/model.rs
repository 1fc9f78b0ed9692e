//! What the model remarks while it folds, under the names of the catalogue of findings
//! (findings.md 1.2, 1.9).

use crate::session::{Code, Level, Remark};

/// The id of the finding that a remark is; `None` for one that is no finding.
pub fn finding_id(remark: &Remark) -> Option<&'static str> {
    Some(match remark.code {
        Code::JsonrpcMissing | Code::JsonrpcVersion => "rpc-version",
        Code::ErrorShape => "rpc-error-shape",
        Code::MethodAndResult => "frame-ambiguous",
        Code::ResponseBoth => "rpc-both-result-error",
        Code::ResponseEmpty => "rpc-neither-result-error",
        Code::IdNull => "rpc-id-null",
        Code::IdNotInteger | Code::IdType => "rpc-id-type",
        Code::ResultIdNull => "rpc-result-id-null",
        Code::ResponseUnmatched => "rpc-response-unmatched",
        Code::ResponseDuplicate => "rpc-response-duplicate",
        Code::ResponseIdType => "rpc-response-id-retyped",
        Code::IdReusedInFlight => "rpc-id-reused-in-flight",
        Code::IdReusedInSession => "rpc-id-reused",
        Code::ErrorWithoutRequest => "rpc-error-unaddressed",
        Code::ProgressAfterCompletion => "progress-after-end",
        Code::TaskLeftTerminal => "task-transition",
        Code::MrtrStateElsewhere => "mrtr-state-misused",
        Code::MrtrIdReused => "mrtr-retry-id",
        Code::MrtrParamsChanged => "mrtr-retry-changed",
        Code::CacheTtlNegative | Code::CacheTtlType => "cache-ttl-invalid",
        Code::CacheScope => "cache-scope-invalid",
        Code::CacheScopeChanged => "cache-scope-run",
        Code::MethodType => "frame-not-jsonrpc",
        Code::CancelAfterAnswer => "cancel-settled",
        Code::CancelOfTask => "cancel-task",
        Code::ClientDisconnected => "cancel-by-disconnect",
        Code::LateAnswer => "late-result",
        Code::CallRepeated => "duplicate-call",
        Code::ToolNameRepeated => "tool-name-duplicate",
        Code::RetiredCode => "error-code-retired",
        // The catalogue has no finding for these.
        Code::ResponseRedelivered | Code::ServerDisconnected => return None,
        other => other.name(),
    })
}

/// The signal of that finding.
pub fn signal(remark: &Remark) -> &'static str {
    match remark.code {
        Code::LateAnswer => "late-result",
        Code::CallRepeated => "duplicate",
        Code::ToolNameRepeated => "advice",
        _ if remark.level == Level::Warning => "warn",
        _ => "note",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remark(code: Code, level: Level, text: &'static str) -> Remark {
        Remark {
            code,
            level,
            text: text.into(),
        }
    }

    #[test]
    fn every_code_has_its_name_in_the_catalogue() {
        let mut same = Vec::new();
        for code in Code::ALL {
            let id = finding_id(&remark(*code, code.level(), ""));
            let none = [Code::ResponseRedelivered, Code::ServerDisconnected];
            assert_eq!(id.is_none(), none.contains(code));
            same.extend(id.filter(|id| *id == code.name()));
        }
        let expected = [
            "batch-removed",
            "progress-not-increasing",
            "progress-token-shared",
            "mrtr-state-changed",
            "mrtr-state-missing",
            "mrtr-state-invented",
            "cache-ttl-missing",
            "cache-scope-missing",
            "unknown-direction",
            "seq-conflict",
            "response-unmatched-gap",
            "response-ambiguous",
            "response-forgotten",
            "response-after-reuse",
            "cancel-ambiguous",
            "task-id-differs",
            "mrtr-unlinked",
            "mrtr-state-replayed",
            "cache-refetch",
        ];
        assert_eq!(same, expected);
    }

    #[test]
    fn the_level_decides_the_signal() {
        let cases = [
            (Code::IdType, Level::Warning, "warn"),
            (Code::IdType, Level::Observation, "note"),
            (Code::CacheRefetch, Level::Note, "note"),
            (Code::LateAnswer, Level::Observation, "late-result"),
            (Code::CallRepeated, Level::Observation, "duplicate"),
            (Code::ToolNameRepeated, Level::Observation, "advice"),
        ];
        for (code, level, expected) in cases {
            assert_eq!(signal(&remark(code, level, "")), expected);
        }
    }
}

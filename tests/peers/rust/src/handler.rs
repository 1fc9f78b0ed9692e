//! The client's side of a session: answers what servers ask, and keeps what they log.
#![expect(
    deprecated,
    reason = "sampling and logging are what older revisions are tested with"
)]

use std::sync::{Mutex, PoisonError};

use rmcp::{
    ClientHandler, ErrorData,
    model::{
        ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult,
        ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationCapability,
        FormElicitationCapability, Implementation, LoggingMessageNotificationParam,
        ProtocolVersion, SamplingCapability, SamplingMessage,
    },
    service::{NotificationContext, RequestContext, RoleClient},
};
use serde_json::{Value, json};

/// What the client is.
pub struct Handler {
    config: ClientConfig,
    logs: Mutex<Vec<Value>>,
}

impl Handler {
    /// A client that asks for a revision in the handshake.
    pub fn new(version: ProtocolVersion) -> Self {
        let mut capabilities = ClientCapabilities::default();
        capabilities.sampling = Some(SamplingCapability::default());
        let form = FormElicitationCapability::default();
        capabilities.elicitation = Some(ElicitationCapability::new().with_form(form));
        let config = ClientConfig::new(capabilities, Implementation::new("driver", "1.0.0"));
        Self {
            config: config.with_protocol_version(version),
            logs: Mutex::default(),
        }
    }

    /// What the server logged so far.
    pub fn logs(&self) -> Vec<Value> {
        self.logs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl ClientHandler for Handler {
    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let answer = format!("an answer within {} tokens", params.max_tokens);
        let message = SamplingMessage::assistant_text(answer);
        let result = CreateMessageResult::new(message, "none".to_owned());
        Ok(result.with_stop_reason(CreateMessageResult::STOP_REASON_END_TURN))
    }

    async fn create_elicitation(
        &self,
        _request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(json!({ "name": "tester" })))
    }

    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        let mut logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        logs.push(json!(params));
    }

    fn get_info(&self) -> ClientConfig {
        self.config.clone()
    }
}

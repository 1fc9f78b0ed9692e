//! Runs a script: every step is told as one line of JSON.
#![expect(
    deprecated,
    reason = "logging levels are what older revisions are tested with"
)]

use std::{collections::HashSet, time::Duration};

use rmcp::{
    model::{
        CallToolRequest, CallToolRequestParams, ClientRequest, GetPromptRequestParams,
        LoggingLevel, PingRequest, ReadResourceRequestParams, SetLevelRequestParams,
        SubscriptionFilter,
    },
    service::{PeerRequestOptions, ServiceError},
};
use serde::Serialize;
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;

use super::{Client, Script};

/// Prints one step.
pub fn tell(step: &str, result: &Value) {
    println!("{}", json!({ "step": step, "result": result }));
}

/// Prints what a step gave, or its error.
fn attempt<T: Serialize>(step: &str, result: &Result<T, ServiceError>) {
    match result {
        Ok(result) => tell(step, &json!(result)),
        Err(error) => tell(step, &json!({ "error": error.to_string() })),
    }
}

/// Runs a script; subscriptions are there in the newest revision only.
pub async fn drive(client: &Client, script: &Script, newest: bool) {
    tell("connected", &json!(client.peer_info()));
    let listed = listings(client, &script.open).await;
    let known = |calls: &[(String, Map<String, Value>)]| -> Vec<_> {
        calls
            .iter()
            .filter(|(name, _)| listed.contains(name))
            .cloned()
            .collect()
    };
    for (name, arguments) in known(&script.calls) {
        attempt(
            &format!("call {name}"),
            &client.call_tool(call(&name, arguments)).await,
        );
    }
    for uri in &script.reads {
        let read = client
            .read_resource(ReadResourceRequestParams::new(uri.clone()))
            .await;
        attempt(&format!("read {uri}"), &read);
    }
    for (name, arguments) in &script.prompts {
        let params = GetPromptRequestParams::new(name.clone()).with_arguments(arguments.clone());
        attempt(&format!("prompt {name}"), &client.get_prompt(params).await);
    }
    if listed.contains("echo") {
        together(client, script.together).await;
    }
    if script.listen && listed.contains("grow") && newest {
        attempt("listen", &listen(client).await);
    }
    for (name, arguments) in known(&script.slow) {
        attempt(
            &format!("abandon {name}"),
            &abandon(client, call(&name, arguments)).await,
        );
    }
    listings(client, &script.close).await;
}

fn call(name: &str, arguments: Map<String, Value>) -> CallToolRequestParams {
    CallToolRequestParams::new(name.to_owned()).with_arguments(arguments)
}

/// The steps that ask what there is; gives the names of the tools, and one that no server has.
async fn listings(client: &Client, steps: &[String]) -> HashSet<String> {
    let mut names = HashSet::from(["no-such-tool".to_owned()]);
    for step in steps {
        match step.as_str() {
            "ping" => {
                let ping = ClientRequest::PingRequest(PingRequest::default());
                attempt(step, &client.send_request(ping).await);
            }
            "level" => {
                let level = client.set_level(SetLevelRequestParams::new(LoggingLevel::Info));
                attempt(step, &level.await);
            }
            "tools" => {
                let tools = client.list_all_tools().await;
                attempt(step, &tools);
                names.extend(
                    tools
                        .into_iter()
                        .flatten()
                        .map(|tool| tool.name.into_owned()),
                );
            }
            "resources" => attempt(step, &client.list_all_resources().await),
            "templates" => attempt(step, &client.list_all_resource_templates().await),
            _ => attempt(step, &client.list_all_prompts().await),
        }
    }
    names
}

/// Several calls at once; their answers are told in the order of the calls.
async fn together(client: &Client, number: usize) {
    let mut calls = JoinSet::new();
    for index in 0..number {
        let text = json!(format!("number {index}"));
        let arguments =
            Map::from_iter(["text", "message"].map(|name| (name.to_owned(), text.clone())));
        let peer = client.peer().clone();
        calls.spawn(async move { (index, peer.call_tool(call("echo", arguments)).await) });
    }
    let mut answers = calls.join_all().await;
    answers.sort_by_key(|(index, _)| *index);
    for (_, answer) in answers {
        attempt("together", &answer);
    }
}

/// Subscribes to changes of the tools, has the server make one, and ends the subscription.
async fn listen(client: &Client) -> Result<Value, ServiceError> {
    let filter = SubscriptionFilter::builder().tools_list_changed().build();
    let mut subscription = client.listen(filter).await?;
    client.call_tool(call("grow", Map::new())).await?;
    let change = subscription.next().await?;
    subscription.cancel().await?;
    Ok(json!(change))
}

/// Calls and gives up soon after.
async fn abandon(client: &Client, params: CallToolRequestParams) -> Result<Value, ServiceError> {
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
    let options = PeerRequestOptions::with_timeout(Duration::from_millis(300));
    let handle = client.send_cancellable_request(request, options).await?;
    handle.await_response().await.map(|result| json!(result))
}

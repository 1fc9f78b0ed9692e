//! Drives any stdio server through the Rust SDK client: `peer-client MODE [SCRIPT] -- COMMAND…`.
//!
//! MODE is `legacy`, `auto` or a revision. SCRIPT names a list of calls.json (`whole`); a server gets those calls whose
//! tool it lists. Prints one line of JSON a step. Standard error of the server is passed on.

mod handler;
mod run;

use std::{collections::HashMap, error::Error};

use rmcp::{
    ClientLifecycleMode, ClientServiceExt,
    model::ProtocolVersion,
    service::{RoleClient, RunningService},
    transport::TokioChildProcess,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use self::{handler::Handler, run::tell};

/// A list of calls; the other clients read the same file.
#[derive(Deserialize)]
struct Script {
    open: Vec<String>,
    calls: Vec<(String, Map<String, Value>)>,
    reads: Vec<String>,
    prompts: Vec<(String, Map<String, Value>)>,
    together: usize,
    listen: bool,
    slow: Vec<(String, Map<String, Value>)>,
    close: Vec<String>,
}

type Client = RunningService<RoleClient, Handler>;

/// Starts the server and does the handshake of the mode.
async fn connect(mode: &str, command: &[String]) -> Result<Client, Box<dyn Error>> {
    let (program, arguments) = command.split_first().ok_or("no command")?;
    let mut server = tokio::process::Command::new(program);
    server.args(arguments);
    let newest = vec![ProtocolVersion::V_2026_07_28];
    let revision = |name: &str| serde_json::from_value::<ProtocolVersion>(json!(name));
    let (handshake, lifecycle) = match mode {
        "legacy" => (
            ProtocolVersion::LATEST_WITH_INITIALIZE,
            ClientLifecycleMode::Initialize,
        ),
        "auto" => {
            let auto = ClientLifecycleMode::Auto {
                preferred_versions: newest,
                legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
            };
            (ProtocolVersion::LATEST_WITH_INITIALIZE, auto)
        }
        name => {
            let version = revision(name)?;
            let lifecycle = if version.has_initialize() {
                ClientLifecycleMode::Initialize
            } else {
                ClientLifecycleMode::Discover {
                    preferred_versions: vec![version.clone()],
                }
            };
            (version, lifecycle)
        }
    };
    let handler = Handler::new(handshake);
    Ok(handler
        .serve_with_lifecycle(TokioChildProcess::new(server)?, lifecycle)
        .await?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let split = arguments
        .iter()
        .position(|argument| argument == "--")
        .ok_or("no --")?;
    let (options, command) = arguments.split_at(split);
    let mode = options.first().ok_or("no mode")?;
    let name = options.get(1).map_or("whole", String::as_str);
    let mut scripts: HashMap<String, Script> =
        serde_json::from_str(include_str!("../../calls.json"))?;
    let script = scripts.remove(name).ok_or("no such script")?;
    let client = match connect(mode, &command[1..]).await {
        Ok(client) => client,
        Err(error) => {
            tell("not connected", &json!({ "message": error.to_string() }));
            return Ok(());
        }
    };
    let newest = matches!(mode.as_str(), "auto" | "2026-07-28");
    run::drive(&client, &script, newest).await;
    let logs = client.service().logs();
    client.cancel().await?;
    tell("logs", &json!(logs));
    Ok(())
}

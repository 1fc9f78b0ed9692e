//! Another machine's sessions over SSH (remote.md): targets, configuration, host keys,
//! authentication, link, remote logs and socket as a source, and the SSH server of the demo.
//!
//! It knows nothing of screens. Everything from the far side is hostile. Start with `viewer`, then
//! `link`.

mod account;
mod agent;
mod algorithms;
mod attach;
mod body;
mod candidates;
mod cat;
mod company;
mod config;
mod demo_server;
mod demo_sftp;
mod dial;
mod elsewhere;
mod error;
mod far_error;
mod handler;
mod hints;
mod host;
mod host_key;
mod intake;
mod jobs;
mod key_file;
mod keywords;
mod known_hosts;
mod link;
mod listing;
mod live;
mod log_news;
mod login;
mod login_answers;
mod login_keys;
mod logs;
mod memory;
mod names;
mod options;
mod place;
mod probe;
mod prompt;
mod prompts;
mod publish;
mod range;
mod read_queue;
mod reconnect;
mod recording;
mod regain;
mod resolved;
mod sftp;
mod signing;
mod sleep;
mod ssh_program;
mod teller;
mod terminal;
mod tokens;
mod verdict;
mod viewer;
mod watch;
mod watch_end;
mod watch_jobs;
mod watch_progress;
mod watch_reports;
mod window;

pub use cat::cat_session;
pub use config::{resolve, resolve_all};
pub use demo_server::DemoServer;
pub use error::{Error, ExitClass, LoginReport, TriedKey, Unconfirmed};
pub use far_error::{FarError, SftpError};
pub use known_hosts::KnownLine;
pub use link::{Connected, connect};
pub use memory::LinkMemory;
pub use options::{
    LocationError, ModeChoice, RemoteLocation, RemoteOptions, Target, TargetError, host_names,
};
pub use prompt::{BatchPrompter, Listener, Prompter, Question, Telling};
pub use resolved::Resolved;
pub use terminal::TerminalPrompter;
pub use viewer::{ListedSession, list_sessions, run_remote};

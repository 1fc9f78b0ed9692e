//! Records the traffic between an MCP client and its servers, and shows it here or over SSH.
//!
//! The rooms, in reading order; `docs/ARCHITECTURE.md` says what each may import.

/// Text that is safe to show, clock, sizes, spans, environment.
pub mod base;

/// Bytes to JSON values, ids and messages; bytes to lines.
pub mod wire;

/// Envelope, session log, state directory, catalogue, liveness.
pub mod record;

/// What any source of envelopes tells a viewer: order, duplicates, gaps, back-off.
pub mod feed;

/// The model: sessions, calls, counters, filters.
pub mod session;

/// The analyzer that owns the model, and the rules that judge it.
pub mod findings;

/// An analysis or a stream as bytes, one format a file.
pub mod reports;

/// The stdio shim: forwarding, recorder, sinks.
pub mod capture;

/// The local socket and the local logs as a source.
pub mod hub;

/// SSH link, host keys, remote logs and remote socket as a source.
pub mod remote;

/// The terminal screens.
pub mod tui;

//! The screens, one a file: state, what keys do to it, and how it is drawn.

pub(super) mod first_run;
pub(super) mod help;
mod host_detail;
pub(super) mod hosts;
pub(super) mod inspector;
mod inspector_facts;
pub(super) mod inspector_view;
mod inspector_window;
pub(super) mod messages;
pub(super) mod panel;
pub(super) mod session_cells;
pub(super) mod sessions;
pub(super) mod sessions_view;
pub(super) mod stream;
mod stream_cells;
pub(super) mod stream_notes;
pub(super) mod stream_view;

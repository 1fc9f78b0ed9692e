//! Tests of the whole: events in, screens out.

mod behaviour;
mod bodies;
mod commands;
mod frames;
mod hints;
mod large;
mod older;
mod released;
mod rig;
mod safety;
mod samples;
mod screens;
mod unanswered;

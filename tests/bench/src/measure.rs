//! Medians and percentiles.

use std::{
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use crate::Outcome;

/// The value below which `share` of the values lie; 0.5 is the median. Zero for no values.
pub(crate) fn percentile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    let at = (last as f64 * share).round() as usize;
    sorted.get(at).copied().unwrap_or_default()
}

pub(crate) fn median(values: &[f64]) -> f64 {
    percentile(values, 0.5)
}

pub(crate) fn micros(span: Duration) -> f64 {
    span.as_secs_f64() * 1e6
}

pub(crate) fn millis(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}

/// Runs a command to its end, its output thrown away; gives milliseconds.
pub(crate) fn time(command: &mut Command) -> Outcome<f64> {
    let started = Instant::now();
    let status = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()?;
    let span = millis(started.elapsed());
    if !status.success() {
        return Err(format!("{command:?}: {status}").into());
    }
    Ok(span)
}

#[test]
fn percentiles_of_a_few_values() {
    assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
    assert_eq!(percentile(&[1.0, 2.0, 3.0, 4.0], 1.0), 4.0);
    assert_eq!(median(&[]), 0.0);
}

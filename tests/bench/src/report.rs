//! The table of figures: ours, the baseline, their ratio, the budget.

use crate::Outcome;

/// What a figure must not pass.
pub(crate) enum Budget {
    /// Ours divided by the baseline is at most this.
    RatioAtMost(f64),
    /// Ours divided by the baseline is at least this.
    RatioAtLeast(f64),
    /// Ours alone is at most this.
    AtMost(f64),
    /// Ours alone is at least this.
    AtLeast(f64),
    /// Shown without a limit.
    None,
}

/// One line of the table.
pub(crate) struct Figure {
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) ours: f64,
    /// What the baseline is, and its value.
    pub(crate) baseline: Option<(&'static str, f64)>,
    pub(crate) budget: Budget,
}

/// Prints figures as they come, and counts those beyond their budget.
pub(crate) struct Report {
    quick: bool,
    missed: usize,
    failed: usize,
}

impl Report {
    pub(crate) fn start(quick: bool, shared: bool) -> Self {
        if quick {
            println!("quick run: it shows that everything works; its figures mean little");
        }
        if shared {
            println!(
                "shared machine: where both are measured, processor time is judged, not the clock"
            );
        }
        println!(
            "{:<44} {:>10} {:>10} {:>7}  {:<22} baseline",
            "figure", "ours", "baseline", "ratio", "budget"
        );
        Self {
            quick,
            missed: 0,
            failed: 0,
        }
    }

    pub(crate) fn add(&mut self, figure: &Figure) {
        let ratio = figure.baseline.map(|(_, baseline)| figure.ours / baseline);
        let (met, budget) = match figure.budget {
            Budget::RatioAtMost(limit) => (
                ratio.is_some_and(|ratio| ratio <= limit),
                format!("<= {limit} x"),
            ),
            Budget::RatioAtLeast(limit) => (
                ratio.is_some_and(|ratio| ratio >= limit),
                format!(">= {limit} x"),
            ),
            Budget::AtMost(limit) => (figure.ours <= limit, format!("<= {limit} {}", figure.unit)),
            Budget::AtLeast(limit) => (figure.ours >= limit, format!(">= {limit} {}", figure.unit)),
            Budget::None => (true, String::new()),
        };
        let verdict = match (figure.budget.is_limit(), met) {
            (false, _) => "",
            (true, true) => "met",
            (true, false) => "MISSED",
        };
        self.missed += usize::from(!met);
        let shown = |value: Option<f64>, digits: usize| {
            value.map_or(String::new(), |value| format!("{value:.digits$}"))
        };
        println!(
            "{:<44} {:>10} {:>10} {:>7}  {:<22} {}",
            format!("{}, {}", figure.name, figure.unit),
            shown(Some(figure.ours), 2),
            shown(figure.baseline.map(|(_, value)| value), 2),
            shown(ratio, 2),
            format!("{budget} {verdict}").trim(),
            figure.baseline.map_or("", |(name, _)| name)
        );
    }

    pub(crate) fn failed(&mut self, group: &str, error: &dyn std::error::Error) {
        self.failed += 1;
        println!("{group}: could not be measured: {error}");
    }

    /// Says how many figures are beyond their budget. Fails when a group could not be measured, or when a figure
    /// of a full run is beyond its budget.
    pub(crate) fn end(&self) -> Outcome<()> {
        println!("{} figures beyond their budget", self.missed);
        if self.failed > 0 {
            return Err(format!("{} groups could not be measured", self.failed).into());
        }
        if self.missed > 0 && !self.quick {
            return Err("beyond a budget".into());
        }
        Ok(())
    }
}

impl Budget {
    fn is_limit(&self) -> bool {
        !matches!(self, Self::None)
    }
}

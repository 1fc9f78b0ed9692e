//! Which regions a screen has at a size, and how wide columns are (tui.md 2).

/// Smallest screen that is drawn (L3).
pub(super) const LEAST: (u16, u16) = (40, 10);

/// Largest screen that is drawn: a terminal may claim more cells than there is memory for.
const LARGEST: (u16, u16) = (1_000, 500);

/// As much of a terminal of this size as is drawn.
pub(super) fn drawn_size((width, height): (u16, u16)) -> (u16, u16) {
    (width.min(LARGEST.0), height.min(LARGEST.1))
}

/// Width tiers (L4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Tier {
    /// 40 to 59.
    Xs,
    /// 60 to 79.
    S,
    /// 80 to 99.
    M,
    /// 100 to 119.
    L,
    /// 120 to 159.
    Xl,
    /// From 160.
    Xxl,
}

impl Tier {
    /// The tier of a width.
    pub(super) const fn of(width: u16) -> Self {
        match width {
            0..60 => Self::Xs,
            60..80 => Self::S,
            80..100 => Self::M,
            100..120 => Self::L,
            120..160 => Self::Xl,
            _ => Self::Xxl,
        }
    }

    /// Position in tables of widths.
    pub(super) const fn index(self) -> usize {
        self as usize
    }
}

/// Lines of the regions; a region without a line is not drawn (L2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Regions {
    /// Cells of the screen.
    pub(super) width: u16,
    /// Lines of the screen.
    pub(super) height: u16,
    /// Notice line.
    pub(super) notice: Option<u16>,
    /// Title rule.
    pub(super) rule: Option<u16>,
    /// First line below the title rule: column heads or text.
    pub(super) body: u16,
    /// Lines from there to the toast line.
    pub(super) body_height: u16,
    /// Toast and detail line.
    pub(super) toast: Option<u16>,
    /// Footer.
    pub(super) footer: u16,
}

impl Regions {
    /// The regions of a screen of at least `LEAST`.
    pub(super) fn of(width: u16, height: u16) -> Self {
        let tall = height >= 14;
        let full = height >= 20;
        let body = if tall { 3 } else { 1 };
        let below = if full { 2 } else { 1 };
        Self {
            width,
            height,
            notice: tall.then_some(1),
            rule: tall.then_some(2),
            body,
            body_height: height.saturating_sub(body + below),
            toast: full.then(|| height - 2),
            footer: height.saturating_sub(1),
        }
    }

    /// Rows of a table: the body without its heads.
    pub(super) const fn rows(&self) -> u16 {
        self.body_height.saturating_sub(1)
    }

    /// Cells for columns: from 100 on the last one is the scrollbar's (L9).
    pub(super) const fn table_width(&self) -> u16 {
        if self.width >= 100 {
            self.width - 1
        } else {
            self.width
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_go_with_the_height() {
        let full = Regions::of(80, 24);
        assert_eq!(
            (full.notice, full.rule, full.toast),
            (Some(1), Some(2), Some(22))
        );
        assert_eq!((full.body, full.rows(), full.footer), (3, 18, 23));
        let middle = Regions::of(60, 15);
        assert_eq!((middle.toast, middle.rows()), (None, 10));
        let small = Regions::of(40, 10);
        assert_eq!((small.notice, small.rule), (None, None));
        assert_eq!((small.body, small.rows()), (1, 7));
    }
}

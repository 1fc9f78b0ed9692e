//! Which lines of a list are on screen: the selection stays visible with two lines around it
//! (tui.md N4, N5).

/// Lines kept visible around the selection.
const CONTEXT: usize = 2;

/// Finds the first row on screen. `cost` says how many lines a row takes with what stands above
/// it. `at` is the selected row, if one must be visible.
pub(super) fn top_row(
    top: usize,
    at: Option<usize>,
    all: usize,
    height: usize,
    cost: &dyn Fn(usize) -> usize,
) -> usize {
    if all == 0 || height == 0 {
        return 0;
    }
    let mut top = top.min(all - 1);
    if let Some(at) = at.map(|at| at.min(all - 1)) {
        let context = CONTEXT.min(height.saturating_sub(1) / 2);
        top = top.min(at.saturating_sub(context));
        let below = context.min(all - 1 - at);
        top = top.max((at + below + 1).saturating_sub(height));
        while top < at && lines(top, at + below, cost) > height {
            top += 1;
        }
    }
    while top > 0 && lines(top - 1, all - 1, cost) <= height {
        top -= 1;
    }
    top
}

/// Lines from one row to another, both included; stops counting far above any screen.
fn lines(from: usize, to: usize, cost: &dyn Fn(usize) -> usize) -> usize {
    if to.saturating_sub(from) > 1_000 {
        return usize::MAX;
    }
    (from..=to).map(cost).sum()
}

/// Moves within a list, clamped at both ends.
pub(super) fn moved(at: usize, by: isize, all: usize) -> usize {
    at.saturating_add_signed(by).min(all.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_selection_stays_visible_with_context() {
        let one = |_row: usize| 1;
        let cases = [
            ((0, Some(0), 100, 10), 0),
            ((0, Some(7), 100, 10), 0),
            ((0, Some(8), 100, 10), 1),
            ((50, Some(20), 100, 10), 18),
            ((0, Some(99), 100, 10), 90),
            ((95, None, 100, 10), 90),
            ((5, Some(3), 4, 10), 0),
            ((0, Some(3), 4, 1), 3),
        ];
        for ((top, at, all, height), expected) in cases {
            assert_eq!(
                top_row(top, at, all, height, &one),
                expected,
                "{top} {at:?} {all} {height}"
            );
        }
    }

    #[test]
    fn lines_between_rows_are_counted() {
        let cost = |row: usize| if row == 5 { 3 } else { 1 };
        assert_eq!(top_row(0, Some(6), 7, 6, &cost), 3);
        assert_eq!(top_row(0, Some(6), 7, 5, &cost), 4);
    }

    #[test]
    fn movement_does_not_wrap() {
        assert_eq!(moved(0, -1, 5), 0);
        assert_eq!(moved(4, 1, 5), 4);
        assert_eq!(moved(2, -10, 5), 0);
        assert_eq!(moved(0, 1, 0), 0);
    }
}

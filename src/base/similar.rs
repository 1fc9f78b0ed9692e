//! How alike two words are, for `did you mean`.

/// Letters that are compared; what lies behind them counts as equal.
const LETTERS: usize = 64;

/// Letters to insert, remove, replace or swap with their neighbour to make one text of the other,
/// over the first 64 of each.
pub fn edits(left: &str, right: &str) -> usize {
    let letters = |text: &str| text.chars().take(LETTERS).collect::<Vec<char>>();
    count(&letters(left), &letters(right))
}

fn count(left: &[char], right: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=right.len()).collect();
    let mut previous = None;
    for (index, letter) in (1..).zip(left) {
        let mut row = vec![index];
        for (at, other) in right.iter().enumerate() {
            let of = |row: &[usize], at: usize| row.get(at).copied().unwrap_or(usize::MAX - 1);
            let mut least = (of(&row, at) + 1)
                .min(of(&above, at + 1) + 1)
                .min(of(&above, at) + usize::from(letter != other));
            let is_swap = at > 0 && previous == Some(other) && right.get(at - 1) == Some(letter);
            if is_swap {
                least = least.min(of(&before, at - 1) + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut above, row);
        previous = Some(letter);
    }
    above.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted() {
        let (long, longer) = ("x".repeat(70), "x".repeat(80));
        for (left, right, expected) in [
            ("", "", 0),
            ("a", "", 1),
            ("kitten", "sitting", 3),
            ("abc", "abc", 0),
            ("abc", "axc", 1),
            ("ab", "ba", 1),
            ("flies", "files", 1),
            (&long, &longer, 0),
        ] {
            assert_eq!(edits(left, right), expected, "{left} {right}");
            assert_eq!(edits(right, left), expected, "{right} {left}");
        }
    }
}

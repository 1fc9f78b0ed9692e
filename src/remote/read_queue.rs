//! Which logs are read next: the newest first, small ones without waiting for large ones. The
//! next one costs the same however many wait.

use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
};

/// Logs up to this size are opened without waiting for each other.
pub(super) const SMALL: u64 = 1 << 20;
/// Logs that are read at a time, and small ones.
pub(super) const LARGE_AT_ONCE: usize = 4;
pub(super) const SMALL_AT_ONCE: usize = 32;

/// Logs that wait to be read, and how many are being read.
#[derive(Debug)]
pub(super) struct ReadQueue {
    small: Lane,
    large: Lane,
    waiting: HashSet<Arc<str>>,
    /// Numbers of the ends of the line: what is put in front goes down from zero.
    front: i64,
    back: i64,
}

/// Logs of one kind, each with its number in the line of all.
#[derive(Debug)]
struct Lane {
    names: VecDeque<(i64, Arc<str>)>,
    reading: usize,
    at_once: usize,
}

impl Lane {
    const fn new(at_once: usize) -> Self {
        Self {
            names: VecDeque::new(),
            reading: 0,
            at_once,
        }
    }

    /// The number of the first one, if there is room to read it.
    fn next(&self) -> Option<i64> {
        let (number, _) = self.names.front()?;
        (self.reading < self.at_once).then_some(*number)
    }
}

impl Default for ReadQueue {
    fn default() -> Self {
        Self {
            small: Lane::new(SMALL_AT_ONCE),
            large: Lane::new(LARGE_AT_ONCE),
            waiting: HashSet::new(),
            front: 0,
            back: 0,
        }
    }
}

impl ReadQueue {
    /// Puts a log of this size at the end; false if it waits already.
    pub(super) fn push(&mut self, name: &Arc<str>, size: u64) -> bool {
        let is_new = self.waiting.insert(Arc::clone(name));
        if is_new {
            self.back += 1;
            let entry = (self.back, Arc::clone(name));
            self.lane(size <= SMALL).names.push_back(entry);
        }
        is_new
    }

    /// Moves a log that waits to the front.
    pub(super) fn first(&mut self, name: &str) {
        if !self.waiting.contains(name) {
            return;
        }
        for small in [true, false] {
            let names = &mut self.lane(small).names;
            let Some(at) = names.iter().position(|(_, waiting)| **waiting == *name) else {
                continue;
            };
            if let Some((_, name)) = names.remove(at) {
                self.front -= 1;
                let entry = (self.front, name);
                self.lane(small).names.push_front(entry);
            }
        }
    }

    /// Takes the next log that there is room for, and whether it is a small one. It counts as being
    /// read until `done`.
    pub(super) fn start(&mut self) -> Option<(Arc<str>, bool)> {
        let small = match (self.small.next(), self.large.next()) {
            (None, None) => return None,
            (Some(small), Some(large)) => small < large,
            (small, None) => small.is_some(),
            (None, Some(_)) => false,
        };
        let lane = self.lane(small);
        let (_, name) = lane.names.pop_front()?;
        lane.reading += 1;
        self.waiting.remove(&name);
        Some((name, small))
    }

    /// A log is not read any more.
    pub(super) fn done(&mut self, small: bool) {
        let lane = self.lane(small);
        lane.reading = lane.reading.saturating_sub(1);
    }

    /// Takes a log out.
    pub(super) fn remove(&mut self, name: &str) {
        if self.waiting.remove(name) {
            for small in [true, false] {
                let names = &mut self.lane(small).names;
                names.retain(|(_, waiting)| **waiting != *name);
            }
        }
    }

    /// Nothing waits any more.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
        self.small.names.clear();
        self.large.names.clear();
    }

    /// Nothing is being read any more.
    pub(super) const fn forget_reading(&mut self) {
        self.small.reading = 0;
        self.large.reading = 0;
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.waiting.contains(name)
    }

    /// True when nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// How many are being read.
    pub(super) const fn reading(&self) -> usize {
        self.small.reading + self.large.reading
    }

    const fn lane(&mut self, small: bool) -> &mut Lane {
        if small {
            &mut self.small
        } else {
            &mut self.large
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started(queue: &mut ReadQueue) -> String {
        let mut names = String::new();
        while let Some((name, small)) = queue.start() {
            names += &name;
            if !small {
                names.push('!');
            }
        }
        names
    }

    #[test]
    fn both_kinds_keep_their_place_in_one_line() {
        let mut queue = ReadQueue::default();
        for (name, size) in [("a", 1), ("B", SMALL + 1), ("c", SMALL), ("D", SMALL + 1)] {
            assert!(queue.push(&name.into(), size));
            assert!(!queue.push(&name.into(), size), "it waits already");
        }
        queue.first("D");
        queue.first("nobody");
        queue.remove("c");
        assert!(queue.contains("a") && !queue.contains("c"));
        assert_eq!(started(&mut queue), "D!aB!");
        assert!(queue.is_empty());
        assert_eq!(queue.reading(), 3);
        queue.done(true);
        queue.done(false);
        assert_eq!(queue.reading(), 1);
    }

    #[test]
    fn full_lanes_hold_up_only_their_own() {
        let mut queue = ReadQueue::default();
        for number in 0..100_000 {
            queue.push(&format!("{number},").into(), 1);
        }
        queue.push(&"L".into(), SMALL + 1);
        assert_eq!(started(&mut queue).matches(',').count(), SMALL_AT_ONCE);
        assert_eq!(queue.reading(), SMALL_AT_ONCE + 1);
        // Whoever asks again and again is answered without a walk over all that wait.
        for _ in 0..100_000 {
            assert_eq!(queue.start(), None);
        }
        queue.done(true);
        assert_eq!(started(&mut queue), "32,");
    }
}

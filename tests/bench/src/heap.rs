//! Counts the bytes that are allocated, in the modes that ask for it.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed},
};

/// The system's allocator with a count beside it. Without `start` it only passes on.
pub(crate) struct Counting;

static COUNTS: AtomicBool = AtomicBool::new(false);
static LIVE: AtomicI64 = AtomicI64::new(0);
static PEAK: AtomicI64 = AtomicI64::new(0);

/// What an allocation takes beyond its bytes on a usual allocator: its header, and what rounding adds.
const OVERHEAD: i64 = 16;

/// Begins to count.
pub(crate) fn start() {
    COUNTS.store(true, Relaxed);
}

/// Bytes that are allocated now beyond those at the start, overhead included.
pub(crate) fn live() -> i64 {
    LIVE.load(Relaxed)
}

/// The most that `live` was since the last call.
pub(crate) fn take_peak() -> i64 {
    PEAK.swap(live(), Relaxed)
}

fn count(bytes: i64) {
    if COUNTS.load(Relaxed) {
        let live = LIVE.fetch_add(bytes, Relaxed) + bytes;
        PEAK.fetch_max(live, Relaxed);
    }
}

fn cost(bytes: usize) -> i64 {
    bytes as i64 + OVERHEAD
}

// SAFETY: everything is done by the system's allocator; the counts touch no memory of the caller.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(cost(layout.size()));
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(cost(layout.size()));
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        count(-cost(layout.size()));
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as i64 - layout.size() as i64);
        unsafe { System.realloc(place, layout, size) }
    }
}

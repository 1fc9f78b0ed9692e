//! The tasks of a session, by who runs them and their id (session-model.md 10.1).

use std::{collections::BTreeMap, sync::Arc};

use super::{
    call::CallId,
    hash::Map,
    hops::{HopId, PerSide, Side},
    session::Session,
};
use crate::{base::Timestamp, record::Seq};

/// Tasks of one session (session-model.md 22.3).
const MAX_TASKS: usize = 10_000;

/// Which of the two designs a task follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskDialect {
    /// Revision 2025-11-25: either side may run tasks.
    Core,
    /// The extension `io.modelcontextprotocol/tasks`: the server runs them for `tools/call`.
    Extension,
}

/// One task.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Its id (untrusted; at most 1 KiB).
    pub id: Arc<str>,
    /// True when the server runs it.
    pub on_server: bool,
    /// The call that it works for; `None` when its handle was not seen.
    pub call: Option<CallId>,
    /// Its design; `None` when its handle was not seen.
    pub dialect: Option<TaskDialect>,
    /// The last status word; the first terminal one stays (untrusted).
    pub status: Option<Arc<str>>,
    /// A `tasks/cancel` was acknowledged.
    pub cancel_requested: bool,
    /// Instant of the first frame that told of it.
    pub first_at: Option<Timestamp>,
    /// Instant of the frame that told of its end.
    pub ended_at: Option<Timestamp>,
    /// Frame that showed the first terminal status.
    pub(super) terminal: Option<Seq>,
    /// Nothing more is expected of it.
    pub(super) over: bool,
    /// The request frame whose progress token it holds.
    pub(super) hop: Option<(HopId, Seq)>,
    order: u64,
}

impl Task {
    /// What goes first at the bound: what is over, then what has no call.
    fn class(&self) -> u8 {
        match (self.over, self.call) {
            (true, _) => 0,
            (false, None) => 1,
            (false, Some(_)) => 2,
        }
    }
}

/// The tasks of one session.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    known: PerSide<Map<Arc<str>, Task>>,
    /// In the order in which they go at the bound.
    order: BTreeMap<(u8, u64), (Side, Arc<str>)>,
    next: u64,
}

impl Tasks {
    pub(super) fn get(&self, side: Side, id: &str) -> Option<&Task> {
        self.known.get(side).get(id)
    }

    /// All of them, in the order in which they were first seen.
    pub(super) fn list(&self) -> Vec<&Task> {
        let sides = [Side::Client, Side::Server];
        let all = sides.iter().flat_map(|side| self.known.get(*side).values());
        let mut all: Vec<&Task> = all.collect();
        all.sort_unstable_by_key(|task| task.order);
        all
    }

    /// Makes sure that a task is known; answers the one that was forgotten for it.
    pub(super) fn add(&mut self, side: Side, id: &str, ts: Option<Timestamp>) -> Option<Task> {
        if self.known.get(side).contains_key(id) {
            return None;
        }
        let forgotten = (self.order.len() >= MAX_TASKS)
            .then(|| self.order.pop_first())
            .flatten()
            .and_then(|(_, (side, id))| self.known.of(side).remove(&id));
        self.next += 1;
        let id: Arc<str> = id.into();
        let task = Task {
            id: Arc::clone(&id),
            on_server: side == Side::Server,
            call: None,
            dialect: None,
            status: None,
            cancel_requested: false,
            first_at: ts,
            ended_at: None,
            terminal: None,
            over: false,
            hop: None,
            order: self.next,
        };
        self.order
            .insert((task.class(), task.order), (side, Arc::clone(&id)));
        self.known.of(side).insert(id, task);
        forgotten
    }

    /// Changes a task that is known.
    pub(super) fn change<T>(
        &mut self,
        side: Side,
        id: &str,
        change: impl FnOnce(&mut Task) -> T,
    ) -> Option<T> {
        let task = self.known.of(side).get_mut(id)?;
        let before = (task.class(), task.order);
        let answer = change(task);
        let after = (task.class(), task.order);
        if before != after
            && let Some(place) = self.order.remove(&before)
        {
            self.order.insert(after, place);
        }
        Some(answer)
    }

    /// A handle names a task: it begins anew, whatever had its id before.
    pub(super) fn begin(&mut self, side: Side, id: &str, call: CallId, dialect: TaskDialect) {
        self.change(side, id, |task| {
            task.call = Some(call);
            task.dialect = Some(dialect);
            (task.status, task.ended_at, task.terminal) = (None, None, None);
            (task.over, task.cancel_requested, task.hop) = (false, false, None);
        });
    }

    /// The task with this id of the side that is named first, else of the other.
    pub(super) fn of_either(&self, first: Side, id: &str) -> Option<&Task> {
        self.get(first, id).or_else(|| self.get(first.other(), id))
    }
}

impl Session {
    /// The tasks that are known, in the order in which they were first seen (session-model.md 10).
    pub fn tasks(&self) -> Vec<&Task> {
        self.machine.tasks.list()
    }

    /// The task with this id of the server (true) or of the client (false).
    pub fn task(&self, on_server: bool, id: &str) -> Option<&Task> {
        let side = if on_server {
            Side::Server
        } else {
            Side::Client
        };
        self.machine.tasks.get(side, id)
    }
}

/// Status words after which nothing comes.
pub(super) fn is_terminal(status: &str) -> bool {
    matches!(status, "completed" | "failed" | "cancelled")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_the_bound_what_is_over_goes_first_then_what_has_no_call() {
        let mut tasks = Tasks::default();
        let name = |at: usize| format!("t{at}");
        for at in 0..MAX_TASKS {
            assert_eq!(tasks.add(Side::Server, &name(at), None), None);
            if at != 7 {
                tasks.begin(Side::Server, &name(at), CallId(1), TaskDialect::Core);
            }
        }
        tasks.change(Side::Server, "t9", |task| task.over = true);
        tasks.change(Side::Server, "t8", |task| task.over = true);
        let gone = [0, 1, 2, 3].map(|at| {
            let gone = tasks.add(Side::Client, &name(at), None).unwrap();
            (gone.on_server, gone.id.to_string())
        });
        // Those of the client have no call either, and the oldest of a class goes first.
        let expected = [(true, "t8"), (true, "t9"), (true, "t7"), (false, "t0")];
        assert_eq!(
            gone,
            expected.map(|(on_server, id)| (on_server, id.to_owned()))
        );
        assert_eq!(tasks.list().len(), MAX_TASKS);
        assert!(tasks.get(Side::Server, "t1").is_some());
    }
}

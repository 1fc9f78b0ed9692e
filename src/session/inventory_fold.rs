//! Listings as their answers come: each page is read at once and put into its run
//! (session-model.md 15.1, 15.3).

use std::sync::Arc;

use super::{
    asked::{Asked, Cacheable, PageAsked},
    classify::Parts,
    definition::ListKind,
    fact::Fact,
    hops::{HopId, Side},
    listing::{Next, RunId, Slot},
    machine::{Answer, At, Machine},
    reading::{Known, ResultFacts, digest_of, is_redacted},
    remark::Code,
    wording::shown,
};

/// What a result says.
struct Said<'a> {
    read: &'a ResultFacts<'a>,
    /// When the client's copy of it goes stale, in nanoseconds.
    until: i64,
}

impl Machine {
    /// Takes what a result of a client's request lists and says of caching; the first answer of a
    /// hop, late ones included.
    pub(super) fn result_learned(
        &mut self,
        at: &At,
        hop: HopId,
        read: &ResultFacts<'_>,
        facts: &mut Vec<Fact>,
    ) {
        if at.truncated {
            let asked = self.hops.get(hop).and_then(|hop| hop.asked.as_deref());
            if let Some((what, page)) = asked.map(|asked| (asked.what, asked.page)) {
                self.page_unread(at, what, page);
            }
            return;
        }
        if read.result_type.as_deref() == Some("input_required") {
            return;
        }
        let Some(asked) = self.hops.take_asked(hop) else {
            return;
        };
        let hints = self.hints(at, &asked, read);
        let said = Said {
            read,
            until: hints.until(at),
        };
        let run = match asked.what {
            Cacheable::List(kind) => self.listed(at, hop, (kind, &asked), &said, facts),
            Cacheable::Discover | Cacheable::Read => None,
        };
        if run.is_none()
            || read
                .raw
                .next_cursor
                .is_some_and(|next| is_redacted(next, at.redacted))
        {
            self.page_unread(at, asked.what, asked.page);
        }
        self.scope_of_run(at, hop, &asked, run, &hints);
        self.keep_fresh(at, hop, &asked, run, &hints);
    }

    /// Notes a first page that may lead to any cursor: what follows may be of its run.
    fn page_unread(&mut self, at: &At, what: Cacheable, page: PageAsked) {
        if let (Cacheable::List(kind), PageAsked::First) = (what, page) {
            self.listings.of_mut(kind).unread = at.row.seq;
        }
    }

    /// Reads one page; answers its run.
    fn listed(
        &mut self,
        at: &At,
        hop: HopId,
        (kind, asked): (ListKind, &Asked),
        said: &Said<'_>,
        facts: &mut Vec<Fact>,
    ) -> Option<RunId> {
        let (read, until) = (said.read, said.until);
        let listed = match kind {
            ListKind::Tools => read.raw.tools,
            ListKind::Prompts => read.raw.prompts,
            ListKind::Resources => read.raw.resources,
            ListKind::Templates => read.raw.resource_templates,
        };
        let listed = listed.filter(|listed| listed.first() == Some(&b'['))?;
        let (begun, client, modern) = self.hops.get(hop).map(|hop| {
            let modern = hop.declared == Some(true);
            (hop.seq, hop.client, modern)
        })?;
        let page = self.listings.page(kind, listed, at.redacted);
        if kind == ListKind::Tools {
            self.note_hints(&page, facts);
        }
        let cursor = match asked.page {
            PageAsked::Of(_, cursor) => Some(cursor),
            PageAsked::Orphan(cursor) => cursor,
            PageAsked::First => None,
        };
        let known = match asked.page {
            PageAsked::Of(run, _) if self.listings.run(run).is_some() => Some(run),
            _ => None,
        };
        let id = known.unwrap_or_else(|| self.listings.begin(kind, client, begun));
        if let Some(run) = self.listings.run_mut(id)
            && known.is_none()
        {
            run.answered = at.row.seq;
            run.is_orphan = asked.page != PageAsked::First;
        }
        let next = next_of(read.raw.next_cursor, at.redacted, modern);
        let twice = page.repeated.clone();
        let slot = Slot {
            cursor,
            page,
            next,
            until,
        };
        let twice = self.listings.take(id, slot).or(twice);
        if let Some((name, more)) = twice {
            self.name_repeated(at, &name, more);
        }
        Some(id)
    }

    fn name_repeated(&mut self, at: &At, name: &Arc<str>, more: u64) {
        let name = shown(name.as_bytes());
        let others = match more {
            0 | 1 => String::new(),
            more => format!(" ({more} entries are left out)"),
        };
        let said = format!(
            "server: tools/list names the tool {name} more than once in one listing; the first counts{others}"
        );
        self.remark(at.row, Code::ToolNameRepeated, said);
    }

    /// What a failed request says of listings: a cursor that was refused, and a client that has
    /// reason to doubt its copies (session-model.md 19.3).
    pub(super) fn failure_learned(&mut self, at: &At, hop: HopId, answer: &Answer) {
        let code = match answer {
            Answer::Error(error) => error.code,
            Answer::ToolError { .. } => None,
            Answer::Ok { .. } => return,
        };
        let Some(entry) = self.hops.get(hop).filter(|hop| hop.side == Side::Client) else {
            return;
        };
        let (client, call) = (entry.client, entry.call);
        if let Some(asked) = &entry.asked
            && let PageAsked::Of(run, _) = asked.page
            && let Some(run) = self.listings.run_mut(run)
        {
            run.cursor_failed = true;
        }
        let doubts = match answer {
            Answer::ToolError { .. } => true,
            _ => matches!(code, Some(-32_601 | -32_602 | -32_020)),
        };
        if doubts && let Some(call) = self.call(call) {
            let method = Arc::clone(&call.method);
            self.caches.doubt(client, &method, at.row.seq);
        }
    }

    /// A notification that lists or resources changed.
    pub(super) fn list_news(&mut self, at: &At, parts: &Parts<'_>) {
        if at.side != Side::Server {
            return;
        }
        let kinds: &[ListKind] = match parts.method.as_deref() {
            Some("notifications/tools/list_changed") => &[ListKind::Tools],
            Some("notifications/prompts/list_changed") => &[ListKind::Prompts],
            Some("notifications/resources/list_changed") => {
                &[ListKind::Resources, ListKind::Templates]
            }
            Some("notifications/resources/updated") => {
                self.caches.updated(parts.params, at.redacted, at.row.seq);
                return;
            }
            _ => return,
        };
        for kind in kinds {
            self.listings.of_mut(*kind).changed = at.row.seq;
        }
    }
}

/// What `nextCursor` says (session-model.md 15.1.3).
fn next_of(value: Option<&[u8]>, redacted: bool, modern: bool) -> Next {
    let Some(value) = value else {
        return Next::Last;
    };
    match digest_of(value, redacted) {
        Known::Absent => Next::Last,
        Known::Unknown => Next::Unknown,
        Known::Is(cursor) if value == b"\"\"" && !modern => Next::LastUnless(cursor),
        Known::Is(cursor) => Next::More(cursor),
    }
}

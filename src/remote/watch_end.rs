//! The end of a connection: the socket is left, jobs end, and what they read so far is kept.

use std::time::Duration;

use super::{
    host::End,
    jobs::Report,
    publish::leave,
    watch::{CLEANUP, Watch},
};
use crate::feed::Severity;

impl Watch<'_> {
    /// Leaves the socket, ends the connection and its jobs, and takes the followers back.
    pub(super) async fn close(&mut self, end: &End) {
        if self.link.is_open()
            && !matches!(end, End::Lost(_))
            && let Some(attached) = self.attached.take()
        {
            let leaving = leave(&*attached.place, &attached.published);
            if !matches!(tokio::time::timeout(CLEANUP, leaving).await, Ok(Ok(()))) {
                let text = "the socket on the host could not be removed; the next viewer clears it";
                self.host.teller.notice(Severity::Warning, text.to_owned());
            }
        }
        if let Some(sftp) = self.sftp.take() {
            sftp.end();
        }
        let goodbye = self
            .link
            .handle
            .disconnect(russh::Disconnect::ByApplication, "", "en");
        if tokio::time::timeout(Duration::from_secs(1), goodbye)
            .await
            .is_err()
        {
            // It ends by being dropped.
        }
        let collecting = self.take_followers_back();
        if tokio::time::timeout(CLEANUP, collecting).await.is_err() {
            // What jobs still hold is lost to them, and read again.
        }
        self.host.intake.logs.recover();
        self.jobs.shutdown().await;
    }

    async fn take_followers_back(&mut self) {
        while self.host.intake.logs.reading() > 0 {
            let Some(report) = self.inbox.recv().await else {
                return;
            };
            let now = self.host.clock.now();
            match report {
                Report::Lines {
                    name,
                    events,
                    bytes,
                } => {
                    self.host.intake.lines(&name, events, bytes, now);
                }
                Report::Read {
                    name,
                    follower,
                    small,
                    ..
                } => self.host.intake.logs.failed(&name, *follower, small, false),
                _ => {}
            }
            self.host.intake.deliver(now, &mut self.host.teller);
        }
    }
}

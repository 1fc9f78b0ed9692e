//! A stretch of a remote file, read with many requests at once and yielded in order.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::{FutureExt as _, StreamExt as _, future::BoxFuture, stream::FuturesOrdered};

use super::{
    far_error::SftpError,
    sftp::{Open, Sftp},
};

/// What one request brought.
struct Piece {
    offset: u64,
    asked: u32,
    answer: Result<Option<Vec<u8>>, SftpError>,
    /// Time from the request to the answer.
    waited: Duration,
}

/// Reads from one offset up to another; dropping it gives its room in the window back.
pub(super) struct RangeReader {
    sftp: Arc<Sftp>,
    file: Open,
    /// Where the next request begins.
    ahead: u64,
    end: u64,
    /// Where the next byte that is yielded lies.
    position: u64,
    pending: FuturesOrdered<BoxFuture<'static, Piece>>,
    outstanding: u64,
}

impl RangeReader {
    /// Reads `file` from `start` up to `end` or its own end.
    pub(super) fn new(sftp: &Arc<Sftp>, file: &Open, start: u64, end: u64) -> Self {
        Self {
            sftp: Arc::clone(sftp),
            file: file.clone(),
            ahead: start,
            end,
            position: start,
            pending: FuturesOrdered::new(),
            outstanding: 0,
        }
    }

    /// Offset behind all that was yielded.
    pub(super) const fn position(&self) -> u64 {
        self.position
    }

    /// The next bytes; `None` at the end of the range or of the file.
    ///
    /// # Errors
    /// What the server answered; reading cannot go on after it.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<u8>>, SftpError> {
        if self.pending.is_empty() {
            if self.ahead >= self.end {
                return Ok(None);
            }
            let length = self.next_length();
            self.sftp.window().take(u64::from(length)).await;
            self.request(length);
        }
        self.fill();
        let Some(piece) = self.pending.next().await else {
            return Ok(None);
        };
        let (asked, window) = (u64::from(piece.asked), self.sftp.window());
        self.outstanding -= asked;
        let arrived = match &piece.answer {
            Ok(Some(bytes)) => bytes.len() as u64,
            _ => 0,
        };
        if arrived > 0 {
            window.answered(asked, arrived, piece.waited);
        } else {
            window.give_back(asked);
        }
        let Some(bytes) = piece.answer? else {
            // The file is shorter than it was said to be: what lies behind is not there either.
            self.end = self.position;
            self.ahead = self.ahead.max(self.end);
            self.drop_pending();
            return Ok(None);
        };
        self.position = piece.offset + arrived;
        let missing = u64::from(piece.asked).saturating_sub(arrived);
        if let Ok(missing @ 1..) = u32::try_from(missing) {
            self.request_rest(self.position, missing);
        }
        self.fill();
        Ok(Some(bytes))
    }

    /// Sends requests as long as the window has room.
    fn fill(&mut self) {
        while self.ahead < self.end {
            let length = self.next_length();
            if !self.sftp.window().try_take(u64::from(length)) {
                return;
            }
            self.request(length);
        }
    }

    fn next_length(&self) -> u32 {
        let left = self.end - self.ahead;
        u32::try_from(left).map_or(self.sftp.read_length(), |left| {
            left.min(self.sftp.read_length())
        })
    }

    fn request(&mut self, length: u32) {
        let future = self.asking(self.ahead, length);
        self.pending.push_back(future);
        self.ahead += u64::from(length);
    }

    /// A server may answer with less than was asked for: the rest comes before everything else.
    fn request_rest(&mut self, offset: u64, length: u32) {
        // The room was given back with the short answer; it is taken again whatever the limit.
        if !self.sftp.window().try_take(u64::from(length)) {
            self.sftp.window().force(u64::from(length));
        }
        let future = self.asking(offset, length);
        self.pending.push_front(future);
    }

    fn asking(&mut self, offset: u64, asked: u32) -> BoxFuture<'static, Piece> {
        self.outstanding += u64::from(asked);
        let (sftp, file) = (Arc::clone(&self.sftp), self.file.clone());
        async move {
            let begun = Instant::now();
            let answer = sftp.read(&file, offset, asked).await;
            Piece {
                offset,
                asked,
                answer,
                waited: begun.elapsed(),
            }
        }
        .boxed()
    }

    fn drop_pending(&mut self) {
        self.pending = FuturesOrdered::new();
        self.sftp.window().give_back(self.outstanding);
        self.outstanding = 0;
    }
}

impl Drop for RangeReader {
    fn drop(&mut self) {
        self.drop_pending();
    }
}

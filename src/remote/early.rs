//! Speaking SFTP before the server has confirmed the subsystem: its first packet travels together
//! with the request, which saves a round trip.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, Waker},
};

use russh::{Channel, ChannelMsg, client::Msg};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The packet that opens an SFTP session: its length, its kind, and version 3.
const FIRST_PACKET: [u8; 9] = [0, 0, 0, 5, 1, 0, 0, 0, 3];

/// What the server said to the subsystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    Started,
    Refused,
    Ended,
}

/// Requests the subsystem and sends the first packet behind it.
///
/// # Errors
/// When nothing can be sent any more.
pub(super) async fn start(channel: &mut Channel<Msg>) -> Result<Start, russh::Error> {
    channel.request_subsystem(true, "sftp").await?;
    channel.data_bytes(FIRST_PACKET.to_vec()).await?;
    loop {
        match channel.wait().await {
            Some(ChannelMsg::Success) => return Ok(Start::Started),
            Some(ChannelMsg::Failure) => return Ok(Start::Refused),
            Some(_) => {}
            None => return Ok(Start::Ended),
        }
    }
}

/// A stream whose writer begins with the first packet, which was sent already. Nothing can be read
/// before that: the answer may be here, but nobody waits for it yet.
#[derive(Debug)]
pub(super) struct Started<S> {
    stream: S,
    sent: usize,
    reader: Option<Waker>,
}

impl<S> Started<S> {
    pub(super) const fn new(stream: S) -> Self {
        Self {
            stream,
            sent: FIRST_PACKET.len(),
            reader: None,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Started<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.sent > 0 {
            self.reader = Some(context.waker().clone());
            return Poll::Pending;
        }
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Started<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.sent > 0 {
            let known = self.sent.min(bytes.len());
            self.sent -= known;
            if self.sent == 0
                && let Some(reader) = self.reader.take()
            {
                reader.wake();
            }
            return Poll::Ready(Ok(known));
        }
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test]
    async fn the_first_packet_is_not_sent_again() {
        let (near, mut far) = tokio::io::duplex(64);
        let mut stream = Started::new(near);
        far.write_all(b"answer").await.unwrap();
        let mut answer = [0; 6];
        let early = stream.read_exact(&mut answer).now_or_never();
        assert!(early.is_none(), "nobody asked yet");
        // In pieces, as a stream may take them.
        stream.write_all(&FIRST_PACKET[..4]).await.unwrap();
        stream.write_all(&FIRST_PACKET[4..]).await.unwrap();
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"answer");
        stream.write_all(b"next").await.unwrap();
        drop(stream);
        let mut sent = Vec::new();
        far.read_to_end(&mut sent).await.unwrap();
        assert_eq!(sent, b"next");
    }
}

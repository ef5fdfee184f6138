//! What an answer says: all at once, or piece by piece as it is made.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use tokio::sync::mpsc;

/// The body of an answer.
#[derive(Debug)]
pub struct Body(Content);

#[derive(Debug)]
enum Content {
    Whole(Option<Bytes>),
    Pieces { coming: mpsc::Receiver<Piece>, ended: bool },
}

#[derive(Debug)]
enum Piece {
    Bytes(Bytes),
    End,
}

/// The other end of a body that is made piece by piece. A body whose sender is dropped before
/// [`end`](Self::end) is cut off, and its client sees that.
#[derive(Debug)]
pub struct Pieces(mpsc::Sender<Piece>);

/// The client takes no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the client has gone")]
pub struct Gone;

/// An answer was not made to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the answer was cut off")]
pub struct CutOff;

impl Body {
    /// A body that is there already.
    #[must_use]
    pub fn whole(bytes: Bytes) -> Self {
        Self(Content::Whole((!bytes.is_empty()).then_some(bytes)))
    }

    /// A body that is made while it is sent. One piece waits at most: whoever makes them is held up
    /// by a client that does not take them.
    #[must_use]
    pub fn pieces() -> (Pieces, Self) {
        let (sender, coming) = mpsc::channel(1);
        (Pieces(sender), Self(Content::Pieces { coming, ended: false }))
    }
}

impl Pieces {
    /// Gives `bytes` to the client once it has taken what came before.
    ///
    /// # Errors
    /// [`Gone`].
    pub async fn send(&self, bytes: Bytes) -> Result<(), Gone> {
        self.0.send(Piece::Bytes(bytes)).await.map_err(|_| Gone)
    }

    /// The body is whole.
    ///
    /// # Errors
    /// [`Gone`].
    pub async fn end(self) -> Result<(), Gone> {
        self.0.send(Piece::End).await.map_err(|_| Gone)
    }

    /// Waits until the client has gone.
    pub async fn gone(&self) {
        self.0.closed().await;
    }
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = CutOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, CutOff>>> {
        match &mut self.0 {
            Content::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Content::Pieces { ended: true, .. } => Poll::Ready(None),
            Content::Pieces { coming, ended } => {
                coming.poll_recv(context).map(|piece| match piece {
                    Some(Piece::Bytes(bytes)) => Some(Ok(Frame::data(bytes))),
                    Some(Piece::End) => {
                        *ended = true;
                        None
                    }
                    None => {
                        *ended = true;
                        Some(Err(CutOff))
                    }
                })
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Content::Whole(bytes) => bytes.is_none(),
            Content::Pieces { ended, .. } => *ended,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Content::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            Content::Pieces { .. } => SizeHint::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    fn run<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work)
    }

    #[test]
    fn pieces_arrive_in_their_order_up_to_the_end() {
        let (whole, cut) = run(async {
            let (pieces, body) = Body::pieces();
            let made = tokio::spawn(async move {
                pieces.send(Bytes::from_static(b"ab")).await.unwrap();
                pieces.send(Bytes::from_static(b"c")).await.unwrap();
                pieces.end().await.unwrap();
            });
            let whole = body.collect().await.unwrap().to_bytes();
            made.await.unwrap();
            let (pieces, body) = Body::pieces();
            pieces.send(Bytes::from_static(b"ab")).await.unwrap();
            drop(pieces);
            (whole, body.collect().await.unwrap_err())
        });
        assert_eq!((whole.as_ref(), cut), (&b"abc"[..], CutOff));
    }

    #[test]
    fn whoever_makes_pieces_for_nobody_is_told() {
        run(async {
            let (pieces, body) = Body::pieces();
            drop(body);
            pieces.gone().await;
            assert_eq!(pieces.send(Bytes::from_static(b"x")).await, Err(Gone));
        });
    }
}

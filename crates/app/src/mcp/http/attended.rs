//! A response that knows whether its client waited for it.

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll, ready},
};

use http_body_util::combinators::BoxBody;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio_util::{sync::CancellationToken, task::task_tracker::TaskTrackerToken};

/// Cancelled when the client hangs up before it has the whole response. It travels with the request.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClientGone(pub(crate) CancellationToken);

/// The body of a response. Dropping it before its end tells that the client has gone.
#[derive(Debug)]
pub(super) struct Attended {
    body: BoxBody<Bytes, Infallible>,
    gone: Option<ClientGone>,
    /// Kept until it is sent: the end of the server waits for it.
    _awaited: Option<TaskTrackerToken>,
}

impl Attended {
    pub(super) fn new(
        body: BoxBody<Bytes, Infallible>,
        gone: ClientGone,
        awaited: Option<TaskTrackerToken>,
    ) -> Self {
        Self { body, gone: Some(gone), _awaited: awaited }
    }

    /// A body for which nothing has to be done.
    pub(super) fn whole(body: BoxBody<Bytes, Infallible>) -> Self {
        Self { body, gone: None, _awaited: None }
    }
}

impl Body for Attended {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if frame.is_none() {
            self.gone = None;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Attended {
    fn drop(&mut self) {
        if let Some(gone) = self.gone.take().filter(|_| !self.body.is_end_stream()) {
            gone.0.cancel();
        }
    }
}

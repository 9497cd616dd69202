//! The SDK's transport with a bound: a client that does not read its answers is not read from either.
//!
//! The SDK starts a task for each message that it receives, and keeps each answer until the client takes it.

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{ClientNotification, ClientRequest, JsonRpcMessage, RequestId};
use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::Notify;

/// Requests in work, and messages that the client has not taken, before no more is read.
const MAX_UNDER_WAY: usize = 16;

/// A transport that receives nothing while too much is under way, and ends once nothing can be sent.
pub(super) struct Bounded<T> {
    inner: T,
    /// Received, and not given to the SDK yet.
    held: Option<RxJsonRpcMessage<RoleServer>>,
    under_way: Arc<UnderWay>,
}

#[derive(Default)]
struct UnderWay {
    state: Mutex<State>,
    /// Something has been answered or sent, or can't be.
    eased: Notify,
}

#[derive(Default)]
struct State {
    /// Requests without an answer; those that listen have theirs only at their end, and don't count.
    unanswered: HashSet<RequestId>,
    /// Messages that the client has not taken.
    unsent: usize,
    /// The client does not read any more.
    is_broken: bool,
}

impl<T> Bounded<T> {
    pub fn new(inner: T) -> Self {
        Self {
            inner,
            held: None,
            under_way: Arc::default(),
        }
    }
}

impl<T: Transport<RoleServer, Error = io::Error>> Transport<RoleServer> for Bounded<T> {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let answered = match &message {
            JsonRpcMessage::Response(answer) => Some(&answer.id),
            JsonRpcMessage::Error(answer) => answer.id.as_ref(),
            _ => None,
        };
        self.under_way.begin_sending(answered);
        let under_way = Arc::clone(&self.under_way);
        let sent = self.inner.send(message);
        async move {
            let sent = sent.await;
            under_way.end_sending(sent.is_err());
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            // Asked for first, so that nothing that eases meanwhile is missed.
            let under_way = Arc::clone(&self.under_way);
            let eased = under_way.eased.notified();
            if under_way.state().is_broken {
                return None;
            }
            if self.held.is_none() && under_way.has_room() {
                tokio::select! {
                    received = self.inner.receive() => self.held = Some(received?),
                    () = eased => {}
                }
            } else if let Some(message) = self.held.take() {
                match under_way.admit(message) {
                    Admitted::Message(message) => return Some(message),
                    Admitted::Ignored => {}
                    Admitted::Held(message) => {
                        self.held = Some(message);
                        eased.await;
                    }
                }
            } else {
                eased.await;
            }
        }
    }

    fn close(&mut self) -> impl Future<Output = io::Result<()>> + Send {
        self.inner.close()
    }
}

enum Admitted {
    Message(RxJsonRpcMessage<RoleServer>),
    /// Its number is that of a request without an answer.
    Held(RxJsonRpcMessage<RoleServer>),
    Ignored,
}

impl UnderWay {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_room(&self) -> bool {
        let state = self.state();
        state.unanswered.len() + state.unsent < MAX_UNDER_WAY
    }

    fn admit(&self, message: RxJsonRpcMessage<RoleServer>) -> Admitted {
        let mut state = self.state();
        match &message {
            JsonRpcMessage::Request(request) => {
                if state.unanswered.contains(&request.id) {
                    return Admitted::Held(message);
                }
                let listens = matches!(
                    request.request,
                    ClientRequest::SubscriptionsListenRequest(_)
                );
                if !listens {
                    state.unanswered.insert(request.id.clone());
                }
            }
            // A call takes moments and can't be stopped half-way; the protocol lets a server ignore that it is cancelled. The
            // SDK would send no answer, and go on working.
            JsonRpcMessage::Notification(notice) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notice.notification
                    && let Some(id) = &cancelled.params.request_id
                    && state.unanswered.contains(id)
                {
                    return Admitted::Ignored;
                }
            }
            _ => {}
        }
        Admitted::Message(message)
    }

    fn begin_sending(&self, answered: Option<&RequestId>) {
        let mut state = self.state();
        if let Some(id) = answered {
            state.unanswered.remove(id);
        }
        state.unsent += 1;
    }

    fn end_sending(&self, is_broken: bool) {
        let mut state = self.state();
        state.unsent -= 1;
        state.is_broken |= is_broken;
        drop(state);
        self.eased.notify_waiters();
    }
}

//! Acts of an operator: done by a form of the operator's own session, once, and written
//! into the ledger like every refusal.

use std::sync::Arc;

use crate::access::Viewer;
use crate::source::{ConsoleSource, OperatorAct, OperatorActKind, SourceError};
use crate::state::ConsoleState;

/// An act that a form asks for.
#[derive(Debug)]
pub(super) struct AskedAct {
    pub(super) act: OperatorActKind,
    pub(super) subject: String,
    /// Token of the form.
    pub(super) token: String,
}

/// A token for one form of an operator's session; empty for everybody else.
pub(super) fn make_act_token(state: &ConsoleState, viewer: &Viewer) -> String {
    let session = viewer.session.as_deref().filter(|_| viewer.is_operator());
    session.and_then(|session| state.sessions.make_form_token(session)).unwrap_or_default()
}

/// Does an act. Its beginning is written into the ledger before anything is done, so that no
/// act is without an entry; then its end, or its refusal.
pub(super) async fn perform_act(
    state: &Arc<ConsoleState>,
    viewer: &Viewer,
    asked: AskedAct,
    work: impl FnOnce(&dyn ConsoleSource) -> Result<(), SourceError> + Send + 'static,
) -> Result<(), SourceError> {
    let AskedAct { act, subject, token } = asked;
    let is_own = viewer.session.as_deref().is_some_and(|session| state.sessions.take_form_token(session, &token));
    let session = viewer.name();
    let entry = move |allowed: bool, text: String| OperatorAct {
        act,
        subject: subject.clone(),
        session: session.clone(),
        allowed,
        text,
    };
    state
        .ask_source(move |source| {
            let done = match is_own {
                true => source.record_act(&entry(true, "begun".to_owned())).and_then(|()| work(source)),
                false => Err(SourceError::refused("this form was sent before, or is not of this session")),
            };
            let text = done.as_ref().err().map_or_else(|| "done".to_owned(), ToString::to_string);
            // What is done stays done and has its first entry, also if this one cannot be
            // written.
            let _ = source.record_act(&entry(done.is_ok(), text));
            done
        })
        .await
}

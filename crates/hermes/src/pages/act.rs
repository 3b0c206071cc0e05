//! Acts of an operator: done by a form of the operator's own session, once, and written
//! into the ledger like every refusal.

use std::sync::Arc;

use tokio::sync::OwnedSemaphorePermit;

use crate::access::{Role, Viewer};
use crate::source::{ConsoleSource, OperatorAct, OperatorActKind, SessionCheck, SourceError};
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

/// Place of a decision at the operator's key: one at a time, so that a key that answers
/// nothing holds one thread and not all of them.
enum SigningPlace {
    /// The act is not signed.
    Unneeded,
    /// Held until the act is done.
    Taken(#[expect(dead_code, reason = "held, and given back when it is dropped")] OwnedSemaphorePermit),
    Busy,
}

fn take_place(state: &ConsoleState, act: OperatorActKind) -> SigningPlace {
    if !matches!(act, OperatorActKind::Approve | OperatorActKind::Deny) {
        return SigningPlace::Unneeded;
    }
    Arc::clone(&state.signing).try_acquire_owned().map_or(SigningPlace::Busy, SigningPlace::Taken)
}

/// Refusal of an act before it begins.
fn refuse_act(is_own: bool, place: &SigningPlace) -> Option<&'static str> {
    match place {
        _ if !is_own => Some("this form was sent before, or is not of this session"),
        SigningPlace::Busy => Some("another decision waits for its signature; decide again when it is done"),
        SigningPlace::Unneeded | SigningPlace::Taken(_) => None,
    }
}

/// Does an act. Its beginning is written into the ledger before anything is done, so that no
/// act is without an entry; then its end, or its refusal.
pub(super) async fn perform_act(
    state: &Arc<ConsoleState>,
    viewer: &Viewer,
    asked: AskedAct,
    work: impl FnOnce(&dyn ConsoleSource, SessionCheck<'_>) -> Result<(), SourceError> + Send + 'static,
) -> Result<(), SourceError> {
    let AskedAct { act, subject, token } = asked;
    let is_own = viewer.session.as_deref().is_some_and(|session| state.sessions.take_form_token(session, &token));
    let place = if is_own { take_place(state, act) } else { SigningPlace::Unneeded };
    let session = viewer.name();
    let (shared, cookie) = (Arc::clone(state), viewer.session.clone().unwrap_or_default());
    let entry = move |allowed: bool, text: String| OperatorAct {
        act,
        subject: subject.clone(),
        session: session.clone(),
        allowed,
        text,
    };
    state
        .ask_source(move |source| {
            let may_still = || shared.sessions.find_role(&cookie) == Some(Role::Operator);
            let done = match refuse_act(is_own, &place) {
                None => source.record_act(&entry(true, "begun".to_owned())).and_then(|()| work(source, &may_still)),
                Some(text) => Err(SourceError::refused(text)),
            };
            drop(place);
            let text = done.as_ref().err().map_or_else(|| "done".to_owned(), ToString::to_string);
            // What is done stays done and has its first entry, also if this one cannot be
            // written.
            let _ = source.record_act(&entry(done.is_ok(), text));
            done
        })
        .await
}

//! From an engine's body to one that may be sent on: admission at the wire, default deny,
//! and removals.

use bytes::Bytes;
use contract::Digest;
use hyper::header::HeaderMap;

use crate::config::ResponsesWire;
use crate::policy::limits::Amount;
use crate::policy::rules::{self, ForbiddenContent};
use crate::protocol::headers::{going_up, identifying_fields};
use crate::protocol::json::{Edits, JsonKind, JsonNode, JsonSpans, Strictness, quoted};
use crate::protocol::refusal::{RefusalCode, RequestRefusal};
use crate::protocol::shim::declared_budget;
use crate::protocol::translate::{self, TranslationPlan};
use crate::protocol::usage::{Purpose, noted};
use crate::protocol::wire::Wire;
use crate::request::core::{AnswerRoute, Core};
use crate::request::ticket::Ticket;

/// A request that may be sent.
#[derive(Debug)]
pub(crate) struct RequestOrder {
    /// The wire the engine speaks.
    pub(crate) wire: Wire,
    /// The wire the provider speaks.
    pub(crate) sent_on: Wire,
    /// Body as it is sent.
    pub(crate) body: Bytes,
    /// Request as a recording has it, in the form of the engine's wire; empty without a
    /// recording.
    pub(crate) recorded_as: Bytes,
    /// Facts for translating the answer back, if the request was translated.
    pub(crate) plan: Option<TranslationPlan>,
    /// Upper estimate of its use, for the reservation.
    pub(crate) estimate: Amount,
}

/// Judges a body, and the headers that go with it. What is found on the way is noted in the
/// ticket.
pub(crate) fn judge_request(
    core: &Core,
    ticket: &mut Ticket,
    wire: Wire,
    headers: &HeaderMap,
    body: Bytes,
) -> Result<RequestOrder, RequestRefusal> {
    let record = &mut ticket.record;
    record.wire = Some(wire);
    record.request_bytes = body.len() as u64;
    record.request_sha256 = Some(Digest::of_bytes(&body));
    if core.forbids(&body) || going_up(headers).any(|(_, value)| core.forbids(value.as_bytes())) {
        return Err(RefusalCode::CanaryTouched.into());
    }
    JsonSpans::with_shared(|spans| read(core, ticket, wire, body, spans))
}

/// The part of the judgement that rests on what the body says.
fn read(
    core: &Core,
    ticket: &mut Ticket,
    wire: Wire,
    body: Bytes,
    spans: &mut JsonSpans,
) -> Result<RequestOrder, RequestRefusal> {
    let malformed = |what: String| RequestRefusal::saying(RefusalCode::RequestMalformed, what);
    let root = spans.read_document(&body, Strictness::Request).map_err(|error| malformed(error.to_string()))?;
    if !root.is_object() {
        return Err(malformed("The body is no object.".to_owned()));
    }
    admit(core, ticket, root)?;
    let used =
        rules::judge_body(wire, root, &core.network, &|id| core.was_issued(id)).map_err(|found| denied(&found))?;
    ticket.record.allowed_features = used.into_iter().collect();
    ticket.record.streamed = root.get_member("stream").is_some_and(|stream| stream.kind() == JsonKind::True);

    let estimate = core.estimate(body.len(), declared_budget(wire, root));
    let sent = edited(core, ticket, wire, root, &body);
    let keeps = core.keeps_traffic() && ticket.record.purpose == Purpose::Engine;
    let recorded_as = if keeps { sent.clone() } else { Bytes::new() };
    let (sent_on, sent, plan) = translated(core, ticket, wire, sent)?;
    Ok(RequestOrder { wire, sent_on, body: sent, recorded_as, plan, estimate })
}

/// The model named must be the admitted one or an alias of it, to the letter.
fn admit(core: &Core, ticket: &mut Ticket, root: JsonNode<'_>) -> Result<(), RequestRefusal> {
    let asked = root.get_member("model").and_then(|model| model.text());
    let Some(asked) = asked else {
        return Err(RequestRefusal::saying(RefusalCode::ModelNotAdmitted, "The request names no model."));
    };
    ticket.record.model_asked = Some(noted(&*asked));
    if core.admission.admits(&asked) {
        return Ok(());
    }
    let text = format!("Asked for: {}. Admitted: {}.", noted(&*asked), core.admission.model);
    Err(RequestRefusal::saying(RefusalCode::ModelNotAdmitted, text))
}

fn denied(found: &ForbiddenContent) -> RequestRefusal {
    let code = match found.feature {
        crate::policy::admission::Feature::ModelFallback => RefusalCode::FallbackAsked,
        _ => RefusalCode::HostedToolRefused,
    };
    RequestRefusal::saying(code, format!("{}: {}.", noted(&found.place), found.feature.text()))
}

/// The body as the provider gets it: the same bytes, but for the spans that a rule names.
fn edited(core: &Core, ticket: &mut Ticket, wire: Wire, root: JsonNode<'_>, body: &Bytes) -> Bytes {
    let mut edits = Edits::default();
    let stripped = edits.remove_members(root, |key| identifying_fields(wire).iter().any(|name| key.is_text(name)));
    ticket.record.stripped_fields = u32::try_from(stripped).unwrap_or(u32::MAX);
    if let (Some(name), Some(model)) = (&core.admission.sent_as, root.get_member("model")) {
        edits.replace_value(model, quoted(name));
    }
    ticket.record.shim = core.shim.apply_changes(wire, root, &mut edits);
    if edits.is_empty() { body.clone() } else { Bytes::from(edits.apply_edits(body)) }
}

fn translated(
    core: &Core,
    ticket: &mut Ticket,
    wire: Wire,
    body: Bytes,
) -> Result<(Wire, Bytes, Option<TranslationPlan>), RequestRefusal> {
    let over_chat = match &core.route {
        AnswerRoute::Live(live) => live.responses == ResponsesWire::OverChat,
        AnswerRoute::Replay(_) => false,
    };
    if wire != Wire::Responses || !over_chat {
        return Ok((wire, body, None));
    }
    let (sent, plan) = translate::translate_request(&body)
        .map_err(|error| RequestRefusal::saying(RefusalCode::NotCarried, error.to_string()))?;
    ticket.record.translated = true;
    ticket.record.left_out = plan.left_out.iter().map(|name| (*name).to_owned()).collect();
    Ok((Wire::ChatCompletions, Bytes::from(sent), Some(plan)))
}

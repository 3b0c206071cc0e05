//! Every way a request can end without the model's answer: one table of code, status and reason.

use contract::Reason;
use serde::Serialize;

use crate::wire::{Wire, error_body, error_event};

macro_rules! refusals {
    ($($variant:ident $code:literal $status:literal $reason:expr, $text:literal;)*) => {
        /// Why a request was not answered by the model.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
        #[serde(into = "&'static str")]
        pub enum RefusalCode { $($variant,)* }

        impl RefusalCode {
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            pub const fn code(self) -> &'static str {
                match self { $(Self::$variant => $code,)* }
            }

            pub const fn status(self) -> u16 {
                match self { $(Self::$variant => $status,)* }
            }

            /// The blocker of the run, where it is one.
            pub const fn reason(self) -> Option<Reason> {
                match self { $(Self::$variant => $reason,)* }
            }

            pub const fn text(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }
    };
}

use Reason::{BudgetExceeded, CanaryTouched, HostedToolRefused, ModelFallbackBlocked};

refusals! {
    TokenRefused "token_refused" 401 None, "The run token is missing, wrong or no longer valid.";
    RouteUnknown "route_unknown" 404 None, "The bridge has no such route.";
    MethodRefused "method_refused" 405 None, "The route does not take this method.";
    RequestMalformed "request_malformed" 400 None, "The request is not a well-formed one of its wire.";
    RequestTooLarge "request_too_large" 413 None, "The request is too large.";
    RequestTooSlow "request_too_slow" 408 None, "The request did not arrive in time.";
    BridgeBusy "bridge_busy" 503 None, "Too much is in flight.";
    ModelNotAdmitted "model_not_admitted" 403 Some(ModelFallbackBlocked), "The model is not the admitted one.";
    OtherModelAnswered "other_model_answered" 502 Some(ModelFallbackBlocked), "Another model than the admitted one answered.";
    FallbackAsked "fallback_asked" 403 Some(ModelFallbackBlocked), "The request names models to fall back to.";
    HostedToolRefused "hosted_tool_refused" 403 Some(HostedToolRefused), "The request asks the provider to do more than answer.";
    CanaryTouched "canary_touched" 403 Some(CanaryTouched), "The request carries a value that must not leave.";
    RequestLimit "request_limit" 429 Some(BudgetExceeded), "The run's limit of model requests is reached.";
    TokenLimit "token_limit" 429 Some(BudgetExceeded), "The run's limit of model tokens is reached.";
    MoneyLimit "money_limit" 429 Some(BudgetExceeded), "The run's limit of money is reached.";
    ModelUnpriced "model_unpriced" 429 Some(BudgetExceeded), "Money is limited and the model has no price.";
    NotCarried "not_carried" 400 None, "The provider's wire cannot carry this.";
    NotRecorded "not_in_recording" 400 None, "The recording has no answer to this request.";
    CredentialUnavailable "credential_unavailable" 502 Some(Reason::ProviderAuthUnavailable), "The provider's credential is not available.";
    CredentialRefused "credential_refused" 401 Some(Reason::ProviderAuthUnavailable), "The provider refused the credential.";
    UpstreamUnreachable "upstream_unreachable" 502 None, "The provider cannot be reached.";
    UpstreamTimeout "upstream_timeout" 504 None, "The provider did not answer in time.";
    UpstreamCut "upstream_cut" 502 None, "The provider's answer ends early.";
    UpstreamMalformed "upstream_malformed" 502 None, "The provider's answer is malformed.";
    UpstreamTooLarge "upstream_too_large" 502 None, "The provider's answer is too large.";
    UpstreamRedirect "upstream_redirect" 502 None, "The provider answered with a redirect, and none is followed.";
    UpstreamEncoded "upstream_encoded" 502 None, "The provider's answer is compressed, which was not asked for.";
    SecretEchoed "secret_echoed" 502 None, "The provider's answer carries the credential.";
}

impl From<RefusalCode> for &'static str {
    fn from(code: RefusalCode) -> Self {
        code.code()
    }
}

/// A refusal of one request. `outside` is for the engine and holds nothing it did not send or may not know; `inside`
/// goes to the record alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) code: RefusalCode,
    pub(crate) outside: Option<String>,
    pub(crate) inside: Option<String>,
}

impl From<RefusalCode> for Refusal {
    fn from(code: RefusalCode) -> Self {
        Self { code, outside: None, inside: None }
    }
}

impl Refusal {
    /// Said to both.
    pub(crate) fn saying(code: RefusalCode, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { code, inside: Some(text.clone()), outside: Some(text) }
    }

    /// Said to the record alone.
    pub(crate) fn noting(code: RefusalCode, text: impl Into<String>) -> Self {
        Self { code, inside: Some(text.into()), outside: None }
    }

    pub(crate) fn message(&self) -> String {
        match &self.outside {
            Some(outside) => format!("cto bridge: {} {outside}", self.code.text()),
            None => format!("cto bridge: {}", self.code.text()),
        }
    }

    pub(crate) fn body(&self, wire: Wire) -> String {
        error_body(wire, self.code.status(), self.code.code(), &self.message())
    }

    pub(crate) fn event(&self, wire: Wire) -> String {
        error_event(wire, self.code.status(), self.code.code(), &self.message())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_distinct_and_statuses_are_errors() {
        let mut codes: Vec<_> = RefusalCode::ALL.iter().map(|code| code.code()).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), RefusalCode::ALL.len());
        assert!(RefusalCode::ALL.iter().all(|code| (400..600).contains(&code.status())));
    }
}

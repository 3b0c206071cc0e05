//! Every way a model request can end without the model's answer: one table of code, status
//! and reason.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::reason::Reason;

macro_rules! refusals {
    ($($variant:ident $code:literal $status:literal $reason:expr, $text:literal;)*) => {
        /// Cause of a request that the model did not answer.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum RefusalCode {
            $(#[doc = $text] #[serde(rename = $code)] $variant,)*
        }

        impl RefusalCode {
            /// Every value, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Stable code in usage records and in the error body that the engine gets.
            pub const fn code(self) -> &'static str {
                match self { $(Self::$variant => $code,)* }
            }

            /// HTTP status of the bridge's answer.
            pub const fn status(self) -> u16 {
                match self { $(Self::$variant => $status,)* }
            }

            /// The blocker of the run, where it is one.
            pub const fn reason(self) -> Option<Reason> {
                match self { $(Self::$variant => $reason,)* }
            }

            /// Explanation for people and for the engine.
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
    DayLimit "day_limit" 429 Some(BudgetExceeded), "The day's limit on models is reached.";
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_distinct_and_statuses_are_errors() {
        let mut codes: Vec<_> = RefusalCode::ALL.iter().map(|code| code.code()).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), RefusalCode::ALL.len());
        for code in RefusalCode::ALL {
            assert_eq!(serde_json::to_value(code).unwrap(), code.code());
            assert!((400..600).contains(&code.status()));
        }
    }
}

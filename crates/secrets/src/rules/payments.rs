//! Payment and shops.

use super::RULE;
use crate::rule::{After, Rule};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "stripe-key",
        what: "Stripe secret or restricted key",
        literals: &["sk_live_", "sk_test_", "rk_live_", "rk_test_", "sk_prod_", "rk_prod_"],
        pattern: "[sr]k_(?:live|test|prod)_[A-Za-z0-9]{24,}",
        span: 280,
        yes: &[
            &["sk_", "live_yeu5IfpoPTKgRHlpbGyrqg8F"],
            &[
                "rk_",
                "live_e2IuW3eBCWqYgmNtaozakV5Tr1GBWxtvKxtmrPg0JSIXlhb",
                "0IzzUCv98UIk2ruWnLTShnVkkW63f5uGc3ocQz5bIvfSq4FmVxeH",
            ],
            &[
                "sk_",
                "test_51W5uc56GEk5oip3RW71S2LZyc10BAXu610uM2keTAmAssU",
                "J1piUZMmtYM5Uk4o7XO1pEUzBcVx7TvpMFkd5YiBYWIWX6MTFs1e",
            ],
        ],
        no: &[&["pk_", "live_WPKueOSrcYh29eObDd3liTLU"], &["sk_", "test_jaPtJGTa"]],
        ..RULE
    },
    Rule {
        id: "stripe-webhook-secret",
        what: "Stripe webhook secret",
        literals: &["whsec_"],
        pattern: "whsec_[A-Za-z0-9+/]{32,64}",
        after: After::NoBase64,
        span: 90,
        yes: &[&["whs", "ec_6NckKyE9Eq1ZPlnytXycQ0GSrePwgtpi"]],
        no: &[&["whsec_short"]],
        ..RULE
    },
    Rule {
        id: "square-token",
        what: "Square token or secret",
        literals: &["sq0atp-", "sq0csp-", "EAAA"],
        pattern: "(?:sq0atp-[A-Za-z0-9_-]{22}|sq0csp-[A-Za-z0-9_-]{43}|EAAA[A-Za-z0-9_-]{60})",
        after: After::NoToken,
        span: 80,
        yes: &[
            &["sq0", "atp-XfC9SI4anRjkNFB7_iGyEv"],
            &["sq0", "csp-JPeB0e4L_9yam0CA_NU", "9gilRAT_r4gzhouja8JgKslz"],
            &["EA", "AAYFRNRbR4lxIk9_vwSp8ipazzK_v53", "itNZHrZoxMgKciOR8hYimJfcBoRAOJK"],
        ],
        no: &[&["sq0", "atp-PqaM"]],
        ..RULE
    },
    Rule {
        id: "shopify-token",
        what: "Shopify token or secret",
        literals: &["shpat_", "shpca_", "shppa_", "shpss_"],
        pattern: "shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}",
        span: 48,
        yes: &[&["shp", "at_e84c513a68b04d2e221b076320458853"], &["shp", "ss_0e601a5680d907aca1dc920fe60a4e76"]],
        no: &[&["shp", "at_1e0ad87123f453fd3b5d5f4ddbe6ddd"]],
        ..RULE
    },
    Rule {
        id: "braintree-token",
        what: "Braintree access token",
        literals: &["access_token$"],
        pattern: r"access_token\$production\$[a-z0-9]{16}\$[a-f0-9]{32}",
        span: 90,
        yes: &[&["access_token", "$production$pamevqggqxfiuuf9$a", "4843a3a3f7b1ec6df3e6bde72917dde"]],
        no: &[&["access_token$sandbox"]],
        ..RULE
    },
    Rule {
        id: "plaid-token",
        what: "Plaid access token",
        literals: &["access-production-", "access-development-"],
        pattern: "access-(?:production|development)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
        span: 80,
        yes: &[&["access-", "production-83649620-27b", "6-4cac-a8a6-585ba53b318c"]],
        no: &[&["access-production-log"]],
        ..RULE
    },
];

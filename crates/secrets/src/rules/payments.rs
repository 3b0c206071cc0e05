//! Payment and shops.

use crate::rule::{After, LiteralCheck, MatchCheck, RULE, SecretRule};

/// Rules of this table.
pub(super) const RULES: &[SecretRule] = &[
    SecretRule {
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
    SecretRule {
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
    SecretRule {
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
    SecretRule {
        id: "shopify-token",
        what: "Shopify token or secret",
        literals: &["shpat_", "shpca_", "shppa_", "shpss_"],
        pattern: "shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}",
        span: 48,
        yes: &[&["shp", "at_e84c513a68b04d2e221b076320458853"], &["shp", "ss_0e601a5680d907aca1dc920fe60a4e76"]],
        no: &[&["shp", "at_1e0ad87123f453fd3b5d5f4ddbe6ddd"]],
        ..RULE
    },
    SecretRule {
        id: "braintree-token",
        what: "Braintree access token",
        literals: &["access_token$"],
        pattern: r"access_token\$production\$[a-z0-9]{16}\$[a-f0-9]{32}",
        span: 90,
        yes: &[&["access_token", "$production$pamevqggqxfiuuf9$a", "4843a3a3f7b1ec6df3e6bde72917dde"]],
        no: &[&["access_token$sandbox"]],
        ..RULE
    },
    SecretRule {
        id: "plaid-token",
        what: "Plaid access token",
        literals: &["access-production-", "access-development-"],
        pattern: "access-(?:production|development)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
        span: 80,
        yes: &[&["access-", "production-83649620-27b", "6-4cac-a8a6-585ba53b318c"]],
        no: &[&["access-production-log"]],
        ..RULE
    },
    SecretRule {
        id: "razorpay-key",
        what: "Razorpay key",
        literals: &["rzp_live_", "rzp_test_"],
        pattern: "rzp_(?:live|test)_[A-Za-z0-9]{14}",
        check: MatchCheck::Generated,
        span: 120,
        yes: &[&["rz", "p_live_Al9A9wKwkMCMFf"]],
        no: &[&["rzp_live_short"]],
        ..RULE
    },
    SecretRule {
        id: "paddle-key",
        what: "Paddle key",
        literals: &["pdl_live_", "pdl_sdbx_"],
        pattern: "pdl_(?:live|sdbx)_apikey_[a-z0-9]{20,32}_[A-Za-z0-9]{16,28}_[A-Za-z0-9]{2,5}",
        span: 120,
        yes: &[&["pd", "l_live_apikey_98bv0xumw0h1jabpxhz43dpqg2_dfQO0poYoGRhUSywXX6lkm_N71"]],
        no: &[&["pdl_live_apikey_short"]],
        ..RULE
    },
    SecretRule {
        id: "paypal-token",
        what: "PayPal access token",
        literals: &["A21AA"],
        pattern: "A21AA[A-Za-z0-9_-]{80,120}",
        after: After::NoToken,
        span: 160,
        yes: &[&[
            "A2",
            "1AAxlZ8LW4XqI9j98EEnD4WEtcfmbJ9kv9GppQCqv80ll5KQ",
            "B8zkMJ66Gji6SnvZsUjWdBObfxe4B4m39kh9QshmLD-DuxZ",
        ]],
        no: &[&["A21AAshort"]],
        ..RULE
    },
    SecretRule {
        id: "flutterwave-key",
        what: "Flutterwave key",
        literals: &["FLWSECK"],
        pattern: "FLWSECK(?:_TEST)?-[a-f0-9]{12,40}-X",
        span: 120,
        yes: &[&["FL", "WSECK-878bebb2dfe184003b6b732b07df7932-X"]],
        no: &[&["FLWSECK-short"]],
        ..RULE
    },
    SecretRule {
        id: "mollie-key",
        what: "Mollie or GoCardless key",
        literals: &["live_", "test_"],
        pattern: "(?:live|test)_(?:[A-Za-z0-9]{30}|[A-Za-z0-9_-]{40})",
        after: After::NoToken,
        check: MatchCheck::Generated,
        glance: LiteralCheck::Run(35),
        span: 120,
        yes: &[&["li", "ve_hACYxhbfQWvVDjIMgRhzEN820MuNUc"]],
        no: &[&["live_short"]],
        ..RULE
    },
    SecretRule {
        id: "klarna-key",
        what: "Klarna key",
        literals: &["klarna_live_", "klarna_test_"],
        pattern: "klarna_(?:live|test)_[A-Za-z0-9+/=_-]{40,120}",
        after: After::NoToken,
        span: 180,
        yes: &[&["kl", "arna_live_api_fYYUD5x6qtsQFO9CkfNrxxLCbcPbvLSIDAQYc6j5wMXTdW40yRysxjP2YV4f"]],
        no: &[&["klarna_live_api_short"]],
        ..RULE
    },
    SecretRule {
        id: "adyen-key",
        what: "Adyen key",
        literals: &["AQEy", "AQEx", "AQEh", "AQEk", "AQEm"],
        pattern: r#"AQE[a-z][a-z0-9][A-Za-z0-9+/]{80,160}={0,2}-[^\s"']{20,60}"#,
        after: After::Anything,
        glance: LiteralCheck::Run(60),
        span: 300,
        yes: &[&[
            "AQ",
            "EyhmfSDQQKiz2eI6XA1cuUis4KvS4wAjLKcoATZXEvElyN7j6fATxI34HTy02P64BgKy6OheRSP",
            "ipjzKuxNAkRBI3t6vU8TBUV1sDDVPQ-50Gh0m7j5MYwgsVbxxsPsEoDmmfkIxSCNEhRM7pBxZ16",
        ]],
        no: &[&["AQEyhm"]],
        ..RULE
    },
    SecretRule {
        id: "duffel-token",
        what: "Duffel token",
        literals: &["duffel_live_", "duffel_test_"],
        pattern: "duffel_(?:live|test)_[A-Za-z0-9_=-]{43}",
        after: After::NoToken,
        span: 120,
        yes: &[&["du", "ffel_live_NolnKqVBFF2hhZ_A103kE72eJgpZU64VtS5pWDkdjVA"]],
        no: &[&["duffel_live_short"]],
        ..RULE
    },
    SecretRule {
        id: "easypost-key",
        what: "EasyPost key",
        literals: &["EZAK", "EZTK"],
        pattern: "EZ[AT]K[A-Za-z0-9]{54}",
        span: 120,
        yes: &[&["EZ", "AKG1XXKsZwBnZOCBWygoQvBzh8OhvdxUM4YGVMEewk2re3AE7JesqXBl"]],
        no: &[&["EZAKshort"]],
        ..RULE
    },
    SecretRule {
        id: "shippo-token",
        what: "Shippo token",
        literals: &["shippo_live_", "shippo_test_"],
        pattern: "shippo_(?:live|test)_[a-f0-9]{40}",
        span: 120,
        yes: &[&["sh", "ippo_live_64e9ee51c345e1a438981e55fe01c6366f7d4274"]],
        no: &[&["shippo_live_short"]],
        ..RULE
    },
    SecretRule {
        id: "plaid-sandbox-token",
        what: "Plaid sandbox access token",
        literals: &["access-sandbox-"],
        pattern: "access-sandbox-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
        check: MatchCheck::Shape,
        span: 120,
        yes: &[&["ac", "cess-sandbox-13c94ccb-07e4-4ce1-aef3-4bf5a9c355fa"]],
        no: &[&["access-sandbox-short"]],
        ..RULE
    },
    SecretRule {
        id: "mercury-token",
        what: "Mercury token",
        literals: &["secret-token:"],
        pattern: "secret-token:[A-Za-z0-9_-]{30,120}",
        after: After::NoToken,
        span: 160,
        yes: &[&["se", "cret-token:mercury_production_WyeChqol4ntg2YLC1cbymR6GGTAKa3qOBEHYHcpN"]],
        no: &[&["secret-token:mercury_production_short"]],
        ..RULE
    },
];

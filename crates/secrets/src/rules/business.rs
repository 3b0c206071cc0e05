//! Mail, and the tools of offices.

use crate::rule::{After, LiteralCheck, MatchCheck, PrecedingByte, RULE, SecretRule};

/// Rules of this table.
pub(super) const RULES: &[SecretRule] = &[
    SecretRule {
        id: "airtable-token",
        what: "Airtable token",
        literals: &["pat"],
        pattern: r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}",
        glance: LiteralCheck::Run(17),
        span: 120,
        yes: &[&["pa", "tGutx8185aGSeT8.878caa1527a034d586030c5040815fdc7febe0f430bb9b885c74c7460b3284e8"]],
        no: &[&["patch.diff"]],
        ..RULE
    },
    SecretRule {
        id: "resend-key",
        what: "Resend key",
        literals: &["re_"],
        pattern: "re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,28}",
        check: MatchCheck::Generated,
        glance: LiteralCheck::Run(32),
        span: 120,
        yes: &[&["re", "_D47SwkVk_3QeMMKcY7eTEhsDOUFncoYPE"]],
        no: &[&["re_short"]],
        ..RULE
    },
    SecretRule {
        id: "asana-token",
        what: "Asana token",
        literals: &["1/11", "1/12", "2/11", "2/12"],
        pattern: "[12]/1[12][0-9]{10,18}(?:/[0-9]{12,20})?:[a-f0-9]{32}",
        span: 120,
        yes: &[&["1/", "1250987628602282:2b496ce793e32a3d80a9a979b6d9fd41"]],
        no: &[&["1/12/2024"]],
        ..RULE
    },
    SecretRule {
        id: "clickup-key",
        what: "ClickUp token",
        literals: &["pk_0", "pk_1", "pk_2", "pk_3", "pk_4", "pk_5", "pk_6", "pk_7", "pk_8", "pk_9"],
        pattern: "pk_[0-9]{5,9}_[A-Z0-9]{32}",
        glance: LiteralCheck::Run(38),
        span: 120,
        yes: &[&["pk", "_84163822_7Z5AN1DH42BP96WJL2RLSE67C7QL9RL3"]],
        no: &[&["pk_short"]],
        ..RULE
    },
    SecretRule {
        id: "klaviyo-key",
        what: "Klaviyo private key",
        literals: &[
            "pk_0", "pk_1", "pk_2", "pk_3", "pk_4", "pk_5", "pk_6", "pk_7", "pk_8", "pk_9", "pk_a", "pk_b", "pk_c",
            "pk_d", "pk_e", "pk_f",
        ],
        pattern: "pk_[a-f0-9]{34}",
        glance: LiteralCheck::Run(37),
        span: 120,
        yes: &[&["pk", "_4d0422821577e7758fb0f360b512aa6d67"]],
        no: &[&["pk_short"]],
        ..RULE
    },
    SecretRule {
        id: "trello-token",
        what: "Trello token",
        literals: &["ATTA"],
        pattern: "ATTA[A-Za-z0-9]{60,76}",
        span: 120,
        yes: &[&["AT", "TAe50944e0070366f29d4baa30aecd4bf42a5359799d6097fef6fe4441f4a28e72bada7457"]],
        no: &[&["ATTAshort"]],
        ..RULE
    },
    SecretRule {
        id: "intercom-token",
        what: "Intercom token",
        literals: &["dG9rO"],
        pattern: "dG9rO[A-Za-z0-9+/]{50,70}={0,2}",
        after: After::NoBase64,
        span: 120,
        yes: &[&["dG", "9rOpnG9TPd7yqBmerNec6QqghncsAJcc+V2bvwnU7ZUjavoiVoqWAQ4Cu="]],
        no: &[&["dG9rOshort"]],
        ..RULE
    },
    SecretRule {
        id: "hubspot-app-token",
        what: "HubSpot token of any region",
        literals: &["pat-na3-", "pat-eu2-", "pat-ap1-"],
        pattern: "pat-(?:na|eu|ap)[0-9]-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
        check: MatchCheck::Shape,
        span: 120,
        yes: &[&["pa", "t-ap1-2ab120bf-62f9-480e-a8b7-7c4d9cf97485"]],
        no: &[&["pat-ap1-short"]],
        ..RULE
    },
    SecretRule {
        id: "dropbox-older-token",
        what: "Dropbox token of the older form",
        literals: &["sl.A", "sl.B", "sl.C"],
        pattern: r"sl\.[ABC][A-Za-z0-9_-]{100,}",
        after: After::NoToken,
        span: 1300,
        yes: &[&[
            "sl",
            ".Bn4fcIogewdeh_uxMZDz2HqKghCByO9CmlFffCYLq3hltYR_aXMdjjJLUP3EzPEAy_6LJ",
            "dZ0hDbG6HIBdi9G5ZX6gCeoekSIfCxQ4VCVjzKsUFdXlrmFyNqz-kHRNmb8uMe9k8SBtCw",
        ]],
        no: &[&["sl.Bshort"]],
        ..RULE
    },
    SecretRule {
        id: "frameio-token",
        what: "Frame.io token",
        literals: &["fio-u-"],
        pattern: "fio-u-[A-Za-z0-9_=-]{64}",
        after: After::NoToken,
        span: 120,
        yes: &[&["fi", "o-u-I8-nnFq9aCdTWX3IYCSEW-M52Erm_fEODhgQCIZKIAHstbRBfl8EyXP2eOawI98p"]],
        no: &[&["fio-u-short"]],
        ..RULE
    },
    SecretRule {
        id: "readme-key",
        what: "ReadMe key",
        literals: &["rdme_"],
        pattern: "rdme_[a-z0-9]{70}",
        span: 120,
        yes: &[&["rd", "me_qtq0tmardr3eoqh28vt4ryiiuycimcv6pslhkq56w7qunzc35sg48rarsoc64fnl9vnu1u"]],
        no: &[&["rdme_short"]],
        ..RULE
    },
    SecretRule {
        id: "stytch-secret",
        what: "Stytch secret",
        literals: &["secret-live-", "secret-test-"],
        pattern: "secret-(?:live|test)-[A-Za-z0-9_=-]{36,60}",
        after: After::NoToken,
        span: 120,
        yes: &[&["se", "cret-live-BhBKzEV1ZNl0h3-awYp8GE0sxjbBOCz5eox-mwjm"]],
        no: &[&["secret-live-short"]],
        ..RULE
    },
    SecretRule {
        id: "ory-token",
        what: "Ory token",
        literals: &["ory_"],
        pattern: "ory_(?:at|rt|st|pat|ac|sk)_[A-Za-z0-9_.-]{30,120}",
        after: After::NoToken,
        span: 160,
        yes: &[&["or", "y_pat_8VJialdV3gW773fJpNAZmzOunZGtqd0L"]],
        no: &[&["ory_pat_short"]],
        ..RULE
    },
    SecretRule {
        id: "zapier-webhook",
        what: "Zapier webhook",
        literals: &["hooks.zapier.com/"],
        pattern: r"hooks\.zapier\.com/(hooks/catch/[0-9]{4,12}/[a-z0-9]{5,12})",
        before: PrecedingByte::Anything,
        check: MatchCheck::Shape,
        span: 120,
        yes: &[&["https://hooks.zapier", ".com/hooks/catch/38711592/34u6omo"]],
        no: &[&["https://hooks.zapier.com/docs"]],
        ..RULE
    },
    SecretRule {
        id: "google-chat-webhook",
        what: "Google Chat webhook",
        literals: &["chat.googleapis.com/v1/spaces/"],
        pattern: r"chat\.googleapis\.com/v1/spaces/[A-Za-z0-9_-]{6,20}/messages\?key=([A-Za-z0-9_-]{30,60}&token=[A-Za-z0-9_%-]{30,70})",
        before: PrecedingByte::Anything,
        after: After::Anything,
        span: 220,
        yes: &[&[
            "https://chat.googlea",
            "pis.com/v1/spaces/aM2A1SgDYLu/messages?key=eg6nDKJtpdGGtDvn9JW1om5",
            "IqiUVgwebG7yZ4WK&token=LlzFbcvr4R72lhLkFFk4xtP3uopHXeAshJzoQVE7bRi",
        ]],
        no: &[&["https://chat.googleapis.com/v1/spaces/AAAA/messages"]],
        ..RULE
    },
    SecretRule {
        id: "instagram-token",
        what: "Instagram token",
        literals: &["IGQV", "IGQW"],
        pattern: "IGQ[A-Za-z0-9_-]{100,}",
        after: After::NoToken,
        glance: LiteralCheck::Run(103),
        span: 330,
        yes: &[&[
            "IG",
            "QWwMBT7hCv98ROyhB4cG9Y-u-lMzAjAEoiEMIn5OXoBiltND-s6Aex-NmbA2B38Wq7773Xx",
            "96YT_fuzUb0jhEyX4b2n0Kt_ZABSA-Lp6wM_wynpi7od0POqVHkRLkrodIWBDFt0l7z2HNp",
        ]],
        no: &[&["IGQWshort"]],
        ..RULE
    },
    SecretRule {
        id: "linkedin-secret",
        what: "LinkedIn client secret",
        literals: &["WPL_AP1."],
        pattern: r"WPL_AP1\.[A-Za-z0-9]{16}\.[A-Za-z0-9+/]{6}={0,2}",
        after: After::NoBase64,
        span: 120,
        yes: &[&["WP", "L_AP1.VVOlxrwOnds7p15e.HtqRoj=="]],
        no: &[&["WPL_AP1.short"]],
        ..RULE
    },
    SecretRule {
        id: "pagerduty-key",
        what: "PagerDuty key",
        literals: &["pdus+_"],
        pattern: r"pdus\+_[A-Z0-9]{4}_[a-f0-9-]{36}",
        check: MatchCheck::Shape,
        span: 120,
        yes: &[&["pd", "us+_0XBS_1fa79c94-90cd-45fd-a1e5-4e0f9557ff35"]],
        no: &[&["pdus+_0XBS_short"]],
        ..RULE
    },
];

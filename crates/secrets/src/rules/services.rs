//! Messaging, mail and other services.

use crate::rule::{After, Lead, LiteralCheck, PrecedingByte, RULE, SecretRule};

/// Rules of this table.
pub(super) const RULES: &[SecretRule] = &[
    SecretRule {
        id: "slack-token",
        what: "Slack bot, user, workspace or refresh token",
        literals: &["xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxo-", "xoxc-", "xoxe-", "xoxe.", "xoxd-"],
        pattern: r"xox(?:[abcoprs]-(?:[0-9]{1,}-){1,4}[A-Za-z0-9]{10,80}|e(?:\.xox[bp])?-[0-9]-[A-Za-z0-9]{100,}|d-[A-Za-z0-9%+/=]{80,})",
        after: After::NoToken,
        span: 330,
        yes: &[
            &["xo", "xb-730508306463-43552912140", "11-LHFMdiT54TJ6JjZH03TdCVr2"],
            &["xo", "xp-956219315942-563184301339-42733270", "67612-dfa524196c76bd8ad99774dbf0cc4903"],
            &[
                "xo",
                "xe.xoxp-1-Scxh23U9BJLWguslweg7e9V7ERWjfVx9VTirmfenSIylCemFsB9WkgCX9p6s6sH6C",
                "XTUDa7IPSSvfmZjdbjRSN3Oi9TWOhj1c2yIAsyStYFizMYNv2JiYMUK43mu1p4qH5G3ORhDRHLT",
            ],
        ],
        no: &[&["xo", "xb-abc"], &["xoxb-your-token-here"], &["xo", "xb-123-xxxxxxxxxxxxxxxx"]],
        ..RULE
    },
    SecretRule {
        id: "slack-app-token",
        what: "Slack app-level token",
        literals: &["xapp-"],
        pattern: "xapp-[0-9]-[A-Z0-9]{8,14}-[0-9]{10,14}-[a-f0-9]{64}",
        span: 130,
        yes: &[&[
            "xa",
            "pp-1-A0QV169L8QX-5153764091373-7e78b5aecd32ffca",
            "774af60a5be5cb331aa97a7f0f053e039124612a2a2392af",
        ]],
        no: &[&["xapp-1-none"]],
        ..RULE
    },
    SecretRule {
        id: "slack-webhook",
        what: "Slack webhook",
        literals: &["hooks.slack.com/"],
        pattern: r"hooks\.slack\.com/((?:services|workflows|triggers)/[A-Za-z0-9]{8,14}/[A-Za-z0-9]{8,20}/[A-Za-z0-9]{20,48})",
        before: PrecedingByte::Anything,
        span: 140,
        yes: &[&["https://hooks.slack.", "com/services/TEXKWYNW1/BUQL15", "8MSUB/L5elrW1zVWU7S8tp7jTpOCpR"]],
        no: &[&["https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX"]],
        ..RULE
    },
    SecretRule {
        id: "discord-token",
        what: "Discord bot token, after its name or where a program logs in",
        literals: &[
            "discord_token",
            "discord-token",
            "discordtoken",
            "discord_bot_token",
            "discord_secret",
            "bot_token",
            "bot-token",
            "bottoken",
            ".login(",
            ".run(",
        ],
        fold: true,
        pattern: r#"(?:(?:discord[_-]?)?(?:bot[_-]?token|token|secret)["'\])]{0,3}\s{0,5}[=:,>]{1,2}\s{0,5}|\.(?:login|run)\(\s{0,3})["'`]?([MNO][A-Za-z0-9]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40})"#,
        before: PrecedingByte::Anything,
        after: After::NoToken,
        span: 180,
        yes: &[
            &["DISCORD_", "TOKEN=MTACJRymB935rh3W9PIKgbpyAN.5tJvpi", ".3uxz_3rVbl__yXj8L2WBgV3P9aGRxB9k5Uvhve"],
            &["client.lo", "gin('OTU9f2rJyylgTLluUzNscS8X.xaR", "4oz.qR1XDUDbnZNbAOzoWsgvjFimwZG')"],
        ],
        no: &[&["DISCORD_TOKEN=none"], &["bot.run(args.token)"]],
        ..RULE
    },
    SecretRule {
        id: "discord-webhook",
        what: "Discord webhook",
        literals: &["discord.com/api/webhooks/", "discordapp.com/api/webhooks/"],
        pattern: r"discord(?:app)?\.com/api/webhooks/([0-9]{17,20}/[A-Za-z0-9_-]{60,72})",
        before: PrecedingByte::Anything,
        after: After::NoToken,
        span: 150,
        yes: &[&[
            "https://discord.com/api/web",
            "hooks/515373035957168867/fysEv_d-IHzrJOtYlcwF5",
            "Qf6439cjBXdOr7PELRWKncSquwLBqvaZBZ6uv2E4bsRu05x",
        ]],
        no: &[&["https://discord.com/api/webhooks/1/abc"]],
        ..RULE
    },
    SecretRule {
        id: "teams-webhook",
        what: "Microsoft Teams webhook",
        literals: &["webhook.office.com/"],
        pattern: r"webhook\.office\.com/(webhookb2/[0-9a-f@-]{73}/IncomingWebhook/[0-9a-f]{32}/[0-9a-f-]{36})",
        before: PrecedingByte::Anything,
        span: 220,
        yes: &[&[
            "https://contoso.webhook.",
            "office.com/webhookb2/c9bae9bc-bcc9-4d38-a0f2-f54ddeecdbcc@7fe69c45-144f-46e8-ae41-3c56aed9",
            "63c0/IncomingWebhook/013a34269152ab5d8801e8a5bcb43fed/db43db10-a11a-401c-aa5d-7d637c7a70db",
        ]],
        no: &[&["https://contoso.webhook.office.com/docs"]],
        ..RULE
    },
    SecretRule {
        id: "telegram-bot-token",
        what: "Telegram bot token",
        literals: &[":AA"],
        pattern: ":AA[A-Za-z0-9_-]{33}",
        lead: Lead::Digits { min: 8, max: 11 },
        after: After::NoToken,
        span: 48,
        yes: &[&["6492844525:A", "AMm-ljQ5kiANX1xOM8J_YC02gQ7-oVMhhB"]],
        no: &[&["ab:A", "AGY3hcgzoqER1mPSoroxDvSDRBppemSJWN"]],
        ..RULE
    },
    SecretRule {
        id: "twilio-token",
        what: "Twilio auth token, after its name",
        literals: &["twilio"],
        fold: true,
        pattern: r#"twilio[_-]?(?:a(?:uth[_-]?token|pi[_-]?(?:secret|key))|token|secret)["'\])]{0,3}\s{0,5}[=:,>]{1,2}\s{0,5}["'`]?([a-f0-9]{32})"#,
        before: PrecedingByte::Anything,
        span: 120,
        yes: &[&["TWILIO_", "AUTH_TOKEN=530e8e7b02", "ec74e0452d311184b871c9"]],
        no: &[&["TWILIO_ACCOUNT_SID=AC5dfc9aab5a2fbe9616d8e05bc89a8656"]],
        ..RULE
    },
    SecretRule {
        id: "sendgrid-key",
        what: "SendGrid key",
        literals: &["SG."],
        pattern: r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}",
        after: After::NoToken,
        span: 80,
        yes: &[&["S", "G.xkFvZQF1vgQu6yS6CZUROJ.KKP22h51l", "EtGY4vRbwv58sFXrWpdB7E7XH41OpKF80u"]],
        no: &[&["S", "G.hIuA_17H5f5Z2hDuk7QejG"]],
        ..RULE
    },
    SecretRule {
        id: "mailgun-key",
        what: "Mailgun key",
        literals: &["key-"],
        pattern: "key-[a-f0-9]{32}",
        glance: LiteralCheck::Run(36),
        span: 48,
        yes: &[&["ke", "y-559c61768b08281366b775a82e7876ad"]],
        no: &[&["ke", "y-4a38c12976bc52b00595a6e26f1c690"]],
        ..RULE
    },
    SecretRule {
        id: "mailgun-named-key",
        what: "Mailgun key of the newer form, after its name",
        literals: &["mailgun"],
        fold: true,
        pattern: r#"mailgun[_-]?(?:api[_-]?key|key|secret|private[_-]?api[_-]?key)["'\])]{0,3}\s{0,5}[=:,>]{1,2}\s{0,5}["'`]?([a-f0-9]{32}-[a-f0-9]{8}-[a-f0-9]{8})"#,
        before: PrecedingByte::Anything,
        span: 120,
        yes: &[&["MAILGUN_", "API_KEY=f283dc2056a3090006f3d", "1605ad12267-f537f7f2-482c444b"]],
        no: &[&["mailgun_domain=mg.example.org"]],
        ..RULE
    },
    SecretRule {
        id: "mailchimp-key",
        what: "Mailchimp key",
        literals: &["-us1", "-us2", "-us3", "-us4", "-us5", "-us6", "-us7", "-us8", "-us9"],
        pattern: "-us[0-9]{1,2}",
        lead: Lead::Token { min: 32, max: 32 },
        span: 12,
        yes: &[&["cc34a60a8b942f691386e73cd5f068bd-u", "s21"]],
        no: &[&["eu-us1"]],
        ..RULE
    },
    SecretRule {
        id: "brevo-key",
        what: "Brevo key",
        literals: &["xkeysib-", "xsmtpsib-"],
        pattern: "x(?:key|smtp)sib-[a-f0-9]{64}-[A-Za-z0-9]{16}",
        span: 110,
        yes: &[&["xkey", "sib-21644110363f35c1e6f6895b026532d221eced", "bf4dd8d02e437390b4ab70d08c-9W05CitA0RM9LY5E"]],
        no: &[&["xkey", "sib-0fdae3f2f095d5a8e0abab0a7e1232", "7842b70cad6db19499954b940fa175e629"]],
        ..RULE
    },
    SecretRule {
        id: "linear-key",
        what: "Linear key",
        literals: &["lin_api_", "lin_oauth_"],
        pattern: "lin_(?:api_[A-Za-z0-9]{40}|oauth_[a-f0-9]{64})",
        span: 90,
        yes: &[&["lin_", "api_Mc95mqXGCnB1ZThcJm", "YK2rFohOm8KMc4EBAf8zJ7"]],
        no: &[&["lin_", "api_AeR5"]],
        ..RULE
    },
    SecretRule {
        id: "notion-token",
        what: "Notion token",
        literals: &["secret_", "ntn_"],
        pattern: "(?:secret_[A-Za-z0-9]{43}|ntn_[0-9]{11}[A-Za-z0-9]{35})",
        glance: LiteralCheck::Run(50),
        span: 64,
        yes: &[
            &["sec", "ret_4UEHIejM3PboBrcOqKm", "HTfOrbefkWTx9i9XlqjX5RKH"],
            &["nt", "n_51498210947VbSoI7BwvUO", "eMTjWVzRCI15rTd8uOR5Uhiy"],
        ],
        no: &[&["secret_manager"], &["nt", "n_1puyCuSQ8sJIm3EH4xpLJs", "BrASZK77eCTbcU75PuVFQdQb"]],
        ..RULE
    },
    SecretRule {
        id: "figma-token",
        what: "Figma token",
        literals: &["figd_", "figdr_"],
        pattern: "figdr?_[A-Za-z0-9_-]{38,44}",
        after: After::NoToken,
        span: 64,
        yes: &[&["fi", "gd_D8-aA5nYdWg-xOjpvZ", "dP0QiqhNY1NRq0pxW1muSp"]],
        no: &[&["fi", "gd_6GwzVHZK"]],
        ..RULE
    },
    SecretRule {
        id: "contentful-token",
        what: "Contentful token",
        literals: &["CFPAT-"],
        pattern: "CFPAT-[A-Za-z0-9_-]{43}",
        after: After::NoToken,
        span: 64,
        yes: &[&["CFP", "AT-GdFsxZnro_ch1EQ13gK_", "JLcCCk6NSahyI_CRJbA5KJK"]],
        no: &[&["CFP", "AT-JkYt"]],
        ..RULE
    },
    SecretRule {
        id: "hubspot-token",
        what: "HubSpot private app token",
        literals: &["pat-na1-", "pat-na2-", "pat-eu1-"],
        pattern: "pat-(?:na|eu)[0-9]-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
        span: 60,
        yes: &[&["pat-", "na1-05709fe1-e359-42", "1e-a2eb-2c573868c995"]],
        no: &[&["pat-na1-docs"]],
        ..RULE
    },
    SecretRule {
        id: "okta-token",
        what: "Okta API token",
        literals: &["ssws "],
        fold: true,
        pattern: "SSWS ([A-Za-z0-9_-]{42})",
        after: After::NoToken,
        span: 60,
        yes: &[&["Authorization: SS", "WS 00OqddfHl9E-GGVoM7c", "8HlmVhGoekPthO76-1SEA4z"]],
        no: &[&["SSWS token"]],
        ..RULE
    },
    SecretRule {
        id: "dropbox-token",
        what: "Dropbox short-lived token",
        literals: &["sl.u."],
        pattern: r"sl\.u\.[A-Za-z0-9_-]{130,}",
        after: After::NoToken,
        span: 1300,
        yes: &[&[
            "sl.",
            "u.SzxuvSZtfDFYgxPeZFro7bI8cxMn-IlNZzo47zppKfGg7R-9K5IrMFFTUVAri-TlqvHch",
            "Rxq2nKP-opvrYPWyBlkz7mRrt-S6_RCrt397eWKmFa6r57zaNaoluTU5hL62eZdWfga9uWa",
        ]],
        no: &[&["sl.", "u.WFcC"]],
        ..RULE
    },
    SecretRule {
        id: "typeform-token",
        what: "Typeform token",
        literals: &["tfp_"],
        pattern: "tfp_[A-Za-z0-9_.=-]{40,70}",
        after: After::NoToken,
        span: 90,
        yes: &[&["tf", "p_4MB-TXPi2qPr1KXJvh-Zg", "wtZC1HlSZ6ewOPa0mrnzQsG"]],
        no: &[&["tf", "p_eSC8"]],
        ..RULE
    },
    SecretRule {
        id: "mapbox-token",
        what: "Mapbox secret token",
        literals: &["sk.eyJ"],
        pattern: r"sk\.eyJ[A-Za-z0-9_-]{40,}\.[A-Za-z0-9_-]{20,30}",
        after: After::NoToken,
        span: 350,
        yes: &[&[
            "sk",
            ".eyJNWpjXc9uysPk42QrI_FWHtgMZ9mysaWb1B4_J4WC4iaAmVTps",
            "QSmw-nu6Jfk9Epbc4UHECldO2JD1w6n.0_CbeTgXv_En6VGXSnN73R",
        ]],
        no: &[&[
            "pk",
            ".eyJY2EKi6WUov9P43eHaX4_fFwSYtSZAGJ7Ll4AU2zX8NylkKWhD",
            "h4i6_g5oICrwe5wb0hsoKC5icnmgOFR.faKvXeunjG2WjX1vLUoRNM",
        ]],
        ..RULE
    },
    SecretRule {
        id: "twitter-bearer-token",
        what: "X or Twitter bearer token",
        literals: &["AAAAAAAAAAAAAAAAAAAAA"],
        pattern: "A{21}([A-Za-z0-9%]{60,})",
        span: 160,
        yes: &[&[
            "AAAAAAAAAAA",
            "AAAAAAAAAAA8IZ2VhpNFyYqy9ltunCRHnCaZDHTLzhxOr",
            "UKeoLJiFtnSZIX53eB0CrFR4iiQ9RpALBqbF8yEiWFmMcB",
        ]],
        no: &[&["AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"]],
        ..RULE
    },
    SecretRule {
        id: "facebook-token",
        what: "Facebook access token",
        literals: &["EAACEdEose0cBA", "EAAG", "EAAB", "EAAC", "EAAD"],
        pattern: "EAA[A-Za-z0-9]{100,}",
        span: 330,
        yes: &[&[
            "EA",
            "AGtoGPKVxOtN9Jxo7cNNSEdEBk5yB6pjJemInkOaSvvLGauw3zFbxo6LYGnOHNNVLe4hQ946BJ8m5OSlA",
            "CNg0F8Z9LicNu7WiskG4ipceoWTtxkap1nCsm8QUGIqqv3S78LJTQv4iaATGKw5SwUhPo04wpwc4NtUzF",
        ]],
        no: &[&["EA", "AGjhdlgZLMmJEPvc4fpwwL"]],
        ..RULE
    },
    SecretRule {
        id: "posthog-key",
        what: "PostHog personal API key",
        literals: &["phx_"],
        pattern: "phx_[A-Za-z0-9]{43,60}",
        span: 80,
        yes: &[&["ph", "x_LCfLtsarnp9p1gKhsiTq", "KNY1cvPsgAY2jItjXqig0WP"]],
        no: &[&["ph", "x_fFKj"]],
        ..RULE
    },
];

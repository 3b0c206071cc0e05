//! Model hosts and tools around models.

use crate::rule::{After, LiteralCheck, MatchCheck, RULE, SecretRule};

/// Rules of this table.
pub(super) const RULES: &[SecretRule] = &[
    SecretRule {
        id: "cerebras-key",
        what: "Cerebras key",
        literals: &["csk-"],
        pattern: "csk-[a-z0-9]{40,56}",
        span: 120,
        yes: &[&["cs", "k-nnzv6ua6ma76x6p719w9qco1z3h3nloaanz5kmip89pzhkfn"]],
        no: &[&["csk-short"]],
        ..RULE
    },
    SecretRule {
        id: "fireworks-key",
        what: "Fireworks key",
        literals: &["fw_"],
        pattern: "fw_[A-Za-z0-9]{20,32}",
        glance: LiteralCheck::Run(23),
        span: 120,
        yes: &[&["fw", "_cNfoAa0H6LonUSob1PYYwHdj"]],
        no: &[&["fw_short"]],
        ..RULE
    },
    SecretRule {
        id: "langfuse-key",
        what: "Langfuse secret key",
        literals: &["sk-lf-"],
        pattern: "sk-lf-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
        span: 120,
        yes: &[&["sk", "-lf-39cc7f71-02c7-4050-a7aa-6b1c9cd30901"]],
        no: &[&["pk-lf-23c2d03d-f7a2-4b1b-a816-3e7b416f782d"]],
        ..RULE
    },
    SecretRule {
        id: "together-key",
        what: "Together key",
        literals: &["tgp_v1_"],
        pattern: "tgp_v1_[A-Za-z0-9_-]{40,48}",
        after: After::NoToken,
        span: 120,
        yes: &[&["tg", "p_v1_it5Nu_sIqAUmHDTlH4xNHwxqceS0Vct_ylRtoeYH4tk"]],
        no: &[&["tgp_v1_short"]],
        ..RULE
    },
    SecretRule {
        id: "sk-key",
        what: "Key of one of several model providers",
        literals: &["sk-"],
        pattern: "sk-[A-Za-z0-9]{40,64}",
        after: After::NoToken,
        check: MatchCheck::Generated,
        glance: LiteralCheck::Run(43),
        span: 120,
        yes: &[&["sk", "-OS9XBbOriB6zO7AKTnBvDRacVMhkTH8IwS1KOead26Dqz8QD"]],
        no: &[&["sk-cr1izt40zjwe"]],
        ..RULE
    },
    SecretRule {
        id: "helicone-key",
        what: "Helicone key",
        literals: &["sk-helicone-"],
        pattern: "sk-helicone-[a-z0-9]{5,10}(?:-[a-z0-9]{5,10}){2,4}",
        span: 120,
        yes: &[&["sk", "-helicone-x5a40z9-agnngm6-ut9qvxz-gxzfdmw"]],
        no: &[&["sk-helicone-short"]],
        ..RULE
    },
    SecretRule {
        id: "voyage-key",
        what: "Voyage AI key",
        literals: &["pa-"],
        pattern: "pa-[A-Za-z0-9_-]{43}",
        after: After::NoToken,
        check: MatchCheck::Generated,
        glance: LiteralCheck::Run(46),
        span: 120,
        yes: &[&["pa", "-Wmhp-xtFw9CSyKGiwj11iawg-1ZUg-9M7OoGVlFJDWj"]],
        no: &[&["pa-short"]],
        ..RULE
    },
    SecretRule {
        id: "jina-key",
        what: "Jina AI key",
        literals: &["jina_"],
        pattern: "jina_[A-Za-z0-9_-]{50,70}",
        after: After::NoToken,
        span: 120,
        yes: &[&["ji", "na_wTv-kFImTLXDIDGmb3xTX0FbEtwHPv6xMXM6yPlMz_EtwQuwJLaWRVKc0nQs"]],
        no: &[&["jina_short"]],
        ..RULE
    },
    SecretRule {
        id: "tavily-key",
        what: "Tavily key",
        literals: &["tvly-"],
        pattern: "tvly-(?:dev-|prod-)?[A-Za-z0-9]{24,40}",
        span: 120,
        yes: &[&["tv", "ly-vQX17edf3SmAYSqfpqJWIjuVI0TpKm6s"]],
        no: &[&["tvly-YOUR_API_KEY"]],
        ..RULE
    },
    SecretRule {
        id: "firecrawl-key",
        what: "Firecrawl key",
        literals: &[
            "fc-0", "fc-1", "fc-2", "fc-3", "fc-4", "fc-5", "fc-6", "fc-7", "fc-8", "fc-9", "fc-a", "fc-b", "fc-c",
            "fc-d", "fc-e", "fc-f",
        ],
        pattern: "fc-[a-f0-9]{32}",
        glance: LiteralCheck::Run(35),
        span: 120,
        yes: &[&["fc", "-ebcc125a877bf11d0d62c7ef218b06b0"]],
        no: &[&["fc-short"]],
        ..RULE
    },
    SecretRule {
        id: "anyscale-key",
        what: "Anyscale key",
        literals: &["esecret_"],
        pattern: "esecret_[A-Za-z0-9]{24,32}",
        span: 120,
        yes: &[&["es", "ecret_tymond1ytb7c96ts76g5e2sh5i"]],
        no: &[&["esecret_short"]],
        ..RULE
    },
    SecretRule {
        id: "runpod-key",
        what: "RunPod key",
        literals: &["rpa_"],
        pattern: "rpa_[A-Za-z0-9]{40,60}",
        span: 120,
        yes: &[&["rp", "a_XF6L0RV5ZG6KZVU4RVCQPQXCKCFZS2K5HJSEKW0C850FS5"]],
        no: &[&["rpa_short"]],
        ..RULE
    },
    SecretRule {
        id: "modal-token",
        what: "Modal token secret",
        literals: &["as-"],
        pattern: "as-[A-Za-z0-9]{22}",
        after: After::NoToken,
        check: MatchCheck::Generated,
        glance: LiteralCheck::Run(25),
        span: 120,
        yes: &[&["as", "-FSRPiYJMIKjiiOEOjnCa7P"]],
        no: &[&["as-short"]],
        ..RULE
    },
    SecretRule {
        id: "wandb-key",
        what: "Weights and Biases key of the newer form",
        literals: &["wandb_v1_"],
        pattern: "wandb_v1_[A-Za-z0-9_-]{50,90}",
        after: After::NoToken,
        span: 120,
        yes: &[&["wa", "ndb_v1_UREjUh1ArmxUXPjbAClilGFpmoe2mEGNT3Wt8Wh7TBosdpJN7xNuUDTyuTxuDenIw9CI2uzqcQq8r"]],
        no: &[&["wandb_v1_short"]],
        ..RULE
    },
    SecretRule {
        id: "gemini-auth-key",
        what: "Gemini key of the newer form",
        literals: &["AQ.Ab"],
        pattern: r"AQ\.Ab[A-Za-z0-9_-]{46,60}",
        after: After::NoToken,
        span: 120,
        yes: &[&["AQ", ".Ab8RUOT1aC3LBuSM7OFMdkd3ytfXjbmK0OCeP6ZlnVJ-glcymaO"]],
        no: &[&["AQ.Ab8Rshort"]],
        ..RULE
    },
    SecretRule {
        id: "cursor-key",
        what: "Cursor key",
        literals: &["key_"],
        pattern: "key_[a-f0-9]{64}",
        glance: LiteralCheck::Run(68),
        span: 120,
        yes: &[&["ke", "y_01a2a2639c27235fe87deb5f2466ce3d4caa831cea224454bd6405eb8fe982e2"]],
        no: &[&["key_short"]],
        ..RULE
    },
    SecretRule {
        id: "braintrust-key",
        what: "Braintrust key",
        literals: &["sk-bt-"],
        pattern: "sk-bt-[A-Za-z0-9]{40,60}",
        span: 120,
        yes: &[&["sk", "-bt-yzdCurjmzcGPhh1K9O8Ll9amZYBthcCRWLtzLKYj5Da8DA7z"]],
        no: &[&["sk-bt-short"]],
        ..RULE
    },
    SecretRule {
        id: "moonshot-key",
        what: "Moonshot or MiniMax key",
        literals: &["sk-kimi-", "sk-api-"],
        pattern: "sk-(?:kimi|api)-[A-Za-z0-9_-]{40,120}",
        after: After::NoToken,
        span: 160,
        yes: &[&["sk", "-kimi-AUE9w26AcyuIz9iXzPCXXo4m1v9zYWMdvYsYk4lppSkOKCsb2FQTAdHkJycXOs1T"]],
        no: &[&["sk-kimi-short"]],
        ..RULE
    },
];

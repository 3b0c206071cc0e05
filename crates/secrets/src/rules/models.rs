//! Model providers.

use crate::rule::{After, Lead, RULE, SecretRule};

/// Rules of this table.
pub(super) const RULES: &[SecretRule] = &[
    SecretRule {
        id: "anthropic-key",
        what: "Anthropic API key or OAuth token",
        literals: &["sk-ant-"],
        pattern: "sk-ant-[a-z]{3,5}[0-9]{2}-[A-Za-z0-9_-]{80,}",
        after: After::NoToken,
        span: 160,
        yes: &[
            &[
                "sk-",
                "ant-api03-5vvrYp_8TLEzfWCr_zMlW2sh76kg92EV06MJzyaHPy",
                "ccfe2mjuJ1zsTm0qtwATg9L08jMXot565WBfQb7YUy9hJSwUHjkAA",
            ],
            &[
                "sk-",
                "ant-oat01-XDk2HMZQtrc6S5J3LvbsEYT56Cf8zV2SNNt6z5iI7K",
                "3mEJUDXiQpe6-SnU_pNSKAwo-0WhtOY21EC1e6VODhpf8b86KrhAA",
            ],
        ],
        no: &[&["sk-", "ant-api03-UxXfzMPkUQV_CjipPWvs"], &["sk-ant-api03-xxxx"]],
        ..RULE
    },
    SecretRule {
        id: "openai-key",
        what: "OpenAI project, service or admin key",
        literals: &["sk-proj-", "sk-svcacct-", "sk-admin-"],
        pattern: "sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{20,80}T3BlbkFJ[A-Za-z0-9_-]{20,80}",
        after: After::NoToken,
        span: 220,
        yes: &[&[
            "sk-",
            "proj-tSY-rtTbssn1XiHD8u_K0wHwFJwU2F8PEWPIT",
            "ttLEOmeAnn-ysWyw3-I4X7ap3bB8koZRkQy7GT3Blbk",
            "FJF6O_fiL8KIIm_S-ss8WxKHBGEC4PPmZDrcbu",
            "_TuJLmkEvFnvbgkV9jmg5nf6U1KPu5_YsDvrxt",
        ]],
        no: &[&["sk-proj-abc"]],
        ..RULE
    },
    SecretRule {
        id: "openai-legacy-key",
        what: "OpenAI key of the older form",
        literals: &["T3BlbkFJ"],
        pattern: "T3BlbkFJ[A-Za-z0-9]{20}",
        lead: Lead::Token { min: 23, max: 23 },
        span: 40,
        yes: &[&["sk", "-TiB34DilZlmMHEAgFZ7uT3Blbk", "FJD01LZrXfMyA4gbrYRIp5"]],
        no: &[&["T3Blbk", "FJqA8DqL35Qv2rgjcb9gAV"]],
        ..RULE
    },
    SecretRule {
        id: "openrouter-key",
        what: "OpenRouter key",
        literals: &["sk-or-v1-"],
        pattern: "sk-or-v1-[a-f0-9]{64}",
        span: 90,
        yes: &[&["sk-", "or-v1-f475dd4d1cd759e171a722a32ef21", "14376f5cbbd96554e30377a093f849038a6"]],
        no: &[&["sk-", "or-v1-263de9"]],
        ..RULE
    },
    SecretRule {
        id: "deepseek-key",
        what: "DeepSeek key, or another of its form",
        literals: &["sk-"],
        pattern: "sk-[a-f0-9]{32}",
        span: 48,
        yes: &[&["sk", "-f7ca1cc4a09749fe020383cc1118bebf"]],
        no: &[&["sk", "-4fd4be7db90f703530c381e78265b60"], &["sk-example"]],
        ..RULE
    },
    SecretRule {
        id: "huggingface-token",
        what: "Hugging Face token",
        literals: &["hf_", "api_org_"],
        pattern: "(?:hf|api_org)_[A-Za-z0-9]{34}",
        span: 50,
        yes: &[&["hf", "_gtTKgofsMidOEzpdjYknTjJiYVFlZGUQMX"], &["api", "_org_uRuhvuZBkijgxU", "ZpcUrDhCdJYKaifZKbTG"]],
        no: &[&["hf", "_qOXNTZaZZlhxqRiLjTvZBblaOHLpWBCSn"], &["hf_hub_download"]],
        ..RULE
    },
    SecretRule {
        id: "replicate-token",
        what: "Replicate token",
        literals: &["r8_"],
        pattern: "r8_[A-Za-z0-9]{37}",
        span: 48,
        yes: &[&["r8", "_zOsNdKE45lmRXElPWt", "1Y07ejn4IJas18nJehz"]],
        no: &[&["r8", "_k1vdKHGOBzQzUDVtQ", "yiRnUoufo4zZc2hnLmi"]],
        ..RULE
    },
    SecretRule {
        id: "groq-key",
        what: "Groq key",
        literals: &["gsk_"],
        pattern: "gsk_[A-Za-z0-9]{52}",
        span: 64,
        yes: &[&["gs", "k_w7eMwbt45fxjPKNMWPyggtFhs", "QHuBNsZ8XP9chJ7etA0ES7d2YxQ"]],
        no: &[&["gs", "k_BE"]],
        ..RULE
    },
    SecretRule {
        id: "xai-key",
        what: "xAI key",
        literals: &["xai-"],
        pattern: "xai-[A-Za-z0-9]{80}",
        span: 96,
        yes: &[&["xa", "i-LKgs0KKYMpIkNlRNNxqLcwK64T4Es7nArQFLLtP", "yw5LIjD7GumkoxYCIjdsdUMM2HKvXOIOqhkeHQEya"]],
        no: &[&["xa", "i-vngesJOg"]],
        ..RULE
    },
    SecretRule {
        id: "perplexity-key",
        what: "Perplexity key",
        literals: &["pplx-"],
        pattern: "pplx-[A-Za-z0-9]{48,56}",
        span: 70,
        yes: &[&["ppl", "x-1PzdVLqKTQgW68gz8iK58tR", "kHxPdkXX6RPL3TCnGxqYoWmUS"]],
        no: &[&["ppl", "x-VQ1AHJwM"]],
        ..RULE
    },
    SecretRule {
        id: "nvidia-key",
        what: "NVIDIA API key",
        literals: &["nvapi-"],
        pattern: "nvapi-[A-Za-z0-9_-]{60,70}",
        after: After::NoToken,
        span: 90,
        yes: &[&["nva", "pi-cQF5YD8zZmA_eD6WjfatesYefHr_MP", "TdtYUsGnGjJKQDTrGX2S8z2Oo0_z-v-8ps"]],
        no: &[&["nva", "pi-9PEsLn"]],
        ..RULE
    },
    SecretRule {
        id: "langsmith-key",
        what: "LangSmith key",
        literals: &["lsv2_pt_", "lsv2_sk_"],
        pattern: "lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}",
        span: 64,
        yes: &[&["lsv", "2_pt_29695b4f6bf00ee5665", "b42c0bb7125b1_da7a75c3fd"]],
        no: &[&["lsv", "2_pt_e51e00ee0a8c0", "3be1de754bd33783db8"]],
        ..RULE
    },
    SecretRule {
        id: "pinecone-key",
        what: "Pinecone key",
        literals: &["pcsk_"],
        pattern: "pcsk_[A-Za-z0-9]{5,6}_[A-Za-z0-9]{63}",
        span: 90,
        yes: &[&["pcs", "k_VjUuAN_uGYaD0jGo0JaHeRaoQ0l40pg2dX", "tsj34yLaLBJXxoxtVXBSSlU4EAASRDMrbm4g"]],
        no: &[&["pcs", "k_l9fYUR"]],
        ..RULE
    },
    SecretRule {
        id: "elevenlabs-key",
        what: "ElevenLabs key",
        literals: &["sk_"],
        pattern: "sk_[a-f0-9]{48}",
        span: 60,
        yes: &[&["sk", "_2b5b0717a551f1f24c78ea4", "13bdcaed181baf01f03b8874f"]],
        no: &[&["sk", "_f73b0164d6710f45400a426", "59fdf3c4ae72cd780cc205d8"]],
        ..RULE
    },
];

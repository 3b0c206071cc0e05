//! Secret stores, infrastructure and monitoring.

use crate::rule::{After, Lead, PrecedingByte, RULE, SecretRule};

/// Rules of this table.
pub(super) const RULES: &[SecretRule] = &[
    SecretRule {
        id: "terraform-cloud-token",
        what: "Terraform Cloud token",
        literals: &[".atlasv1."],
        pattern: r"\.atlasv1\.[A-Za-z0-9_-]{60,70}",
        lead: Lead::Token { min: 14, max: 14 },
        after: After::NoToken,
        span: 90,
        yes: &[&["YBJo4gnB73ZcRc.atlas", "v1.oioqFLcZtvqXs7WWu85r1PX7TdIaaxCn", "jRHaIYsyYq8dmCy9UCO6qU5gF_0Lsq5H_nb"]],
        no: &[&[".atlasv1.none"]],
        ..RULE
    },
    SecretRule {
        id: "pulumi-token",
        what: "Pulumi access token",
        literals: &["pul-"],
        pattern: "pul-[a-f0-9]{40}",
        span: 50,
        yes: &[&["pu", "l-d86f97190110f170080", "bb6191a884904bd341035"]],
        no: &[&["pu", "l-f22f7956092f4a729c", "d1d15a6c587870ac9d398"]],
        ..RULE
    },
    SecretRule {
        id: "vault-token",
        what: "HashiCorp Vault token",
        literals: &["hvs.", "hvb.", "hvr."],
        pattern: r"hv[sbr]\.[A-Za-z0-9_-]{24,}",
        after: After::NoToken,
        span: 320,
        yes: &[
            &["hv", "s.rOLKMnhu3R4TXtF7OaE0kAY1SKgyiKgbVEExms-xbiTQ", "Gue-UfzZZLrzLc2V3yWQVvtYZgX_aAIH1vL1rHKPrC-gaZ"],
            &[
                "hv",
                "b.bStIF1xkxFNYm8_9lRC0mokuHpTSNS4hkaUA6QTnV2xT49aanL-LaK_CBDqjm_fEDNqPI",
                "qpfsCcGeZ2-qHKD9IsdkBatJtpG56Pe3s3aLG_wsg3LWBH-DojnZh0ak-H7xzjynK-eIZGY",
            ],
        ],
        no: &[&["hv", "s.XoIFdz"]],
        ..RULE
    },
    SecretRule {
        id: "vault-named-token",
        what: "Older HashiCorp Vault token, after its name",
        literals: &["vault_token", "x-vault-token"],
        fold: true,
        pattern: r#"vault[_-]token["'\])]{0,3}\s{0,5}[=:,>]{1,2}\s{0,5}["'`]?(s\.[A-Za-z0-9]{24})"#,
        before: PrecedingByte::Anything,
        span: 64,
        yes: &[&["VAULT_", "TOKEN=s.EfQzMMreaTVt0ZgI90TTHeYL"]],
        no: &[&["VAULT_TOKEN=s.short"]],
        ..RULE
    },
    SecretRule {
        id: "doppler-token",
        what: "Doppler token",
        literals: &["dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."],
        pattern: r"dp\.(?:pt|st(?:\.[a-z0-9_-]{2,35})?|ct|sa|scim|audit)\.[A-Za-z0-9]{40,44}",
        span: 120,
        yes: &[
            &["dp.", "pt.dh0UXW4s1LRaQPXCYoql", "ueR4UPqlrQNtwm4T6sLWpyk"],
            &["dp.", "st.prd.zeIeeVOYRcjEos1Gas", "XlnL5F7Xv18FyvG8Vf7V2LQCR"],
        ],
        no: &[&["dp.", "pt.EM1A"]],
        ..RULE
    },
    SecretRule {
        id: "grafana-token",
        what: "Grafana token",
        literals: &["glsa_", "glc_"],
        pattern: "(?:glsa_[A-Za-z0-9]{32}_[a-f0-9]{8}|glc_eyJ[A-Za-z0-9+/]{60,}={0,2})",
        after: After::NoBase64,
        span: 450,
        yes: &[
            &["gl", "sa_UnKbUC9zjqAa2dx75jb", "7Dk8T6enaZ0DN_6d7b8abd"],
            &[
                "gl",
                "c_eyJ52/c2YI0tfs+ZyQbgHs5AlLVy59NMAq9kzrO141CcZziz1k2",
                "uLL8zrgm4cxvQvb5SZh/Zasn/F0dgKGazQ0/tpNinZkJDqCtlmW7==",
            ],
        ],
        no: &[&["gl", "sa_9LOPEewOBCNF"]],
        ..RULE
    },
    SecretRule {
        id: "onepassword-token",
        what: "1Password service account token",
        literals: &["ops_eyJ"],
        pattern: "ops_eyJ[A-Za-z0-9+/_-]{200,}={0,2}",
        after: After::NoBase64,
        span: 1100,
        yes: &[&[
            "op",
            "s_eyJIxS/dm2R4isiC0fWplC2FUFQNTbEqveg9oKZD+Qr+dUrMiwvu+85PojV0wGN+A6v63DyGtnZOCNBmRPkYBkUgHYcndXJ4PZDt7A2qALsuhpm0BOZPvUmj6vhTEJyxRrs9T0Z6+zIi1gU5FsiSiwk8v7xL+Kk4pbH1NEBfZ4ottJqOTx0Sk5IIsKjn5Bq80A5n5oS9",
            "mukQ/KvP3ZNyQs2qR4nGwyMIAB65x3VeolFJPO5faNVGLRMcoMRgeyKyd9t3szmgApuwg6QOAlpRh03ax/dzoChK3mjn8bjsRW1sYFwwd5f9B9V3wlaczRrt3z8kiLsjhBl3qDYj0vdpl3ZG8OQh+i7/EMTVO6LJsJLSMlY4SjkW/kqcxPq5tPd4VW/QfvdLF4ebuYB3ao4",
        ]],
        no: &[&["op", "s_eyJHDwwR+1clCJmgD8N91ZB"]],
        ..RULE
    },
    SecretRule {
        id: "launchdarkly-key",
        what: "LaunchDarkly SDK key",
        literals: &["sdk-"],
        pattern: "sdk-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
        span: 50,
        yes: &[&["sd", "k-2dfe2c3d-6d7c-49e", "8-a532-d1a48ae81688"]],
        no: &[&["sdk-version"]],
        ..RULE
    },
    SecretRule {
        id: "sentry-token",
        what: "Sentry auth token",
        literals: &["sntrys_", "sntryu_"],
        pattern: "(?:sntrys_eyJ[A-Za-z0-9+/=_]{80,}|sntryu_[a-f0-9]{64})",
        after: After::NoBase64,
        span: 650,
        yes: &[
            &[
                "sntr",
                "ys_eyJJQ9X7BQlHJ/Kkyg/lxzYLrA/TkpHYcrb1DRAiXqSX4wFm9Joo1f3EOfnhq/hZIEuqdJ8hGBZ52mwD9Q",
                "MV7D9GMZspa9m2R3iPAXZfWVmxfdgC7wDpdn2oqM5=_8vo0vHiUJOqzYdo2BRAthiylZsq1n6kplam0dvAWxCJ",
            ],
            &["sntr", "yu_b862d6ff22c85ee3c74be1353623fa", "e4002bde6bf1aba330235f4af1c5aaf08f"],
        ],
        no: &[&["sntr", "yu_a9a47b08"]],
        ..RULE
    },
    SecretRule {
        id: "sentry-dsn",
        what: "Sentry DSN",
        literals: &["http://", "https://"],
        pattern: "https?://([a-f0-9]{32}(?::[a-f0-9]{32})?)@[A-Za-z0-9.-]{1,}/[0-9]{1,20}",
        holds: Some(b'@'),
        before: PrecedingByte::Anything,
        after: After::Anything,
        span: 240,
        yes: &[&["https:/", "/b328ed41e46b27f69f2a3d0c7b46f5af", "@o447951.ingest.sentry.io/5428557"]],
        no: &[&["https:/", "/82f9e860acffac9e04b2ab", "406227f7ce.example.org/1"]],
        ..RULE
    },
    SecretRule {
        id: "new-relic-key",
        what: "New Relic key",
        literals: &["NRAK-", "NRRA-", "NRII-", "NRIQ-"],
        pattern: "NR(?:AK-[A-Z0-9]{27}|RA-[a-f0-9]{42}|I[IQ]-[A-Za-z0-9_-]{32})",
        after: After::NoToken,
        span: 60,
        yes: &[&["NR", "AK-SHV8H0S57KPOT5S47UI0S1JJSJO"], &["NR", "II-UQxS6jyPuB3H2rUFvcvVrCq_UAe7xIaE"]],
        no: &[&["NR", "AK-D2IGK"]],
        ..RULE
    },
    SecretRule {
        id: "new-relic-license-key",
        what: "New Relic licence key",
        literals: &["FFFFNRAL", "ffffnral"],
        pattern: "(?i)FFFFNRAL",
        lead: Lead::Token { min: 32, max: 40 },
        span: 16,
        yes: &[&["5d3f65bdb7ee868ea965eeb9e8984483FFFF", "NRAL"]],
        no: &[&["FFFFNRAL"]],
        ..RULE
    },
    SecretRule {
        id: "datadog-key",
        what: "Datadog key, after its name",
        literals: &["datadog", "dd_api_key", "dd_app_key", "dd-api-key", "dd-application-key", "dd_application_key"],
        fold: true,
        pattern: r#"d(?:atadog|d)[_-]?ap(?:i|p(?:lication)?)[_-]?key["'\])]{0,3}\s{0,5}[=:,>]{1,2}\s{0,5}["'`]?([a-f0-9]{32}(?:[a-f0-9]{8})?)"#,
        before: PrecedingByte::Anything,
        span: 120,
        yes: &[
            &["DD_", "API_KEY=00f5b0aaae56", "cbdde73be93da94bf684"],
            &["datadog_", "app_key: 8b961a9b2f1862f", "0fb2b2d79b5a72f6cb191a449"],
        ],
        no: &[&["datadog_trace_id=53f6a94466cc21388f7fd87976f41b2f"]],
        ..RULE
    },
    SecretRule {
        id: "dynatrace-token",
        what: "Dynatrace token",
        literals: &["dt0c01.", "dt0s01."],
        pattern: r"dt0[cs]01\.[A-Z2-7]{24}\.[A-Z2-7]{64}",
        span: 110,
        yes: &[&[
            "dt0",
            "c01.PSISN2IFRRURN2JL4QCCDCNP.DKPG2ZTFNWE346NIH",
            "MTAJVPCOHMVS534UKK6ZOQADPLDXOK3EOAAMN3R6KK64NRW",
        ]],
        no: &[&["dt0", "c01.3MQNR4VT3PX5OJS4FIAFOOUV"]],
        ..RULE
    },
];

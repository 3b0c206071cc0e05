//! Code hosts, package registries and build services.

use crate::rule::{After, MatchCheck, PrecedingByte, RULE, SecretRule};

/// Rules of this table.
pub(super) const RULES: &[SecretRule] = &[
    SecretRule {
        id: "github-token",
        what: "GitHub personal, OAuth or app token",
        literals: &["ghp_", "gho_", "ghu_", "ghs_"],
        pattern: "gh[pous]_[A-Za-z0-9]{36}",
        check: MatchCheck::Crc32Base62,
        span: 48,
        yes: &[
            &["gh", "p_6JM8m7u0uPokZVBJS", "qwUMERFKEQpo033AcP0"],
            &["gh", "o_HsnJwmVuBXenXGHnk", "igK4sXawZx8iS3LRLiL"],
            &["gh", "s_8NEPxxcptDnrbf7NU", "U6Pib6aj6UN8O3NbF6a"],
        ],
        no: &[
            &["gh", "p_thisIsMyTokenForTestingPurposesOnly1"],
            &["gh", "p_m5stuQ3fG22VCoUBt", "aHjOAsQbNoxHn3DXG5Px"],
        ],
        ..RULE
    },
    SecretRule {
        id: "github-stateless-token",
        what: "GitHub app token of the newer, longer form",
        literals: &["ghs_"],
        pattern: "ghs_[A-Za-z0-9]{1,20}_eyJ[A-Za-z0-9_.-]{100,}",
        after: After::NoToken,
        span: 960,
        yes: &[&[
            "gh",
            "s_123456_eyJt4OdIOpoDad1hifH2ve0KZy4HdL-YwdRb_yUfF6xf-sDLq2eenkbySAUv0_bMZRK0qi8S13QCvKSHF2KdF_GrRKcbVf3S9oqYgw18ADfK2gMFFM77OIO-yiyb_lIzJwmt1u3gClP-NohqZ4o",
            "IFF43iGff8lKyp_COfgN6ptV_fre1mQ-wfui3QJCn5UINmg-LCS_NBpyJUz_s7rYVyq2rxlFwzR1WXrkWPi1AG7rBgND6E81VlLyhDdUQxazDaNFPQ8ZGDYlh52BbWr6SFxji31FRFpP3Ju1oG8QhMLS9bXd",
        ]],
        no: &[&["gh", "s_123456_eyJiZEphFK9Sz-i9aEF_9jm"]],
        ..RULE
    },
    SecretRule {
        id: "github-refresh-token",
        what: "GitHub refresh token",
        literals: &["ghr_"],
        pattern: "ghr_[A-Za-z0-9]{36,76}",
        span: 96,
        yes: &[&["gh", "r_ZKFNP2NT7uacv3OAu67jH7aIxeAXF4lICdldJ", "DJ8QLlSPWYE63iuYuw3D2rZgQj0wyczitF1yuhx"]],
        no: &[&["gh", "r_mtTX7uCK"]],
        ..RULE
    },
    SecretRule {
        id: "github-fine-grained-token",
        what: "GitHub fine-grained personal access token",
        literals: &["github_pat_"],
        pattern: "github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}",
        span: 110,
        yes: &[&[
            "github",
            "_pat_4z3u0DCH4ilFQHOgHfFAzb_XnPqN4Hv0BwXvx2",
            "B3GK2uY3xW2c0YnxwF72YT7mduE8n7E8uhX3FVLNYl2Z",
        ]],
        no: &[&[
            "github",
            "_pat_6MM4ctAxIwobGElHO32sbu_AjdA8ZYbXoxMjgy",
            "n2M3qynk1scUnDOIRYMWOrx9W6h78XSfWqbHSyF534E",
        ]],
        ..RULE
    },
    SecretRule {
        id: "gitlab-token",
        what: "GitLab token",
        literals: &[
            "glpat-", "gldt-", "glrt-", "glrtr-", "glcbt-", "glptt-", "glft-", "glsoat-", "glagent-", "gloas-",
            "glimt-", "glffct-",
        ],
        pattern: r"gl(?:pat|dt|rtr?|cbt|ptt|ft|soat|agent|oas|imt|ffct)-[A-Za-z0-9_-]{20,}(?:\.[A-Za-z0-9]{2}\.[A-Za-z0-9]{9})?",
        after: After::NoToken,
        span: 200,
        yes: &[
            &["gl", "pat-hRbW4RUf6dZh2d0fVbj7"],
            &["gl", "rt-BMnxRM9orx42M8bCc9PM"],
            &["gl", "pat-jXdGjgHpXBCatGVZo5", "oHCY36Dk5.01.1jcpi0ikr"],
        ],
        no: &[&["gl", "pat-I4ST04di"]],
        ..RULE
    },
    SecretRule {
        id: "gitlab-runner-registration",
        what: "GitLab runner registration token",
        literals: &["GR1348941"],
        pattern: "GR1348941[A-Za-z0-9_-]{20}",
        after: After::NoToken,
        span: 40,
        yes: &[&["GR134", "8941bctWDgjAOvz2fSmkiYkr"]],
        no: &[&["GR134", "8941byfd"]],
        ..RULE
    },
    SecretRule {
        id: "atlassian-token",
        what: "Atlassian API token",
        literals: &["ATATT3xFfGF0"],
        pattern: "ATATT3xFfGF0[A-Za-z0-9_=-]{150,}",
        after: After::NoToken,
        span: 300,
        yes: &[&[
            "ATATT3",
            "xFfGF0ka5KvM1XX4ZxuXcm-Y5tUE1obD5BR4P4gcOrYX40ass3AnRIZTnff200qwkfvXxVklGVLm697z3lubFhM8kRF4Y",
            "5PnR-uX_fkozSZ2PeDx8HinkqlkKm6N-79RRtyno4ERKSvW9OJHPmzcC5r-XtDmZbDIoquZEfMqiCbPMqUArr=EE180612",
        ]],
        no: &[&["ATATT3", "xFfGF0KWuLwqpuMsIL6-AP4ON7"]],
        ..RULE
    },
    SecretRule {
        id: "bitbucket-token",
        what: "Bitbucket app password or access token",
        literals: &["ATBB", "ATCTT3xFfGN0"],
        pattern: "(?:ATBB[A-Za-z0-9]{32}|ATCTT3xFfGN0[A-Za-z0-9_=-]{100,})",
        after: After::NoToken,
        span: 300,
        yes: &[
            &["AT", "BBBFdLQWpDEg4tMMw7fHIFCUIoC4tzeJxO"],
            &[
                "ATCTT3",
                "xFfGN0_30OFYoVCG0CpuQi4BSndibEINH93HuLt9NtYQBtl__xkDrbqNixyTgnXhTH4SV4RVPSZrUH8DsYz-CGSKRr1Q1",
                "IjR8c8LtqD2fuk1gMkuvPnKMska0Av9EeTvOMkN-zfPtdviaEc7yYY9nw3qL3WjqImQElc_IGKvY2n4vjRwFu=3CDB98D7",
            ],
        ],
        no: &[&["AT", "BBXlSRBXmkC2t5"]],
        ..RULE
    },
    SecretRule {
        id: "npm-token",
        what: "npm access token",
        literals: &["npm_"],
        pattern: "npm_[A-Za-z0-9]{36}",
        check: MatchCheck::Crc32Base62,
        span: 48,
        yes: &[&["np", "m_LFw9snXnxfCL6IEXM", "jHi7nuyVsR60j3BMrH3"]],
        no: &[&["np", "m_thisIsMyTokenForTestingPurposesOnly1"], &["npm_config_registry"]],
        ..RULE
    },
    SecretRule {
        id: "npmrc-token",
        what: "Token in an .npmrc file",
        literals: &["_authToken"],
        fold: true,
        pattern: r#"_authToken\s{0,3}=\s{0,3}["']?([A-Za-z0-9+/_.=-]{30,})"#,
        before: PrecedingByte::Anything,
        after: After::NoToken,
        span: 240,
        yes: &[&["//registry.npmjs.org/:_auth", "Token=e2d61594-8cbb-4", "5a1-a139-605aa40e2ae0"]],
        no: &[&["_authToken=${NPM_TOKEN}"]],
        ..RULE
    },
    SecretRule {
        id: "pypi-token",
        what: "PyPI upload token",
        literals: &["pypi-AgEIcHlwaS5vcmc", "pypi-AgENdGVzdC5weXBpLm9yZ"],
        pattern: "pypi-(?:AgEIcHlwaS5vcmc|AgENdGVzdC5weXBpLm9yZ)[A-Za-z0-9_-]{50,}",
        after: After::NoToken,
        span: 1100,
        yes: &[&[
            "pypi-",
            "AgEIcHlwaS5vcmcxniDVn_OZ_y6mEW7wB85Di3mIlsFJRWDeR2PyzUNZYFDUPSf7LWq",
            "cVKQV0toU_IvA23McAiiYi0wwXXQBHBXQnhJPo8Ljxu5dCnnDjy_50MwDqhir92Autp0",
        ]],
        no: &[&["pypi-AgEIcHlwaS5vcmc"]],
        ..RULE
    },
    SecretRule {
        id: "crates-io-token",
        what: "crates.io token",
        literals: &["cio"],
        pattern: "cio[A-Za-z0-9]{32}",
        span: 40,
        yes: &[&["ci", "oOdv48o0wI1dyDJS0AhPqaiOqGzsu1Sxx"]],
        no: &[&["ci", "oxd5AvZaDLoLm1wJycfi3HA4k8iHlEeg"]],
        ..RULE
    },
    SecretRule {
        id: "rubygems-key",
        what: "RubyGems API key",
        literals: &["rubygems_"],
        pattern: "rubygems_[a-f0-9]{48}",
        span: 64,
        yes: &[&["ruby", "gems_5e4e6e37255c1736e34fa", "894d7eccb5d13539f43b41427ea"]],
        no: &[&["rubygems_version"]],
        ..RULE
    },
    SecretRule {
        id: "nuget-key",
        what: "NuGet API key",
        literals: &["oy2"],
        pattern: "oy2[a-z0-9]{43}",
        span: 50,
        yes: &[&["oy", "2vsxg5mlcsdelgh6zeoasw", "1poxelzy4qsm8jkifycbnj"]],
        no: &[&["oy", "22fsv8imsd04cfnaqncxv", "h88v8pf4m28bpabki6dioy"]],
        ..RULE
    },
    SecretRule {
        id: "docker-hub-token",
        what: "Docker Hub access token",
        literals: &["dckr_pat_", "dckr_oat_"],
        pattern: "dckr_[po]at_[A-Za-z0-9_-]{27,32}",
        after: After::NoToken,
        span: 50,
        yes: &[&["dckr", "_pat_ULodFP2d4MxcbtxZKNrGHA2aAHd"], &["dckr", "_oat_J0-8gFrKO7CZ-", "WT8yFIZuc2tw4y92Wbf"]],
        no: &[&["dckr", "_pat_EStbrbR20"]],
        ..RULE
    },
    SecretRule {
        id: "docker-config-auth",
        what: "Name and password in a Docker configuration",
        literals: &["\"auth\""],
        pattern: r#""auth"\s{0,3}:\s{0,3}"([A-Za-z0-9+/]{16,}={0,2})""#,
        before: PrecedingByte::Anything,
        after: After::Anything,
        check: MatchCheck::NamePassword,
        span: 450,
        yes: &[&["\"au", "th\": \"YnVpbGRlcjpxN1h2MFpyVDJtQjk=\""]],
        no: &[&["\"auth\": \"bm90IGEgcGFpciBhdCBhbGw=\""], &["\"auth\":\"none\""]],
        ..RULE
    },
    SecretRule {
        id: "jfrog-key",
        what: "JFrog key or token",
        literals: &["AKCp", "cmVmdGtu"],
        pattern: "(?:AKCp[A-Za-z0-9]{69}|cmVmdGtu[A-Za-z0-9]{56})",
        span: 90,
        yes: &[
            &["AK", "Cpz8MNhsU7TUPsIAYvaRdi9oveEpSviMHzx", "y4hEKs0TKtGzStgejRdHmxUWaryJXMa891Xb"],
            &["cmVm", "dGtullqjhCCLRjcyA6mZE6J0nkx5SX", "2M8iy0fTrRrmj8VNDn86vuEkyx8cUL"],
        ],
        no: &[&["AK", "CpoeJ42px1D"]],
        ..RULE
    },
    SecretRule {
        id: "clojars-token",
        what: "Clojars deploy token",
        literals: &["CLOJARS_"],
        pattern: "CLOJARS_[a-f0-9]{60}",
        span: 80,
        yes: &[&["CLOJ", "ARS_ee0ba0b6ddda4d21eea286e7f20e", "87ba03cdd9f09898ac655870dd931e34"]],
        no: &[&["CLOJARS_TOKEN"]],
        ..RULE
    },
    SecretRule {
        id: "circleci-token",
        what: "CircleCI personal token",
        literals: &["CCIPAT_", "CCIPRJ_"],
        pattern: "CCIP(?:AT|RJ)_[A-Za-z0-9]{22}_[a-f0-9]{40}",
        span: 80,
        yes: &[&["CCIP", "AT_EL1ATsSioapgjK6D3yAhV5_44253b7", "90fd078aff62cbedfe5cd13ba80af3053"]],
        no: &[&["CCIP", "AT_ifJN3Gi4uSHsCVlYeJY17S"]],
        ..RULE
    },
    SecretRule {
        id: "buildkite-token",
        what: "Buildkite token",
        literals: &["bkua_", "bkaj_", "bkct_"],
        pattern: "bk(?:ua|aj|ct)_[A-Za-z0-9]{40}",
        span: 50,
        yes: &[&["bk", "ua_4720b3ebba9ed94fca", "8128bab02e4b19d6369929"]],
        no: &[&["bk", "ua_21cb"]],
        ..RULE
    },
    SecretRule {
        id: "sonar-token",
        what: "SonarQube token",
        literals: &["sqp_", "squ_", "sqa_"],
        pattern: "sq[pua]_[a-f0-9]{40}",
        span: 50,
        yes: &[
            &["sq", "p_6549ea7bf57eabf72d0", "e7b5782c620fd21de522c"],
            &["sq", "u_327a7600ccebfee06b3", "25fb499e9eed2aea98b95"],
        ],
        no: &[&["sq", "p_dcb0da1c31b17d728f", "740640c21d0c15c78b5ec"]],
        ..RULE
    },
    SecretRule {
        id: "postman-key",
        what: "Postman API key",
        literals: &["PMAK-"],
        pattern: "PMAK-[a-f0-9]{24}-[a-f0-9]{34}",
        span: 70,
        yes: &[&["PM", "AK-170415c696f563a4eb2fc2a2-a19", "05c8879051b38f0683ebf25705dcb4c"]],
        no: &[&["PM", "AK-fd8a70f98048fce5b87b2e0a"]],
        ..RULE
    },
];

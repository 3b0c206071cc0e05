//! Hosting, data stores and operations of smaller clouds.

use crate::rule::{After, Lead, LiteralCheck, MatchCheck, RULE, SecretRule};

/// Rules of this table.
pub(super) const RULES: &[SecretRule] = &[
    SecretRule {
        id: "tailscale-key",
        what: "Tailscale key",
        literals: &["tskey-"],
        pattern: "tskey-[a-z]{3,8}-[A-Za-z0-9]{6,24}-[A-Za-z0-9]{16,48}",
        span: 120,
        yes: &[&["ts", "key-auth-bm37RORWCNTRL-yjwb2nWU0MwHwFQ9D3ZUptorAjUE26vR"]],
        no: &[&["tskey-auth-abc"]],
        ..RULE
    },
    SecretRule {
        id: "scaleway-key",
        what: "Scaleway access key",
        literals: &["SCW"],
        pattern: "SCW[A-Z0-9]{17}",
        check: MatchCheck::Generated,
        glance: LiteralCheck::Run(20),
        span: 120,
        yes: &[&["SC", "WSQ92LFYZFVCN4HXGA"]],
        no: &[&["SCWshort"]],
        ..RULE
    },
    SecretRule {
        id: "yandex-key",
        what: "Yandex Cloud key",
        literals: &["AQVN"],
        pattern: "AQVN[A-Za-z0-9_-]{35,38}",
        after: After::NoToken,
        span: 120,
        yes: &[&["AQ", "VN9VN5WbkmerRHp4g74cbES0UK7vG8nTOEjz99"]],
        no: &[&["AQVNshort"]],
        ..RULE
    },
    SecretRule {
        id: "yandex-token",
        what: "Yandex OAuth token",
        literals: &["y0_"],
        pattern: "y[0-3]_[A-Za-z0-9_-]{50,64}",
        after: After::NoToken,
        glance: LiteralCheck::Run(53),
        span: 120,
        yes: &[&["y0", "_KA09L2Eiu_jM98GGzoqj3KFH6Cw3Y3ZNYr_4DJohh1EP3qp4jznTlTO"]],
        no: &[&["y0_short"]],
        ..RULE
    },
    SecretRule {
        id: "yandex-iam-token",
        what: "Yandex Cloud IAM token",
        literals: &["t1.9"],
        pattern: r"t1\.9[A-Za-z0-9_-]{20,}={0,2}\.[A-Za-z0-9_-]{80,90}={0,2}",
        after: After::NoToken,
        span: 700,
        yes: &[&[
            "t1",
            ".9lAAwIHYSw5vY_a3Q9CswE0YiwqOWLDD4ctx5M2eCyzpLhUGTdRcrwxctoVduCAkKRT4E",
            "rKNbdK-D64ijv43FtNDelpRMPeGqAjTo_Lh1sxPf6RMgh_Eo2rKQ.u4yuuu23b-O7aKFK9",
            "HyyM_gF8cr-iLNE40Yor0VU2spPBNvFUBS47yM9W5RuojHSvRCzY_WW0tyOJ1VP60YmEX",
        ]],
        no: &[&["t1.9short"]],
        ..RULE
    },
    SecretRule {
        id: "tencent-key",
        what: "Tencent Cloud secret id",
        literals: &["AKID"],
        pattern: "AKID[A-Za-z0-9]{32}",
        span: 120,
        yes: &[&["AK", "IDhmBEoOwW607J8V0E4r9RAWHWIrCua0HZ"]],
        no: &[&["AKIDshort"]],
        ..RULE
    },
    SecretRule {
        id: "vercel-app-token",
        what: "Vercel token of the newer form",
        literals: &["vca_", "vci_", "vcr_", "vck_"],
        pattern: "vc[airk]_[A-Za-z0-9]{24,60}",
        span: 120,
        yes: &[&["vc", "a_B7AePol23mxAmVQ6JQb1roL9a5oSCYWbQeKmi3drA2dLgNSPSTw1NXYM"]],
        no: &[&["vca_short"]],
        ..RULE
    },
    SecretRule {
        id: "cockroach-key",
        what: "CockroachDB Cloud key",
        literals: &["CCDB1_"],
        pattern: "CCDB1_[A-Za-z0-9]{22}_[A-Za-z0-9]{40}",
        span: 120,
        yes: &[&["CC", "DB1_j6akxxWRcdspFrdrhghYLA_SS3Lg5jTwEKpNq7ti1kK2xvBZD4szXeMLdpmL7Li"]],
        no: &[&["CCDB1_short"]],
        ..RULE
    },
    SecretRule {
        id: "mongodb-atlas-secret",
        what: "MongoDB Atlas service account secret",
        literals: &["mdb_sa_sk_"],
        pattern: "mdb_sa_sk_[A-Za-z0-9_-]{36,44}",
        after: After::NoToken,
        span: 120,
        yes: &[&["md", "b_sa_sk_A4R4fnB5SnFZtc9QAMycbADCO3IYLNKjtn7jpXNq"]],
        no: &[&["mdb_sa_sk_short"]],
        ..RULE
    },
    SecretRule {
        id: "confluent-secret",
        what: "Confluent Cloud secret",
        literals: &["cflt"],
        pattern: "cflt[A-Za-z0-9+/]{60}",
        after: After::NoBase64,
        span: 120,
        yes: &[&["cf", "ltbco9URu5bUcerLazIgvfCD/aOXrDFYXRXDXtLFZ0t7AKhF6LEO2hyVxW2kkx"]],
        no: &[&["cfltshort"]],
        ..RULE
    },
    SecretRule {
        id: "appsync-key",
        what: "AWS AppSync key",
        literals: &["da2-"],
        pattern: "da2-[a-z0-9]{26}",
        span: 120,
        yes: &[&["da", "2-0856ftmxwjw0wxz6n9hlqw7meh"]],
        no: &[&["da2-short"]],
        ..RULE
    },
    SecretRule {
        id: "amazon-mws-token",
        what: "Amazon Marketplace token",
        literals: &["amzn.mws."],
        pattern: r"amzn\.mws\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
        check: MatchCheck::Shape,
        span: 120,
        yes: &[&["am", "zn.mws.59500b13-cbae-48e9-a38c-41da520245a8"]],
        no: &[&["amzn.mws.short"]],
        ..RULE
    },
    SecretRule {
        id: "infisical-token",
        what: "Infisical service token",
        literals: &["st."],
        pattern: r"st\.[a-f0-9]{24}\.[a-f0-9]{32}\.[a-f0-9]{32}",
        span: 120,
        yes: &[&[
            "st",
            ".0e966c2b237d5c0aa719b921.6f84cb83bf3854770416",
            "ace38f88d927.866e46808b6528a50e9a44a4cf789326",
        ]],
        no: &[&["st.abc.def"]],
        ..RULE
    },
    SecretRule {
        id: "deno-token",
        what: "Deno Deploy token",
        literals: &["ddp_", "ddw_"],
        pattern: "dd[pw]_[A-Za-z0-9]{36}",
        span: 120,
        yes: &[&["dd", "p_NeibjmHy6D4cCdAYuB3VAJFwSZF52ZOSxXAz"]],
        no: &[&["ddp_short"]],
        ..RULE
    },
    SecretRule {
        id: "openshift-token",
        what: "OpenShift token",
        literals: &["sha256~"],
        pattern: "sha256~[A-Za-z0-9_-]{43}",
        after: After::NoToken,
        span: 120,
        yes: &[&["sh", "a256~NsuIhnUVwPJrEpGhnhhLQwkkeTnxpNu-u2B-uPnx2JG"]],
        no: &[&["sha256~short"]],
        ..RULE
    },
    SecretRule {
        id: "scalingo-token",
        what: "Scalingo token",
        literals: &["tk-us-"],
        pattern: "tk-us-[A-Za-z0-9_-]{48}",
        after: After::NoToken,
        span: 120,
        yes: &[&["tk", "-us-BfNOH7leO1-2xSJwLbwbvvwBOzt0ChKAR4ZQCy9dX_pLCn6n"]],
        no: &[&["tk-us-short"]],
        ..RULE
    },
    SecretRule {
        id: "prefect-key",
        what: "Prefect key",
        literals: &["pnu_", "pnb_"],
        pattern: "pn[ub]_[A-Za-z0-9]{36}",
        span: 120,
        yes: &[&["pn", "u_pCmX4pDLLDspa85bYoulcddtOBScezpCyVlq"]],
        no: &[&["pnu_short"]],
        ..RULE
    },
    SecretRule {
        id: "sourcegraph-token",
        what: "Sourcegraph token",
        literals: &["sgp_"],
        pattern: "sgp_(?:[a-f0-9]{40}|(?:local|[a-f0-9]{16})_[a-f0-9]{40}|[A-Za-z0-9]{64})",
        glance: LiteralCheck::Run(44),
        span: 120,
        yes: &[&["sg", "p_954430f3c7d8ae139940f0ab51ba66c0fd86dd94"]],
        no: &[&["sgp_short"]],
        ..RULE
    },
    SecretRule {
        id: "harness-token",
        what: "Harness platform token",
        literals: &["pat."],
        pattern: r"pat\.[A-Za-z0-9_-]{22}\.[a-f0-9]{24}\.[A-Za-z0-9]{20}",
        span: 120,
        yes: &[&["pa", "t.jXSTodIxVJ1vL0MTaSmMUZ.d8b34cdb056e0e88b9a0f06f.DvRRWWg4wp3vGGLDTRZN"]],
        no: &[&["pat.abc"]],
        ..RULE
    },
    SecretRule {
        id: "octopus-key",
        what: "Octopus Deploy key",
        literals: &["API-"],
        pattern: "API-[A-Z0-9]{25,32}",
        check: MatchCheck::Generated,
        glance: LiteralCheck::Run(29),
        span: 120,
        yes: &[&["AP", "I-L30ZDLG1I875L87CRE4H71G7D1G32"]],
        no: &[&["API-short"]],
        ..RULE
    },
    SecretRule {
        id: "jetbrains-token",
        what: "JetBrains permanent token",
        literals: &["perm:", "perm-"],
        pattern: r"perm[:-][A-Za-z0-9+/=]{8,60}\.[A-Za-z0-9+/=]{4,60}\.[A-Za-z0-9]{30,50}",
        span: 200,
        yes: &[&["pe", "rm:5ajoWpIQ5Gig.NsnQsPYF6v.JnNWZp9pnb579XcgA440NhvNfDigJxhXEBklZtLG"]],
        no: &[&["perm:read.write"]],
        ..RULE
    },
    SecretRule {
        id: "nats-seed",
        what: "NATS seed",
        literals: &[
            "SUAA", "SUAB", "SUAC", "SUAD", "SUAE", "SUAF", "SUAG", "SUAH", "SUAI", "SUAJ", "SUAK", "SUAL", "SUAM",
            "SUAN", "SUAO", "SUAP",
        ],
        pattern: "SUA[A-P][A-Z2-7]{54}",
        glance: LiteralCheck::Run(58),
        span: 120,
        yes: &[&["SU", "ABAMKMNFV4U2CED6LJJVPEU3KJVMXUSRIMRMWUP2SPGRNN7BUCBJAHGF"]],
        no: &[&["SUAshort"]],
        ..RULE
    },
    SecretRule {
        id: "honeycomb-key",
        what: "Honeycomb ingest key",
        literals: &["hcaik_", "hcbik_"],
        pattern: "hc[ab]ik_[a-z0-9]{58}",
        span: 120,
        yes: &[&["hc", "aik_h2y8skkj9yrn78lz7a4t7kver6dhhhu6a38cjc63gvalfrzpglrb7tox3z"]],
        no: &[&["hcaik_short"]],
        ..RULE
    },
    SecretRule {
        id: "statsig-key",
        what: "Statsig server secret",
        literals: &["secret-"],
        pattern: "secret-[A-Za-z0-9]{40,50}",
        after: After::NoToken,
        check: MatchCheck::Generated,
        glance: LiteralCheck::Run(47),
        span: 120,
        yes: &[&["se", "cret-82oqkz94Zprx4hrP3xAuYUX7xr36680mAE6hOOtDMZx"]],
        no: &[&["secret-short"]],
        ..RULE
    },
    SecretRule {
        id: "firebase-server-key",
        what: "Firebase messaging server key",
        literals: &[":APA91b"],
        pattern: ":APA91b[A-Za-z0-9_-]{120,150}",
        lead: Lead::Token { min: 11, max: 11 },
        after: After::NoToken,
        span: 180,
        yes: &[&[
            "AA",
            "AAj0sswNE:APA91bYFTRXmdTAvk-wlDDLORCfCJ0EbaFgM9avgAJAs7icvIu1W8H4KwtAV-1_On",
            "HJqOcSBaNeLtqSxqTqt62Vvs2NuM5CN52D9K6VkuqBhiRPTEP4d_BAJuJqcKd_f_r5j5ed8ld4c",
        ]],
        no: &[&[":APA91bx"]],
        ..RULE
    },
    SecretRule {
        id: "minisign-key",
        what: "minisign secret key",
        literals: &["RWRTY0Iy"],
        pattern: "RWRTY0Iy[A-Za-z0-9+/]{180,220}={0,2}",
        after: After::NoBase64,
        span: 260,
        yes: &[&[
            "RW",
            "RTY0IyZHu1cRoJ/09Hc7bI01du3xVfbkquAKTZbM8jjfP+5xvNBsRiuAeatBLPkNQiL7mK",
            "Di0V/lJQSbMVT+xUTu0i+wlzE1+ZAd3UJEqmxwNJ5PZLwQGfzKLoe2r5E87vUoGPHWoEMz",
            "agJWiyWUYtyCQMrqI7GN6jYVIAVfLFYbYB94N1rJBeYk4zpL/MHGSizCwSmWWfqd/caGTi",
        ]],
        no: &[&["RWRTY0Iyshort"]],
        ..RULE
    },
];

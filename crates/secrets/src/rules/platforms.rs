//! Platforms that programs and their data are hosted on.

use crate::rule::{After, PrecedingByte, RULE, SecretRule};

/// Rules of this table.
pub(super) const RULES: &[SecretRule] = &[
    SecretRule {
        id: "digitalocean-token",
        what: "DigitalOcean token",
        literals: &["dop_v1_", "doo_v1_", "dor_v1_"],
        pattern: "do[opr]_v1_[a-f0-9]{64}",
        span: 100,
        yes: &[
            &["do", "p_v1_91c319e39330c5db48eb506fbfc10", "2ae58dcf307e3599a0dde4cb4fcfd2add26"],
            &["do", "o_v1_547fd58b32c19b9520e63aff313b3", "1d93fc801e8d29502570e80852987614fe9"],
        ],
        no: &[&["do", "p_v1_f04da81cb16231d06265f9ade1fdb", "e2e57415686ad7ce15d593a619672a0207"]],
        ..RULE
    },
    SecretRule {
        id: "heroku-key",
        what: "Heroku API key",
        literals: &["HRKU-"],
        pattern: "HRKU-(?:AA[A-Za-z0-9_-]{58}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})",
        after: After::NoToken,
        span: 100,
        yes: &[
            &["HR", "KU-AATZQUmdsc2coPyvKoKSoA0g-4Qz", "Nai54sn9ajtmbGD6s9ZmemgBpcWXK6NS"],
            &["HR", "KU-6883e059-c4ff-4d", "b1-ac45-c9ac60e228a7"],
        ],
        no: &[&["HR", "KU-Y8WPflKf"]],
        ..RULE
    },
    SecretRule {
        id: "heroku-named-key",
        what: "Heroku API key, after its name",
        literals: &["heroku_api_key", "heroku_api_token", "heroku-api-key", "heroku_key"],
        fold: true,
        pattern: r#"heroku[_-](?:api[_-])?(?:key|token)["'\])]{0,3}\s{0,5}[=:,>]{1,2}\s{0,5}["'`]?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"#,
        before: PrecedingByte::Anything,
        span: 100,
        yes: &[&["HEROKU_", "API_KEY=6ee80afb-183f-", "4bc7-a31c-9d6e73f307ec"]],
        no: &[&["heroku_app_id=932831ac-aff2-4272-a81d-6ea98f2e3a0e"]],
        ..RULE
    },
    SecretRule {
        id: "cloudflare-token",
        what: "Cloudflare API credential",
        literals: &["cfk_", "cfut_", "cfat_"],
        pattern: "cf(?:k|ut|at)_[A-Za-z0-9_-]{40,64}",
        after: After::NoToken,
        span: 80,
        yes: &[&["cf", "ut_6ynz4T7Wz2wRvecsV4QRGX", "2K8aBQ0qrtThly6BJb8gwbNWgS"]],
        no: &[&["cf", "ut_maH4aC7Ud0"]],
        ..RULE
    },
    SecretRule {
        id: "cloudflare-named-token",
        what: "Cloudflare API credential, after its name",
        literals: &["cloudflare", "cf_api_", "x-auth-key"],
        fold: true,
        pattern: r#"(?:c(?:loudflare[_-]?(?:api[_-]?(?:token|key)|token|key|global[_-]?api[_-]?key)|f_api_(?:token|key))|x-auth-key)["'\])]{0,3}\s{0,5}[=:,>]{1,2}\s{0,5}["'`]?([A-Za-z0-9_-]{37,40})"#,
        before: PrecedingByte::Anything,
        after: After::NoToken,
        span: 120,
        yes: &[
            &["CLOUDFLARE_", "API_TOKEN=RixXkEJWDHXX6h0", "8JntyRyV6diEiDp5wUb6HtugR"],
            &["X-Auth-", "Key: a82f7445b7dcc007", "5d7e40731ca6e27b6b2fe"],
        ],
        no: &[&["cloudflare_zone_id = 1cacb502f089e0b1297679d0cd4754b1"]],
        ..RULE
    },
    SecretRule {
        id: "cloudflare-origin-ca-key",
        what: "Cloudflare origin CA key",
        literals: &["v1.0-"],
        pattern: r"v1\.0-[a-f0-9]{24}-[a-f0-9]{146}",
        span: 200,
        yes: &[&[
            "v1.",
            "0-d264fa8213407573132d3ff7-5161036b0c988f9b2c05b7892f7d9705d12b154edea74b118efeccfbdb1",
            "e82a3711c9bd10026cd871b55b421b70ef5d8ce771846ad3fdb7c87110ba0053e154d401e326b6f77c3a043",
        ]],
        no: &[&["v1.0-beta"]],
        ..RULE
    },
    SecretRule {
        id: "databricks-token",
        what: "Databricks token",
        literals: &["dapi"],
        pattern: "dapi[a-f0-9]{32}(?:-[0-9])?",
        span: 48,
        yes: &[&["da", "pi5dd9ebdf91630aad7f0ac26230d971be"], &["da", "pib6e3384566e46fae712d330c0e32875f-2"]],
        no: &[&["da", "pi6c9f612fccb370a610075cd86e30a8b"]],
        ..RULE
    },
    SecretRule {
        id: "fly-token",
        what: "Fly.io token",
        literals: &["fm1r_", "fm1a_", "fm2_", "fo1_"],
        pattern: "(?:fo1_[A-Za-z0-9_-]{43}|fm(?:1[ar]|2)_[A-Za-z0-9+/=,_-]{100,})",
        after: After::NoToken,
        span: 1600,
        yes: &[
            &["fo", "1_eYnWa-pRwt8Js2kRiSDx", "yJ3Cbggdhxihx379Bx5zren"],
            &[
                "fm",
                "2_t2IoERR9yZdgvqcqoVF0Jumqz4nGiazwzly91pqyQYQDlLUSMOiS+MKjzVTO8Q5vMP25HCWUZuv+pYBEgEFceXx1wbZH0WqnJ5f",
                "FumBYn6Pz7MydARX8jTF0DbjcAX0zLJD04XFSlvv+lGcJhfcocNoayMIpj1n5WOB9+v4uzJE4peSUQF6L4LDX6jmCHTD+Yh9WK9nx",
            ],
        ],
        no: &[&["fo", "1_pRJzN"]],
        ..RULE
    },
    SecretRule {
        id: "netlify-token",
        what: "Netlify personal access token",
        literals: &["nfp_"],
        pattern: "nfp_[A-Za-z0-9]{36}",
        span: 48,
        yes: &[&["nf", "p_3Dox7WtTx1iHMWqTp", "jouROLgGgjMAIyk1ULt"]],
        no: &[&["nf", "p_mEGDEckq"]],
        ..RULE
    },
    SecretRule {
        id: "render-key",
        what: "Render API key",
        literals: &["rnd_"],
        pattern: "rnd_[A-Za-z0-9]{28,32}",
        span: 48,
        yes: &[&["rn", "d_RKW8SQT9fM7m7SCITusOZv5z7EQr"]],
        no: &[&["rn", "d_yYjHq2lG"]],
        ..RULE
    },
    SecretRule {
        id: "vercel-token",
        what: "Vercel token",
        literals: &["vercel_blob_rw_", "vcp_"],
        pattern: "(?:vercel_blob_rw_[A-Za-z0-9]{16}_[A-Za-z0-9]{30}|vcp_[A-Za-z0-9]{56})",
        span: 80,
        yes: &[
            &["vercel_blob", "_rw_ktygBrnTmsLnjHIc_m2Vs", "m1BWucT4hnonLtTZLfVzZ3FAho"],
            &["vc", "p_EqltBSqENgp7G2TeSYtUhJj3MBh", "kLhHZt645yTFmctG8GbPKhUf6Hkgs"],
        ],
        no: &[&["vc", "p_N4qmu5sB"]],
        ..RULE
    },
    SecretRule {
        id: "planetscale-token",
        what: "PlanetScale credential",
        literals: &["pscale_tkn_", "pscale_pw_", "pscale_oauth_"],
        pattern: "pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_=.-]{32,64}",
        after: After::NoToken,
        span: 100,
        yes: &[
            &["pscale_", "tkn_fVg-p9i_if8OpHR3-Om", "lLcJi2O2RN5Q41plNbzu18uK"],
            &["pscale_", "pw_V6vtVGOqHFSvHYn91DK3", "kzNUUnhU1FP-J4p-N-QbtOp"],
        ],
        no: &[&["pscale_pw_short"]],
        ..RULE
    },
    SecretRule {
        id: "supabase-key",
        what: "Supabase key",
        literals: &["sbp_", "sb_secret_"],
        pattern: "(?:sbp_[a-f0-9]{40}|sb_secret_[A-Za-z0-9_-]{22,40})",
        after: After::NoToken,
        span: 64,
        yes: &[
            &["sb", "p_47a96879d043a560196", "19c528181b7a36d9b7986"],
            &["sb_sec", "ret_1ttitsbmTz3w1bX-nET4Rav6tw2y_iW"],
        ],
        no: &[&["sb", "p_d39aba1f"]],
        ..RULE
    },
    SecretRule {
        id: "neon-key",
        what: "Neon API key",
        literals: &["napi_"],
        pattern: "napi_[a-z0-9]{64}",
        span: 80,
        yes: &[&["na", "pi_1lwx5liuccm4cddca2w0hzu0714fer", "75g7frp2odu4sg3aokl3dpxp1h56c3dabs"]],
        no: &[&["na", "pi_547lvgbkq"]],
        ..RULE
    },
];

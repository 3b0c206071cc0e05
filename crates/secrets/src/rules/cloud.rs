//! The large clouds.

use crate::rule::{After, Lead, PrecedingByte, RULE, SecretRule};

/// Rules of this table.
pub(super) const RULES: &[SecretRule] = &[
    SecretRule {
        id: "aws-access-key-id",
        what: "AWS access key id",
        literals: &["AKIA", "ASIA", "ABIA", "ACCA"],
        pattern: "(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}",
        span: 32,
        yes: &[&["AK", "IA74XAARNP5VB6WG4M"], &["aws_access_key_id = AS", "IA5KDJDTU7VIHMY5HE"]],
        no: &[
            &["AK", "IAIOSFODNN7EXAMPLE"],
            &["xAK", "IAKZZSML4XZTDEHECR"],
            &["AK", "IAVF6MH2UWNUFHO6E"],
            &["AK", "IAG6PMHVBTDBWSRSN4Q"],
        ],
        ..RULE
    },
    SecretRule {
        id: "aws-secret-access-key",
        what: "AWS secret access key, after its name",
        literals: &["secret_access_key", "SecretAccessKey", "secret-access-key", "aws_secret_key", "aws_secret"],
        fold: true,
        pattern: r#"(?:aws[_-]?secret[_-]?(?:access[_-]?key|key)|secret[_-]?access[_-]?key)["'\])]{0,3}\s{0,5}[=:,>]{1,2}\s{0,5}["'`]?([A-Za-z0-9/+]{40})"#,
        before: PrecedingByte::Anything,
        after: After::NoBase64,
        span: 120,
        yes: &[
            &["aws_secret_", "access_key = mGYskvqZAHHsf", "1BrjW/nap9wl3DsOH1ucZEXIfPz"],
            &["\"Secret", "AccessKey\": \"XuHG/fMFLWg8Uq", "sJ/0wOfidAFzALLV1tesSRZc8N\""],
            &["AWS_SECRET_", "ACCESS_KEY=4OrBw7j23bheJY", "Jt4wxuvw07fr7acufW0ciu1fLr"],
        ],
        no: &[
            &["aws_secret_", "access_key = wJalrXUtnFEMI", "/K7MDENG/bPxRfiCYEXAMPLEKEY"],
            &["aws_secret_access_key_id = none"],
        ],
        ..RULE
    },
    SecretRule {
        id: "aws-session-token",
        what: "AWS session token, after its name",
        literals: &["aws_session_token", "SessionToken", "session_token"],
        fold: true,
        pattern: r#"(?:aws_)?session[_-]?token["'\])]{0,3}\s{0,5}[=:,>]{1,2}\s{0,5}["'`]?([A-Za-z0-9/+][A-Za-z0-9/+=]{100,})"#,
        before: PrecedingByte::Anything,
        after: After::NoBase64,
        span: 2100,
        yes: &[&[
            "aws_",
            "session_token = yGR+DkYzvbBQ6BMaCmKyFKeU/czDdPF2FGq4ahHwmnWaJw2yYrszqXsTMOF6YMSejVEfTS+Vu",
            "qcV/8lphUyA09ZKZRuZhi8cs3czXNGIJWVSnORFOx+1O9F99DrvW9A/oot6YOq5ueHhYYI0k3AVdkMU/aaq2U3k==",
        ]],
        no: &[&["session_token = d21MRYpL9JfRKuGshpjA"]],
        ..RULE
    },
    SecretRule {
        id: "aws-bedrock-key",
        what: "AWS Bedrock API key",
        literals: &["ABSK"],
        pattern: "ABSK[A-Za-z0-9+/]{109,}={0,2}",
        after: After::NoBase64,
        span: 300,
        yes: &[&[
            "AB",
            "SK4Xw7IrojTtVn6gwVUD8sYUrY45coDRJAh+DVyODUUuO7v+l51R+k4H3C1/QvrDc",
            "//uudQ4OzTaJXDfNJsUhg2Dw/sImr4knFHYo4wDsan408tj0KQ/iwRgiRFYt3EdvR=",
        ]],
        no: &[&["AB", "SKazfk6pIqlWDxGQCJWE2y"]],
        ..RULE
    },
    SecretRule {
        id: "google-api-key",
        what: "Google API key",
        literals: &["AIza"],
        pattern: "AIza[A-Za-z0-9_-]{35}",
        after: After::NoToken,
        span: 48,
        yes: &[&["AI", "za7yxWi8N4cXtQnMjW", "M2JLA3ox98e-ArWiw66"]],
        no: &[&["AI", "zaTTDn3109rMTli8MbM", "_f3OKehNTaCIwaGwgiQ"], &["AI", "zaSyExampleExampleExampleExampleExam"]],
        ..RULE
    },
    SecretRule {
        id: "google-oauth-secret",
        what: "Google OAuth client secret",
        literals: &["GOCSPX-"],
        pattern: "GOCSPX-[A-Za-z0-9_-]{28}",
        after: After::NoToken,
        span: 48,
        yes: &[&["GOC", "SPX-olQnidNjSlnKznPygYNjQIV0fx6T"]],
        no: &[&["GOC", "SPX-AuEdWqjIAvfR"]],
        ..RULE
    },
    SecretRule {
        id: "google-oauth-token",
        what: "Google OAuth access token",
        literals: &["ya29."],
        pattern: r"ya29\.[A-Za-z0-9_-]{30,}",
        after: After::NoToken,
        span: 1040,
        yes: &[&[
            "ya",
            "29.a0o8dBdoURAHX0ZhKRuDVSU7PrvI_-7J8N02tSBcKg81mpjq0WDWMcnd4hq",
            "s6rwONnJlG7K1zffocj9l8Vad4kEMcY1e5T8TYsHCwpT7GGseLUepYB0A6VPxO9",
        ]],
        no: &[&["ya", "29.short"]],
        ..RULE
    },
    SecretRule {
        id: "google-refresh-token",
        what: "Google OAuth refresh token",
        literals: &["1//0"],
        pattern: "1//0[A-Za-z0-9_-]{40,}",
        after: After::NoToken,
        span: 320,
        yes: &[&["1/", "/0ENc9TxGKcFngAsUDxqWLF6O3tZLTe", "hyTSATqsnAbuSJj_j_cliTJARo4embs"]],
        no: &[&["1/", "/0/path"]],
        ..RULE
    },
    SecretRule {
        id: "gcp-service-account-key",
        what: "Private key in a Google service account file",
        literals: &["private_key"],
        pattern: r#"private_key["'\\]{1,3}\s{0,5}:\s{0,5}\\{0,2}"-----BEGIN PRIVATE KEY-----"#,
        block: Some(60),
        before: PrecedingByte::Anything,
        after: After::Anything,
        span: 16384,
        yes: &[&[
            "\"private_",
            "key\": \"-----BEGIN PRIVATE",
            " KEY-----\\nQmtz7iTwGwvDX+YpJSRe4U0q39j+LWPk7V/5ogc1+vMkZxP9zkOaYUCCT3I2oocV\\n9MLjvbUqqXKemoCVVpEd93mY",
            "xPpveJNB5h+ttdD8wUb7fJJHQjLxxOOe7NvfK3Hk\\nQPxuJJE8QdRbvwZLHLT7ko0Giarm0SWALqeLrsVC==\\n-----END PRIVATE",
            " KEY-----\\n\"",
        ]],
        no: &[&["\"private_", "key_id\": \"10985c403d3b2ce", "c2358f250aab26a1933d7d632\""]],
        ..RULE
    },
    SecretRule {
        id: "azure-storage-key",
        what: "Azure storage account key in a connection string",
        literals: &["AccountKey"],
        fold: true,
        pattern: r#"AccountKey["']?\s{0,3}[=:]\s{0,3}["']?([A-Za-z0-9+/]{86}==)"#,
        before: PrecedingByte::Anything,
        span: 120,
        yes: &[&[
            "AccountName=logs;Account",
            "Key=S3arC7qp/2z3ELPfC6wIGe8Q+2CkWrJ9GTG5eqEntlPxdYYQx8YzurN9vz",
            "sz9kdx1ua/mRlXpLlyGOqcYB40+r==;EndpointSuffix=core.windows.net",
        ]],
        no: &[
            &[
                "Account",
                "Key=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSR",
                "Z6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==",
            ],
            &["AccountKey=REPLACE"],
        ],
        ..RULE
    },
    SecretRule {
        id: "azure-shared-access-key",
        what: "Azure Service Bus or Event Hubs key in a connection string",
        literals: &["SharedAccessKey="],
        fold: true,
        pattern: "SharedAccessKey=([A-Za-z0-9+/]{43}=)",
        before: PrecedingByte::Anything,
        span: 80,
        yes: &[&["SharedAccessKeyName=root;Shared", "AccessKey=mVUGTprgIwG/OhjyH", "4GzQoNvdZrqyLD04RNm7GemQdd="]],
        no: &[&["SharedAccessKey=<key>"]],
        ..RULE
    },
    SecretRule {
        id: "azure-sas",
        what: "Signature of an Azure shared access URL",
        literals: &["&sig=", "?sig="],
        pattern: "[?&]sig=([A-Za-z0-9+/%]{43,80}=?)",
        before: PrecedingByte::Anything,
        after: After::Anything,
        span: 120,
        yes: &[&["?sv=2024-08-04&ss=b&s", "ig=FESPSqxLVJiMLpa15SbJFOqii", "EbfPIxo6nwql1odDxO%3D&se=2026"]],
        no: &[&["?sig=abc"]],
        ..RULE
    },
    SecretRule {
        id: "azure-client-secret",
        what: "Azure client secret",
        literals: &["7Q~", "8Q~"],
        pattern: "[78]Q~[A-Za-z0-9_~.-]{31,34}",
        lead: Lead::Token { min: 3, max: 3 },
        after: After::NoToken,
        span: 60,
        yes: &[&["ExC8", "Q~Df_yVkeFXmABXpjZQ2HhNjrl2GCl2tz"]],
        no: &[&["8", "Q~bVQdJcSjDP"]],
        ..RULE
    },
    SecretRule {
        id: "azure-devops-token",
        what: "Azure DevOps personal access token",
        literals: &["AZDO"],
        pattern: "AZDO[A-Za-z0-9]{4}",
        lead: Lead::Token { min: 76, max: 76 },
        span: 16,
        yes: &[&["J9KuLNxdC1aeJbR2uZQvbr1rj5ZOmZzIhCGO1KE", "LaG7gDQy3lC4hDkY4S2w7Ac4sbRb9o7uQan2zAZ", "DOnIHr"]],
        no: &[&["AZ", "DOMbod"]],
        ..RULE
    },
    SecretRule {
        id: "azure-service-key",
        what: "Azure key that names itself",
        literals: &["JQQJ99", "AzSe"],
        pattern: "(?:JQQJ99[A-Za-z0-9]{26}|AzSe[A-Za-z0-9]{6})",
        lead: Lead::Token { min: 42, max: 52 },
        span: 48,
        yes: &[
            &["vdxRRT6dDImrUKZ7VDFqt28GyT5", "Dm87ISCHcBz1Fq97FriKlHpr9JQ", "QJ99mPJjAVcYKewlA0XDg3wmtKd4oh"],
            &["mGFtV0A5ziXrpii3ZcO6zm", "nagY8VpobfDM0Qp1ai4XAz", "SeoaATDF"],
        ],
        no: &[&["JQ", "QJ997QD8PRlnY1sIb0iDsNkm8ypOiU"]],
        ..RULE
    },
    SecretRule {
        id: "alibaba-access-key",
        what: "Alibaba Cloud access key id",
        literals: &["LTAI"],
        pattern: "LTAI[A-Za-z0-9]{16,20}",
        span: 40,
        yes: &[&["LT", "AITIt4wSC494RyYjKsruXE"]],
        no: &[&["LT", "AIqKZO"]],
        ..RULE
    },
];

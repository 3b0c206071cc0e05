//! The kinds of secrets that are planted.
//!
//! Made from what vendors and formats say of themselves in public: the prefixes, alphabets, lengths and checksums in
//! their documentation, announcements and RFCs, and how people usually write them down. Nothing here is taken from the
//! rules, nor the rules from here; a kind that the rules do not know would belong here all the same.

use super::random::{ALNUM, BASE64, DIGITS, HEX, Random, UPPER, URL_SAFE};

/// A secret as it would be written down.
#[derive(Debug)]
pub struct Secret {
    pub kind: &'static str,
    /// The name it is given, where the value alone says nothing.
    pub name: Option<&'static str>,
    pub value: String,
}

const BASE32: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const UPPER_DIGITS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const BECH32: &str = "023456789ACDEFGHJKLMNPQRSTUVWXYZ";

type Make = fn(&mut Random) -> String;

/// Prefixes are in pieces, so that this file holds nothing that looks like a secret itself.
fn join(pieces: &[&str]) -> String {
    pieces.concat()
}

/// One secret of each kind.
pub fn all(random: &mut Random) -> Vec<Secret> {
    let bare = BARE.iter().map(|(kind, make)| (*kind, None, *make));
    let named = NAMED.iter().map(|(kind, name, make)| (*kind, Some(*name), *make));
    let made = bare.chain(named).map(|(kind, name, make)| Secret { kind, name, value: make(random) });
    made.collect()
}

/// Kinds that are recognised without context.
const BARE: &[(&str, Make)] = &[
    ("aws access key id", |r| join(&["AK", "IA", &r.text(BASE32, 16)])),
    ("gcp service account", service_account),
    ("azure connection string", |r| {
        let (account, key) = (r.text("abcdefghij0123456789", 10), r.text(BASE64, 86));
        format!(
            "DefaultEndpointsProtocol=https;AccountName={account};Account{}={key}==;EndpointSuffix=core.windows.net",
            "Key"
        )
    }),
    ("azure client secret", |r| format!("{}8{}~{}", r.text(ALNUM, 3), "Q", r.text(URL_SAFE, 34))),
    ("github personal token", |r| with_checksum(&["gh", "p_"], r)),
    ("github app token", |r| with_checksum(&["gh", "s_"], r)),
    ("github oauth token", |r| with_checksum(&["gh", "o_"], r)),
    ("github fine-grained token", |r| join(&["github", "_pat_", &r.text(ALNUM, 22), "_", &r.text(ALNUM, 59)])),
    ("gitlab token", |r| join(&["gl", "pat-", &r.text(URL_SAFE, 20)])),
    ("slack bot token", |r| {
        format!("{}b-{}-{}-{}", join(&["xo", "x"]), number(r, 12), number(r, 13), r.text(ALNUM, 24))
    }),
    ("slack user token", |r| {
        format!("{}p-{}-{}-{}-{}", join(&["xo", "x"]), number(r, 12), number(r, 12), number(r, 13), r.text(HEX, 32))
    }),
    ("slack app token", |r| {
        format!("{}-1-A{}-{}-{}", join(&["xa", "pp"]), r.text(UPPER_DIGITS, 10), number(r, 13), r.text(HEX, 64))
    }),
    ("slack webhook", |r| {
        let host = join(&["https://hooks.", "slack.com/", "services"]);
        format!("{host}/T{}/B{}/{}", r.text(UPPER_DIGITS, 10), r.text(UPPER_DIGITS, 10), r.text(ALNUM, 24))
    }),
    ("stripe secret key", |r| join(&["sk_", "live_51", &r.text(ALNUM, 97)])),
    ("stripe restricted key", |r| join(&["rk_", "live_", &r.text(ALNUM, 24)])),
    ("sendgrid key", |r| format!("{}.{}.{}", join(&["S", "G"]), r.text(URL_SAFE, 22), r.text(URL_SAFE, 43))),
    ("mailgun key", |r| join(&["ke", "y-", &r.text(HEX, 32)])),
    ("npm token", |r| with_checksum(&["np", "m_"], r)),
    ("pypi token", |r| join(&["pyp", "i-AgEIcHlwaS5vcmc", &r.text(URL_SAFE, 150)])),
    ("crates.io token", |r| join(&["ci", "o", &r.text(ALNUM, 32)])),
    ("rubygems key", |r| join(&["ruby", "gems_", &r.text(HEX, 48)])),
    ("docker hub token", |r| join(&["dckr", "_pat_", &r.text(URL_SAFE, 27)])),
    ("openai key, older", |r| {
        format!("{}{}T3Blbk{}{}", join(&["s", "k-"]), r.text(ALNUM, 20), "FJ", r.text(ALNUM, 20))
    }),
    ("openai project key", |r| {
        format!("{}{}T3Blbk{}{}", join(&["sk", "-proj-"]), r.text(URL_SAFE, 74), "FJ", r.text(URL_SAFE, 74))
    }),
    ("anthropic key", |r| format!("{}{}AA", join(&["sk-", "ant-", "api03-"]), r.text(URL_SAFE, 93))),
    ("google api key", |r| join(&["AI", "zaSy", &r.text(URL_SAFE, 33)])),
    ("google oauth secret", |r| join(&["GOC", "SPX-", &r.text(URL_SAFE, 28)])),
    ("hugging face token", |r| join(&["h", "f_", &r.text(&ALNUM[..52], 34)])),
    ("groq key", |r| join(&["gs", "k_", &r.text(ALNUM, 52)])),
    ("telegram bot token", |r| format!("{}:A{}{}", number(r, 10), "A", r.text(URL_SAFE, 33))),
    ("discord webhook", |r| {
        format!("{}/{}/{}", join(&["https://discord.com/", "api/web", "hooks"]), number(r, 19), r.text(URL_SAFE, 68))
    }),
    ("digitalocean token", |r| join(&["do", "p_v1_", &r.text(HEX, 64)])),
    ("heroku key", |r| join(&["HR", "KU-AA", &r.text(URL_SAFE, 58)])),
    ("new relic key", |r| join(&["NR", "AK-", &r.text(UPPER_DIGITS, 27)])),
    ("sentry dsn", |r| format!("https://{}@o{}.ingest.us.sentry.io/{}", r.text(HEX, 32), number(r, 6), number(r, 16))),
    ("square token", |r| join(&["sq0", "atp-", &r.text(URL_SAFE, 22)])),
    ("shopify token", |r| join(&["shp", "at_", &r.text(HEX, 32)])),
    ("linear key", |r| join(&["lin_", "api_", &r.text(ALNUM, 40)])),
    ("notion token", |r| join(&["nt", "n_", &r.text(DIGITS, 11), &r.text(ALNUM, 35)])),
    ("atlassian token", |r| {
        format!("{}{}={}", join(&["ATATT3", "xFfGF0"]), r.text(URL_SAFE, 171), r.text(&HEX.to_uppercase(), 8))
    }),
    ("figma token", |r| join(&["fi", "gd_", &r.text(URL_SAFE, 40)])),
    ("vault token", |r| join(&["hv", "s.CAES", &r.text(URL_SAFE, 90)])),
    ("terraform cloud token", |r| format!("{}.atlas{}.{}", r.text(ALNUM, 14), "v1", r.text(ALNUM, 67))),
    ("databricks token", |r| join(&["da", "pi", &r.text(HEX, 32)])),
    ("planetscale password", |r| join(&["pscale", "_pw_", &r.text(ALNUM, 43)])),
    ("supabase token", |r| join(&["sb", "p_", &r.text(HEX, 40)])),
    ("grafana token", |r| format!("{}{}_{}", join(&["gl", "sa_"]), r.text(ALNUM, 32), r.text(HEX, 8))),
    ("json web token", json_web_token),
    ("rsa private key", |r| pem("RSA PRIVATE", "MIIEpAIBAAKCAQEA", 24, r)),
    ("openssh private key", |r| pem("OPENSSH PRIVATE", "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ", 5, r)),
    ("ec private key", |r| pem("EC PRIVATE", "MHcCAQEEI", 2, r)),
    ("pgp private key", |r| pem("PGP PRIVATE", "lQVYBGM", 40, r).replace(" KEY-", " KEY BLOCK-")),
    ("url with password", |r| format!("https://deploy:{}@git.{}.net/app.git", password(r), r.text("abcdefgh", 6))),
    ("database url", |r| format!("postgresql://app:{}@db-{}.internal:5432/app", password(r), number(r, 2))),
    ("bearer header", |r| format!("Authorization: Bearer {}", r.text(ALNUM, 40))),
    ("netrc", |r| format!("machine api.{}.io\n  login robot\n  password {}", r.text("abcdefgh", 5), password(r))),
    ("pgpass", |r| format!("db{}.internal:5432:orders:app:{}", number(r, 2), password(r))),
    ("kubeconfig client key", |r| {
        let key = pem("RSA PRIVATE", "MIIEowIBAAKCAQEA", 24, r);
        format!("client-key-data: {}", super::encode::base64(key.as_bytes(), true))
    }),
    ("age key", |r| format!("{}1{}", join(&["AGE-SECRET", "-KEY-"]), r.text(BECH32, 58))),
];

/// Those that only their names give away.
const NAMED: &[(&str, &str, Make)] = &[
    ("aws secret access key", "AWS_SECRET_ACCESS_KEY", |r| r.text(BASE64, 40)),
    ("twilio auth token", "TWILIO_AUTH_TOKEN", |r| r.text(HEX, 32)),
    ("discord bot token", "DISCORD_TOKEN", |r| {
        let id = super::encode::base64(number(r, 19).as_bytes(), false);
        format!("{id}.{}.{}", r.text(URL_SAFE, 6), r.text(URL_SAFE, 38))
    }),
    ("cloudflare token", "CLOUDFLARE_API_TOKEN", |r| r.text(URL_SAFE, 40)),
    ("datadog key", "DD_API_KEY", |r| r.text(HEX, 32)),
    ("rails master key", "RAILS_MASTER_KEY", |r| r.text(HEX, 32)),
    ("password", "DB_PASSWORD", password),
    ("api key", "INTERNAL_API_KEY", |r| r.text(ALNUM, 32)),
    ("client secret", "OAUTH_CLIENT_SECRET", |r| r.text(URL_SAFE, 43)),
];

fn number(random: &mut Random, len: usize) -> String {
    format!("{}{}", random.text("123456789", 1), random.text(DIGITS, len - 1))
}

/// A password as a password manager suggests it.
fn password(random: &mut Random) -> String {
    let parts =
        [random.text(ALNUM, 9), random.text("!*-_.", 1), random.text(DIGITS, 2), random.text(&UPPER.to_lowercase(), 5)];
    parts.concat()
}

/// GitHub and npm end a token with six digits in base 62: the CRC-32 of the thirty characters before them.
fn with_checksum(prefix: &[&str], random: &mut Random) -> String {
    let body = random.text(ALNUM, 30);
    let mut sum = body.bytes().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg()))
    }) ^ u32::MAX;
    let mut digits = [b'0'; 6];
    for digit in digits.iter_mut().rev() {
        *digit = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"[(sum % 62) as usize];
        sum /= 62;
    }
    format!("{}{body}{}", prefix.concat(), String::from_utf8_lossy(&digits))
}

fn pem(kind: &str, opening: &str, lines: usize, random: &mut Random) -> String {
    let mut text = format!("-----BEGIN {kind} {}-----\n{opening}{}\n", "KEY", random.text(BASE64, 64 - opening.len()));
    for _ in 0..lines {
        text += &format!("{}\n", random.text(BASE64, 64));
    }
    text + &format!("{}==\n-----END {kind} {}-----", random.text(BASE64, 26), "KEY")
}

fn service_account(random: &mut Random) -> String {
    let key = pem("PRIVATE", "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC", 24, random).replace('\n', "\\n");
    let (id, project) = (random.text(HEX, 40), random.text("abcdefgh", 8));
    format!(
        "{{\"type\": \"service_account\", \"project_id\": \"{project}\", \"private_key_id\": \"{id}\", \"private_key\": \"{key}\\n\", \
         \"client_email\": \"robot@{project}.iam.gserviceaccount.com\"}}"
    )
}

fn json_web_token(random: &mut Random) -> String {
    let part = |text: &str| super::encode::base64_url(text.as_bytes());
    let payload = format!("{{\"sub\":\"{}\",\"name\":\"robot\",\"iat\":17{}}}", number(random, 9), number(random, 8));
    format!("{}.{}.{}", part("{\"alg\":\"RS256\",\"typ\":\"JWT\"}"), part(&payload), random.text(URL_SAFE, 86))
}

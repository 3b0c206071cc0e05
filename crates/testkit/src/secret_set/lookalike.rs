//! Text that holds no secret and much that looks like one.
//!
//! Each family is a kind of file that repositories and runs are full of: lock files, logs, minified programs, pictures
//! in base64, certificates, test fixtures, documentation with placeholders. All of it is made from a seed.

use super::encode;
use super::planted::noise;
use super::random::{ALNUM, BASE64, DIGITS, HEX, Random, URL_SAFE};

/// Adds a few lines of its kind.
type Family = fn(&mut Random) -> String;

const FAMILIES: &[(&str, Family)] = &[
    ("service.log", |r| noise(r, 8)),
    ("package-lock.json", package_lock),
    ("Cargo.lock", cargo_lock),
    ("go.sum", go_sum),
    ("history.txt", history),
    ("bundle.min.js", minified),
    ("page.html", page),
    ("chain.pem", certificate),
    ("fixtures.py", fixtures),
    ("README.md", documentation),
    ("parser.rs", parser),
    ("manifest.yaml", manifest),
    ("dump.sql", dump),
    ("state.json", state),
    ("memory.txt", memory),
    ("answers.json", answers),
    ("authorized_keys", public_keys),
    ("messages.po", messages),
];

/// A file of look-alikes.
#[derive(Debug)]
pub struct File {
    pub name: String,
    pub text: String,
}

/// At least `size` bytes of them, in files of about 64 KiB.
pub fn files(seed: u64, size: usize) -> Vec<File> {
    const FILE: usize = 64 * 1024;
    let mut random = Random::new(seed);
    let count = size.div_ceil(FILE).max(FAMILIES.len());
    let file = |number: usize| {
        let (name, family) = FAMILIES[number % FAMILIES.len()];
        let mut text = String::with_capacity(FILE + 4096);
        while text.len() < FILE {
            text += &family(&mut random);
        }
        File { name: format!("{number:04}-{name}"), text }
    };
    (0..count).map(file).collect()
}

fn word(random: &mut Random) -> String {
    random.words(1)
}

fn package_lock(r: &mut Random) -> String {
    let (name, version) =
        (format!("{}-{}", word(r), word(r)), format!("{}.{}.{}", r.below(9), r.below(30), r.below(9)));
    let integrity = encode::base64(&r.bytes(64), true);
    format!(
        "    \"node_modules/{name}\": {{\n      \"version\": \"{version}\",\n      \"resolved\": \
         \"https://registry.npmjs.org/{name}/-/{name}-{version}.tgz\",\n      \"integrity\": \"sha512-{integrity}\"\n    }},\n"
    )
}

fn cargo_lock(r: &mut Random) -> String {
    let (name, checksum) = (word(r), r.text(HEX, 64));
    format!("[[package]]\nname = \"{name}-token\"\nversion = \"0.{}.0\"\nchecksum = \"{checksum}\"\n\n", r.below(40))
}

fn go_sum(r: &mut Random) -> String {
    let (one, other) = (word(r), word(r));
    format!("github.com/{one}/{other} v1.{}.0 h1:{}\n", r.below(40), encode::base64(&r.bytes(32), true))
}

fn history(r: &mut Random) -> String {
    let (commit, tree, parent) = (r.text(HEX, 40), r.text(HEX, 40), r.text(HEX, 40));
    let words = r.words(6);
    format!(
        "commit {commit}\ntree {tree}\nparent {parent}\nindex {}..{} 100644\n\n    {words}\n\n    Change-Id: I{}\n    sha256:{}\n\n",
        r.text(HEX, 7),
        r.text(HEX, 7),
        r.text(HEX, 40),
        r.text(HEX, 64)
    )
}

fn minified(r: &mut Random) -> String {
    let mut text = String::new();
    for _ in 0..r.within(20, 60) {
        let name = r.text("abcdefghijklmnopqrstuvwxyz", 2);
        let other = r.text(ALNUM, 8);
        text += r
            .pick(&[
                "function N(e,t){return e.token=t,e}",
                "var N={type:\"password\",name:\"pwd\",secret:!0};",
                "if(N.accessToken===void 0)throw new Error(\"token missing\");",
                "N.prototype.apiKey=function(){return this._apiKey||N.defaults.apiKey};",
                "e.exports=N(\"./O.js\");",
                "N[\"client-secret\"]=O.secret;const{password:N}=O;",
                "!function(){N.exports={secretKey:\"secretKey\",tokenType:\"Bearer\"}}();",
                "(0,N.jsx)(\"input\",{type:\"password\",placeholder:\"Password1!\"}),",
                "N.headers.Authorization=\"Bearer \"+O.token,",
                "/*! sourceMappingURL=O.js.map */",
            ])
            .replace('N', &name)
            .replace('O', &other)
            .as_str();
    }
    text + "\n"
}

fn page(r: &mut Random) -> String {
    let picture = encode::base64(&[b"\x89PNG\r\n\x1a\n".to_vec(), r.bytes(900)].concat(), true);
    let (nonce, hash) = (encode::base64(&r.bytes(16), true), encode::base64(&r.bytes(48), true));
    let path: String =
        (0..40).map(|_| format!("{}{}.{} ", r.pick(&["M", "l", "c", "h"]), r.below(99), r.below(99))).collect();
    format!(
        "<script nonce=\"{nonce}\" integrity=\"sha384-{hash}\" src=\"/app.{}.js\"></script>\n<img src=\"data:image/png;base64,{picture}\">\n\
         <path d=\"{path}\"/>\n<input type=\"hidden\" name=\"csrf_token\" value=\"{}\">\n<label for=\"password\">Password:</label>\n",
        r.text(HEX, 20),
        r.text(URL_SAFE, 43)
    )
}

fn certificate(r: &mut Random) -> String {
    let body = encode::wrapped(&format!("MIIF{}==", r.text(BASE64, 1300)), 64, "\n");
    let kind = r.pick(&["CERTIFICATE", "PUBLIC KEY", "CERTIFICATE REQUEST", "PGP SIGNATURE"]);
    format!("# {}\n-----BEGIN {kind}-----\n{body}\n-----END {kind}-----\n", r.words(4))
}

fn fixtures(r: &mut Random) -> String {
    let (number, name) = (r.below(1000), word(r));
    let hash = r.text("./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", 53);
    let line = match r.below(14) {
        0 => format!("token = \"test-token-{number}\""),
        1 => format!("api_key = \"dummy-api-key-{number:06}\""),
        2 => format!("assert session.token == \"fake_token_{name}_{number}\""),
        3 => "password = \"password123\"".to_owned(),
        4 => format!("client = Client(secret=\"not-a-real-secret-{number}\", token=None)"),
        5 => format!("password_hash = \"$2b$12${hash}\""),
        6 => format!("TOKEN = \"{}\"", "0123456789abcdef".repeat(2)),
        7 => format!("secret = \"{}\"", "x".repeat(r.within(8, 40))),
        8 => "os.environ[\"API_TOKEN\"] = \"a1b2c3d4e5f6a7b8c9d0e1f2\"".to_owned(),
        9 => format!("token = {name}.get_token(scopes=[\"https://{name}.example.com/.default\"])"),
        10 => format!("request_id = \"{}\"", r.uuid()),
        11 => "monkeypatch.setenv(\"AWS_SECRET_ACCESS_KEY\", \"testing\")".to_owned(),
        12 => format!("user = User(name=\"{name}\", password=fake.password(length={}))", r.within(8, 20)),
        _ => format!("expected_sha256 = \"{}\"", r.text(HEX, 64)),
    };
    format!("    {line}\n")
}

fn documentation(r: &mut Random) -> String {
    let key = ["AK", "IAIOSFODNN7EXAMPLE"].concat();
    let secret = ["wJalrXUtnFEMI/K7MDENG", "/bPxRfiCYEXAMPLEKEY"].concat();
    let line = match r.below(16) {
        0 => format!("export AWS_ACCESS_KEY_ID={key}"),
        1 => format!("export AWS_SECRET_ACCESS_KEY={secret}"),
        2 => "export OPENAI_API_KEY=sk-...".to_owned(),
        3 => ["git clone https://x-access-token:gh", "p_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx@github.com/o/r"].concat(),
        4 => "Authorization: Bearer <YOUR_ACCESS_TOKEN>".to_owned(),
        5 => "DATABASE_URL=postgres://user:password@localhost:5432/app".to_owned(),
        6 => "slack_token: xoxb-your-token-here".to_owned(),
        7 => "curl -u \"$USER:$PASSWORD\" https://api.example.com/v2".to_owned(),
        8 => "password: ${{ secrets.DB_PASSWORD }}".to_owned(),
        9 => "api_key: \"{{ .Values.apiKey }}\"".to_owned(),
        10 => "mysql --password=<password> --user=root".to_owned(),
        11 => "stripe.api_key = \"sk_test_...\"".to_owned(),
        12 => "token = \"eyJhbGciOi...\"".to_owned(),
        13 => "redis://:changeme@redis:6379/0 and amqp://guest:guest@rabbitmq:5672/".to_owned(),
        14 => "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX".to_owned(),
        _ => "-----BEGIN RSA PRIVATE KEY-----\n...\n-----END RSA PRIVATE KEY-----".to_owned(),
    };
    format!("{}\n\n```\n{line}\n```\n", r.words(12))
}

fn parser(r: &mut Random) -> String {
    let (name, number) = (word(r), r.below(100));
    let line = match r.below(10) {
        0 => format!("let token = self.lexer.next_token({number});"),
        1 => format!("Token::Identifier{number} => self.expect(TokenKind::Colon),"),
        2 => "fn password(&self) -> Option<&SecretString> { self.password.as_ref() }".to_owned(),
        3 => format!("const SECRET_NAME_{number}: &str = \"prod/{name}-service/database-v{number}\";"),
        4 => "access_token: response.access_token.clone(),".to_owned(),
        5 => format!("api_key = env!(\"{}_API_KEY\")", name.to_uppercase()),
        6 => format!("credential: Credential::from_file(\"/run/secrets/{name}-{number}\")?,"),
        7 => "if (!token || token.expires_at < Date.now()) { token = await refreshToken(session); }".to_owned(),
        8 => format!("private_key: include_bytes!(\"../keys/{name}{number}.der\"),"),
        _ => format!("hash ^= 0x{}u64.rotate_left({number});", r.text(HEX, 16)),
    };
    format!("        {line}\n")
}

fn manifest(r: &mut Random) -> String {
    let (name, digest) = (word(r), r.text(HEX, 64));
    format!(
        "apiVersion: v1\nimage: registry.example.com/{name}@sha256:{digest}\nenv:\n  - name: DB_PASSWORD\n    valueFrom:\n      secretKeyRef:\n        \
         name: {name}-db-credentials-v{}\n        key: password\nuid: {}\nsecretName: {name}-tls-{}\nserviceAccountToken:\n  path: token\n  \
         expirationSeconds: 3607\n",
        r.below(9),
        r.uuid(),
        r.text("abcdefghijklmnopqrstuvwxyz0123456789", 5)
    )
}

fn dump(r: &mut Random) -> String {
    let (id, other, md5, name) = (r.uuid(), r.uuid(), r.text(HEX, 32), word(r));
    format!(
        "INSERT INTO events (id, parent, checksum, name) VALUES ('{id}', '{other}', '{md5}', '{name}', {});\n",
        r.below(99999)
    )
}

fn state(r: &mut Random) -> String {
    let (account, name) = (r.text(DIGITS, 12), word(r));
    format!(
        "{{\"arn\": \"arn:aws:iam::{account}:role/{name}\", \"etag\": \"\\\"{}\\\"\", \"unique_id\": \"AROA{}\", \"fingerprint\": \"{}=\", \
         \"self_link\": \"https://www.googleapis.com/compute/v1/projects/{name}\", \"key_id\": \"{}\"}},\n",
        r.text(HEX, 32),
        r.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 17),
        r.text(URL_SAFE, 11),
        r.uuid()
    )
}

fn memory(r: &mut Random) -> String {
    let groups: Vec<String> = (0..8).map(|_| r.text(HEX, 4)).collect();
    format!("{:08x}: {}  {}\n", r.below(1 << 30), groups.join(" "), r.text(ALNUM, 16))
}

fn answers(r: &mut Random) -> String {
    format!(
        "{{\"next_page_token\": \"{}\", \"sync_token\": \"{}\", \"id\": \"{}\", \"token_type\": \"bearer\", \"expires_in\": 3600, \
         \"tokens\": {}, \"prompt_tokens\": {}, \"total_tokens\": {}, \"cache_key\": \"{}\", \"public_key\": \"{}=\"}}\n",
        r.text(URL_SAFE, 60),
        r.text(URL_SAFE, 24),
        r.uuid(),
        r.below(4096),
        r.below(4096),
        r.below(9000),
        r.text(HEX, 40),
        r.text(BASE64, 43)
    )
}

fn public_keys(r: &mut Random) -> String {
    format!("ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQ{} {}@{}\n", r.text(BASE64, 510), word(r), word(r))
}

fn messages(r: &mut Random) -> String {
    let words = r.words(5);
    format!(
        "msgid \"Enter your password: {words}\"\nmsgstr \"Passwort: {words}\"\n\n#: src/{}.c:{}\n",
        word(r),
        r.below(999)
    )
}

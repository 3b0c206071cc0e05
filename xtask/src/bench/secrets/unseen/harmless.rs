//! Lines without a secret that look as if they had one.

use super::Sample;
use super::random::Random;

const VARIANTS: usize = 4;

/// Samples in which every finding is a false alarm.
pub(super) fn harmless_samples(random: &mut Random) -> Vec<Sample> {
    let mut samples = Vec::new();
    for _ in 0..VARIANTS {
        for template in LINES {
            samples.push(Sample {
                name: template.chars().take(24).filter(char::is_ascii_alphanumeric).collect(),
                text: random.fill_template(template) + "\n",
            });
        }
    }
    samples
}

#[rustfmt::skip]
const LINES: &[&str] = &[
    "private_key: ed25519.Ed25519PrivateKey",
    "def sign(private_key: rsa.RSAPrivateKey, data: bytes) -> bytes:",
    "private_key = \"/etc/ssl/private/server-{D4}.key\"",
    "ssl_certificate_key /etc/nginx/ssl/site{D3}.pem;",
    "token = self.lexer.next_token({D3})",
    "api_key = os.environ[\"API_KEY_{D2}\"]",
    "password = getpass.getpass(\"Password {D2}: \")",
    "password: ${{ secrets.DB_PASSWORD_{D2} }}",
    "password: \"{{ .Values.db{D2}.password }}\"",
    "secretKeyRef: {name: app-{L5}, key: password}",
    "export AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE # {D3}",
    "export OPENAI_API_KEY=sk-... # {D3}",
    "stripe.api_key = \"sk_test_...\" # {D3}",
    "Authorization: Bearer <token-{D2}>",
    "Authorization: Bearer YOUR_ACCESS_TOKEN_{D2}",
    "curl -u \"$USER:$PASSWORD\" https://api{D2}.internal",
    "mysql -u root -p orders{D4}",
    "docker login -u robot --password-stdin registry{D2}.internal",
    "docker run -u 1000:1000 -p 80{D2}:80 app",
    "postgres://user:password@localhost:5432/app{D2}",
    "mongodb://localhost:27017/app{D3}",
    "commit {H40}",
    "index {H7}..{H7} 100644",
    "sha256:{H64}",
    "integrity: sha512-{B86}==",
    "h1:{B43}=",
    "checksum = \"{H64}\"",
    "etag: \"{H32}\"",
    "request_id={G}",
    "trace_id={H32} span_id={H16}",
    "next_page_token: {W60}",
    "csrf_token={A40}",
    "\"public_key\": \"{B43}=\"",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{B43} robot@host",
    "-----BEGIN CERTIFICATE-----\nMIID{B60}\n{B64}\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\nMIIB{B60}\n{B64}\n-----END PUBLIC KEY-----",
    "-----BEGIN RSA PRIVATE KEY-----\n...{D2}\n-----END RSA PRIVATE KEY-----",
    "data:image/png;base64,iVBORw0KGgo{B200}",
    "password_hash = \"$2b$12${A53}\"",
    "CREATE USER app IDENTIFIED BY '<password-{D2}>';",
    "variable \"db_password\" {\n  type = string # {D3}\n}",
    "- name: DB_PASSWORD\n  valueFrom: {secretKeyRef: {name: db{D2}, key: password}}",
    "Set-Cookie: theme=dark{D2}; Path=/",
    "assert token == \"test-token-{D4}\"",
    "secret = \"not-a-real-secret-{D4}\"",
    "password = \"changeme{D3}\"",
    "api_key = \"dummy-api-key-{D6}\"",
    "tokens: {D5}, prompt_tokens: {D4}",
    "token_type: bearer{D1}",
    "cache_key = \"user:{D6}:profile\"",
    "primary_key = \"orders_{D4}_pk\"",
    "S3_KEY=exports/2026/11/report-{D6}.csv",
    "uuid: {G}",
    "machine learning login to password reset {D3}",
    "arn:aws:secretsmanager:eu-west-1:{D12}:secret:app/db-{A6}",
    "image: registry.internal/app@sha256:{H64}",
    "const TOKEN_KINDS = [\"Identifier{D2}\", \"Number\", \"String\"];",
    "secret_name = \"prod/app-{L5}/database\"",
    "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX?{D2}",
    "token: xoxb-your-token-here-{D2}",
    "GITHUB_TOKEN: ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx # {D2}",
    "redis://:changeme@redis:6379/{D1}",
    "keytool -list -storepass changeit -alias a{D2}",
    "passwordResetTokenExpiry = Duration.hours({D2})",
    "d=\"M{D2}.{D2} {D2}.{D2}L{D2} {D2}z\"",
];

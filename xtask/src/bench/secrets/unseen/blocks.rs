//! Private keys in the formats of programs, wrapped as files, logs, mails and programs wrap
//! them.

use super::Sample;
use super::random::{ALNUM, BASE64, HEX, Random};

/// Samples of every format in every wrapping.
pub(super) fn block_samples(random: &mut Random) -> Vec<Sample> {
    let mut samples = Vec::new();
    for (kind, first, lines) in KINDS {
        for (wrapping, wrap) in WRAPPINGS {
            let text = wrap(&pem(random, kind, first, *lines));
            samples.push(Sample { name: format!("{kind} {wrapping}"), text });
        }
    }
    for first in ["C", "D", "H", "P", "V"] {
        let text = encrypted(random, first);
        samples.push(Sample { name: format!("encrypted pem {first}"), text });
    }
    for (name, template) in OTHERS {
        samples.push(Sample { name: (*name).to_owned(), text: random.fill_template(template) });
    }
    samples
}

/// Kind, how its base64 begins, and how many whole lines it has.
const KINDS: &[(&str, &str, usize)] = &[
    ("RSA ", "MIIEpAIBAAKCAQEA", 24),
    ("EC ", "MHcCAQEEI", 2),
    ("", "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC", 25),
    ("OPENSSH ", "b3BlbnNzaC1rZXktdjEAAAAABG5vbmU", 5),
    ("ENCRYPTED ", "MIIFHDBOBgkqhkiG9w0BBQ0wQTAp", 26),
];

type Wrap = fn(&[String]) -> String;

const WRAPPINGS: &[(&str, Wrap)] = &[
    ("file", |lines| lines.join("\n") + "\n"),
    ("quoted mail", |lines| each(lines, "> ", "")),
    ("list", |lines| each(lines, "- ", "")),
    ("log", |lines| each(lines, "2026-11-16T08:00:11Z INFO  [worker-3] ", "")),
    ("comment", |lines| each(lines, "// ", "")),
    ("diff", |lines| each(lines, "+", "")),
    ("yaml", |lines| format!("key: |\n{}", each(lines, "    ", ""))),
    ("json", |lines| format!("{{\"key\": \"{}\"}}\n", lines.join("\\n"))),
    ("literal", |lines| format!("const KEY: &str = \"{}\\n\";\n", lines.join("\\n"))),
    ("concatenation", |lines| format!("key =\n{}", each(lines, "    \"", "\\n\" +"))),
    ("windows", |lines| lines.join("\r\n") + "\r\n"),
    ("one line", |lines| format!("KEY=\"{}\"\n", lines.join(" "))),
];

fn each(lines: &[String], before: &str, after: &str) -> String {
    lines.iter().map(|line| format!("{before}{line}{after}\n")).collect()
}

fn pem(random: &mut Random, kind: &str, first: &str, lines: usize) -> Vec<String> {
    let mut all = vec![format!("-----BEGIN {kind}PRIVATE {}-----", "KEY")];
    all.push(format!("{first}{}", random.random_text(BASE64, 64 - first.len())));
    all.extend((1..lines).map(|_| random.random_text(BASE64, 64)));
    all.push(format!("{}==", random.random_text(ALNUM, 22)));
    all.push(format!("-----END {kind}PRIVATE {}-----", "KEY"));
    all
}

/// The older form that is encrypted, whose base64 may begin with any letter.
fn encrypted(random: &mut Random, first: &str) -> String {
    let mut all = pem(random, "RSA ", first, 24);
    let iv = random.random_text(HEX, 32).to_uppercase();
    all.splice(1..1, ["Proc-Type: 4,ENCRYPTED".to_owned(), format!("DEK-Info: AES-256-CBC,{iv}"), String::new()]);
    all.join("\n")
}

#[rustfmt::skip]
const OTHERS: &[(&str, &str)] = &[
    ("putty ed25519 v2", "PuTTY-User-Key-File-2: ssh-ed25519\nEncryption: none\nComment: robot\nPublic-Lines: 2\nAAAAC3NzaC1lZDI1NTE5AAAAI{B39}\n{B4}\nPrivate-Lines: 1\nAAAAI{B43}\nPrivate-MAC: {H40}\n"),
    ("putty ed25519 v3", "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: robot\nPublic-Lines: 2\nAAAAC3NzaC1lZDI1NTE5AAAAI{B39}\n{B4}\nPrivate-Lines: 1\nAAAAI{B43}\nPrivate-MAC: {H64}\n"),
    ("putty rsa", "PuTTY-User-Key-File-3: ssh-rsa\nEncryption: none\nComment: robot\nPrivate-Lines: 4\nAAABA{B59}\n{B64}\n{B64}\n{B20}\nPrivate-MAC: {H64}\n"),
    ("jwk p-256", "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"{W43}\",\"y\":\"{W43}\",\"d\":\"{W43}\"}\n"),
    ("jwk okp", "{\"crv\": \"Ed25519\", \"d\": \"{W43}\", \"kty\": \"OKP\", \"x\": \"{W43}\"}\n"),
    ("jwk rsa", "{\"kty\":\"RSA\",\"e\":\"AQAB\",\"n\":\"{W342}\",\"d\":\"{W342}\"}\n"),
    ("jwk oct", "{\"kty\":\"oct\",\"alg\":\"HS256\",\"k\":\"{W43}\"}\n"),
    ("pgp", "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQVYBG{B58}\n{B64}\n{B64}\n={B4}\n-----END PGP PRIVATE KEY BLOCK-----\n"),
    ("ssh2", "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nComment: \"rsa-key\"\nP2/56w{B64}\n{B70}\n{B30}\n---- END SSH2 ENCRYPTED PRIVATE KEY ----\n"),
    ("openvpn", "-----BEGIN OpenVPN Static key V1-----\n{H32}\n{H32}\n{H32}\n{H32}\n{H32}\n{H32}\n{H32}\n{H32}\n-----END OpenVPN Static key V1-----\n"),
    ("rsa xml", "<RSAKeyValue><Modulus>{B171}=</Modulus><Exponent>AQAB</Exponent><D>{B171}=</D></RSAKeyValue>\n"),
];

//! Signatures of requests: AWS Signature Version 4, over every header that is given.

use contract::{Digest, Stamp};
use ring::hmac;

use crate::objects::place::BucketAccess;

/// A request that is to be signed.
pub(super) struct SignedRequestParts<'a> {
    pub(super) access: &'a BucketAccess,
    pub(super) region: &'a str,
    pub(super) method: &'a str,
    pub(super) path: &'a str,
    /// SHA-256 of the body, in hex.
    pub(super) payload: &'a str,
}

const SERVICE: &str = "s3";
const ALGORITHM: &str = "AWS4-HMAC-SHA256";

/// The headers that date and sign a request. `headers` are in the order of their names, in small letters, before `x-amz-date`.
pub(super) fn sign_request(
    signing: &SignedRequestParts<'_>,
    now: Stamp,
    headers: &[(&'static str, String)],
) -> [(&'static str, String); 2] {
    let SignedRequestParts { access, region, method, path, payload } = signing;
    let date = basic_time(now);
    let day = &date[..8];
    let dated = ("x-amz-date", date.clone());
    let all: Vec<&(&str, String)> = headers.iter().chain([&dated]).collect();
    let names = all.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(";");
    let lines: String = all.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
    let canonical = format!("{method}\n{path}\n\n{lines}\n{names}\n{payload}");
    let scope = format!("{day}/{region}/{SERVICE}/aws4_request");
    let text = format!("{ALGORITHM}\n{date}\n{scope}\n{}", Digest::of_bytes(canonical.as_bytes()));
    let secret = zeroize::Zeroizing::new(format!("AWS4{}", access.secret.as_str()));
    let parts = [day, *region, SERVICE, "aws4_request", &text];
    let signature = parts.iter().fold(secret.as_bytes().to_vec(), |key, part| {
        hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &key), part.as_bytes()).as_ref().to_vec()
    });
    let signature: String = signature.iter().map(|byte| format!("{byte:02x}")).collect();
    let key_id = &access.key_id;
    let value = format!("{ALGORITHM} Credential={key_id}/{scope}, SignedHeaders={names}, Signature={signature}");
    [dated, ("authorization", value)]
}

/// A moment as `20130524T000000Z`.
fn basic_time(now: Stamp) -> String {
    let text = now.to_string();
    let seconds = text.split('.').next().unwrap_or_default();
    let plain: String = seconds.chars().filter(|letter| letter.is_ascii_alphanumeric()).collect();
    format!("{}Z", plain.trim_end_matches('Z'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the signature's own documentation, a GET with a range.
    #[test]
    fn the_documented_example_is_signed_as_documented() {
        let access = BucketAccess {
            key_id: "AKIAIOSFODNN7EXAMPLE".to_owned(),
            secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".to_owned().into(),
        };
        let payload = Digest::of_bytes(b"").to_string();
        let headers = [
            ("host", "examplebucket.s3.amazonaws.com".to_owned()),
            ("range", "bytes=0-9".to_owned()),
            ("x-amz-content-sha256", payload.clone()),
        ];
        let signing = SignedRequestParts {
            access: &access,
            region: "us-east-1",
            method: "GET",
            path: "/test.txt",
            payload: &payload,
        };
        let [(_, date), (_, value)] = sign_request(&signing, "2013-05-24T00:00:00.000000Z".parse().unwrap(), &headers);
        assert_eq!(date, "20130524T000000Z");
        let signature = "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41";
        assert!(value.ends_with(&format!("Signature={signature}")), "{value}");
    }
}

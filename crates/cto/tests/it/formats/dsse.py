"""Checks an attestation as anybody with securesystemslib would: DSSE, ed25519, the key from our OpenSSH line.

    python dsse.py ATTESTATION HARNESS.PUB
"""
import base64
import hashlib
import json
import sys

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_ssh_public_key
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import SSlibKey

with open(sys.argv[1], encoding="utf-8") as file:
    attestation = file.read()
with open(sys.argv[2], "rb") as file:
    line = file.read()
blob = base64.b64decode(line.split()[1])
key_id = "SHA256:" + base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")
ours = SSlibKey.from_crypto(load_ssh_public_key(line), keyid=key_id)


def accepts(envelope, key=ours):
    try:
        return key.keyid in Envelope.from_dict(envelope).verify([key], 1)
    except VerificationError:
        return False


def edited(edit):
    envelope = json.loads(attestation)
    edit(envelope)
    return envelope


def payload(change):
    def edit(envelope):
        raw = base64.b64decode(envelope["payload"])
        envelope["payload"] = base64.b64encode(change(raw)).decode()
    return edit


def signature(change):
    def edit(envelope):
        raw = bytearray(base64.b64decode(envelope["signatures"][0]["sig"]))
        change(raw)
        envelope["signatures"][0]["sig"] = base64.b64encode(bytes(raw)).decode()
    return edit


def flip(at):
    def change(raw):
        raw[at] ^= 1
    return change


def other_value(key, value):
    def edit(envelope):
        envelope[key] = value
    return edit


def other_key_id(envelope):
    envelope["signatures"][0]["keyid"] = "SHA256:x"


EDITS = {
    "a byte of the payload": payload(lambda raw: raw.replace(b'"pass"', b'"fail"', 1)),
    "a byte at the end of the payload": payload(lambda raw: raw + b"\n"),
    "a byte less of the payload": payload(lambda raw: raw[:-1]),
    "the payload written otherwise": payload(lambda raw: json.dumps(json.loads(raw), indent=1).encode()),
    "no payload": payload(lambda raw: b""),
    "another payload type": other_value("payloadType", "application/json"),
    "no payload type": other_value("payloadType", ""),
    "a bit of the first half of the signature": signature(flip(0)),
    "a bit of the second half of the signature": signature(flip(63)),
    "another key id": other_key_id,
    "no signature": other_value("signatures", []),
}
assert Envelope.from_dict(json.loads(attestation)).payload_type == "application/vnd.in-toto+json"
assert json.loads(attestation)["signatures"][0]["keyid"] == key_id
assert accepts(json.loads(attestation)), "the attestation as it is"
for name, edit in EDITS.items():
    assert edited(edit) != json.loads(attestation), name
    assert not accepts(edited(edit)), name
stranger = SSlibKey.from_crypto(Ed25519PrivateKey.generate().public_key(), keyid=key_id)
assert not accepts(json.loads(attestation), stranger), "another key under the same id"
print(f"{len(EDITS) + 1} edits refused")

// SHA-256, SHA-512 and Ed25519 in plain script, for a page that is opened from disk: not every browser gives such a page its own.
// Where the browser has them they are asked too: its digests are used for speed, and its word on a signature must be the same.
const utf8 = new TextEncoder();
const concat = (...parts) => {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) { whole.set(part, at); at += part.length; }
  return whole;
};
const hexOf = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
const isSame = (a, b) => a.length === b.length && a.every((byte, at) => byte === b[at]);

// Only the one text that an encoder writes stands for bytes.
const decodeBase64 = (text) => {
  const binary = atob(text);
  if (btoa(binary) !== text) throw new Error('base64 that no encoder writes');
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = binary.charCodeAt(at);
  return bytes;
};
const encodeBase64 = (bytes) => btoa(String.fromCharCode(...bytes));

// Both digests of FIPS 180-4 are one procedure over words of 32 or 64 bits; the constants are roots of primes.
const PRIMES = [];
for (let number = 2; PRIMES.length < 80; number += 1) if (PRIMES.every((prime) => number % prime)) PRIMES.push(number);
const rootOf = (number, power) => {
  let [low, high] = [0n, number + 1n];
  while (high - low > 1n) { const middle = (low + high) / 2n; if (middle ** power <= number) low = middle; else high = middle; }
  return low;
};
const fractionOf = (prime, power, bits) => BigInt.asUintN(bits, rootOf(BigInt(prime) << (power * BigInt(bits)), power));

const K256 = Uint32Array.from(PRIMES.slice(0, 64), (prime) => Number(fractionOf(prime, 3n, 32)));
const H256 = Uint32Array.from(PRIMES.slice(0, 8), (prime) => Number(fractionOf(prime, 2n, 32)));

const padded = (bytes, block, sizeBytes) => {
  const length = Math.ceil((bytes.length + 1 + sizeBytes) / block) * block;
  const whole = new Uint8Array(length);
  whole.set(bytes);
  whole[bytes.length] = 0x80;
  new DataView(whole.buffer).setBigUint64(length - 8, BigInt(bytes.length) * 8n);
  return whole;
};

const plainSha256 = (bytes) => {
  const data = new DataView(padded(bytes, 64, 8).buffer);
  const state = Uint32Array.from(H256);
  const w = new Uint32Array(64);
  const turn = (x, n) => (x >>> n) | (x << (32 - n));
  for (let block = 0; block < data.byteLength; block += 64) {
    for (let t = 0; t < 16; t += 1) w[t] = data.getUint32(block + 4 * t);
    for (let t = 16; t < 64; t += 1) {
      const [a, b] = [w[t - 15], w[t - 2]];
      w[t] = w[t - 16] + (turn(a, 7) ^ turn(a, 18) ^ (a >>> 3)) + w[t - 7] + (turn(b, 17) ^ turn(b, 19) ^ (b >>> 10));
    }
    let [a, b, c, d, e, f, g, h] = state;
    for (let t = 0; t < 64; t += 1) {
      const first = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + K256[t] + w[t]) | 0;
      const second = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g; g = f; f = e; e = (d + first) | 0; d = c; c = b; b = a; a = (first + second) | 0;
    }
    [a, b, c, d, e, f, g, h].forEach((word, at) => { state[at] += word; });
  }
  const out = new DataView(new ArrayBuffer(32));
  state.forEach((word, at) => out.setUint32(4 * at, word));
  return new Uint8Array(out.buffer);
};

const plainSha512 = (bytes) => {
  const K = PRIMES.map((prime) => fractionOf(prime, 3n, 64));
  const state = PRIMES.slice(0, 8).map((prime) => fractionOf(prime, 2n, 64));
  const data = new DataView(padded(bytes, 128, 16).buffer);
  const low = (x) => BigInt.asUintN(64, x);
  const turn = (x, n) => low((x >> n) | (x << (64n - n)));
  for (let block = 0; block < data.byteLength; block += 128) {
    const w = [];
    for (let t = 0; t < 16; t += 1) w.push(data.getBigUint64(block + 8 * t));
    for (let t = 16; t < 80; t += 1) {
      const [a, b] = [w[t - 15], w[t - 2]];
      w.push(low(w[t - 16] + (turn(a, 1n) ^ turn(a, 8n) ^ (a >> 7n)) + w[t - 7] + (turn(b, 19n) ^ turn(b, 61n) ^ (b >> 6n))));
    }
    let [a, b, c, d, e, f, g, h] = state;
    for (let t = 0; t < 80; t += 1) {
      const first = low(h + (turn(e, 14n) ^ turn(e, 18n) ^ turn(e, 41n)) + ((e & f) ^ (low(~e) & g)) + K[t] + w[t]);
      const second = low((turn(a, 28n) ^ turn(a, 34n) ^ turn(a, 39n)) + ((a & b) ^ (a & c) ^ (b & c)));
      h = g; g = f; f = e; e = low(d + first); d = c; c = b; b = a; a = low(first + second);
    }
    [a, b, c, d, e, f, g, h].forEach((word, at) => { state[at] = low(state[at] + word); });
  }
  const out = new DataView(new ArrayBuffer(64));
  state.forEach((word, at) => out.setBigUint64(8 * at, word));
  return new Uint8Array(out.buffer);
};

const subtle = () => globalThis.crypto?.subtle;
const sha256 = async (bytes) => hexOf(subtle() ? new Uint8Array(await subtle().digest('SHA-256', bytes)) : plainSha256(bytes));

// Ed25519 (RFC 8032), strict: S < L, canonical points, none of small order. A point is [X, Y, Z, T]: x = X/Z, y = Y/Z.
const P = 2n ** 255n - 19n;
const L = 2n ** 252n + 27742317777372353535851937790883648493n;
const NEUTRAL = [0n, 1n, 1n, 0n];
const mod = (number) => { const rest = number % P; return rest < 0n ? rest + P : rest; };
const power = (base, exponent) => {
  let total = 1n;
  for (let bits = exponent, square = mod(base); bits; bits >>= 1n, square = mod(square * square)) if (bits & 1n) total = mod(total * square);
  return total;
};
const D = mod(-121665n * power(121666n, P - 2n));
const addPoints = (a, b) => {
  const [low, high] = [mod((a[1] - a[0]) * (b[1] - b[0])), mod((a[1] + a[0]) * (b[1] + b[0]))];
  const [twist, plain] = [mod(2n * a[3] * b[3] * D), mod(2n * a[2] * b[2])];
  const [e, f, g, h] = [high - low, plain - twist, plain + twist, high + low];
  return [mod(e * f), mod(g * h), mod(f * g), mod(e * h)];
};
const times = (number, point) => {
  let total = NEUTRAL;
  for (let bits = number, twice = point; bits; bits >>= 1n, twice = addPoints(twice, twice)) if (bits & 1n) total = addPoints(total, twice);
  return total;
};
const equalPoints = (a, b) => mod(a[0] * b[2] - b[0] * a[2]) === 0n && mod(a[1] * b[2] - b[1] * a[2]) === 0n;
const littleEndian = (bytes) => BigInt('0x' + hexOf(Uint8Array.from(bytes).reverse()));
const decodePoint = (bytes) => {
  const whole = littleEndian(bytes);
  const [sign, y] = [whole >> 255n, BigInt.asUintN(255, whole)];
  const square = mod((y * y - 1n) * power(D * y * y + 1n, P - 2n));
  let x = power(square, (P + 3n) / 8n);
  if (mod(x * x - square)) x = mod(x * power(2n, (P - 1n) / 4n));
  if (bytes.length !== 32 || y >= P || mod(x * x - square) || (x === 0n && sign)) throw new Error('not the canonical encoding of a point');
  if ((x & 1n) !== sign) x = P - x;
  return [x, y, 1n, mod(x * y)];
};
const BASE = decodePoint(Uint8Array.from({ length: 32 }, (_, at) => (at ? 0x66 : 0x58)));

const plainSignatureHolds = (key, message, signature) => {
  if (signature.length !== 64) return false;
  let a, r;
  try { a = decodePoint(key); r = decodePoint(signature.subarray(0, 32)); } catch { return false; }
  const s = littleEndian(signature.subarray(32));
  if (s >= L || equalPoints(times(8n, a), NEUTRAL) || equalPoints(times(8n, r), NEUTRAL)) return false;
  const k = littleEndian(plainSha512(concat(signature.subarray(0, 32), key, message))) % L;
  return equalPoints(times(s, BASE), addPoints(r, times(k, a)));
};

// The browser's own word, or null where it has none.
const browserSignatureHolds = async (key, message, signature) => {
  if (!subtle()) return null;
  try {
    const known = await subtle().importKey('raw', key, { name: 'Ed25519' }, false, ['verify']);
    return await subtle().verify({ name: 'Ed25519' }, known, signature, message);
  } catch { return null; }
};
const signatureHolds = async (key, message, signature) =>
  plainSignatureHolds(key, message, signature) && (await browserSignatureHolds(key, message, signature)) !== false;

const SSH_HEAD = concat(Uint8Array.of(0, 0, 0, 11), utf8.encode('ssh-ed25519'), Uint8Array.of(0, 0, 0, 32));
const SPKI_HEAD = Uint8Array.of(0x30, 0x2a, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 3, 0x21, 0);
const fingerprintOf = (key) => 'SHA256:' + encodeBase64(plainSha256(concat(SSH_HEAD, key))).replace(/=+$/, '');

// The 32 bytes of an OpenSSH line or a PEM public key.
const readKey = (text) => {
  const pem = /-----BEGIN PUBLIC KEY-----([\s\S]*?)-----END PUBLIC KEY-----/.exec(text);
  const words = text.trim().split(/\s+/);
  const blob = decodeBase64(pem ? pem[1].replace(/\s/g, '') : words[words.indexOf('ssh-ed25519') + 1]);
  const head = pem ? SPKI_HEAD : SSH_HEAD;
  if (!isSame(blob.subarray(0, head.length), head)) throw new Error('not an ed25519 key');
  const key = blob.subarray(head.length);
  decodePoint(key);
  return key;
};

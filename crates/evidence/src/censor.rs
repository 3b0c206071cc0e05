//! Keeping secrets out of a bundle: everything goes through here before it is written, so
//! that nothing has to be taken out of a file or a chain afterwards.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use contract::canonical_bytes;
use contract::report::{HitClass, ScanStatus, SecretHit, SecretScan};
use contract::text::show_controls;
use secrets::{Allowance, BaselineValues, Class, Hit, Keep, Known, RuleSet, Scanner, Suspects};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::names;

/// Hits that a report lists; the rest is counted.
const MOST_HITS: usize = 200;
/// Bytes of earlier lines that are kept, to recognise a secret that spans several lines:
/// more than a private key takes.
const CONTEXT: usize = 8 * 1024;

/// Upper bound on reads of the baseline, so that an engine that prints secrets without end
/// costs no more.
const MOST_READS: usize = 12;

/// Gives the content of the files of the baseline, one after the other.
pub type ReadBaseline = Box<dyn Fn(&mut dyn FnMut(&[u8])) + Send>;

/// Redacts what a run writes and remembers where something stood.
pub struct Censor {
    known: Vec<Known>,
    scanner: Scanner,
    baseline: BaselineValues,
    allowances: Vec<Allowance>,
    read_baseline: Option<ReadBaseline>,
    /// Shapes that were looked up in the baseline already.
    asked: Suspects,
    reads: usize,
    hits: BTreeSet<SecretHit>,
    left_out: u64,
    patch_redacted: bool,
    secret_allowed: bool,
    /// Texts that are no secrets and must not be written either, each with its replacement;
    /// the longest first.
    concealed: Vec<(Vec<u8>, Vec<u8>)>,
}

/// Earlier output of one stream, as context for its next line.
#[derive(Debug, Default)]
pub struct EarlierLines {
    before: Vec<u8>,
}

impl Censor {
    /// Looks for the given values and for everything that has the shape of a secret.
    pub fn new(known: Vec<Known>) -> Self {
        let scanner = Scanner::new(&known, RuleSet::standard());
        Self {
            known,
            scanner,
            baseline: BaselineValues::default(),
            allowances: Vec::new(),
            read_baseline: None,
            asked: Suspects::default(),
            reads: 0,
            hits: BTreeSet::new(),
            left_out: 0,
            patch_redacted: false,
            secret_allowed: false,
            concealed: Vec::new(),
        }
    }

    /// From here on another text is written in the place of this one. It is no finding. The
    /// text is also looked for as people are shown it, as JSON writes it, and as JSON
    /// writes that inside of a text.
    pub fn conceal(&mut self, text: &str, instead: &str) {
        if text.is_empty() {
            return;
        }
        let plain = [text.to_owned(), show_controls(text)];
        let quoted = plain.iter().map(|form| quote(form));
        let forms: BTreeSet<String> =
            plain.iter().cloned().chain(quoted.clone()).chain(quoted.map(|form| quote(&form))).collect();
        self.concealed.extend(forms.into_iter().map(|form| (form.into_bytes(), instead.as_bytes().to_vec())));
        self.concealed.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
    }

    fn is_concealing(&self, bytes: &[u8]) -> bool {
        self.concealed.iter().any(|(text, _)| find(bytes, text).is_some())
    }

    /// From here on these values are looked for as well.
    pub fn know(&mut self, values: Vec<Known>) {
        if !values.is_empty() {
            self.known.extend(values);
            self.renew();
        }
    }

    /// Looks for what is known by now.
    fn renew(&mut self) {
        let scanner = Scanner::new(&self.known, RuleSet::standard());
        self.scanner = scanner.with_baseline(self.baseline.clone()).with_allowances(self.allowances.clone());
    }

    /// Compares shapes with the baseline from now on: a value in the baseline is no leak.
    /// The baseline is read only if there is a shape to compare.
    pub fn compare_with(&mut self, read: ReadBaseline) {
        self.read_baseline = Some(read);
    }

    /// From here on these shapes are no leak: they stay in the patch at their path, and are
    /// redacted everywhere else. A value that is known is never a shape, so nothing allows
    /// it.
    pub fn allow(&mut self, allowances: Vec<Allowance>) {
        if !allowances.is_empty() {
            self.allowances.extend(allowances);
            self.renew();
        }
    }

    /// Adds a hit that another component found and kept out of the written bytes.
    pub fn saw(&mut self, hit: SecretHit) {
        self.hits.insert(hit);
    }

    /// Findings so far. `files` is the number of scanned artifacts.
    pub fn result(&self, files: usize) -> SecretScan {
        let status = if self.hits.is_empty() { ScanStatus::Clean } else { ScanStatus::Redacted };
        let hits = self.hits.iter().cloned().collect();
        SecretScan { status, files_scanned: files as u64, hits, hits_left_out: self.left_out }
    }

    /// True if redaction altered the patch, so that it no longer applies.
    pub fn is_patch_redacted(&self) -> bool {
        self.patch_redacted
    }

    /// True if the patch holds a shape that the contract allows there.
    pub fn is_secret_allowed(&self) -> bool {
        self.secret_allowed
    }

    /// The bytes of an artifact as they may be written.
    pub fn bytes<'a>(&mut self, file: &str, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        self.bytes_at(file, 0, bytes)
    }

    fn bytes_at<'a>(&mut self, file: &str, at: u64, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        if file == names::PATCH {
            return self.patch(bytes);
        }
        if self.is_concealing(bytes) {
            let bytes =
                self.concealed.iter().fold(bytes.to_vec(), |bytes, (text, instead)| replace(&bytes, text, instead));
            let clean = self.scanned(file, at, &bytes).into_owned();
            return Cow::Owned(clean);
        }
        self.scanned(file, at, bytes)
    }

    fn scanned<'a>(&mut self, file: &str, at: u64, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        if self.scanner.scan(bytes).is_empty() {
            return Cow::Borrowed(bytes);
        }
        self.ask_baseline(|scanner| scanner.suspects(bytes));
        let (clean, hits) = self.scanner.redact_keeping(bytes, Keep::Nothing);
        for hit in hits {
            self.note(file, at, &hit);
        }
        Cow::Owned(clean)
    }

    /// Redacts a patch so that it stays one: headers, line marks, and text of the baseline
    /// or allowed text stay, since it would not apply without them.
    fn patch<'a>(&mut self, patch: &'a [u8]) -> Cow<'a, [u8]> {
        self.ask_baseline(|scanner| scanner.suspects_in_patch(patch));
        let (clean, hits) = self.scanner.redact_patch(patch, Keep::Baseline);
        self.patch_redacted |= clean != patch;
        for hit in hits {
            self.secret_allowed |= hit.class == Class::Allowed;
            self.note(names::PATCH, 0, &hit);
        }
        if clean == patch { Cow::Borrowed(patch) } else { Cow::Owned(clean) }
    }

    /// True if redaction would leave these bytes as they are.
    pub fn is_clean(&self, bytes: &[u8]) -> bool {
        self.scanner.scan(bytes).is_empty() && !self.is_concealing(bytes)
    }

    /// A document as it may be written, string by string, so that it stays one. None where
    /// there is nothing to redact.
    pub fn censor_document<T: Serialize + DeserializeOwned>(
        &mut self,
        file: &str,
        document: &T,
    ) -> Result<Option<T>, serde_json::Error> {
        match self.json(file, &canonical_bytes(document)?)? {
            Cow::Borrowed(_) => Ok(None),
            Cow::Owned(clean) => serde_json::from_slice(&clean).map(Some),
        }
    }

    /// The same for its canonical bytes.
    pub fn json<'a>(&mut self, file: &str, bytes: &'a [u8]) -> Result<Cow<'a, [u8]>, serde_json::Error> {
        if self.is_clean(bytes) {
            return Ok(Cow::Borrowed(bytes));
        }
        let mut value: Value = serde_json::from_slice(bytes)?;
        self.strings(file, 0, &mut value);
        let clean = canonical_bytes(&value)?;
        // What is a secret only beside the name of its field.
        Ok(Cow::Owned(self.bytes(file, &clean).into_owned()))
    }

    /// Redacts the data of a line that will be written at this position.
    pub fn line_data(&mut self, file: &str, at: u64, data: &mut Map<String, Value>) {
        for value in data.values_mut() {
            self.strings(file, at, value);
        }
    }

    fn strings(&mut self, file: &str, at: u64, value: &mut Value) {
        match value {
            Value::String(text) => {
                *text = self.text(file, at, std::mem::take(text));
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.strings(file, at, item)),
            Value::Object(entries) => {
                entries.values_mut().for_each(|entry| self.strings(file, at, entry));
                if entries.keys().any(|name| !self.is_clean(name.as_bytes())) {
                    let given = std::mem::take(entries).into_iter();
                    entries.extend(given.map(|(name, entry)| (self.text(file, at, name), entry)));
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn text(&mut self, file: &str, at: u64, text: String) -> String {
        match self.bytes_at(file, at, text.as_bytes()) {
            Cow::Borrowed(_) => text,
            Cow::Owned(clean) => String::from_utf8_lossy(&clean).into_owned(),
        }
    }

    /// Redacts a line of output before the next one is known. A secret that only later
    /// lines reveal is not seen here; the log is scanned as a whole.
    pub fn censor_line<'a>(&mut self, file: &str, lines: &mut EarlierLines, line: &'a [u8]) -> Cow<'a, [u8]> {
        let from = lines.before.len();
        lines.before.extend_from_slice(line);
        lines.before.push(b'\n');
        let clean = self.line_from(file, &lines.before, from);
        lines.forget();
        clean.map_or(Cow::Borrowed(line), Cow::Owned)
    }

    /// The last line of a text, which begins at `from`, where something reaches into it.
    fn line_from(&mut self, file: &str, text: &[u8], from: usize) -> Option<Vec<u8>> {
        let end = text.len().saturating_sub(1);
        let place = |hit: &Hit| {
            let at = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX).clamp(from, end);
            at(hit.offset)..at(hit.offset + hit.len)
        };
        let reaching = |hits: Vec<Hit>| hits.into_iter().filter(|hit| !place(hit).is_empty()).collect::<Vec<_>>();
        if reaching(self.scanner.scan(text)).is_empty() {
            return None;
        }
        self.ask_baseline(|scanner| scanner.suspects(text));
        let (mut clean, mut done) = (Vec::new(), from);
        for hit in reaching(self.scanner.scan(text)) {
            let place = place(&hit);
            if place.start >= done {
                clean.extend_from_slice(&text[done..place.start]);
                clean.extend_from_slice(format!("[redacted:{}]", hit.rule).as_bytes());
                done = place.end;
            }
            self.note(file, 0, &hit);
        }
        clean.extend_from_slice(&text[done..end]);
        Some(clean)
    }

    /// Looks the shapes of a text up in the baseline, once it is known.
    fn ask_baseline(&mut self, suspects: impl FnOnce(&Scanner) -> Suspects) {
        let Some(read) = &self.read_baseline else { return };
        let suspects = suspects(&self.scanner).without(&self.asked);
        if suspects.is_empty() || self.reads == MOST_READS {
            return;
        }
        self.reads += 1;
        self.asked.add_suspects(suspects.clone());
        let mut search = suspects.search();
        read(&mut |file| search.file(file));
        self.baseline.add_values(search.found());
        self.renew();
    }

    fn note(&mut self, file: &str, at: u64, hit: &Hit) {
        let class = match hit.class {
            Class::Canary => HitClass::Canary,
            Class::Token => HitClass::Token,
            Class::Baseline => HitClass::Baseline,
            Class::Allowed => HitClass::Allowed,
            Class::Credential | Class::Endpoint | Class::Shape => HitClass::Leak,
        };
        let found = SecretHit { rule: hit.rule.to_string(), file: file.to_owned(), offset: at + hit.offset, class };
        if self.hits.len() < MOST_HITS || class_is_new(&self.hits, &found) {
            self.hits.insert(found);
        } else if !self.hits.contains(&found) {
            self.left_out += 1;
        }
    }
}

/// Text as it is written inside of a JSON string.
fn quote(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

fn find(bytes: &[u8], text: &[u8]) -> Option<usize> {
    bytes.windows(text.len()).position(|window| window == text)
}

fn replace(bytes: &[u8], text: &[u8], instead: &[u8]) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::with_capacity(bytes.len()), bytes);
    while let Some(at) = find(rest, text) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(instead);
        rest = &rest[at + text.len()..];
    }
    out.extend_from_slice(rest);
    out
}

/// The first of a class is listed however many there are of others: the verdict rests on it.
fn class_is_new(hits: &BTreeSet<SecretHit>, found: &SecretHit) -> bool {
    !hits.iter().any(|hit| hit.class == found.class)
}

impl EarlierLines {
    fn forget(&mut self) {
        if self.before.len() > CONTEXT {
            self.before.drain(..self.before.len() - CONTEXT);
        }
    }
}

/// The values stay out of every log.
impl fmt::Debug for Censor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Censor").field("known", &self.known.len()).field("hits", &self.hits).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_concealed_text_stands_nowhere_and_is_no_finding() {
        let mut censor = Censor::new(Vec::new());
        let document = serde_json::json!({"at": "/srv/site/a, /srv/site and /srv", "list": ["/srv/site"]});
        assert_eq!(censor.censor_document("x.json", &document).unwrap(), None, "control");
        censor.conceal("/srv/site", "redacted:1");
        censor.conceal("", "nothing");
        let expected = serde_json::json!({"at": "redacted:1/a, redacted:1 and /srv", "list": ["redacted:1"]});
        assert_eq!(censor.censor_document("x.json", &document).unwrap(), Some(expected));
        assert_eq!(censor.bytes("x.log", b"in /srv/site\n").as_ref(), b"in redacted:1\n");
        assert_eq!(censor.result(1).status, ScanStatus::Clean);
    }

    #[test]
    fn a_concealed_text_stands_in_no_form_of_it() {
        let path = "/srv/a \"b\"\\c\n\u{e4}";
        let mut censor = Censor::new(Vec::new());
        let inner = serde_json::json!({"path": path}).to_string();
        let document = serde_json::json!({"at": path, "shown": show_controls(path), "inside": inner});
        censor.conceal(path, "redacted:1");
        let expected =
            serde_json::json!({"at": "redacted:1", "shown": "redacted:1", "inside": "{\"path\":\"redacted:1\"}"});
        assert_eq!(censor.censor_document("x.json", &document).unwrap(), Some(expected));
        let line = document.to_string();
        assert!(!String::from_utf8_lossy(&censor.bytes("x.log", line.as_bytes())).contains("/srv/a"), "{line}");
    }
}

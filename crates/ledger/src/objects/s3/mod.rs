//! A bucket of an object store, by the few requests of S3 that evidence needs: signed, bounded in time and size, never redirected.

mod exchange;
mod sign;
mod stream;

use std::thread;
use std::time::{Duration, Instant};

use super::fault::ObjectFault;
use super::place::BucketPlace;
use super::{Creation, ReadClock};
use exchange::{Question, StoreAnswer, exchange};

/// The first pause before another try; each is twice as long as the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const MOST_TRIES: u32 = 6;
/// More than an error of a store has to say.
const LARGEST_ERROR: u64 = 16 << 10;

/// Objects of one bucket, below a prefix.
#[derive(Debug, Clone)]
pub(super) struct BucketObjects {
    place: BucketPlace,
    clock: ReadClock,
}

impl BucketObjects {
    /// Objects at this place. The clock dates the signatures of requests.
    pub(super) fn at_place(place: &BucketPlace, clock: ReadClock) -> Self {
        Self { place: place.clone(), clock }
    }

    /// Creates an object, or says that there is one of that name.
    pub(super) fn create_object(&self, name: &str, bytes: &[u8]) -> Result<Creation, ObjectFault> {
        let question = Question { create_only: true, ..Question::without_conditions("PUT", name, bytes) };
        let answer = self.ask(&question)?;
        match answer.status {
            200 | 201 | 204 => Ok(Creation::Created),
            412 => Ok(Creation::Exists),
            _ => Err(answer.into_fault()),
        }
    }

    /// Reads an object of at most `limit` bytes; none if there is no such name.
    pub(super) fn read_object(&self, name: &str, limit: u64) -> Result<Option<Vec<u8>>, ObjectFault> {
        let answer = self.ask(&Question { limit, ..Question::without_conditions("GET", name, b"") })?;
        match answer.status {
            200 => Ok(Some(answer.body)),
            404 => Ok(None),
            _ => Err(answer.into_fault()),
        }
    }

    /// Writes over an object; only the probe tries to. True if the store says that it did.
    pub(super) fn overwrite_object(&self, name: &str, bytes: &[u8]) -> Result<bool, ObjectFault> {
        self.dare(&Question::without_conditions("PUT", name, bytes))
    }

    /// Removes an object; only the probe tries to. True if the store says that it did.
    pub(super) fn remove_object(&self, name: &str) -> Result<bool, ObjectFault> {
        self.dare(&Question::without_conditions("DELETE", name, b""))
    }

    fn dare(&self, question: &Question<'_>) -> Result<bool, ObjectFault> {
        let answer = self.ask(question)?;
        match answer.status {
            200..=299 => Ok(true),
            400 | 401 | 403 | 405 | 409 | 412 | 501 => Ok(false),
            _ => Err(answer.into_fault()),
        }
    }

    /// Asks until there is an answer that means something, a number of times and for as long as the place says.
    fn ask(&self, question: &Question<'_>) -> Result<StoreAnswer, ObjectFault> {
        let (deadline, mut pause) = (Instant::now() + self.place.patience, FIRST_PAUSE);
        let mut tries = 1;
        loop {
            let asked = exchange(&self.place, self.clock, question, deadline);
            let is_passing = match &asked {
                Ok(answer) => answer.is_passing(question.create_only),
                Err(ObjectFault::Io(_) | ObjectFault::Truncated) => true,
                Err(_) => false,
            };
            if !is_passing || tries == MOST_TRIES || Instant::now() + pause >= deadline {
                return asked;
            }
            thread::sleep(pause);
            (tries, pause) = (tries + 1, pause * 2);
        }
    }
}

impl StoreAnswer {
    /// True for an answer that another try may change. A store says 409 where two create the same object at the same moment.
    fn is_passing(&self, create_only: bool) -> bool {
        matches!(self.status, 429 | 500 | 502 | 503 | 504) || (create_only && self.status == 409)
    }

    fn into_fault(self) -> ObjectFault {
        match self.status {
            300..=399 => ObjectFault::Redirected { status: self.status },
            status => ObjectFault::Refused { status, code: error_code(&self.body) },
        }
    }
}

/// The word for the error in the answer of a store, where it is one.
fn error_code(body: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(body).ok()?;
    let (_, rest) = text.split_once("<Code>")?;
    let (code, _) = rest.split_once("</Code>")?;
    let is_word = code.len() <= 64 && code.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_word.then(|| code.to_owned())
}

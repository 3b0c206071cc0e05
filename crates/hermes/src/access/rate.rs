//! Rates, by address or by session. A bucket fills at a steady rate up to a burst; an empty
//! one refuses.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Keys that are remembered; beyond, all are forgotten.
const MOST_KEYS: usize = 4096;

#[derive(Debug, Clone, Copy)]
struct Bucket {
    left: f64,
    at: Instant,
}

/// Key of a rate. A session has a rate of its own, so that no stranger at the same address
/// uses it up.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RateKey {
    Address(IpAddr),
    Session(String),
}

/// A rate for each key.
#[derive(Debug)]
pub(crate) struct RateLimiter {
    per_second: f64,
    burst: f64,
    buckets: Mutex<BTreeMap<RateKey, Bucket>>,
}

impl RateLimiter {
    /// Limiter with full buckets.
    pub(crate) fn new(per_second: f64, burst: f64) -> Self {
        Self { per_second, burst, buckets: Mutex::default() }
    }

    /// True if one more request of the key is within its rate.
    pub(crate) fn admit_request(&self, key: RateKey) -> bool {
        self.admit_at(key, Instant::now())
    }

    fn admit_at(&self, key: RateKey, now: Instant) -> bool {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= MOST_KEYS && !buckets.contains_key(&key) {
            buckets.clear();
        }
        let bucket = buckets.entry(key).or_insert(Bucket { left: self.burst, at: now });
        let passed = now.saturating_duration_since(bucket.at).as_secs_f64();
        let left = (bucket.left + passed * self.per_second).min(self.burst);
        let is_admitted = left >= 1.0;
        *bucket = Bucket { left: if is_admitted { left - 1.0 } else { left }, at: now };
        is_admitted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_burst_is_admitted_then_the_rate_holds() {
        let (limiter, now) = (RateLimiter::new(2.0, 3.0), Instant::now());
        let address = |text: &str| RateKey::Address(text.parse().unwrap());
        let admit = |text: &str, millis| limiter.admit_at(address(text), now + Duration::from_millis(millis));
        let admitted = (0..5).filter(|_| admit("127.0.0.1", 0)).count();
        assert_eq!(admitted, 3);
        assert!(admit("127.0.0.2", 0), "another address has its own");
        assert!(limiter.admit_at(RateKey::Session("a".to_owned()), now), "and so has a session");
        assert!(!admit("127.0.0.1", 400));
        assert!(admit("127.0.0.1", 900));
    }
}

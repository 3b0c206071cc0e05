//! Rates, by address. A bucket fills at a steady rate up to a burst; an empty one refuses.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Addresses that are remembered; beyond, all are forgotten.
const MOST_ADDRESSES: usize = 4096;

#[derive(Debug, Clone, Copy)]
struct Bucket {
    left: f64,
    at: Instant,
}

/// A rate for each address.
#[derive(Debug)]
pub(crate) struct RateLimiter {
    per_second: f64,
    burst: f64,
    buckets: Mutex<BTreeMap<IpAddr, Bucket>>,
}

impl RateLimiter {
    /// Limiter with full buckets.
    pub(crate) fn new(per_second: f64, burst: f64) -> Self {
        Self { per_second, burst, buckets: Mutex::default() }
    }

    /// True if one more request of the address is within its rate.
    pub(crate) fn admit_request(&self, address: IpAddr) -> bool {
        self.admit_at(address, Instant::now())
    }

    fn admit_at(&self, address: IpAddr, now: Instant) -> bool {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= MOST_ADDRESSES && !buckets.contains_key(&address) {
            buckets.clear();
        }
        let bucket = buckets.entry(address).or_insert(Bucket { left: self.burst, at: now });
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
        let (one, other) = ("127.0.0.1".parse().unwrap(), "127.0.0.2".parse().unwrap());
        let admitted = (0..5).filter(|_| limiter.admit_at(one, now)).count();
        assert_eq!(admitted, 3);
        assert!(limiter.admit_at(other, now), "another address has its own");
        assert!(!limiter.admit_at(one, now + Duration::from_millis(400)));
        assert!(limiter.admit_at(one, now + Duration::from_millis(900)));
    }
}

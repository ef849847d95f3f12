//! How often an address may ask: so many requests at once, and so many more each second.

use std::{
    collections::BTreeMap,
    net::IpAddr,
    sync::{Mutex, PoisonError},
    time::Instant,
};

/// The requests that an address may make at once.
const AT_ONCE: f64 = 1000.0;
/// The requests that it may make each second after that.
const EACH_SECOND: f64 = 500.0;
/// The addresses that are remembered.
const MOST_ADDRESSES: usize = 4096;

/// What each address has left.
#[derive(Debug, Default)]
pub(super) struct Rates {
    left: Mutex<BTreeMap<IpAddr, Left>>,
}

#[derive(Debug, Clone, Copy)]
struct Left {
    requests: f64,
    at: Instant,
}

impl Left {
    fn full(at: Instant) -> Self {
        Self { requests: AT_ONCE, at }
    }

    fn refilled(self, now: Instant) -> Self {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        Self { requests: (self.requests + passed * EACH_SECOND).min(AT_ONCE), at: now }
    }
}

impl Rates {
    /// Whether a request of that address is carried out now.
    pub(super) fn admit(&self, address: IpAddr) -> bool {
        self.admit_at(address, Instant::now())
    }

    fn admit_at(&self, address: IpAddr, now: Instant) -> bool {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        if left.len() >= MOST_ADDRESSES {
            left.retain(|_, left| left.refilled(now).requests < AT_ONCE);
        }
        let entry = left.entry(address).or_insert_with(|| Left::full(now));
        *entry = entry.refilled(now);
        let is_admitted = entry.requests >= 1.0;
        if is_admitted {
            entry.requests -= 1.0;
        }
        is_admitted
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_address_that_asks_too_often_waits_and_others_do_not() {
        let (rates, now) = (Rates::default(), Instant::now());
        let (one, other) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        let admitted = (0..2000).filter(|_| rates.admit_at(one, now)).count();
        assert_eq!(admitted, 1000);
        assert!(rates.admit_at(other, now));
        let later = now + Duration::from_millis(10);
        let admitted = (0..2000).filter(|_| rates.admit_at(one, later)).count();
        assert_eq!(admitted, 5);
    }
}

//! The real clock and the real ids: the only place of the product that reads the time.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use health_model::Instant;
use ports::{Clock, Ids};
use uuid::Uuid;

/// A clock that is set while somebody sleeps is noticed at the latest after this.
const LONGEST_SLEEP: Duration = Duration::from_secs(10);

/// The clock of the system, made to never go backwards: while the system's clock is behind what was told already, time
/// goes on at half speed until it has caught up.
#[derive(Debug)]
pub struct SystemClock {
    told: Mutex<Option<(Instant, std::time::Instant)>>,
}

/// Ids that sort by the time at which they were drawn.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemIds;

impl SystemClock {
    /// A clock that has told nothing yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { told: Mutex::new(None) }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

/// What to tell: the system's time, or where that is behind what was told, a little more than that. In whole
/// microseconds, which is what every store keeps.
fn forward(system: Instant, told: Option<Instant>, passed: TimeDelta) -> Instant {
    let now = match told {
        Some(told) if system < told => (told + passed.max(TimeDelta::zero()) / 2).max(told),
        _ => system,
    };
    DateTime::from_timestamp_micros(now.timestamp_micros()).unwrap_or(now)
}

#[async_trait]
impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock that everybody else is to use")]
    fn now(&self) -> Instant {
        let tick = std::time::Instant::now();
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = told.map_or(TimeDelta::zero(), |(_, at)| {
            TimeDelta::from_std(tick.saturating_duration_since(at)).unwrap_or(TimeDelta::zero())
        });
        let now = forward(Utc::now(), told.map(|(it, _)| it), passed);
        *told = Some((now, tick));
        now
    }

    async fn sleep_until(&self, at: Instant) {
        loop {
            let left = (at - self.now()).to_std().unwrap_or(Duration::ZERO);
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left.min(LONGEST_SLEEP)).await;
        }
    }
}

impl Ids for SystemIds {
    #[expect(clippy::disallowed_methods, reason = "this is where everybody else's ids come from")]
    fn next(&self) -> Uuid {
        Uuid::now_v7()
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeZone as _;

    use super::*;

    #[test]
    fn time_never_goes_backwards_and_catches_up() {
        let at = |second| Utc.timestamp_opt(second, 0).unwrap();
        assert_eq!(forward(at(100), None, TimeDelta::zero()), at(100));
        assert_eq!(forward(at(100), Some(at(90)), TimeDelta::seconds(10)), at(100), "set forward: at once");
        let behind = forward(at(100), Some(at(200)), TimeDelta::seconds(10));
        assert_eq!(behind, at(205), "set back: on at half speed");
        assert_eq!(forward(at(300), Some(behind), TimeDelta::seconds(1)), at(300), "caught up");
        let fine = at(100) + TimeDelta::nanoseconds(1_999);
        assert_eq!(forward(fine, None, TimeDelta::zero()), at(100) + TimeDelta::microseconds(1));
        let clock = SystemClock::new();
        let mut last = clock.now();
        for _ in 0..1_000 {
            let now = clock.now();
            assert!(now >= last);
            last = now;
        }
    }

    #[test]
    fn ids_are_version_7_and_differ() {
        let (first, second) = (SystemIds.next(), SystemIds.next());
        assert_eq!((first.get_version_num(), second.get_version_num()), (7, 7));
        assert_ne!(first, second);
    }
}

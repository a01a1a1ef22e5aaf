//! A clock that stands still until a test moves it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use chrono::TimeDelta;
use health_model::Instant;
use ports::Clock;
use tokio::sync::watch;

/// A [`Clock`] that moves on demand. Clones share one time.
///
/// Moving it wakes every sleeper whose instant was reached. No real time is involved: a test that waits for a sleeper
/// uses [`ManualClock::wait_for_sleepers`] instead of sleeping itself.
#[derive(Debug, Clone)]
pub struct ManualClock {
    now: Arc<watch::Sender<Instant>>,
    sleepers: Arc<Sleepers>,
}

/// How many sleepers wait for which instant.
#[derive(Debug)]
struct Sleepers {
    by_instant: Mutex<BTreeMap<Instant, usize>>,
    count: watch::Sender<usize>,
}

/// Counts one sleeper for as long as its future lives, also if it is dropped while it waits.
struct Asleep<'a> {
    sleepers: &'a Sleepers,
    at: Instant,
}

impl ManualClock {
    /// A clock that shows `start`.
    #[must_use]
    pub fn new(start: Instant) -> Self {
        let sleepers = Sleepers { by_instant: Mutex::default(), count: watch::Sender::new(0) };
        Self { now: Arc::new(watch::Sender::new(start)), sleepers: Arc::new(sleepers) }
    }

    /// Moves the clock forward and returns the new instant. A negative `step` counts as zero: a clock never goes back.
    pub fn advance(&self, step: TimeDelta) -> Instant {
        self.now.send_modify(|it| *it += step.max(TimeDelta::zero()));
        *self.now.borrow()
    }

    /// Moves the clock to `at`; does nothing if it is there or past it.
    pub fn advance_to(&self, at: Instant) {
        self.now.send_if_modified(|it| {
            let moves = *it < at;
            *it = (*it).max(at);
            moves
        });
    }

    /// The instant that the next sleeper waits for, if anybody sleeps. A simulation moves from one to the next.
    #[must_use]
    pub fn next_wake(&self) -> Option<Instant> {
        self.sleepers.lock().first_key_value().map(|(at, _)| *at)
    }

    /// Returns once at least `n` sleepers wait.
    pub async fn wait_for_sleepers(&self, n: usize) {
        let mut count = self.sleepers.count.subscribe();
        // The sender lives in `self`, so the channel cannot close while this waits.
        let _ = count.wait_for(|it| *it >= n).await;
    }
}

impl Sleepers {
    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<Instant, usize>> {
        self.by_instant.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, at: Instant) -> Asleep<'_> {
        *self.lock().entry(at).or_default() += 1;
        self.count.send_modify(|it| *it += 1);
        Asleep { sleepers: self, at }
    }
}

impl Drop for Asleep<'_> {
    fn drop(&mut self) {
        let mut by_instant = self.sleepers.lock();
        if let Some(n) = by_instant.get_mut(&self.at) {
            *n -= 1;
            if *n == 0 {
                by_instant.remove(&self.at);
            }
        }
        drop(by_instant);
        self.sleepers.count.send_modify(|it| *it -= 1);
    }
}

#[async_trait]
impl Clock for ManualClock {
    fn now(&self) -> Instant {
        *self.now.borrow()
    }

    async fn sleep_until(&self, at: Instant) {
        let mut now = self.now.subscribe();
        if *now.borrow() >= at {
            return;
        }
        let _asleep = self.sleepers.enter(at);
        // The sender lives in `self`, so the channel cannot close while this waits.
        let _ = now.wait_for(|it| *it >= at).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start() -> Instant {
        Instant::from_timestamp(1_767_600_000, 0).expect("a valid instant")
    }

    #[tokio::test]
    async fn a_sleeper_wakes_when_its_instant_is_reached_and_not_before() {
        let clock = ManualClock::new(start());
        let at = start() + TimeDelta::seconds(10);
        let sleeper = tokio::spawn({
            let clock = clock.clone();
            async move {
                clock.sleep_until(at).await;
                clock.now()
            }
        });
        clock.wait_for_sleepers(1).await;
        assert_eq!(clock.next_wake(), Some(at));
        clock.advance(TimeDelta::seconds(9));
        assert_eq!(clock.next_wake(), Some(at), "one second is missing");
        clock.advance(TimeDelta::seconds(1));
        assert_eq!(sleeper.await.expect("the sleeper ends"), at);
        assert_eq!(clock.next_wake(), None);
    }

    #[tokio::test]
    async fn sleeping_until_the_past_returns_at_once() {
        let clock = ManualClock::new(start());
        clock.sleep_until(start()).await;
        clock.sleep_until(start() - TimeDelta::days(1)).await;
    }

    #[test]
    fn the_clock_never_goes_back() {
        let clock = ManualClock::new(start());
        assert_eq!(clock.advance(TimeDelta::seconds(-5)), start());
        clock.advance_to(start() - TimeDelta::seconds(5));
        assert_eq!(clock.now(), start());
        clock.advance_to(start() + TimeDelta::seconds(5));
        assert_eq!(clock.now(), start() + TimeDelta::seconds(5));
    }

    #[tokio::test]
    async fn a_dropped_sleeper_is_not_counted() {
        let clock = ManualClock::new(start());
        let sleeper = tokio::spawn({
            let clock = clock.clone();
            async move { clock.sleep_until(start() + TimeDelta::days(1)).await }
        });
        clock.wait_for_sleepers(1).await;
        sleeper.abort();
        assert!(sleeper.await.expect_err("it was aborted").is_cancelled());
        assert_eq!(clock.next_wake(), None);
    }
}

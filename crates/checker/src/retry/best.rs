//! The best of several times that stand side by side: in one body, or in the texts of one failure.

use health_model::RetryBasis;

use super::value::Moment;
use super::{Clock, Said, Source, later};

/// The latest of each kind.
#[derive(Debug, Default)]
pub(super) struct Best {
    wait: Option<Said>,
    instant: Option<Said>,
    bound: Option<Said>,
}

impl Best {
    /// Adds a time; absurd ones say nothing.
    pub(super) fn add(&mut self, moment: Moment, is_bound: bool, clock: Clock, source: Source) {
        let Some(at) = moment.on(clock) else { return };
        let basis = if is_bound { RetryBasis::UpperBound } else { RetryBasis::Exact };
        let said = Some(Said { at, basis, source });
        let place = match moment {
            _ if is_bound => &mut self.bound,
            Moment::Wait(_) => &mut self.wait,
            Moment::At(_) | Moment::Daily(_) => &mut self.instant,
        };
        *place = later(place.take(), said);
    }

    /// Adds all of another.
    pub(super) fn merge(&mut self, other: Self) {
        self.wait = later(self.wait.take(), other.wait);
        self.instant = later(self.instant.take(), other.instant);
        self.bound = later(self.bound.take(), other.bound);
    }

    /// The latest; but where the other side's clock is not known, a wait counts before an instant: the two often say
    /// the same, and only the instant depends on that clock.
    pub(super) fn exact(&self, clock: Clock) -> Option<Said> {
        let (wait, instant) = (self.wait.clone(), self.instant.clone());
        if clock.is_shared() || wait.as_ref().is_none_or(|it| it.at <= clock.ours) {
            later(wait, instant)
        } else {
            wait
        }
    }

    /// The latest upper bound.
    pub(super) fn bound(self) -> Option<Said> {
        self.bound
    }
}

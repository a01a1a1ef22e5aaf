//! Like failures of several users: when one user's trouble is more than that user's (DESIGN §2.3, C7).
//!
//! The tool's home document notes whose credential failed how, and when. Enough different users in a short time are
//! evidence that the tool is at fault, and ask for a diagnosis there; they set no status. Users appear under a
//! [pseudonym], never by their id.
//!
//! The failure that makes them enough asks for the diagnosis and is marked so. While it counts, the episode lasts: nobody
//! asks again and nobody is noted, so that a storm costs a handful of writes. At most [`Promotion::users`] users are on
//! record for one kind of error.
//!
//! [`Promotion::users`]: crate::policy::Promotion::users

use crate::Instant;
use crate::cooldown;
use crate::document::{Document, LikeFailure};
use crate::policy::{LIKE_FAILURE_LIMIT, Policy};

/// A user's name in a document that is shared: 16 hexadecimal digits, the same for the same user of the same tenant
/// on every server and in every version.
///
/// It keeps an id from being read by others in passing. It is no secret: who can guess an id can compute its
/// pseudonym.
#[must_use]
pub fn pseudonym(tenant_id: &str, user_id: &str) -> String {
    // The length tells where the tenant ends: (`ab`, `c`) is not (`a`, `bc`).
    let length = tenant_id.len() as u64;
    let bytes = length.to_le_bytes().into_iter().chain(tenant_id.bytes()).chain(user_id.bytes());
    format!("{:016x}", cooldown::hash(bytes))
}

/// The different users with like failures: those on record, and one more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tally {
    /// Users within the window, with the one more, who may have been among them.
    pub users: usize,
    /// The first of their failures.
    pub since: Instant,
    /// One of them has asked for a diagnosis: the episode lasts.
    pub has_asked: bool,
}

/// Counts the users with failures of this kind in the home document, and the user with this [pseudonym], who fails now.
#[must_use]
pub fn tally(
    document: Option<&Document>,
    signature: &str,
    pseudonym: &str,
    policy: &Policy,
    now: Instant,
) -> Tally {
    let counted = || {
        let all = document.into_iter().flat_map(|it| &it.like_failures);
        all.filter(|it| it.signature == signature && is_counted(it, policy, now))
    };
    let others = || counted().filter(|it| it.user != pseudonym);
    Tally {
        users: others().count() + 1,
        since: others().map(|it| it.at).min().map_or(now, |it| it.min(now)),
        has_asked: counted().any(|it| it.asks),
    }
}

/// Whether a noted failure is young enough to count.
#[must_use]
pub fn is_counted(noted: &LikeFailure, policy: &Policy, now: Instant) -> bool {
    now - noted.at < policy.promotion.window
}

/// Notes that this user failed so now. Keeps the bounds: the oldest entries go first, those outside of the window
/// always.
pub(crate) fn note(
    document: &mut Document,
    signature: &str,
    user: &str,
    asks: bool,
    policy: &Policy,
    now: Instant,
) -> bool {
    let list = &mut document.like_failures;
    list.retain(|it| is_counted(it, policy, now) && !(it.signature == signature && it.user == user));
    let is_like = |it: &LikeFailure| it.signature == signature;
    while list.iter().filter(|it| is_like(it)).count() >= policy.promotion.users.max(1) {
        remove_oldest(list, is_like);
    }
    while list.len() >= LIKE_FAILURE_LIMIT {
        remove_oldest(list, |_| true);
    }
    let at = list.partition_point(|it| (it.signature.as_str(), it.user.as_str()) < (signature, user));
    list.insert(at, LikeFailure { signature: signature.to_owned(), user: user.to_owned(), at: now, asks });
    true
}

/// Drops what this does not keep; whether there was any.
pub(crate) fn retain(document: &mut Document, keep: impl Fn(&LikeFailure) -> bool) -> bool {
    let before = document.like_failures.len();
    document.like_failures.retain(keep);
    document.like_failures.len() != before
}

fn remove_oldest(list: &mut Vec<LikeFailure>, among: impl Fn(&LikeFailure) -> bool) {
    let oldest = list.iter().enumerate().filter(|(_, it)| among(it)).min_by_key(|(_, it)| it.at);
    if let Some((at, _)) = oldest {
        list.remove(at);
    }
}

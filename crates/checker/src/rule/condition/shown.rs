//! Lists of values for people: whole values, as many as there is room for.

use super::Condition;
use crate::facts::Facts;
use crate::limits;

/// What separates two values.
const SEPARATORS: [&str; 3] = [", ", " or ", " and "];

/// A list of values cut to [`limits::MAX_SHOWN_BYTES`], where a value ends if one does; `…` says that there is more.
pub(crate) fn shown(list: String) -> String {
    const MORE: &str = "…";
    if list.len() <= limits::MAX_SHOWN_BYTES {
        return list;
    }
    let room = limits::head(&list, limits::MAX_SHOWN_BYTES - MORE.len());
    // What stands between backticks is one value, whatever it holds.
    let mut is_quoted = false;
    let mut end = None;
    for (at, letter) in room.char_indices() {
        is_quoted ^= letter == '`';
        let rest = room.get(at..).unwrap_or_default();
        if !is_quoted && let Some(it) = SEPARATORS.iter().find(|it| rest.starts_with(**it)) {
            end = Some(at + it.len());
        }
    }
    format!("{}{MORE}", end.and_then(|it| room.get(..it)).unwrap_or(room))
}

pub(super) fn all_wanted(conditions: &[Condition]) -> String {
    let all: Vec<String> = conditions.iter().map(|it| format!("{} {}", it.field(), it.wanted())).collect();
    all.join(" and ")
}

pub(super) fn all_seen(conditions: &[Condition], facts: &Facts<'_>) -> String {
    let all: Vec<String> = conditions.iter().map(|it| format!("{} {}", it.field(), it.seen(facts))).collect();
    all.join(" and ")
}

pub(super) fn join<T: AsRef<str>>(words: impl IntoIterator<Item = T>) -> String {
    let mut text = String::new();
    for word in words {
        if !text.is_empty() {
            text.push_str(", ");
        }
        text.push_str(word.as_ref());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_cut_where_a_value_ends() {
        let short = "a, b or c".to_owned();
        assert_eq!(shown(short.clone()), short);
        let long: Vec<String> = (0..100).map(|it| format!("code-{it:02}")).collect();
        let cut = shown(long.join(", "));
        assert!(cut.len() <= 200 && cut.ends_with("code-20, …"), "{cut}");
        // What looks like a separator inside of a value is none.
        let quoted = format!("`one`, `two, {}`", "x, ".repeat(100));
        assert_eq!(shown(quoted), "`one`, …");
        let one = shown("ä".repeat(300));
        assert!(one.len() <= 200 && one.ends_with("ä…"), "{one}");
    }
}

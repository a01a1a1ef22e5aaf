//! How much a rule file and a failure may hold. Owns the numbers and the functions that cut to them.
//!
//! What is over a limit in a rule file is an error with the value and the remedy; what is over a limit in a failure is
//! cut for matching and never rejected.

/// Bytes of one rule file.
pub const MAX_FILE_BYTES: usize = 512 * 1024;

/// Levels of lists and mappings in a rule file.
pub const MAX_NESTING: usize = 64;

/// Values that a rule file may expand to through its aliases, each counted with its text (bytes, roughly).
pub const MAX_EXPANDED_BYTES: usize = 16 * 1024 * 1024;

/// Rules of one layer.
pub const MAX_RULES: usize = 1_000;

/// Values of one list in a rule.
pub const MAX_VALUES: usize = 256;

/// Bytes of a rule's id.
pub const MAX_ID_BYTES: usize = 128;

/// Bytes of a signature.
pub const MAX_SIGNATURE_BYTES: usize = 64;

/// Bytes of one value to look for: a needle, a name, a code.
pub const MAX_NEEDLE_BYTES: usize = 512;

/// Bytes to which one expression may compile.
pub const MAX_COMPILED_BYTES: usize = 256 * 1024;

/// Different expressions of one layer.
pub const MAX_EXPRESSIONS: usize = 1_000;

/// Bytes of memory of all compiled expressions of one layer. The largest pack takes a quarter of it.
pub const MAX_EXPRESSION_BYTES: usize = 16 * 1024 * 1024;

/// Steps of looking for rules that are never reached in one table. The packs alone take a tenth of them.
pub const MAX_COMPARISONS: usize = 20_000_000;

/// Bytes of a rule's note.
pub const MAX_NOTE_BYTES: usize = 2_000;

/// The longest cooldown that a rule may name, in days: what a tenant's cap may be set to at most.
pub const MAX_COOLDOWN_DAYS: i64 = 7;

/// Findings listed for one layer; further ones are counted.
pub const MAX_DIAGNOSTICS: usize = 64;

/// Bytes of the body, and of each message, that rules see.
pub const MAX_MATCHED_BYTES: usize = 16 * 1024;

/// Causes of a failure that rules see, from the outermost inwards.
pub const MAX_CAUSES: usize = 16;

/// Bytes of a value in an explanation.
pub const MAX_SHOWN_BYTES: usize = 200;

/// The longest beginning of `text` that has at most `limit` bytes and ends between two characters.
#[must_use]
pub fn head(text: &str, limit: usize) -> &str {
    text.get(..text.floor_char_boundary(limit)).unwrap_or(text)
}

/// The longest end of `text` that has at most `limit` bytes and begins between two characters.
#[must_use]
pub fn tail(text: &str, limit: usize) -> &str {
    let from = text.len().saturating_sub(limit);
    text.get(text.ceil_char_boundary(from)..).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_between_characters() {
        assert_eq!(head("aé", 2), "a");
        assert_eq!(head("aé", 3), "aé");
        assert_eq!(head("aé", 0), "");
        assert_eq!(tail("éa", 2), "a");
        assert_eq!(tail("éa", 3), "éa");
        assert_eq!(tail("éa", 99), "éa");
    }
}

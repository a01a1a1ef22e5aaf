//! Words that a value is looked for behind.
//!
//! A word that is missing in [`FIELD_SHAPES`] is never compared: whoever looks for a value behind another word adds it there.

/// Fields whose value is a code.
pub(super) const CODE_FIELDS: [&str; 26] = [
    "code",
    "error",
    "error_code",
    "errorcode",
    "errcode",
    "err_code",
    "type",
    "error_type",
    "errortype",
    "reason",
    "status",
    "errno",
    "kind",
    "subcode",
    "error_subcode",
    "suberror",
    "error_codes",
    "faultcode",
    "tag",
    "__type",
    "exception",
    "err",
    "name",
    "status_code",
    "statuscode",
    "title",
];

/// Words right before a number that make it a code.
pub(super) const NUMBER_FIELDS: [&str; 18] = [
    "code",
    "error",
    "error_code",
    "errorcode",
    "errcode",
    "errno",
    "err",
    "number",
    "subcode",
    "error_subcode",
    "msg",
    "error_codes",
    "ora",
    "sqlcode",
    "exception",
    "codes",
    "curl",
    "returncode",
];

/// The shapes of all words that a value is looked for behind: for each first letter, by its last five bits, one bit for
/// each length. Most words in front of a value have none of these shapes, and need not be compared with each.
const FIELD_SHAPES: [u32; 32] = {
    const OTHERS: [&str; 12] = [
        "received",
        "sent",
        "close",
        "closed",
        "code",
        "status",
        "exitcode",
        "exit_code",
        "curl",
        "errno",
        "sqlstate",
        "state",
    ];
    let mut shapes = [0; 32];
    add_shapes(&mut shapes, &CODE_FIELDS);
    add_shapes(&mut shapes, &NUMBER_FIELDS);
    add_shapes(&mut shapes, &OTHERS);
    shapes
};

#[expect(clippy::indexing_slicing, reason = "evaluated while compiling")]
const fn add_shapes(shapes: &mut [u32; 32], words: &[&str]) {
    let mut at = 0;
    while at < words.len() {
        let word = words[at].as_bytes();
        shapes[(word[0] & 31) as usize] |= 1 << word.len();
        at += 1;
    }
}

/// Whether a word may be one of the fields, in any case.
#[inline]
pub(super) fn may_be_field(word: &str) -> bool {
    let first = word.as_bytes().first().copied().unwrap_or_default();
    word.len() < 32 && FIELD_SHAPES.get(usize::from(first & 31)).is_some_and(|it| it >> word.len() & 1 == 1)
}

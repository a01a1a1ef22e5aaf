//! Tests of what the rules see.

use health_model::failure::Cause;

use super::*;

static NOTHING: std::sync::LazyLock<Lexicon> = std::sync::LazyLock::new(Lexicon::default);

fn failure() -> Failure {
    Failure { message: "outer".to_owned(), ..Failure::default() }
}

// R112: not only the top message is seen.
#[test]
fn the_message_every_cause_and_the_body_are_seen() {
    let mut failure = failure();
    failure.causes = vec![Cause { message: "inner one".to_owned(), ..Cause::default() }];
    failure.body = format!("{}needle", "x".repeat(limits::MAX_MATCHED_BYTES - 6));
    let tool = Tool::default();
    let facts = Facts::new(&NOTHING, &tool, &failure, false);
    assert_eq!(facts.place_of("outer", Case::Exact), Some("message"));
    assert_eq!(facts.place_of("inner", Case::Exact), Some("causes"));
    assert_eq!(facts.place_of("needle", Case::Exact), Some("body"));
    assert_eq!(facts.place_of("Outer", Case::Exact), None, "compared byte by byte");

    let mut failure = failure.clone();
    failure.body.insert(0, 'x');
    let facts = Facts::new(&NOTHING, &tool, &failure, false);
    assert_eq!(facts.place_of("needle", Case::Exact), None, "the body is seen up to 16 KiB");
}

#[test]
fn the_finder_and_the_plain_search_agree() {
    let mut lexicon = Lexicon::default();
    let texts = |it: &[&str]| it.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    let mut needles = [
        Needles::new(texts(&["ab", "bc"]), Case::Exact),
        Needles::new(texts(&["abc"]), Case::Exact),
        Needles::new(texts(&["zz"]), Case::Exact),
        Needles::new(texts(&["Abc"]), Case::Words),
        Needles::new(texts(&["abc*"]), Case::Words),
        Needles::new(texts(&["*abc"]), Case::Words),
    ];
    for needle in &mut needles {
        let case = needle.case();
        needle.ids =
            needle.texts().iter().map(|it| lexicon.literals.number(Literal::new(it, case))).collect();
        needle.mask = crate::unwrap::Mask::of(&needle.ids);
    }
    lexicon.literals.finish();
    assert_eq!(lexicon.literals.len(), 7);
    let tool = Tool::default();
    for text in ["", "ab", "xbcx", "abc", "ABC.", "an abcd", "xabc y", "a b c", "zzz"] {
        let failure = Failure { body: text.to_owned(), ..failure() };
        let facts = Facts::new(&lexicon, &tool, &failure, false);
        for needles in &needles {
            let plain = needles.texts().iter().any(|it| facts.place_of(it, needles.case()).is_some());
            assert_eq!(facts.contains_any(needles), plain, "{text:?} {needles:?}");
        }
    }
    let failure = Failure { body: "an abcd".to_owned(), ..failure() };
    let facts = Facts::new(&lexicon, &tool, &failure, false);
    let held: Vec<bool> = needles.iter().map(|it| facts.contains_any(it)).collect();
    assert_eq!(held, [true, true, false, false, true, false], "words begin and end where no star stands");
}

// R113
#[test]
fn the_code_of_a_json_body_counts_where_none_was_reported() {
    let tool = Tool::default();
    let codes = |body: &str, reported: Option<&str>| {
        let failure =
            Failure { body: body.to_owned(), error_code: reported.map(str::to_owned), ..Failure::default() };
        Facts::new(&NOTHING, &tool, &failure, false).error_codes().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(codes(r#" {"error": {"code": "E1"}}"#, None), ["E1"]);
    assert_eq!(codes(r#"{"error": {"code": -32000}}"#, None), ["-32000"]);
    assert_eq!(codes(r#"{"error": {"code": "E1"}}"#, Some("E2")), ["E2"]);
    assert!(codes(r#"{"error": "E1"}"#, None).is_empty());
    assert!(codes(r#"{"error": {"code": null}}"#, None).is_empty());
    assert!(codes("error.code", None).is_empty());
    assert!(codes(&"{".repeat(100_000), None).is_empty());
}

proptest::proptest! {
    /// Every text that is there is found at every place, and nothing else, whatever its length and whatever begins alike.
    #[test]
    fn the_finder_finds_what_is_there(
        texts in proptest::collection::vec(("[aB é.]{1,7}", proptest::bool::ANY, proptest::bool::ANY), 1..24),
        text in "[aAbB é.]{0,40}",
    ) {
        let mut literals = Literals::default();
        let mut all = Vec::new();
        for (needle, begins, closes) in &texts {
            let stars = format!("{}{needle}{}", if *begins { "" } else { "*" }, if *closes { "" } else { "*" });
            for literal in [Literal::new(&stars, Case::Words), Literal::new(needle, Case::Exact)] {
                all.push((literals.number(literal.clone()), literal));
            }
        }
        literals.finish();
        let found = literals.find([text.as_str()].into_iter());
        for (id, literal) in all {
            proptest::prop_assert_eq!(found.contains(id), literal.is_in(&text), "{:?} in {:?}", literal, text);
        }
    }
}

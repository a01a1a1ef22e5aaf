//! The comparison of table and tests, and changing states.

use super::*;

fn id(word: &str) -> Id {
    Id::parse(word).unwrap()
}

fn cited(words: &[&str]) -> Citations {
    words.iter().map(|word| (id(word), BTreeSet::from(["a test".to_owned()]))).collect()
}

fn complete(state: State) -> Vec<Row> {
    Id::all().map(|id| Row { id, what: "what".to_owned(), state, place: "–".to_owned() }).collect()
}

#[test]
fn a_done_requirement_needs_a_test() {
    let mut rows = complete(State::Later);
    assert_eq!(compare(&rows, &cited(&["R3"])), [""; 0]);
    for n in [0, 1, 2] {
        rows[n].state = State::Done;
    }
    assert_eq!(compare(&rows, &cited(&["R2"])), ["done, but no test cites them: R1 R3"]);
}

#[test]
fn unknown_absent_and_doubled_numbers_are_told() {
    let mut rows = complete(State::Open);
    rows.remove(1);
    rows.push(rows[2].clone());
    let problems = compare(&rows, &cited(&["R354", "C35"]));
    assert_eq!(
        problems,
        [
            "listed more than once: R4",
            "not listed: R2",
            "no such requirement: R354, cited by a test",
            "no such requirement: C35, cited by a test",
        ]
    );
}

#[test]
fn rows_are_read_and_their_mistakes_told_by_line() {
    let table = "| id | what | state | where |\n| --- | --- | --- | --- |\n| R1 | a thing | done | here |\n\
                 | R2 | a thing | finished | – |\n| R3 | a thing | done |\n| C35 | a thing | open | – |\n\
                 | R4 | one two three four five six seven eight nine ten eleven twelve thirteen | open | – |\n";
    let (rows, problems) = table::parse(table);
    assert_eq!(
        rows,
        [Row { id: id("R1"), what: "a thing".into(), state: State::Done, place: "here".into() }]
    );
    assert_eq!(
        problems,
        [
            "line 4: R2 has the state `finished`; known are done, open, later, n/a",
            "line 5: R3 has 3 cells instead of 4",
            "line 6: no such requirement: C35",
            "line 7: R4 is described in 13 words; 1 to 12 are allowed",
        ]
    );
}

#[test]
fn only_the_wanted_states_change() {
    let table = "text\n| R1 | a | open | x |\n| R2 | b | open | – |\n| R3 | c | done | – |\n";
    let wanted = BTreeSet::from([id("R1"), id("R3")]);
    assert_eq!(
        table::set(table, State::Done, &wanted),
        ("text\n| R1 | a | done | x |\n| R2 | b | open | – |\n| R3 | c | done | – |\n".to_owned(), 1)
    );
}

#[test]
fn the_committed_table_is_complete_and_well_formed() {
    let text = fs::read_to_string(workspace::root().join(TABLE)).unwrap();
    let (rows, problems) = table::parse(&text);
    assert_eq!(problems, [""; 0]);
    assert_eq!(rows.iter().map(|row| row.id).collect::<Vec<_>>(), Id::all().collect::<Vec<_>>());
}

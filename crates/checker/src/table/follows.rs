//! Whether conditions hold wherever others do, from what they say alone.
//!
//! Conservative: what cannot be proved is denied.

use crate::facts::Literal;
use crate::rule::{Codes, Condition, Needles, Numbers, is_name};

/// How values are compared that a table numbers.
pub(crate) trait Values {
    /// Told before so many values are compared with one. `false` = no more is compared: nothing follows.
    fn spend(&mut self, n_values: usize) -> bool;

    /// Whether one of the wide needles is in every text that one of the narrow ones is in.
    fn needles(&mut self, wide: &Needles, narrow: &Needles) -> bool;

    /// Whether each of the narrow codes is among the wide ones.
    fn codes(&mut self, wide: &Codes, narrow: &Codes) -> bool;
}

/// Compares values as they are written, of conditions that stand in no table.
pub(crate) struct AsWritten;

impl Values for AsWritten {
    fn spend(&mut self, _: usize) -> bool {
        true
    }

    fn needles(&mut self, wide: &Needles, narrow: &Needles) -> bool {
        if wide.case() == narrow.case() && narrow.texts().iter().all(|it| wide.texts().contains(it)) {
            return true;
        }
        let literals = |it: &Needles| -> Vec<Literal> {
            it.texts().iter().map(|text| Literal::new(text, it.case())).collect()
        };
        let wide = literals(wide);
        literals(narrow).iter().all(|it| wide.iter().any(|wide| wide.is_within(it)))
    }

    fn codes(&mut self, wide: &Codes, narrow: &Codes) -> bool {
        narrow.normalised().iter().all(|it| wide.normalised().contains(it))
    }
}

/// Whether the first conditions hold wherever the second do.
pub(crate) fn covers(
    wide: &[Condition],
    narrow: &[Condition],
    literal: bool,
    values: &mut impl Values,
) -> bool {
    wide.iter().all(|condition| narrow.iter().any(|it| follows(condition, it, literal, values)))
}

/// Whether `wide` holds wherever `narrow` does.
pub(crate) fn follows(wide: &Condition, narrow: &Condition, literal: bool, values: &mut impl Values) -> bool {
    use Condition::{
        Any, BodyShape, CloseCode, Code, Contains, DispatchCode, ErrorCode, ExceptionType, ExitCode,
        GrpcStatus, Header, HttpStatus, HttpStatusRange, Json, JsonRpcCode, Kind, Method, Phase, Provider,
        Regex, SqlState, Status, ToolKind, ToolName,
    };
    let one_range = |from: u16, to: u16| Numbers::new(vec![(i64::from(from), i64::from(to))]);
    match (wide, narrow) {
        (HttpStatusRange(from, to), HttpStatus(narrow)) => within(narrow, &one_range(*from, *to), values),
        (HttpStatusRange(from, to), HttpStatusRange(inner_from, inner_to)) => {
            from <= inner_from && inner_to <= to
        }
        (HttpStatus(wide), HttpStatusRange(from, to)) => within(&one_range(*from, *to), wide, values),
        (HttpStatus(wide), HttpStatus(narrow))
        | (Status(wide), Status(narrow))
        | (JsonRpcCode(wide), JsonRpcCode(narrow))
        | (CloseCode(wide), CloseCode(narrow))
        | (ExitCode(wide), ExitCode(narrow)) => within(narrow, wide, values),
        (Code(wide), Code(narrow)) => values.codes(wide, narrow),
        (GrpcStatus(wide), GrpcStatus(narrow)) | (ErrorCode(wide), ErrorCode(narrow)) => {
            all_in(narrow, wide, values)
        }
        (Provider(wide), Provider(narrow)) => all_in(narrow.names(), wide.names(), values),
        (SqlState(wide), SqlState(narrow)) => {
            each(narrow, wide, values, |it, wide| it.starts_with(wide.as_str()))
        }
        (DispatchCode(wide), DispatchCode(narrow)) => all_in(narrow, wide, values),
        (ToolKind(wide), ToolKind(narrow)) => all_in(narrow, wide, values),
        (Phase(wide), Phase(narrow)) => all_in(narrow, wide, values),
        (BodyShape(wide), BodyShape(narrow)) => all_in(narrow, wide, values),
        (ToolName(wide), ToolName(narrow)) | (Method(wide), Method(narrow)) => all_in(narrow, wide, values),
        (Header(wide), Header(narrow)) => all_in(narrow, wide, values),
        (Json(wide), Json(narrow)) => all_in(narrow, wide, values),
        (Regex(wide), Regex(narrow)) => all_in(narrow, wide, values),
        (Kind(wide), Kind(narrow)) => narrow.is_subset(*wide),
        (ExceptionType(wide), ExceptionType(narrow)) if literal => {
            each(narrow.names(), wide.names(), values, |it, name| is_name(it, name))
        }
        (Kind(_), ExceptionType(_)) | (ExceptionType(_), Kind(_)) if literal => false,
        (Kind(wide), ExceptionType(narrow)) => narrow.raw().is_empty() && narrow.kinds().is_subset(*wide),
        (ExceptionType(wide), Kind(narrow)) => narrow.is_subset(wide.kinds()),
        (ExceptionType(wide), ExceptionType(narrow)) => {
            narrow.kinds().is_subset(wide.kinds())
                && each(narrow.raw(), wide.raw(), values, |it, name| is_name(it, name))
        }
        (Contains(wide), Contains(narrow)) => values.needles(wide, narrow),
        (wide @ Any(_), narrow @ Any(_)) if wide == narrow => true,
        (Any(branches), narrow) => branches.iter().any(
            |it| matches!(it.as_slice(), [one] if values.spend(1) && follows(one, narrow, literal, values)),
        ),
        (wide, narrow) => wide == narrow,
    }
}

fn all_in<T: PartialEq>(narrow: &[T], wide: &[T], values: &mut impl Values) -> bool {
    each(narrow, wide, values, |narrow, wide| narrow == wide)
}

fn within(narrow: &Numbers, wide: &Numbers, values: &mut impl Values) -> bool {
    narrow.ranges().iter().all(|it| values.spend(wide.ranges().len()) && wide.has_all_of(*it))
}

/// Whether each of the narrow ones follows one of the wide ones.
fn each<T>(narrow: &[T], wide: &[T], values: &mut impl Values, follows: impl Fn(&T, &T) -> bool) -> bool {
    narrow.iter().all(|it| values.spend(wide.len()) && wide.iter().any(|wide| follows(it, wide)))
}

//! What a use case has to say besides, as warnings.

use agrajag_proto::v1::WarningCode;
use health_service::Note;

use super::fields::Warnings;

pub(crate) fn push(notes: &[Note], warnings: &mut Warnings) {
    for note in notes {
        let (code, field, message) = match note {
            Note::StoreAway => (
                WarningCode::StoreAway,
                "",
                "the store does not answer: this rests on what the server knows by heart, and nothing was stored",
            ),
            Note::Corrupt => (
                WarningCode::StoreCorrupt,
                "tool",
                "nothing was stored: what is on record for this tool cannot be read; DeleteDocuments mends it",
            ),
            Note::Overloaded => (
                WarningCode::NotStored,
                "",
                "nothing was stored: too many writes are waiting; report it again later",
            ),
            Note::NotStored => (
                WarningCode::NotStored,
                "caller",
                "nothing was stored: the caller has no id at the scope of the verdict; send user and session if there \
                 are any",
            ),
            Note::ObserveMode => {
                (WarningCode::ObserveMode, "", "nothing was stored: the server runs in mode `observe`")
            }
            Note::RepeatedReport => (
                WarningCode::RepeatedReport,
                "report_id",
                "this report was counted before; this is the answer given then",
            ),
            Note::ShownUnreadable => {
                (WarningCode::Dropped, "shown", "was not made by this service and counts as empty")
            }
            Note::HeartbeatClamped => (
                WarningCode::Clamped,
                "heartbeat_interval",
                "is outside 1 s to 5 min and was moved to the nearer end",
            ),
        };
        warnings.push(code, field, message);
    }
}

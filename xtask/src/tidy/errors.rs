//! The pairing of error reasons in the interface with their pages below `docs/errors`.

use std::collections::BTreeSet;

use super::File;

const ENUM: &str = "proto/agrajag/v1/error_reason.proto";
const PREFIX: &str = "ERROR_REASON_";

/// Each reason has a page, and each page a reason.
pub(super) fn pages(files: &[File]) -> Vec<String> {
    let Some(proto) = files.iter().find(|file| file.path == ENUM) else {
        return vec![format!("{ENUM}: missing")];
    };
    let reasons = reasons(&proto.text);
    let pages: BTreeSet<&str> = files
        .iter()
        .filter_map(|file| file.path.strip_prefix("docs/errors/")?.strip_suffix(".md"))
        .filter(|page| *page != "README")
        .collect();
    let without_page = reasons
        .difference(&pages)
        .map(|reason| format!("{ENUM}: `{reason}` has no page docs/errors/{reason}.md"));
    let without_reason =
        pages.difference(&reasons).map(|page| format!("docs/errors/{page}.md: no such reason in {ENUM}"));
    without_page.chain(without_reason).collect()
}

/// The enum's values without their prefix, except the one that stands for none.
fn reasons(proto: &str) -> BTreeSet<&str> {
    let values = proto.lines().map(str::trim).filter(|line| line.starts_with(PREFIX));
    let names = values.filter_map(|line| line.split([' ', '=']).next()?.strip_prefix(PREFIX));
    names.filter(|name| *name != "UNSPECIFIED").collect()
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::*;

    #[test]
    fn reasons_and_pages_are_paired() {
        let proto = "// ERROR_REASON_IN_A_COMMENT\nenum ErrorReason {\n  ERROR_REASON_UNSPECIFIED = 0;\n  // Why.\n  ERROR_REASON_A = 1;\n  ERROR_REASON_B_C= 2;\n}\n";
        let mut files =
            vec![file(ENUM, proto), file("docs/errors/A.md", ""), file("docs/errors/README.md", "")];
        assert_eq!(pages(&files), [format!("{ENUM}: `B_C` has no page docs/errors/B_C.md")]);
        files.push(file("docs/errors/B_C.md", ""));
        assert_eq!(pages(&files), [""; 0]);
        files.push(file("docs/errors/OLD.md", ""));
        assert_eq!(pages(&files), [format!("docs/errors/OLD.md: no such reason in {ENUM}")]);
    }
}

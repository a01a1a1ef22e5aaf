//! One failed call: the flags and the file behind `agrajag.v1.CheckRequest`. `check` and `explain` share them.

use agrajag_proto::v1;

use super::caller::CallerArgs;
use super::failure::FailureArgs;
use super::read;
use super::tool::ToolArgs;
use crate::error::Error;
use crate::json::from_json;

/// The largest request file; the server takes no more either.
const MAX_FILE: u64 = 4 << 20;

/// One failed call.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct CallArgs {
    /// The name under which the model calls the tool.
    #[arg(long, value_name = "NAME", required_unless_present = "failure_file", help_heading = "The tool")]
    tool: Option<String>,
    /// A CheckRequest as JSON; `-` is standard input. Flags win over what it says.
    #[arg(long, value_name = "FILE", conflicts_with = "body_file")]
    failure_file: Option<String>,
    #[command(flatten)]
    caller: CallerArgs,
    #[command(flatten)]
    tool_args: ToolArgs,
    #[command(flatten)]
    failure: FailureArgs,
}

impl CallArgs {
    /// The request: the file if there is one, with the flags laid over it.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] if a file cannot be read or is no CheckRequest.
    pub(crate) fn to_request(&self) -> Result<v1::CheckRequest, Error> {
        let mut request = match &self.failure_file {
            None => v1::CheckRequest::default(),
            Some(file) => from_json(&read("--failure-file", file, MAX_FILE)?).map_err(|error| {
                Error::input(
                    format!("`--failure-file {file}` is no CheckRequest: {error}"),
                    "write it as {\"caller\": {\"tenantId\": …}, \"tool\": {\"name\": …}, \"failure\": {\"httpStatus\": …}}",
                )
            })?,
        };
        self.caller.apply(request.caller.get_or_insert_default());
        let tool = request.tool.get_or_insert_default();
        if let Some(name) = &self.tool {
            tool.name.clone_from(name);
        }
        self.tool_args.apply(tool);
        self.failure.apply(request.failure.get_or_insert_default())?;
        Ok(request)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use clap::Parser;

    use super::*;
    use crate::json::to_json;

    #[derive(Debug, clap::Parser)]
    struct Line {
        #[command(flatten)]
        call: CallArgs,
    }

    fn request(line: &[&str]) -> Result<v1::CheckRequest, Error> {
        let line =
            Line::try_parse_from(std::iter::once("check").chain(line.iter().copied())).expect("usable");
        line.call.to_request()
    }

    fn refused(line: &[&str]) -> String {
        Line::try_parse_from(std::iter::once("check").chain(line.iter().copied()))
            .expect_err("unusable")
            .to_string()
    }

    /// The shortest useful line: everything else has a default.
    #[test]
    fn a_tool_and_a_status_are_enough() {
        let request = request(&["--tool", "x", "--http-status", "403"]).expect("usable");
        insta::assert_snapshot!(to_json(&request, true), @r#"{"caller":{"tenantId":"default"},"tool":{"name":"x"},"failure":{"httpStatus":403}}"#);
    }

    /// DESIGN §5: every field of a failure that a person can know has a flag.
    #[test]
    fn every_flag_reaches_its_field() {
        let request = request(&[
            "--tool",
            "jira_search",
            "--tenant",
            "acme",
            "--project",
            "essay",
            "--user",
            "alice",
            "--session",
            "s-1",
            "--locale",
            "de",
            "--kind",
            "mcp",
            "--home-scope",
            "tenant",
            "--provider",
            "atlassian",
            "--target",
            "argument",
            "--dispatch-code",
            "BACKEND_FAILED",
            "--http-status",
            "429",
            "--header",
            "Retry-After: 7",
            "--header",
            "x-a:b:c",
            "--content-type",
            "text/html",
            "--exception-type",
            "java.io.IOException",
            "--cause",
            "java.net.ConnectException=a=b",
            "--cause",
            "Bare",
            "--failure-kind",
            "connect_refused",
            "--error-code",
            "ECONNREFUSED",
            "--json-rpc-code",
            "-32602",
            "--grpc-status",
            "14",
            "--sql-state",
            "28P01",
            "--is-error",
            "--phase",
            "connect",
            "--syscall",
            "connect",
            "--exit-code",
            "-9",
            "--stderr",
            "boom",
            "--message",
            "m",
            "--body",
            "b",
            "--target-host",
            "h:1",
            "--method",
            "GET",
            "--operation",
            "o",
            "--credential",
            "project",
            "--idempotent=false",
            "--read-only",
            "--may-have-run=true",
            "--attempt",
            "2",
            "--elapsed",
            "1.5s",
            "--schema-violation",
            "--not-found-of",
            "entity",
            "--occurred-at",
            "2026-11-30T14:05:00Z",
        ])
        .expect("usable");
        insta::assert_snapshot!(to_json(&request, false));
    }

    #[test]
    fn flags_win_over_the_file_and_the_file_over_the_defaults() {
        let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
        write!(file, r#"{{"caller":{{"tenantId":"acme","userId":"bob"}},"tool":{{"name":"wiki"}},"failure":{{"httpStatus":500,"readOnly":true}}}}"#)
            .expect("written");
        let path = file.path().to_str().expect("UTF-8");
        let request =
            request(&["--failure-file", path, "--user", "alice", "--http-status", "403"]).expect("usable");
        insta::assert_snapshot!(to_json(&request, true), @r#"{"caller":{"tenantId":"acme","userId":"alice"},"tool":{"name":"wiki"},"failure":{"httpStatus":403,"readOnly":true}}"#);
    }

    #[test]
    fn a_file_that_is_none_or_is_misspelt_is_named() {
        let missing = request(&["--failure-file", "no/such/file.json"]).expect_err("missing");
        assert_eq!(missing.exit_code(), 2);
        assert!(missing.to_text().contains("no/such/file.json"), "{}", missing.to_text());
        let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
        write!(file, r#"{{"failure":{{"status":403}}}}"#).expect("written");
        let misspelt =
            request(&["--failure-file", file.path().to_str().expect("UTF-8")]).expect_err("unknown field");
        assert!(misspelt.to_text().contains("status"), "{}", misspelt.to_text());
    }

    #[test]
    fn a_body_from_a_file_is_cut_and_made_text() {
        let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
        file.write_all(&[b"ok\xff".as_slice(), &vec![b'x'; 1 << 20]].concat()).expect("written");
        let path = file.path().to_str().expect("UTF-8");
        let body = request(&["--tool", "x", "--body-file", path]).expect("usable").failure.expect("set").body;
        assert!(body.starts_with("ok\u{fffd}xxx"));
        assert!(body.len() <= (64 << 10) + 2, "{}", body.len());
    }

    #[test]
    fn unusable_flags_are_refused_with_what_was_expected() {
        assert!(refused(&["--http-status", "403"]).contains("--tool"));
        assert!(refused(&["--tool", "x", "--header", "no colon"]).contains("NAME: VALUE"));
        assert!(refused(&["--tool", "x", "--cause", "=message"]).contains("TYPE=MESSAGE"));
        assert!(refused(&["--tool", "x", "--kind", "soap"]).contains("client, mcp, rest, builtin"));
        assert!(refused(&["--tool", "x", "--elapsed", "soon"]).contains("250ms"));
        assert!(refused(&["--tool", "x", "--body", "a", "--body-file", "b"]).contains("--body"));
    }
}

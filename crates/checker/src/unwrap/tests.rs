//! Tests of what is read from texts: each line is a spelling that some runtime or service prints.

use health_model::failure::Cause;

use super::*;

/// Statuses, codes, JSON-RPC codes, gRPC statuses and SQLSTATEs.
type Read = (Vec<u16>, Vec<String>, Vec<i64>, Vec<&'static str>, Vec<String>);

fn signals(text: &str, codes: &[&str]) -> Read {
    let map = CodeMap::build(codes.iter().filter_map(|it| normalise(it)));
    let failure = Failure { message: text.to_owned(), ..Failure::default() };
    let signals = read(&failure, &map, true);
    let has = |code: &&&str| {
        let id = normalise(code).and_then(|it| map.id(&it));
        id.is_some_and(|it| signals.codes.contains(it))
    };
    let found = codes.iter().filter(has).map(|it| (*it).to_owned()).collect();
    let states = signals.sql_states.iter().map(|it| (*it).to_owned()).collect();
    (signals.statuses.clone(), found, signals.rpc_codes.clone(), signals.grpc.clone(), states)
}

fn statuses(text: &str) -> Vec<u16> {
    signals(text, &[]).0
}

#[test]
fn a_status_is_read_where_its_context_says_so() {
    for (text, expected) in [
        ("404 Client Error: Not Found for url: https://x.example/1", &[404][..]),
        ("Request failed with status code 403", &[403]),
        ("API responded with status code: 429. You exceeded", &[429]),
        ("HTTP/1.1 503 Service Unavailable", &[503]),
        ("HTTP 401", &[401]),
        ("Error code: 500 - {'error': {'message': \"Http status code: 403 (Forbidden)\"}}", &[500, 403]),
        ("The remote server returned an error: (429) Too Many Requests.", &[429]),
        ("Exa API error (402): {\"error\":\"no credits\"}", &[402]),
        ("GitHub API error: 401", &[401]),
        ("{ status: 403, err: 'Forbidden' }", &[403]),
        ("{\"status\":\"404\"}", &[404]),
        ("{\"error\":{\"code\":429,\"message\":\"x\"}}", &[429]),
        ("(Service: Amazon S3; Status Code: 503; Error Code: SlowDown)", &[503]),
        ("429: Too Many Requests: retry after 40", &[429]),
        ("Too Many Requests (429)", &[429]),
        ("The requested URL returned error: 500", &[500]),
        ("Twilio Client Error: [HTTP 400] 21608", &[400]),
        ("Status(apiVersion=v1, code=409, reason=Conflict)", &[409]),
        ("Request Timeout (408)", &[408]),
        ("504 Gateway Time-out", &[504]),
        ("error 422 for POST /droplets: {}", &[422]),
        ("Error 500 status sending message to http://h", &[500]),
        ("HTTP Error 404.15 - Not Found", &[404]),
        ("error 401 invalid credentials", &[401]),
        ("status code 400 reading UserFeignClient#getHello()", &[400]),
        ("Error code: 404 page x", &[404]),
        ("upload failed with code 502 while uploading metadata", &[502]),
        ("Error 503 first byte timeout", &[503]),
        ("Error: 403 forbidden", &[403]),
        ("409 conflict while updating x", &[409]),
        ("code=404 err_code=10059 description='x'", &[404]),
        ("npm error code E404\nnpm error 404  '@a/b@*' is not in this registry", &[404]),
        ("401, message='Unauthorized', url='https://x.example/1'", &[401]),
        ("400, message='', url='https://x.example/1'", &[400]),
        ("[GET /users/{id}][401] searchUsersUnauthorized  &{Message:x}", &[401]),
        ("`x`: [PUT /a][403] putAForbidden", &[403]),
    ] {
        assert_eq!(statuses(text), expected, "{text}");
    }
}

#[test]
fn no_status_is_guessed_from_prose() {
    for text in [
        "",
        "room 404 is taken",
        "found 500 rows in 403 ms",
        "port 503",
        "listening on 127.0.0.1:404",
        "order 429 was not shipped",
        "up 401% since May",
        "code 4040",
        "MCP error -32602: bad",
        "1,431/1,375 chars",
        "ticket ABC-404",
        "at line 500, column 404",
        "Error: 429 records are invalid",
        "Error: 403 of 900 rows rejected",
        "Import done, error 401 of 900 rows",
        "Merge failed: 409 conflicts in 12 files",
        "Merge failed: 409 conflict markers in 12 files",
        "404 client errors were logged, and 500 internal errors",
        "Error: 423 locked accounts",
        "3 jobs ended in a deadlocked (423)",
        "status: 450 of 900 rows",
        "Generated code: 404 lines",
        "Error: 500 MB are the limit",
        "Error: 403.5 seconds are too long",
        "Error: 403,112 rows are too many",
        "Error: 403/900 rows failed",
        "Error: 400+ rows",
        "Error: 429 \u{437}\u{430}\u{43f}\u{438}\u{441}\u{435}\u{439}",
        "responded with 403 rows",
        "see table [x][404] and [GET it][401]",
        "\u{0660}\u{0664}\u{0660}\u{0664}",
    ] {
        assert_eq!(statuses(text), [0_u16; 0], "{text}");
    }
}

#[test]
fn codes_are_read_wherever_machines_print_them() {
    for (text, code) in [
        ("An error occurred (AccessDenied) when calling the ListObjectsV2 operation: x", "accessDenied"),
        ("Error: Failed to send email: invalid_grant", "invalid_grant"),
        ("{\"error\":\"forbidden\"}", "forbidden"),
        ("{'error': {'type': 'tokens', 'code': 'rate_limit_exceeded'}}", "tokens"),
        ("AADSTS65001: The user has not consented", "AADSTS65001"),
        ("ORA-00942: table or view does not exist", "ORA-00942"),
        ("NOPERM this user has no permissions", "NOPERM"),
        ("[Errno 28] No space left on device", "ENOSPC"),
        ("Permission denied (os error 13)", "EACCES"),
        ("(1142, \"SELECT command denied to user\")", "1142"),
        ("ERROR 1045 (28000): Access denied", "1045"),
        ("{\"message\": \"Missing Access\", \"code\": 50001}", "50001"),
        ("\"error_codes\":[50076]", "50076"),
        ("<Error><Code>Forbidden</Code></Error>", "Forbidden"),
        ("curl: (60) SSL certificate problem", "curl060"),
        ("reason=Conflict, status=Failure", "Conflict"),
        ("com.amazonaws.dynamodb.v20120810#ThrottlingException", "Throttling"),
        ("errors=[code=21608]", "21608"),
        ("npm error code E404", "E404"),
        ("DiscordAPIError[50013]: Missing Permissions", "50013"),
        ("(pymysql.err.ProgrammingError) (1146, \"Table 'a.b' doesn't exist\")", "1146"),
        ("OperationalError: (2003, b'Can not connect')", "2003"),
        ("[Errno -3] Temporary failure in name resolution", "EAI_AGAIN"),
        ("[Errno 104] Connection reset by peer", "ECONNRESET"),
        ("errno: -4077, syscall: 'read'", "ECONNRESET"),
        ("{\"errno\":-4039}", "ETIMEDOUT"),
        ("npm error errno -4058", "ENOENT"),
        ("errno: -111", "ECONNREFUSED"),
    ] {
        assert_eq!(signals(text, &[code]).1, [code], "{text}");
    }
    for (text, code) in [
        ("access is forbidden here", "forbidden"),
        ("the tokens of the user", "tokens"),
        ("took 1045 ms", "1045"),
        ("{\"error\":\"forbidden fruit\"}", "forbidden"),
        ("[Errno -3] Temporary failure in name resolution", "3"),
        ("[Errno -2] Name or service not known", "ENOENT"),
        ("Row[1146] of the table", "1146"),
        ("the point (1146, 12) is outside", "1146"),
        ("mail to (550, 'no such user')", "550"),
    ] {
        assert!(signals(text, &[code]).1.is_empty(), "{text}");
    }
}

#[test]
fn protocols_codes_keep_their_layer() {
    assert_eq!(signals("MCP error -32602: Invalid arguments", &[]).2, [-32_602]);
    assert_eq!(signals("{\"code\":-32601,\"message\":\"x\"}", &[]).2, [-32_601]);
    assert!(signals("from 1-32602", &[]).2.is_empty());
    for (text, status) in [
        ("rpc error: code = Unavailable desc = x", "UNAVAILABLE"),
        ("14 UNAVAILABLE: No connection", "UNAVAILABLE"),
        ("Status(StatusCode=\"Internal\", Detail=\"x\")", "INTERNAL"),
        ("\tstatus = StatusCode.DEADLINE_EXCEEDED\n", "DEADLINE_EXCEEDED"),
        ("PERMISSION_DENIED: Permission x", "PERMISSION_DENIED"),
        ("{\"status\":\"RESOURCE_EXHAUSTED\"}", "RESOURCE_EXHAUSTED"),
    ] {
        assert_eq!(signals(text, &[]).3, [status], "{text}");
    }
    assert!(signals("the service is UNAVAILABLE today", &[]).3.is_empty());
    for (text, state) in [
        ("ERROR: deadlock detected (SQLSTATE 40P01)", "40P01"),
        ("SQLSTATE[42S02]: Base table not found", "42S02"),
        ("ERROR 1045 (28000): Access denied", "28000"),
        ("250001 (08001): Failed to connect", "08001"),
        ("('42S02', \"[42S02] [Microsoft][ODBC Driver] Invalid object name\")", "42S02"),
        ("(pyodbc.OperationalError) ('08001', '[08001] [unixODBC] x')", "08001"),
        ("('01000', \"[01000] [unixODBC][Driver Manager]Can't open lib\")", "01000"),
        ("('HY000', 'The driver did not supply an error!')", "HY000"),
        ("{'S': 'ERROR', 'C': '42P01', 'M': 'relation \"x\" does not exist'}", "42P01"),
        ("{'S': 'ERROR', 'C': '42501', 'M': 'permission denied'}", "42501"),
        ("{'S': 'FATAL', 'C': '72000', 'M': 'x'}", "72000"),
        ("SQLSTATE[01000]: Warning", "01000"),
        ("SQL state: 42P01", "42P01"),
        ("pgcode='23505'", "23505"),
    ] {
        assert_eq!(signals(text, &[]).4, [state], "{text}");
    }
    for text in [
        "('90210', 'Beverly Hills')",
        "('42501', 'a town')",
        "{'A': 'x', 'C': '42501'}",
        "state: 90210",
        "State: 28000",
        "vitamin C 42P01",
        "see table 42S02 of the book",
    ] {
        assert!(signals(text, &[]).4.is_empty(), "{text}");
    }
}

#[test]
fn exit_and_close_codes_are_read() {
    let read_of = |text: &str| {
        let failure = Failure { message: text.to_owned(), ..Failure::default() };
        let map = CodeMap::default();
        let signals = read(&failure, &map, true);
        (signals.exit_codes.clone(), signals.close_codes.clone())
    };
    assert_eq!(read_of("returned non-zero exit status 128.").0, [128]);
    assert_eq!(read_of("Process exited with code 127").0, [127]);
    assert_eq!(read_of("received 1012 (service restart); then sent 1012").1, [1_012]);
    assert_eq!(read_of("read close 1008 (policy violation)").1, [1_008]);
    assert_eq!(read_of("received 1012x bytes"), (vec![], vec![]));
}

// The innermost cause is read last; what is repeated is read once.
#[test]
fn texts_are_read_from_the_outside_in() {
    let failure = Failure {
        http_status: Some(500),
        message: "HTTP 502".to_owned(),
        causes: vec![Cause {
            message: "HTTP 401".to_owned(),
            exception_type: Some("a.b.AuthError".to_owned()),
            code: None,
        }],
        body: "{\"status\": 403}".to_owned(),
        ..Failure::default()
    };
    let map = CodeMap::default();
    let found = read(&failure, &map, true);
    assert_eq!(found.statuses, [502, 401, 403]);
    assert_eq!(found.types, ["AuthError"]);
    assert!(read(&failure, &map, false).statuses.is_empty(), "the letter reads no text");
}

#[test]
fn a_hostile_text_costs_no_more_than_its_length() {
    let map = CodeMap::build(["x_y"].iter().filter_map(|it| normalise(it)));
    for text in [
        "a-".repeat(8_000),
        "<Code>".repeat(2_000),
        "code=".repeat(3_000),
        "-3".repeat(8_000),
        "500 ".repeat(4_000),
        "error 500 ".repeat(1_600),
        "[GET /][401]".repeat(1_300),
        "][401]".repeat(2_700),
        "('42S02', '".repeat(1_400),
        "{'C': '42P01'".repeat(1_200),
        "errno -3".repeat(2_000),
    ] {
        let failure = Failure { message: text, ..Failure::default() };
        let signals = read(&failure, &map, true);
        assert!(signals.types.len() <= 32 && signals.exit_codes.len() <= 32);
    }
}

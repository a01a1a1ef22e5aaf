"""The demo's story, played by a client in another language against a running server.

Plain grpcio with stubs generated from the project's own .proto files. The server's address is in AGRAJAG_SERVER; where
the stubs are, PYTHONPATH says. `cargo xtask test` sees to both.
"""

import datetime
import email.utils
import json
import os
import threading
import unittest

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from agrajag.v1 import admin_service_pb2 as admin
from agrajag.v1 import admin_service_pb2_grpc as admin_grpc
from agrajag.v1 import failure_pb2 as failure
from agrajag.v1 import health_pb2 as health
from agrajag.v1 import tool_health_service_pb2 as tools
from agrajag.v1 import tool_health_service_pb2_grpc as tools_grpc
from agrajag.v1 import verdict_pb2 as verdict

DEADLINE = 20.0


def caller(user, session=""):
    return health.Caller(tenant_id="acme-py", project_id="essay", user_id=user, session_id=session)


def tool(name, kind=health.TOOL_KIND_REST):
    return health.Tool(name=name, kind=kind)


def exception(error, message=""):
    """A failure as a Python runtime reports it: from a real exception, with its chain of causes."""
    causes = []
    cause = error.__cause__ or error.__context__
    while cause is not None:
        causes.append(failure.Cause(type=type(cause).__name__, message=str(cause)))
        cause = cause.__cause__ or cause.__context__
    name = f"{type(error).__module__}.{type(error).__qualname__}".removeprefix("builtins.")
    return failure.Failure(exception_type=name, message=message or str(error), causes=causes)


class Story(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.channel = grpc.insecure_channel(os.environ["AGRAJAG_SERVER"])
        cls.addClassCleanup(cls.channel.close)
        cls.tools = tools_grpc.ToolHealthServiceStub(cls.channel)
        cls.admin = admin_grpc.AdminServiceStub(cls.channel)

    def check(self, who, what, error):
        request = tools.CheckRequest(caller=who, tool=what, failure=error)
        return self.tools.Check(request, timeout=DEADLINE).verdict

    def lookup(self, who, *names, shown=b""):
        request = tools.LookupRequest(caller=who, tools=[tool(it) for it in names], shown=shown)
        return self.tools.Lookup(request, timeout=DEADLINE)

    def test_a_client_disconnects_and_comes_back(self):
        """C24, R81: "unreachable" and not "unknown", for the session whose client is gone."""
        alice = caller("alice", "s1")
        editor = tool("client_edit", health.TOOL_KIND_CLIENT)
        event = tools.RecordEventRequest(
            caller=alice, tools=[editor], event=tools.TOOL_EVENT_CONNECTION_CLOSED, connection_id="ws", sequence=1
        )
        self.assertEqual(self.tools.RecordEvent(event, timeout=DEADLINE).results[0].state, health.TOOL_STATE_DOWN)
        unknown = failure.Failure(dispatch_code=failure.DISPATCH_CODE_NOT_REGISTERED)
        answer = self.check(alice, editor, unknown)
        self.assertEqual(answer.dispatch_code, failure.DISPATCH_CODE_BACKEND_UNREACHABLE)
        self.assertEqual(answer.remedy, verdict.REMEDY_REOPEN_SESSION)
        self.assertIn("failed", answer.text)
        other = self.check(caller("alice", "s2"), editor, unknown)
        self.assertEqual(other.dispatch_code, failure.DISPATCH_CODE_NOT_REGISTERED)
        event.event = tools.TOOL_EVENT_CONNECTION_OPENED
        event.sequence = 2
        self.assertEqual(self.tools.RecordEvent(event, timeout=DEADLINE).results[0].state, health.TOOL_STATE_OK)

    def test_a_missing_right_is_one_users(self):
        """R3, R46: Alice's 403 changes nothing for Bob and no status for anybody."""
        for n in range(3):
            answer = self.check(caller("alice"), tool("jira_search"), failure.Failure(http_status=403))
            self.assertEqual(answer.classification, health.CLASSIFICATION_USER_PERMISSION)
            self.assertEqual(answer.cooldown.active, n > 0)
            self.assertEqual(answer.health.state, health.TOOL_STATE_OK)
        self.assertEqual(self.lookup(caller("bob"), "jira_search").tools[0].state, health.TOOL_STATE_OK)

    def test_a_rate_limit_names_its_time(self):
        """R129: a Retry-After is passed on exactly."""
        at = datetime.datetime.now(datetime.UTC).replace(microsecond=0) + datetime.timedelta(minutes=30)
        header = failure.Header(name="Retry-After", value=email.utils.format_datetime(at, usegmt=True))
        answer = self.check(
            caller("alice"), tool("mail_send"), failure.Failure(http_status=429, headers=[header])
        )
        self.assertEqual(answer.retry_at.ToDatetime(datetime.UTC), at)
        self.assertEqual(answer.retry_basis, verdict.RETRY_BASIS_EXACT)
        self.assertIn(at.strftime("%Y-%m-%d %H:%M:%S UTC"), answer.text)
        shown = self.lookup(caller("alice"), "mail_send").tools[0]
        self.assertEqual((shown.state, shown.retry_at), (health.TOOL_STATE_DEGRADED, answer.retry_at))

    def test_a_refused_connection_recovers(self):
        """R55, R72: told with words, healed by a success, and the end of it told once."""
        alice, bob = caller("alice"), caller("bob")
        try:
            try:
                raise ConnectionRefusedError(111, "Connection refused")
            except ConnectionRefusedError as cause:
                raise RuntimeError("GET /rest/api/3/search failed") from cause
        except RuntimeError as error:
            answer = self.check(alice, tool("wiki_read"), exception(error))
        self.assertEqual(answer.signature, "connect-refused")
        told = self.lookup(bob, "wiki_read", "calendar")
        self.assertEqual(told.tools[0].state, health.TOOL_STATE_DOWN)
        self.assertEqual(told.block, f"Tool availability:\n- wiki_read: {told.tools[0].words}\n")
        self.assertTrue(told.tools[0].report_success)
        self.assertFalse(told.tools[1].report_success)
        success = tools.Success(tool=tool("wiki_read"), http_status=200)
        request = tools.RecordSuccessRequest(caller=bob, successes=[success])
        result = self.tools.RecordSuccess(request, timeout=DEADLINE).results[0]
        self.assertEqual(result.outcome, tools.SUCCESS_OUTCOME_CLEARED)
        after = self.lookup(bob, "wiki_read", "calendar", shown=told.shown)
        self.assertEqual(list(after.recovered), ["wiki_read"])
        self.assertEqual(list(self.lookup(bob, "wiki_read", shown=after.shown).recovered), [])

    def test_an_unclear_failure_is_diagnosed_once(self):
        """R99, R102: one job, however many threads report it."""
        answers = []

        def report(n):
            answers.append(self.check(caller(f"user-{n}"), tool("search"), failure.Failure(http_status=500)))

        threads = [threading.Thread(target=report, args=(n,)) for n in range(30)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        states = [it.diagnosis for it in answers]
        self.assertEqual(states.count(verdict.DIAGNOSIS_STATE_ENQUEUED), 1)
        self.assertEqual(states.count(verdict.DIAGNOSIS_STATE_SUPPRESSED), 29)
        jobs = self.admin.ListJobs(admin.ListJobsRequest(tenant_id="acme-py"), timeout=DEADLINE).jobs
        self.assertEqual([it.signature for it in jobs], ["http-5xx"])

    def test_a_stream_is_followed(self):
        """DESIGN §5: Watch begins with a snapshot and tells the next change."""
        carol = health.Caller(tenant_id="acme-py", project_id="watched", user_id="carol")
        stream = self.tools.Watch(tools.WatchRequest(caller=carol), timeout=DEADLINE)
        self.addCleanup(stream.cancel)
        self.assertEqual(next(stream).WhichOneof("event"), "snapshot")
        self.check(carol, tool("db"), exception(ConnectionRefusedError(111, "Connection refused")))
        for message in stream:
            if message.WhichOneof("event") == "change":
                self.assertEqual([it.tool_name for it in message.change.tools], ["db"])
                break
        else:
            self.fail("the stream ended")

    def test_a_verdict_is_answered_in_other_dialects(self):
        """C22: the words in each form are the verdict's own, and an unknown form does not fail the report."""
        request = tools.CheckRequest(
            caller=caller("alice"),
            tool=tool("calendar_add"),
            failure=failure.Failure(http_status=403),
            render=[verdict.RENDER_DIALECT_MCP, 77, verdict.RENDER_DIALECT_ANTHROPIC],
            call_id="toolu_1",
        )
        answer = self.tools.Check(request, timeout=DEADLINE)
        result, block = (json.loads(it.content) for it in answer.renderings)
        text = answer.verdict.text
        self.assertEqual((result["isError"], result["content"]), (True, [{"type": "text", "text": text}]))
        self.assertEqual(result["_meta"]["agrajag.v1/verdict"]["classification"], "USER_PERMISSION")
        self.assertEqual(
            block, {"type": "tool_result", "tool_use_id": "toolu_1", "content": text, "is_error": True}
        )
        self.assertEqual([it.field for it in answer.warnings], ["render[1]"])

    def test_an_error_carries_its_details(self):
        """DESIGN §5: code, reason and every field that is wrong, by the standard details of gRPC."""
        with self.assertRaises(grpc.RpcError) as raised:
            self.tools.Check(tools.CheckRequest(), timeout=DEADLINE)
        self.assertEqual(raised.exception.code(), grpc.StatusCode.INVALID_ARGUMENT)
        status = rpc_status.from_call(raised.exception)
        info, fields = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
        for detail in status.details:
            detail.Unpack(info)
            detail.Unpack(fields)
        self.assertEqual((info.reason, info.domain), ("INVALID_FIELD", "agrajag"))
        self.assertEqual([it.field for it in fields.field_violations], ["caller", "tool"])


if __name__ == "__main__":
    unittest.main()

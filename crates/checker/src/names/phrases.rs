//! Phrases that operating systems, runtimes and client libraries print by themselves.
//!
//! Compared without case. A guard says what must stand around a phrase, so that prose about connections is not taken
//! for one: the texts of an operating system's errors stand behind a colon or bracket and end a clause.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use health_model::FailureKind;

use super::{Strength, codes};

use FailureKind::{
    Cancelled, Closed, ConnectRefused, ConnectTimeout, Decode, Dns, NetworkUnreachable, NotStarted, Protocol,
    ReadTimeout, Reset, Timeout, Tls,
};
use Strength::{Exact, Generic, Weak};

/// What must stand around a phrase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Guard {
    /// Nothing: the phrase is distinctive.
    Plain,
    /// The text of an operating system's error: begins the text or stands behind a separator, and ends a clause.
    Clause,
    /// Begins the text or stands behind a separator.
    Begins,
    /// Begins the text or stands behind a separator, and ends the text or the line.
    Ends,
    /// A whole word, with this case.
    Code,
    /// The beginning of a word, with this case.
    Prefix,
    /// A number of the operating system follows.
    Number,
    /// A number of the operating system or of libuv follows.
    Errno,
    /// `spawn PROGRAM ENOENT`: a program and an errno follow.
    Spawn,
    /// Go's `i/o timeout`: while dialling, reading, or asking a resolver.
    GoTimeout,
    /// `timeout of 1000ms exceeded`: a time-out stands right before.
    AfterTimeout,
}

/// One phrase.
#[derive(Debug, Clone, Copy)]
pub(super) struct Phrase {
    /// The text, in lower case unless the guard compares case.
    pub(super) text: &'static str,
    pub(super) kind: FailureKind,
    pub(super) strength: Strength,
    pub(super) guard: Guard,
}

type Group = (FailureKind, Strength, Guard, &'static [&'static str]);

const GROUPS: &[Group] = &[
    // Nothing listens: an address, or a socket file that is not there.
    (ConnectRefused, Exact, Guard::Clause, &["connection refused"]),
    (
        ConnectRefused,
        Exact,
        Guard::Plain,
        &[
            "actively refused it",
            "curl: (7)",
            "couldn't connect to server",
            "all connection attempts failed",
            "could not connect to the endpoint url",
            "cannot connect to the docker daemon at",
            "connect enoent ",
            "connect: no such file or directory",
            "('connection aborted.', filenotfounderror(2",
        ],
    ),
    // Systems that speak another language print the same errors without a number.
    (
        ConnectRefused,
        Exact,
        Guard::Plain,
        &[
            "目标计算机积极拒绝",
            "目標電腦拒絕連線",
            "連線被拒絕",
            "连接被拒绝",
            "拒绝连接",
            "da der zielcomputer die verbindung verweigerte",
            "verbindungsaufbau abgelehnt",
            "l'ordinateur cible l'a expressément refusée",
            "l’ordinateur cible l’a expressément refusée",
            "connexion refusée",
            "equipo de destino denegó expresamente",
            "conexión rehusada",
            "conexión rechazada",
            "máquina de destino as recusou ativamente",
            "computador de destino as recusou ativamente",
            "conexão recusada",
            "rifiuto persistente del computer di destinazione",
            "connessione rifiutata",
            "対象のコンピューターによって拒否された",
            "接続を拒否されました",
            "конечный компьютер отверг запрос на подключение",
            "соединении отказано",
            "대상 컴퓨터에서 연결을 거부",
            "연결이 거부",
            "połączenie odrzucone",
            "komputer docelowy aktywnie go odmawia",
            "verbinding is geweigerd",
            "bağlantı reddedildi",
        ],
    ),
    (
        Dns,
        Exact,
        Guard::Plain,
        &[
            "不知道这样的主机",
            "無法識別這台主機",
            "未知的名称或服务",
            "es ist kein solcher host bekannt",
            "der name oder der dienst ist nicht bekannt",
            "hôte inconnu",
            "nom ou service inconnu",
            "host desconocido",
            "nombre o servicio desconocido",
            "este host não é conhecido",
            "nome ou serviço desconhecido",
            "host sconosciuto",
            "nome o servizio sconosciuto",
            "そのようなホストは不明です",
            "名前またはサービスが不明です",
            "тот хост неизвестен",
            "или служба не известны",
            "알려진 호스트가 없습니다",
        ],
    ),
    (
        Reset,
        Generic,
        Guard::Plain,
        &[
            "远程主机强迫关闭了一个现有的连接",
            "vom remotehost geschlossen",
            "fermée par l'hôte distant",
            "fermée par l’hôte distant",
            "interrupción forzada de una conexión existente",
            "foi forçado o cancelamento de uma conexão existente",
            "リモート ホストに強制的に切断",
            "удаленный хост принудительно разорвал",
            "vom kommunikationspartner zurückgesetzt",
            "connexion ré-initialisée par le correspondant",
        ],
    ),
    // The name does not resolve.
    (
        Dns,
        Exact,
        Guard::Clause,
        &[
            "name or service not known",
            "no address associated with hostname",
            "name does not resolve",
            "no such host",
            "domain name not found",
        ],
    ),
    (
        Dns,
        Exact,
        Guard::Plain,
        &[
            "nodename nor servname provided",
            "hostname nor servname provided",
            "no such host is known",
            "getaddrinfo failed",
            "could not resolve host",
            "could not resolve proxy",
            "unable to resolve host",
            "curl: (6)",
            "curl: (5)",
        ],
    ),
    (
        Dns,
        Generic,
        Guard::Plain,
        &["failed to lookup address information", "could not translate host name", "dns resolution failed"],
    ),
    // No way there, and resolvers that ask to try again: nothing is known of the name.
    (
        NetworkUnreachable,
        Exact,
        Guard::Clause,
        &[
            "network is unreachable",
            "no route to host",
            "host is unreachable",
            "network is down",
            "host is down",
            "cannot assign requested address",
            "can't assign requested address",
            "temporary failure in name resolution",
            "server misbehaving",
        ],
    ),
    (NetworkUnreachable, Exact, Guard::Plain, &["operation was attempted to an unreachable"]),
    (
        Tls,
        Exact,
        Guard::Plain,
        &[
            "certificate verify failed",
            "certificate has expired",
            "self-signed certificate",
            "self signed certificate",
            "unable to verify the first certificate",
            "unable to get local issuer certificate",
            "unable to get issuer certificate",
            "invalid peer certificate",
            "does not match certificate's altnames",
            "pkix path building failed",
            "pkix path validation failed",
            "the remote certificate is invalid",
            "the remote certificate was rejected",
            "received fatal alert",
            "unsupported or unrecognized ssl message",
            "unrecognized ssl message, plaintext connection",
            "server gave http response to https client",
            "first record does not look like a tls handshake",
            "ssl certificate problem",
            "no alternative certificate subject name",
            "server certificate verification failed",
            "wrong version number",
            "sslv3 alert",
            "tlsv1 alert",
            "tlsv13 alert",
            "curl: (51)",
            "curl: (58)",
            "curl: (60)",
            "curl: (77)",
        ],
    ),
    (Tls, Exact, Guard::Begins, &["x509: ", "tls: "]),
    (
        Tls,
        Generic,
        Guard::Plain,
        &[
            "[ssl: ",
            "ssl routines:",
            "the ssl connection could not be established",
            "gnutls_handshake() failed",
            "curl: (35)",
        ],
    ),
    (
        ConnectTimeout,
        Exact,
        Guard::Plain,
        &[
            "connect: connection timed out",
            "connect etimedout",
            "connect error: connection timed out",
            "connect timeout error",
            "connect timeout=",
            "connect timed out",
            "tls handshake timeout",
            "connected party did not properly respond",
        ],
    ),
    (
        ReadTimeout,
        Exact,
        Guard::Plain,
        &[
            "read timed out",
            "read timeout=",
            "read timeout on endpoint",
            "headers timeout error",
            "body timeout error",
        ],
    ),
    (
        Timeout,
        Generic,
        Guard::Plain,
        &[
            "timed out",
            "deadline exceeded",
            "deadline has elapsed",
            "deadline_exceeded",
            "client.timeout exceeded",
            "httpclient.timeout of",
            "aborted due to timeout",
            "did not observe any item or terminal signal within",
            "curl: (28)",
        ],
    ),
    (Timeout, Generic, Guard::AfterTimeout, &["ms exceeded"]),
    (Timeout, Generic, Guard::GoTimeout, &["i/o timeout"]),
    (
        Reset,
        Generic,
        Guard::Clause,
        &[
            "connection reset by peer",
            "connection reset",
            "broken pipe",
            "unexpected eof",
            "socket hang up",
            "other side closed",
        ],
    ),
    (Reset, Generic, Guard::Ends, &["eof"]),
    (
        Reset,
        Generic,
        Guard::Plain,
        &[
            "forcibly closed by the remote host",
            "software caused connection abort",
            "remote end closed connection without response",
            "server disconnected",
            "peer closed connection",
            "empty reply from server",
            "connection closed before message completed",
            "response ended prematurely",
            "incompleteread(",
            "header parser received no bytes",
            "server closed the connection unexpectedly",
            "connection terminated unexpectedly",
            "lost connection to mysql server",
            "disconnect/reset before headers",
            "rst_stream",
            "goaway",
            "curl: (18)",
            "curl: (52)",
            "curl: (55)",
        ],
    ),
    (
        Protocol,
        Generic,
        Guard::Plain,
        &[
            "malformed http response",
            "malformed http status",
            "parse error: expected http/",
            "received http/0.9 when not allowed",
            "first received frame was not settings",
            "curl: (1)",
            "curl: (92)",
        ],
    ),
    (
        Decode,
        Generic,
        Guard::Plain,
        &[
            "is not valid json",
            "expecting value: line",
            "looking for beginning of value",
            "unexpected end of json input",
            "error decoding response body",
            "attempt to decode json with unexpected mimetype",
            "is an invalid start of a value",
        ],
    ),
    (
        NotStarted,
        Exact,
        Guard::Plain,
        &[
            "executable file not found in",
            "is not recognized as an internal or external command",
            "an error occurred trying to start process",
            "cannot run program \"",
            "fork/exec ",
            "exec format error",
        ],
    ),
    (NotStarted, Exact, Guard::Clause, &["command not found", "program not found"]),
    (NotStarted, Exact, Guard::Spawn, &["spawn "]),
    (
        Closed,
        Generic,
        Guard::Clause,
        &["connection closed", "connection is closed", "transport closed", "websocket is closed"],
    ),
    (
        Closed,
        Generic,
        Guard::Plain,
        &[
            "use of closed network connection",
            "no close frame received or sent",
            "page, context or browser has been closed",
        ],
    ),
    (
        Cancelled,
        Weak,
        Guard::Clause,
        &[
            "context canceled",
            "the operation was canceled",
            "this operation was aborted",
            "the user aborted a request",
        ],
    ),
];

/// Beginnings behind which an operating system's error number is printed. The kind is the number's.
const NUMBER_MARKS: &[&str] =
    &["os error ", "[errno ", "[winerror ", "socketexception (", "can't connect to mysql server on "];

/// Beginnings behind which Node, npm and other users of libuv print an error number, and some programs the system's.
const ERRNO_MARKS: &[&str] = &["errno: ", "\"errno\":", "npm error errno ", "npm err! errno "];

/// All phrases and the automaton that finds them.
pub(super) struct Phrases {
    all: Vec<Phrase>,
    automaton: Option<AhoCorasick>,
}

pub(super) static PHRASES: LazyLock<Phrases> = LazyLock::new(|| {
    let mut all = Vec::new();
    for &(kind, strength, guard, texts) in GROUPS {
        all.extend(texts.iter().map(|&text| Phrase { text, kind, strength, guard }));
    }
    for &(kind, strength, words) in codes::CODES {
        all.extend(words.iter().map(|&text| Phrase { text, kind, strength, guard: Guard::Code }));
    }
    for &(kind, strength, text) in codes::PREFIXES {
        all.push(Phrase { text, kind, strength, guard: Guard::Prefix });
    }
    // The kind of a number mark is never read.
    let marks = [(NUMBER_MARKS, Guard::Number), (ERRNO_MARKS, Guard::Errno)];
    all.extend(marks.into_iter().flat_map(|(marks, guard)| {
        marks.iter().map(move |&text| Phrase { text, kind: Timeout, strength: Weak, guard })
    }));
    // The table is fixed: a megabyte for the fastest automaton is paid once a process.
    let automaton = AhoCorasick::builder()
        .kind(Some(AhoCorasickKind::DFA))
        .ascii_case_insensitive(true)
        .build(all.iter().map(|it| it.text))
        .ok();
    Phrases { all, automaton }
});

impl Phrases {
    /// Every place where a phrase stands, whatever stands around it: the phrase, from, to.
    pub(super) fn find<'a>(&'a self, text: &'a str) -> impl Iterator<Item = (Phrase, usize, usize)> + 'a {
        let found = self.automaton.iter().flat_map(move |it| it.find_overlapping_iter(text));
        found.filter_map(|it| Some((*self.all.get(it.pattern().as_usize())?, it.start(), it.end())))
    }

    #[cfg(test)]
    pub(super) fn all(&self) -> &[Phrase] {
        &self.all
    }
}

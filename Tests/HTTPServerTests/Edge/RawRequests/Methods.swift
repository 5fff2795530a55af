// SPDX-License-Identifier: Apache-2.0

extension RawRequest {
    static let methods = [
        RawRequest("9110 §15.5.6", "GET /v1/verify HTTP/1.1↵Host: localhost↵↵", .open(405)),
        RawRequest("9110 §15.5.6", "PUT /v1/verify HTTP/1.1↵Host: localhost↵↵", .open(405)),
        RawRequest("9110 §15.5.6", "DELETE /v1/verify HTTP/1.1↵Host: localhost↵↵", .open(405)),
        RawRequest("5789 §2", "PATCH /v1/verify HTTP/1.1↵Host: localhost↵↵", .open(405)),
        RawRequest("9110 §9.3.8", "TRACE /v1/verify HTTP/1.1↵Host: localhost↵↵", .open(405)),
        RawRequest("9110 §9.3.7", "OPTIONS /v1/verify HTTP/1.1↵Host: localhost↵↵", .open(204)),
        RawRequest("9110 §9.3.1", "GET /v1/status HTTP/1.1↵Host: localhost↵↵", .open(200)),
        RawRequest("9110 §9.1", "post /v1/verify HTTP/1.1↵Host: localhost↵↵", .closed(501)),
        RawRequest("9110 §9.1", "Get /nope HTTP/1.1↵Host: localhost↵↵", .closed(501)),
        RawRequest("9110 §15.6.2", "BREW /nope HTTP/1.1↵Host: localhost↵↵", .closed(501)),
        RawRequest("9110 §15.6.2", "PROPFIND /nope HTTP/1.1↵Host: localhost↵↵", .closed(501)),
        RawRequest("9110 §15.6.2", "GETT /nope HTTP/1.1↵Host: localhost↵↵", .closed(501)),
        RawRequest("9110 §9.3.6", "CONNECT localhost:80 HTTP/1.1↵Host: localhost:80↵↵", .closed(501)),
        RawRequest("9110 §5.6.2", "G@T /nope HTTP/1.1↵Host: localhost↵↵", .closed(400)),
        RawRequest("9110 §5.6.2", "G(E)T /nope HTTP/1.1↵Host: localhost↵↵", .closed(400)),
        RawRequest("9110 §5.6.2", "\"GET\" /nope HTTP/1.1↵Host: localhost↵↵", .closed(400)),
        RawRequest("9110 §9.3.1", "GET /nope HTTP/1.1↵Host: localhost↵Content-Length: 5↵↵hello", .open(404)),
        RawRequest("9110 §9.3.5", "DELETE /nope HTTP/1.1↵Host: localhost↵Content-Length: 5↵↵hello", .open(404)),
    ]

    /// RFC 9110 §9.3.2: responses to HEAD have no body, errors included.
    static let heads = [
        RawRequest("9110 §9.3.2", "HEAD /v1/status HTTP/1.1↵Host: localhost↵↵", .open(.head(200))),
        RawRequest("9110 §9.3.2", "HEAD /nope HTTP/1.1↵Host: localhost↵↵", .open(.head(404))),
        RawRequest("9110 §9.3.2", "HEAD /v1/verify HTTP/1.1↵Host: localhost↵↵", .open(.head(405))),
        RawRequest("9110 §9.3.2", "HEAD /v1/verify/ HTTP/1.1↵Host: localhost↵↵", .open(.head(404))),
        RawRequest("9110 §9.3.2", "HEAD /nope HTTP/1.1↵Host: localhost↵Content-Length: 5↵↵hello", .open(.head(404))),
        RawRequest("9112 §3.2", "HEAD /nope HTTP/1.1↵↵", .closed(.head(400))),
        RawRequest("9112 §3.2", "HEAD /nope HTTP/1.1↵Host: localhost↵Host: localhost↵↵", .closed(.head(400))),
        RawRequest("9112 §3.2", "HEAD /nope HTTP/1.1↵Host: a b↵↵", .closed(.head(400))),
        RawRequest("9112 §3.2.4", "HEAD * HTTP/1.1↵Host: localhost↵↵", .closed(.head(400))),
        RawRequest("9110 §15.5.20", "HEAD /nope HTTP/1.1↵Host: evil.example↵↵", .closed(.head(421))),
        RawRequest("9112 §5.1", "HEAD /nope HTTP/1.1↵Host : localhost↵↵", .closed(.head(400))),
        RawRequest("9112 §2.2", "HEAD /nope HTTP/1.1↵Host: localhost\n↵", .closed(.head(400))),
        RawRequest("9112 §3", "HEAD /no\0pe HTTP/1.1↵Host: localhost↵↵", .closed(.head(400))),
        RawRequest("9112 §3", "HEAD ↵↵", .closed(.head(400))),
        RawRequest("2326 §6.1", "HEAD /nope RTSP/1.0↵Host: localhost↵↵", .closed(.head(400))),
        RawRequest("9110 §15.6.6", "HEAD /nope HTTP/2.0↵Host: localhost↵↵", .closed(.head(505))),
        RawRequest(
            "9112 §3", "HEAD /\(String(repeating: "a", count: 9000)) HTTP/1.1↵Host: localhost↵↵", .closed(.head(414))),
        RawRequest("9112 §3", "HEAD /\(String(repeating: "a", count: 30_000))", .closed(.head(414))).directly,
        RawRequest(
            "6585 §5", "HEAD /nope HTTP/1.1↵Host: localhost↵X: \(String(repeating: "y", count: 9000))↵↵",
            .closed(.head(431))),
        RawRequest(
            "9112 §6.3",
            "HEAD /nope HTTP/1.1↵Host: localhost↵Content-Length: 1↵Transfer-Encoding: chunked↵↵0↵↵",
            .closed(.head(400))),
        RawRequest("9112 §6.1", "HEAD /nope HTTP/1.1↵Host: localhost↵Transfer-Encoding: gzip↵↵", .closed(.head(400))),
        RawRequest(
            "9112 §6.1", "HEAD /nope HTTP/1.1↵Host: localhost↵Transfer-Encoding: gzip, chunked↵↵0↵↵",
            .closed(.head(501))),
        RawRequest(
            "9110 §8.6", "HEAD /nope HTTP/1.1↵Host: localhost↵Content-Length: 99999999999999999999↵↵",
            .closed(.head(413))),
        RawRequest("9110 §10.1.1", "HEAD /nope HTTP/1.1↵Host: localhost↵Expect: magic↵↵", .closed(.head(417))),
        RawRequest(
            "9112 §7.1", "HEAD /nope HTTP/1.1↵Host: localhost↵Transfer-Encoding: chunked↵↵x↵↵", .closed(.head(400))),
        RawRequest("9112 §8", "HEAD /nope HTTP/1.1↵Host: loc", .closed(.head(400))).thenNoMore,
        RawRequest(
            "9110 §9.3.2",
            "HEAD /nope HTTP/1.1↵Host: localhost↵↵GET /nope HTTP/1.1↵Host: localhost↵↵", .open(.head(404), 404)),
        RawRequest(
            "9110 §9.3.2",
            "HEAD /nope HTTP/1.1↵Host: localhost↵↵rubbish↵↵", .closed(.head(404), 400)),
        RawRequest(
            "9110 §9.3.2",
            "GET /nope HTTP/1.1↵Host: localhost↵↵HEAD /nope HTTP/1.1↵↵", .closed(404, .head(400))),
    ]
}

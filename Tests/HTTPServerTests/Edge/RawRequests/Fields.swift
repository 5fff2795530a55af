// SPDX-License-Identifier: Apache-2.0

extension RawRequest {
    static let fields =
        ["X:", "X:y", "X: a\tb", "X:   y  ", "X: é", "X: \"q\\\"\"", "!#$%&'*+-.^_`|~9: y", "X: y↵X: y"]
        .map { RawRequest("9110 §5.5", get("Host: localhost↵\($0)"), .open(404)) } + malformedFields + fieldLimits
        + contentCodings

    private static let malformedFields =
        [
            "A B: c", ": x", "X : y", "X\t: y", "X", "X y", "A(b): c", "A@b: c", "A[b]: c", "é: x", "X: a\0b",
            "X: a\u{1}b",
            "X: a\u{7F}b", "X: a\rb", "X: a\nb", "X: y\n", "X: a↵ b", "X: a↵\tb", "X: a↵ ", "\rX: y",
        ].map { RawRequest("9112 §5", get("Host: localhost↵\($0)"), .closed(400)) } + [
            RawRequest("9112 §2.2", get(" X: y↵Host: localhost"), .closed(400)),
            RawRequest("9112 §2.2", get("\tX: y↵Host: localhost"), .closed(400)),
        ]

    private static let fieldLimits = [
        RawRequest("6585 §5", get("Host: localhost↵X: \(String(repeating: "y", count: 8191))"), .open(404)),
        RawRequest("6585 §5", get("Host: localhost↵X: \(String(repeating: "y", count: 8192))"), .closed(431)),
        RawRequest(
            "6585 §5", get("Host: localhost\(String(repeating: "↵X: y", count: 63))"), .open(404)),
        RawRequest(
            "6585 §5", get("Host: localhost\(String(repeating: "↵X: y", count: 64))"), .closed(431)),
        RawRequest(
            "6585 §5",
            get("Host: localhost\(String(repeating: "↵X: \(String(repeating: "y", count: 4000))", count: 4))"),
            .open(404)),
        RawRequest(
            "6585 §5",
            get("Host: localhost\(String(repeating: "↵X: \(String(repeating: "y", count: 4000))", count: 5))"),
            .closed(431)),
        RawRequest("6585 §5", "GET /nope HTTP/1.1↵X: \(String(repeating: "y", count: 100_000))", .closed(431)).directly,
        RawRequest("6585 §5", "GET /nope HTTP/1.1↵\(String(repeating: "y", count: 100_000))", .closed(431)).directly,
        RawRequest("6585 §5", get("Host: localhost↵X:\(String(repeating: " ", count: 9000))y"), .closed(431)).directly,
    ]

    private static let contentCodings =
        ["gzip", "GZIP", "br", "identity, gzip", "gzip, identity", "identity↵Content-Encoding: gzip", "\"identity\""]
        .map { RawRequest("9110 §15.5.16", post("Content-Encoding: \($0)"), .closed(415)) }
        + ["", "identity", "Identity", "identity↵Content-Encoding: identity"]
        .map { RawRequest("9110 §8.4", post("Content-Encoding: \($0)"), .open(200)) }

    static let expectations = [
        RawRequest("9110 §10.1.1", post("Expect: 100-continue"), .open(100, 200)),
        RawRequest("9110 §10.1.1", post("Expect: 100-CONTINUE"), .open(100, 200)),
        RawRequest(
            "9110 §10.1.1", postHead("Transfer-Encoding: chunked↵Expect: 100-continue") + "12↵\(body)↵0↵↵",
            .open(100, 200)),
        RawRequest("9110 §10.1.1", get("Host: localhost↵Expect: 100-continue"), .open(404)),
        RawRequest("9110 §10.1.1", postHead("Content-Length: 0↵Expect: 100-continue", target: "/nope"), .open(404)),
        RawRequest(
            "9110 §10.1.1",
            "POST /v1/verify HTTP/1.0↵Content-Type: application/json↵Content-Length: 18↵Expect: 100-continue↵↵\(body)",
            .closed(200)),
        RawRequest("9110 §10.1.1", get("Host: localhost↵Expect: magic"), .closed(417)),
        RawRequest("9110 §10.1.1", post("Expect: 100-continue↵Expect: 100-continue"), .closed(417)),
        RawRequest("9110 §10.1.1", post("Expect: 100-continue, magic"), .closed(417)),
        RawRequest("9110 §10.1.1", postHead("Content-Length: 99999999↵Expect: 100-continue"), .closed(413)),
        RawRequest("9110 §10.1.1", postHead("Content-Length: 18↵Expect: 100-continue", host: "x.y"), .closed(421)),
    ]
}

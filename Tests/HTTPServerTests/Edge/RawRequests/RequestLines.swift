// SPDX-License-Identifier: Apache-2.0

extension RawRequest {
    static let requestLines = otherRequestLines + malformedVersions + unsupportedVersions

    private static let malformedVersions = [
        "http/1.1", "HTTP/1.10", "HTTP/1", "HTTP/01.1", "HTTP/1,1", "HTTP /1.1", "HTP/1.1", "HTTP/x.1",
    ].map { RawRequest("9112 §2.3", "GET /nope \($0)↵Host: localhost↵↵", .closed(400)) }

    private static let unsupportedVersions = ["HTTP/0.9", "HTTP/1.2", "HTTP/2.0", "HTTP/3.0"]
        .map { RawRequest("9110 §15.6.6", "GET /nope \($0)↵Host: localhost↵↵", .closed(505)) }

    private static let otherRequestLines = [
        RawRequest("9112 §3", "GET /nope HTTP/1.1↵Host: localhost↵↵", .open(404)),
        RawRequest("9112 §2.2", "↵GET /nope HTTP/1.1↵Host: localhost↵↵", .open(404)),
        RawRequest("9112 §2.2", "↵↵GET /nope HTTP/1.1↵Host: localhost↵↵", .closed(400)),
        RawRequest("9112 §2.2", "GET /nope HTTP/1.1\nHost: localhost\n\n", .closed(400)),
        RawRequest("9112 §2.2", "GET /nope HTTP/1.1\rHost: localhost↵↵", .closed(400)),
        RawRequest("9112 §2.2", "GET /nope\r HTTP/1.1↵Host: localhost↵↵", .closed(400)),
        RawRequest("9112 §2.2", "\nGET /nope HTTP/1.1↵Host: localhost↵↵", .closed(400)),
        RawRequest("9112 §3", "GET  /nope HTTP/1.1↵Host: localhost↵↵", .closed(400)),
        RawRequest("9112 §3", "GET /nope  HTTP/1.1↵Host: localhost↵↵", .closed(400)),
        RawRequest("9112 §3", "GET\t/nope\tHTTP/1.1↵Host: localhost↵↵", .closed(400)),
        RawRequest("9112 §3", "GET /nope HTTP/1.1 ↵Host: localhost↵↵", .closed(400)),
        RawRequest("9112 §3", " GET /nope HTTP/1.1↵Host: localhost↵↵", .closed(400)),
        RawRequest("9112 §3", "GET↵↵", .closed(400)),
        RawRequest("9112 §3", "GET ↵↵", .closed(400)),
        RawRequest("9112 §3", "rubbish↵↵", .closed(400)),
        RawRequest("9112 §3", "\0↵↵", .closed(400)),
        RawRequest("9112 §3", "\u{16}\u{3}\u{1}\u{2}\0\u{1}↵↵", .closed(400)),
        RawRequest("1945 §5", "GET /nope↵", .closed(400)),
        RawRequest("2326 §6.1", "GET /nope RTSP/1.0↵Host: localhost↵↵", .closed(400)),
        RawRequest("9112 §2.3", "SOURCE /nope ICE/1.0↵Host: localhost↵↵", .closed(400)),
        RawRequest("3261 §7.1", "GET /nope SIP/2.0↵Host: localhost↵↵", .closed(400)),
        RawRequest("9113 §3.4", "PRI * HTTP/2.0↵↵SM↵↵", .closed(505)).directly,
        RawRequest("9112 §3", "\(String(repeating: "A", count: 40)) /nope HTTP/1.1↵Host: localhost↵↵", .closed(501)),
        RawRequest("9112 §3", String(repeating: "A", count: 10_000), .closed(501)).directly,
        RawRequest("9112 §8", "GET /nope HTTP/1.1↵Host: loc", .closed(400)).thenNoMore,
        RawRequest("9112 §8", "GET /no", .closed(400)).thenNoMore,
        RawRequest("9112 §9.6", "GET /nope HTTP/1.1↵Host: localhost↵↵", .closed(404)).thenNoMore,
        RawRequest("9112 §9.6", "", .closed()).thenNoMore,
    ]

    static let targets = otherTargets + forbiddenCharacters

    private static let forbiddenCharacters = [
        "/no pe", "/no\"pe", "/<nope>", #"/no\pe"#, "/no^pe", "/no`pe", "/no{pe}", "/no|pe", "/nopé", "/no\u{1}pe",
        "/no\u{7F}pe", "/no\0pe",
    ].map { RawRequest("3986 §2", get("Host: localhost", target: $0), .closed(400)) }

    private static let otherTargets = [
        RawRequest("3986 §3.4", get("Host: localhost", target: "/nope?x=1"), .open(404)),
        RawRequest("3986 §3.4", get("Host: localhost", target: "/nope?a/b?c=[1]"), .open(404)),
        RawRequest("3986 §3.3", get("Host: localhost", target: "/a:b@c!$&'()*+,;=-._~"), .open(404)),
        RawRequest("3986 §2.1", get("Host: localhost", target: "/%6Eope"), .open(404)),
        RawRequest("3986 §2.1", get("Host: localhost", target: "/%"), .closed(400)),
        RawRequest("3986 §2.1", get("Host: localhost", target: "/%2"), .closed(400)),
        RawRequest("3986 §2.1", get("Host: localhost", target: "/%zz"), .closed(400)),
        RawRequest("9110 §7.1", get("Host: localhost", target: "/nope#part"), .closed(400)),
        RawRequest("9112 §3.2.1", get("Host: localhost", target: "nope"), .closed(400)),
        RawRequest("9112 §3.2.1", get("Host: localhost", target: "?x=1"), .closed(400)),
        RawRequest("9112 §3.2.2", get("Host: localhost", target: "http://localhost/nope"), .open(404)),
        RawRequest("9112 §3.2.2", get("Host: localhost", target: "HTTP://localhost/nope"), .open(404)),
        RawRequest("9112 §3.2.2", get("Host: localhost", target: "https://localhost/nope"), .open(404)),
        RawRequest("9112 §3.2.1", get("Host: localhost", target: "http://localhost"), .closed(200)),
        RawRequest("9112 §3.2.1", get("Host: localhost", target: "http://localhost?x=1"), .closed(200)),
        RawRequest("9112 §3.2.2", get("Host: evil.example", target: "http://localhost/nope"), .open(404)),
        RawRequest("9112 §3.2.2", get("Host: localhost", target: "http://evil.example/nope"), .closed(421)),
        RawRequest("9110 §4.2.1", get("Host: localhost", target: "http:///nope"), .closed(400)),
        RawRequest("9110 §4.2.1", get("Host: localhost", target: "http://:80/nope"), .closed(400)),
        RawRequest("9110 §4.2.4", get("Host: localhost", target: "http://user@localhost/nope"), .closed(400)),
        RawRequest("9112 §3.2.2", get("Host: localhost", target: "http:/nope"), .closed(400)),
        RawRequest("9112 §3.2.2", get("Host: localhost", target: "ftp://localhost/nope"), .closed(400)),
        RawRequest("9112 §3.2.2", get("Host: localhost", target: "urn:nope"), .closed(400)),
        RawRequest("9112 §3.2.3", get("Host: localhost", target: "localhost:80"), .closed(400)),
        RawRequest("9112 §3.2.4", get("Host: localhost", target: "*"), .closed(400)),
        RawRequest("9112 §3.2.4", "OPTIONS * HTTP/1.1↵Host: localhost↵↵", .open(404)),
        RawRequest("9112 §3", get("Host: localhost", target: "/" + String(repeating: "a", count: 8191)), .open(404)),
        RawRequest("9112 §3", get("Host: localhost", target: "/" + String(repeating: "a", count: 8192)), .closed(414)),
        RawRequest("9112 §3", "GET /\(String(repeating: "a", count: 100_000))", .closed(414)).directly,
        RawRequest("9112 §3", "POST /?\(String(repeating: "a", count: 20_000)) HTTP/1.1↵↵", .closed(414)).directly,
    ]

    static let paths = [
        RawRequest("3986 §3.3", post(), .open(200)),
        RawRequest("3986 §3.3", post(target: "/v1/verify/"), .open(404)),
        RawRequest("3986 §3.3", post(target: "//v1/verify"), .open(404)),
        RawRequest("3986 §3.3", post(target: "/v1//verify"), .open(404)),
        RawRequest("3986 §3.3", post(target: "/v1/verify//"), .open(404)),
        RawRequest("3986 §3.3", post(target: "/verifyReceipt/"), .open(404)),
        RawRequest("3986 §3.3", post(target: "/v1/verify/?x=1"), .open(404)),
        RawRequest("3986 §6.2.2.3", post(target: "/./v1/verify"), .open(404)),
        RawRequest("3986 §6.2.2.3", post(target: "/x/../v1/verify"), .open(404)),
        RawRequest("3986 §6.2.2.1", post(target: "/V1/verify"), .open(404)),
        RawRequest("3986 §2.2", post(target: "/v1%2Fverify"), .open(404)),
        RawRequest("3986 §3.3", post(target: "/v1/verify;x"), .open(404)),
        RawRequest("3986 §3.4", post(target: "/v1/verify?x=1"), .open(200)),
        RawRequest("3986 §3.4", post(target: "/v1/verify?"), .open(200)),
        RawRequest("3986 §3.3", "GET /livez HTTP/1.1↵Host: localhost↵↵", .open(404)),
        RawRequest("3986 §3.3", get("Host: localhost", target: "//v1/verify"), .open(404)),
        RawRequest("9112 §3.2.2", post(target: "http://localhost/v1/verify"), .open(200)),
        RawRequest("9112 §3.2.2", post(target: "HTTPS://localhost:443/v1/verify?x"), .open(200)),
        RawRequest("9112 §3.2.2", get("Host: localhost", target: "http://localhost/v1/verify"), .open(405)),
        RawRequest("9112 §3.2.2", post(target: "http://:"), .closed(400)),
        RawRequest("9112 §3.2.2", post(target: "http://localhost/v1/verify/"), .open(404)),
        RawRequest("9112 §3.2.2", post(target: "http://localhost//v1/verify"), .open(404)),
        RawRequest("3986 §3.3", "DELETE /v1/cache/transactions/1/ HTTP/1.1↵Host: localhost↵↵", .open(404)),
        RawRequest("3986 §3.3", "DELETE /v1/cache//transactions/1 HTTP/1.1↵Host: localhost↵↵", .open(404)),
    ]
}

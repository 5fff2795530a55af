// SPDX-License-Identifier: Apache-2.0

extension RawRequest {
    static let hosts = wellFormedHosts + malformedHosts + foreignHosts

    private static let wellFormedHosts =
        [
            "localhost", "LOCALHOST", "localhost:", "localhost:80", "localhost:8080", "localhost.", "a.localhost",
            "127.0.0.1", "127.0.0.1:8080", "10.1.2.3:8080", "[::1]", "[::1]:80", "[2001:db8::1]", "[::ffff:10.0.0.1]",
            hostName, "\(hostName):80", "GATEWAY.Example", "  localhost  ", "\tlocalhost\t",
        ].map { RawRequest("9112 §3.2", get("Host: \($0)"), .open(404)) } + [
            RawRequest("9110 §5.1", get("hOST: localhost"), .open(404)),
            RawRequest("9112 §3.2", "GET /nope HTTP/1.0↵↵", .closed(404)),
            RawRequest("9112 §3.2", "GET /nope HTTP/1.0↵Host: localhost↵↵", .closed(404)),
        ]

    private static let malformedHosts =
        [
            "a b", "a/b", "a, b", "a@b", "a?b", "a#b", #"a\b"#, "a\"b", "<a>", "localhost:8a", "localhost:80:80", ":80",
            ":", "[::1", "[::g]", "[]", "[127.0.0.1]", "[v1.x]", "[fe80::1%25eth0]", "[::1]x", "a[::1]", "%", "%zz",
            "http://localhost", "é",
        ].map { RawRequest("9112 §3.2", get("Host: \($0)"), .closed(400)) } + [
            RawRequest("9112 §3.2", "GET /nope HTTP/1.1↵↵", .closed(400)),
            RawRequest("9112 §3.2", get("Host: localhost↵Host: localhost"), .closed(400)),
            RawRequest("9112 §3.2", get("Host: localhost↵X: y↵host: evil.example"), .closed(400)),
            RawRequest("9112 §3.2", "GET /nope HTTP/1.0↵Host: localhost↵Host: localhost↵↵", .closed(400)),
            RawRequest("9112 §5.1", get("Host : localhost"), .closed(400)),
        ]

    /// Hosts that DNS can point to the gateway, and hosts that only resemble an address.
    private static let foreignHosts =
        [
            "", "evil.example", "evil.example:8080", "localhost.evil.example", "localhostx", "xlocalhost",
            ".localhost.x",
            "127.0.0.1.evil.example", "127.1", "0x7f.0.0.1", "2130706433", "256.0.0.1", "127.0.0.01", "127.0.0.1.",
            "127.0.0.", "%6cocalhost", "a_b", "sub.\(hostName)", "\(hostName).evil.example",
        ].map { RawRequest("9110 §15.5.20", get("Host: \($0)"), .closed(421)) } + [
            RawRequest("9110 §15.5.20", "GET /nope HTTP/1.0↵Host: evil.example↵↵", .closed(421)),
            RawRequest("9110 §15.5.20", post(host: "evil.example"), .closed(421)),
            RawRequest(
                "9110 §15.5.20", "DELETE /v1/cache/transactions/1 HTTP/1.1↵Host: evil.example↵↵", .closed(421)),
        ]

    static let origins = [
        RawRequest("6454 §7.3", post("Origin: http://localhost"), .open(200)),
        RawRequest("6454 §7.3", post("Origin: http://localhost:8080", host: "localhost:8080"), .open(200)),
        RawRequest("6454 §7.3", post("Origin: http://[::1]:8080", host: "[::1]:8080"), .open(200)),
        RawRequest("6454 §7.3", post("Origin: HTTP://LOCALHOST"), .open(200)),
        RawRequest("6454 §7.3", post("Origin: http://evil.example"), .closed(403)),
        RawRequest("6454 §7.3", post("Origin: null"), .closed(403)),
        RawRequest("6454 §7.3", post("Origin:"), .closed(403)),
        RawRequest("6454 §5", post("Origin: https://localhost"), .closed(403)),
        RawRequest("6454 §5", post("Origin: http://localhost:8080"), .closed(403)),
        RawRequest("6454 §5", post("Origin: http://127.0.0.1"), .closed(403)),
        RawRequest("6454 §7.3", post("Origin: http://localhost/"), .closed(403)),
        RawRequest("6454 §7.3", post("Origin: http://localhost http://evil.example"), .closed(403)),
        RawRequest("6454 §7.3", post("Origin: http://localhost↵Origin: http://localhost"), .closed(403)),
        RawRequest("9110 §9.2.1", get("Host: localhost↵Origin: http://evil.example"), .open(404)),
        RawRequest(
            "9110 §9.2.1", "OPTIONS /v1/verify HTTP/1.1↵Host: localhost↵Origin: http://evil.example↵↵", .open(204)),
        RawRequest(
            "9110 §9.2.1", "DELETE /v1/cache/transactions/1 HTTP/1.1↵Host: localhost↵Origin: http://evil.example↵↵",
            .closed(403)),
        RawRequest(
            "9110 §9.2.1", "DELETE /v1/cache/transactions/1 HTTP/1.1↵Host: localhost↵Origin: http://localhost↵↵",
            .open(200)),
        RawRequest("9110 §9.2.1", "PUT /nope HTTP/1.1↵Host: localhost↵Origin: http://evil.example↵↵", .closed(403)),
        RawRequest("9110 §9.2.1", "PATCH /nope HTTP/1.1↵Host: localhost↵Origin: http://evil.example↵↵", .closed(403)),
        RawRequest("6454 §7.3", "POST /nope HTTP/1.0↵Origin: http://localhost↵↵", .closed(403)),
    ]
}

// SPDX-License-Identifier: Apache-2.0

extension RawRequest {
    static let connections =
        ["close", "Close", "CLOSE", "x, close", "close, x", "keep-alive, close", "x↵Connection: close", " close "]
        .map { RawRequest("9112 §9.6", get("Host: localhost↵Connection: \($0)"), .closed(404)) }
        + ["keep-alive", "closed", "x", "", ",", "\"close\""]
        .map { RawRequest("9112 §9.3", get("Host: localhost↵Connection: \($0)"), .open(404)) } + [
            RawRequest("9112 §9.3", get("Host: localhost↵Proxy-Connection: close"), .open(404)),
            RawRequest("9112 §9.3", "GET /nope HTTP/1.0↵↵", .closed(404)),
            RawRequest("9112 §9.3", "GET /nope HTTP/1.0↵Connection: keep-alive↵↵", .open(404)),
            RawRequest("9112 §9.3", "GET /nope HTTP/1.0↵Connection: Keep-Alive↵↵", .open(404)),
            RawRequest("9112 §9.3", "GET /nope HTTP/1.0↵Connection: keep-alive, close↵↵", .closed(404)),
            RawRequest("9110 §7.8", get("Host: localhost↵Connection: Upgrade↵Upgrade: h2c"), .closed(404)),
            RawRequest("9110 §7.8", get("Host: localhost↵Connection: Upgrade↵Upgrade: websocket"), .closed(404)),
        ]

    static let pipelines = [
        RawRequest("9112 §9.3.2", get("Host: localhost") + get("Host: localhost"), .open(404, 404)),
        RawRequest("9112 §9.3.2", post() + get("Host: localhost") + post(), .open(200, 404, 200)),
        RawRequest("9112 §9.3.2", get("Host: localhost") + "rubbish↵↵", .closed(404, 400)),
        RawRequest("9112 §9.3.2", get("Host: localhost") + get("X: y"), .closed(404, 400)),
        RawRequest("9112 §9.3.2", get("Host: localhost") + get("Host: evil.example"), .closed(404, 421)),
        RawRequest("9112 §9.3.2", get("Host: localhost") + "GET /nope RTSP/1.0↵↵", .closed(404, 400)),
        RawRequest("9112 §9.3.2", post() + "GET /nope HTTP/2.0↵↵", .closed(200, 505)),
        RawRequest(
            "9112 §9.3.2", post() + get("Host: localhost", target: "/" + String(repeating: "a", count: 9000)),
            .closed(200, 414)),
        RawRequest("9112 §9.6", get("X: y") + get("Host: localhost"), .closed(400)).repaired(400, 404),
        RawRequest("9112 §9.6", post() + get("X: y") + post(), .closed(200, 400)).repaired(200, 400, 200),
        RawRequest("9112 §9.3.2", post() + "rubbish↵↵", .closed(200, 400)),
        RawRequest("9112 §9.6", get("Host: localhost↵Connection: close") + get("Host: localhost"), .closed(404)),
        RawRequest("9112 §9.6", "GET /nope HTTP/1.0↵↵" + get("Host: localhost"), .closed(404)),
        RawRequest("9112 §6.3", post() + "x" + get("Host: localhost"), .closed(200, 501)),
        RawRequest("9112 §2.2", post() + "↵" + get("Host: localhost"), .open(200, 404)),
        RawRequest("9112 §2.2", post() + "↵↵" + get("Host: localhost"), .closed(200, 400)),
        RawRequest(
            "9112 §7.1", postHead("Transfer-Encoding: chunked") + "12↵\(body)↵0↵↵" + get("Host: localhost"),
            .open(200, 404)),
        RawRequest(
            "9112 §11.2", postHead("Content-Length: 0", target: "/nope") + get("Host: localhost"), .open(404, 404)),
        RawRequest(
            "9112 §11.2",
            postHead("Content-Length: 5↵Transfer-Encoding: chunked") + "0↵↵" + post(), .closed(400)),
        RawRequest("9112 §11.2", postHead("Transfer-Encoding: xchunked") + "0↵↵" + post(), .closed(400)),
        RawRequest("9112 §11.2", postHead("Content-Length: 0↵Content-Length: 18") + post(), .closed(400)),
        RawRequest("9112 §11.2", postHead("Transfer-Encoding: chunked") + "0\n\n" + post(), .closed(400))
            .repaired(400, 200),
    ]
}

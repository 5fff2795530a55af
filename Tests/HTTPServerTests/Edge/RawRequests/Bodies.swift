// SPDX-License-Identifier: Apache-2.0

extension RawRequest {
    static let lengths =
        ["18", "018", "000000000000000000000000018", " 18 ", "\t18\t"]
        .map { RawRequest("9110 §8.6", postHead("Content-Length: \($0)") + body, .open(200)) }
        + [
            "", "+18", "-18", "0x12", "1 8", "18;", "18.0", "1e1", "one", "18\u{1}", "٣",
        ].map { RawRequest("9110 §8.6", postHead("Content-Length: \($0)") + body, .closed(400)) }
        + [
            "12582913", "9223372036854775807", "9223372036854775808", "18446744073709551615", "18446744073709551616",
            "18446744073709551634", "99999999999999999999", String(repeating: "9", count: 100),
        ].map { RawRequest("9110 §8.6", postHead("Content-Length: \($0)") + body, .closed(413)) }
        + ["chunked", "Chunked", "CHUNKED", "\tchunked "]
        .map { RawRequest("9112 §7", postHead("Transfer-Encoding: \($0)") + "12↵\(body)↵0↵↵", .open(200)) }
        + [
            "", "gzip", "identity", "chunked, gzip", "chunked, chunked", ",chunked", "chunked,", "xchunked", "chunkedx",
            "chunked;x=y", "\"chunked\"", "chunked chunked", "gzip;q=1, chunked", "chunked\u{1}",
        ].map { RawRequest("9112 §6.3", postHead("Transfer-Encoding: \($0)") + "12↵\(body)↵0↵↵", .closed(400)) }
        + ["gzip, chunked", "gzip,chunked", "identity, chunked", "gzip, deflate, Chunked"]
        .map { RawRequest("9112 §6.1", postHead("Transfer-Encoding: \($0)") + "12↵\(body)↵0↵↵", .closed(501)) }
        + conflicts

    private static let conflicts = [
        RawRequest("9110 §8.6", postHead("Content-Length: 18, 18") + body, .closed(400)).repaired(200),
        RawRequest("9110 §8.6", postHead("Content-Length: 18,18") + body, .closed(400)).repaired(200),
        RawRequest("9112 §6.3", post("Content-Length: 18"), .closed(400)).repaired(200),
        RawRequest("9112 §6.3", post("Content-Length: 19"), .closed(400)),
        RawRequest("9112 §6.3", post("content-length: 18"), .closed(400)).repaired(200),
        RawRequest("9112 §6.3", post("Transfer-Encoding: chunked"), .closed(400)),
        RawRequest(
            "9112 §6.3", postHead("Transfer-Encoding: chunked↵Content-Length: 18") + "12↵\(body)↵0↵↵", .closed(400)
        ).repaired(200),
        RawRequest(
            "9112 §6.1", postHead("Transfer-Encoding: chunked↵Transfer-Encoding: chunked") + "12↵\(body)↵0↵↵",
            .closed(400)),
        RawRequest(
            "9112 §6.1", postHead("Transfer-Encoding: gzip↵Transfer-Encoding: chunked") + "12↵\(body)↵0↵↵",
            .closed(400)),
        RawRequest("9112 §5.1", postHead("Content-Length : 18") + body, .closed(400)),
        RawRequest("9112 §5.1", postHead("Transfer-Encoding : chunked") + "12↵\(body)↵0↵↵", .closed(400)),
        RawRequest("9112 §5.2", postHead("Transfer-Encoding:↵ chunked") + "12↵\(body)↵0↵↵", .closed(400)).repaired(200),
        RawRequest(
            "9112 §6.1", "POST /v1/verify HTTP/1.0↵Transfer-Encoding: chunked↵↵12↵\(body)↵0↵↵", .closed(400)),
        RawRequest("9112 §6.3", postHead("X: y", target: "/nope"), .open(404)),
        RawRequest("9112 §6.3", postHead("Content-Length: 0", target: "/nope"), .open(404)),
        RawRequest("9112 §8", postHead("Content-Length: 19") + body, .closed(400)).thenNoMore,
        RawRequest("9112 §9.6", post(), .closed(200)).thenNoMore,
    ]

    static let chunks =
        [
            "12↵\(body)↵0↵↵", "9↵{\"receipt↵9↵\":\"AQID\"}↵0↵↵", "00000000000000000012↵\(body)↵0↵↵", "12↵\(body)↵000↵↵",
            "12;a=\"b\\\"c\"↵\(body)↵0↵↵", "12;a=b\\↵\(body)↵0↵↵",
            "12;a↵\(body)↵0↵↵", "12;a=b;c=\"d e\"↵\(body)↵0;z↵↵", "12 ;a↵\(body)↵0↵↵", "12\t; a = b↵\(body)↵0↵↵",
            "12↵\(body)↵0↵X: y↵↵", "12↵\(body)↵0↵Content-Length: 5↵Host: evil.example↵Transfer-Encoding: x↵↵",
        ].map { chunked("9112 §7.1", $0, .open(200)) }
        + [
            "↵\(body)↵0↵↵", "x↵\(body)↵0↵↵", "0x12↵\(body)↵0↵↵", "-12↵\(body)↵0↵↵", "+12↵\(body)↵0↵↵",

            " 12↵\(body)↵0↵↵", "1 2↵\(body)↵0↵↵", "12,↵\(body)↵0↵↵", "12\r\(body)↵0↵↵",
            "12;a\nb↵\(body)↵0↵↵", "12;a\rb↵\(body)↵0↵↵",
            "12↵\(body)0↵↵", "12↵\(body)XX0↵↵",
            "11↵\(body)↵0↵↵", "12↵\(body)↵↵0↵↵", "12↵\(body)↵0↵X y↵↵",
            "12↵\(body)↵0↵X : y↵↵",
        ].map { chunked("9112 §7.1", $0, .closed(400)) }
        + repairedChunks.map { chunked("9112 §7.1", $0, .closed(400)).repaired(200) }
        + [
            "C00001↵", "7FFFFFFFFFFFFFFF↵", "8000000000000000↵", "FFFFFFFFFFFFFFFF↵", "10000000000000012↵",
            "\(String(repeating: "F", count: 100))↵",
        ].map { chunked("9112 §7.1", $0 + "\(body)↵0↵↵", .closed(413)) } + [
            chunked("6585 §5", "12↵\(body)↵0↵\(String(repeating: "X: y↵", count: 70))↵", .closed(431)),
            chunked("9112 §8", "12↵\(body)↵0↵", .closed(400)).thenNoMore,
            chunked("9112 §8", "12↵\(body)", .closed(400)).thenNoMore,
            chunked("9112 §8", "1", .closed(400)).thenNoMore,
        ]

    /// Malformed chunks that HAProxy repairs.
    private static let repairedChunks = [
        "12 ↵\(body)↵0↵↵", "12\n\(body)↵0↵↵", "12;a\0b↵\(body)↵0↵↵",
        "12;\(String(repeating: "a", count: 300))↵\(body)↵0↵↵", "12↵\(body)\n0↵↵", "12↵\(body)↵0\n\n",
        "12↵\(body)↵0↵X: a↵ b↵↵", "12↵\(body)↵0↵\n",
        "12;a=\"b↵\(body)↵0↵↵", "12;a=\"b\\\"↵\(body)↵0↵↵", "12;\"↵\(body)↵0↵↵",
    ]

    private static func chunked(_ clause: String, _ chunks: String, _ outcome: Outcome) -> RawRequest {
        RawRequest(clause, postHead("Transfer-Encoding: chunked") + chunks, outcome)
    }
}

// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import HTTPClient

struct DescriptionTests {
    @Test func `no description of a request or an answer shows its contents`() {
        let header = TransportHeader(name: "Authorization", value: "SECRET")
        let request = TransportRequest(
            .post, url: "https://SECRET.example/SECRET", headers: [header], body: Array("SECRET".utf8))
        let response = TransportResponse(
            status: 200, headers: [header], body: Array("SECRET".utf8), httpVersion: .http2,
            connectionWasReused: false, took: .zero)
        let values: [Any] = [header, request, response, [header], [request], [response], response.headers]
        for value in values {
            for text in ["\(value)", String(reflecting: value)] {
                #expect(!text.contains("SECRET") && !text.contains("83, 69, 67"))
            }
        }
        #expect("\(request)" == "POST with 1 fields and 6 bytes")
        #expect("\(response)" == "HTTP/2 200 with 1 fields and 6 bytes")
    }

    @Test(
        arguments: [
            (.tooLarge, "the answer is too large"), (.timeout(.connecting), "connecting took too long"),
            (.timeout(.answering), "the answer took too long"), (.internal(code: 7), "libcurl failed with error 7"),
            (.protocolViolation, "the answer is not valid HTTP"), (.shuttingDown, "the gateway is stopping"),
        ] as [(TransportError, String)])
    func `a fault is described in words`(error: TransportError, text: String) {
        #expect("\(error)" == text)
    }

    private static let waits: [(Duration, Int32)] = [
        (.zero, 0), (.nanoseconds(1), 1), (.milliseconds(1), 1), (.microseconds(1001), 2), (.seconds(2), 2000),
        (.seconds(-1), 0), (.milliseconds(-1), 0), (.seconds(2_147_482), 2_147_482_000), (.seconds(2_147_483), .max),
        (.seconds(Int64.max), .max),
    ]

    @Test(arguments: waits)
    func `waits are rounded up and kept in bounds`(_ duration: Duration, _ milliseconds: Int32) {
        #expect(duration.milliseconds == milliseconds)
    }
}

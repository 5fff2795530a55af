// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import HTTPTransport
import Testing

struct TransportRequestTests {
    @Test func `a request shows its method and its size, and nothing it was given`() {
        let request = TransportRequest(
            .post, url: "https://buy.example/hush", headers: [TransportHeader(name: "Authorization", value: "hush")],
            body: Array("hush".utf8))
        var shown = "\(request) \(String(reflecting: request)) \([request])"
        dump(request, to: &shown)
        dump([request], to: &shown)
        // 104 is the first byte of the body.
        #expect(!shown.contains("hush") && !shown.contains("104"))
        #expect("\(request)" == "TransportRequest(POST, 4 bytes)")
    }
}

// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import HTTPTransport
package import Receipts

/// `verifyReceipt` at one URL: one question, one answer.
///
/// Which URL to ask, and whether to ask again, is not decided here: see `VerifyReceiptStatus.meaning`.
package struct VerifyReceiptEndpoint: Sendable {
    private let url: String
    private let transport: HTTPTransport
    private let now: @Sendable () -> Timestamp

    /// - Parameters:
    ///   - url: Apple's, or that of something which answers like Apple.
    ///   - transport: moves the bytes.
    ///   - now: reads the clock, when an answer has come, for what its header says about time.
    package init(url: String, transport: HTTPTransport, now: @escaping @Sendable () -> Timestamp) {
        self.url = url
        self.transport = transport
        self.now = now
    }

    /// Asks.
    package func ask(
        _ request: VerifyReceiptRequest, deadline: ContinuousClock.Instant
    ) async throws(VerifyReceiptFailure) -> VerifyReceiptReply {
        let response: TransportResponse
        do throws(TransportError) {
            response = try await transport.send(Self.transportRequest(request, url: url), deadline: deadline)
        } catch {
            throw .transport(error)
        }
        return try VerifyReceiptReply(response, at: now())
    }

    static func transportRequest(_ request: VerifyReceiptRequest, url: String) -> TransportRequest {
        let headers = [
            TransportHeader(name: "Content-Type", value: "application/json"),
            TransportHeader(name: "Accept", value: "application/json"),
        ]
        return TransportRequest(.post, url: url, headers: headers, body: request.body)
    }
}

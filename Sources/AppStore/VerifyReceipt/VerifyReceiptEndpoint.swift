// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import HTTPTransport
package import Receipts

/// A client of `verifyReceipt` at one URL. It does not choose the URL or retry.
package struct VerifyReceiptEndpoint: Sendable {
    private let url: String
    private let transport: HTTPTransport
    private let now: @Sendable () -> Timestamp

    /// - Parameter now: returns the time of the answer, for times in its header.
    package init(url: String, transport: HTTPTransport, now: @escaping @Sendable () -> Timestamp) {
        self.url = url
        self.transport = transport
        self.now = now
    }

    package func send(
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

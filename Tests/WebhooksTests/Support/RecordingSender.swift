// SPDX-License-Identifier: Apache-2.0

import Synchronization

@testable import Customers

/// An endpoint in the test's hands.
final class RecordingSender: WebhookSender {
    private let requests = Mutex<[WebhookRequest]>([])
    private let answer: @Sendable (WebhookRequest) async -> Result<WebhookReply, DeliveryFault>
    private let arrivals = AsyncStream.makeStream(of: WebhookRequest.self)

    init(_ answer: @escaping @Sendable (WebhookRequest) async -> Result<WebhookReply, DeliveryFault>) {
        self.answer = answer
    }

    convenience init() { self.init { _ in .success(WebhookReply(status: 204)) } }

    var count: Int { requests.withLock { $0.count } }

    func send(_ request: WebhookRequest) async throws(DeliveryFault) -> WebhookReply {
        requests.withLock { $0.append(request) }
        arrivals.continuation.yield(request)
        return try await answer(request).get()
    }

    /// Waits for further requests.
    func next(_ count: Int) async -> [WebhookRequest] {
        var next: [WebhookRequest] = []
        for await request in arrivals.stream {
            next.append(request)
            if next.count == count { break }
        }
        return next
    }
}

extension WebhookRequest {
    var id: String? { headers.first { $0.name == "webhook-id" }?.value }
}

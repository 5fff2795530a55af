// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOCore
import ReceiptForge
import Receipts
import Testing

@testable import AppleSimulator

/// A store without a network.
struct TestStore {
    let store: SimulatedStore
    let clock = ManualClock()

    init(_ yaml: String = "", limits: SimulatorLimits = SimulatorLimits()) throws {
        let clock = clock
        store = try SimulatedStore(
            pki: Samples.pki, transactionPKI: Samples.transactionPKI, keys: [AcceptedKey(Samples.apiKey)],
            scenario: Scenario(yaml: yaml), limits: limits, now: { clock.now })
    }

    /// Creates a store that knows the customer of a receipt.
    init(
        _ yaml: String = "", limits: SimulatorLimits = SimulatorLimits(), knowing receipt: ReceiptContents,
        at endpoint: Endpoint = .production
    ) throws {
        try self.init(yaml, limits: limits)
        try know(receipt, at: endpoint)
    }

    func response(to body: String, isPost: Bool = true, at endpoint: Endpoint = .production) -> PlannedResponse {
        store.response(to: Array(body.utf8), isPost: isPost, at: endpoint)
    }

    /// Returns the answer's body, which is required.
    func answer(to body: String, isPost: Bool = true, at endpoint: Endpoint = .production) throws -> AppleAnswer {
        guard case .answer(let answer) = response(to: body, isPost: isPost, at: endpoint).reply else {
            throw NoAnswer()
        }
        return try AppleAnswer(Data(answer.body.readableBytesView))
    }

    /// Returns the answer to a receipt of the environment Production.
    func answer(to receipt: ReceiptContents, excludesOld: Bool = false) throws -> AppleAnswer {
        try answer(to: Samples.body(receipt, excludesOld: excludesOld))
    }
}

struct NoAnswer: Error {}

/// An answer of verifyReceipt, as a client reads it.
struct AppleAnswer {
    let members: [String: Any]

    init(_ json: Data) throws {
        members = try #require(try JSONSerialization.jsonObject(with: json) as? [String: Any])
    }

    var status: Int? { members["status"] as? Int }
    var environment: String? { members["environment"] as? String }
    var receipt: [String: Any] { members["receipt"] as? [String: Any] ?? [:] }
    var inApp: [[String: String]] { Self.elements(receipt["in_app"]) }
    var latest: [[String: String]] { Self.elements(members["latest_receipt_info"]) }
    var renewals: [[String: String]] { Self.elements(members["pending_renewal_info"]) }

    /// The element of `latest_receipt_info` that ends last.
    var newest: [String: String] {
        func end(_ element: [String: String]) -> Int64 { element["expires_date_ms"].flatMap { Int64($0) } ?? 0 }
        return latest.max { end($0) < end($1) } ?? [:]
    }

    /// Returns the elements of a list, whose values are texts.
    static func elements(_ list: Any?) -> [[String: String]] {
        (list as? [[String: Any]] ?? []).map { $0.compactMapValues { $0 as? String } }
    }

    /// Verifies `latest_receipt`.
    func latestReceipt(at now: Timestamp) throws -> VerifiedReceipt {
        let text = try #require(members["latest_receipt"] as? String)
        let anchor = try TrustAnchor(der: Samples.pki.root.der, environments: [.production, .sandbox])
        return try ReceiptVerifier(trustStore: TrustStore(anchors: [anchor])).verify(Base64.decode(text), at: now)
    }

    /// Verifies `latest_receipt` of an answer to a transaction receipt.
    func latestTransactionReceipt(at now: Timestamp) throws -> VerifiedTransactionReceipt {
        let text = try #require(members["latest_receipt"] as? String)
        var store = TrustStore.apple
        store.add(try TrustAnchor(der: Samples.pki.root.der, environments: [.production, .sandbox]))
        try store.add(intermediatesPEM: Samples.pki.intermediate.pem)
        return try ReceiptVerifier(trustStore: store).verify(transactionReceipt: Base64.decode(text), at: now)
    }
}

// SPDX-License-Identifier: Apache-2.0

internal import Clients
package import Customers
internal import Gateway
package import HTTPServer
internal import HTTPTypes
internal import JSON
package import Logging
internal import NIOCore
internal import Synchronization

/// `POST /v1/erasures`: deletes everything that is stored about a customer. Clients need `may: [erase]`.
///
/// The route reports success once everything is deleted. After any other answer the client should repeat the request;
/// deleted data stays deleted.
package struct ErasureRoute: Sendable {
    package enum Limits {
        static let body = ByteCount.kibibytes(64)
        /// The time that a search of full logs may take.
        package static let wait: Duration = .seconds(600)
        /// The erasures of a node at a time, of different clients.
        static let atOnce = 4
    }

    private let erasure: Erasure
    private let charging: RequestCharging
    private let observe: ErasureObserver
    private let logger: Logger
    private let places = ErasurePlaces()

    /// - Parameter logger: receives a line for each request, whatever its level. No line has an ID or an account.
    package init(
        _ erasure: Erasure, charging: RequestCharging, observe: @escaping ErasureObserver, logger: Logger
    ) {
        (self.erasure, self.charging) = (erasure, charging)
        (self.observe, self.logger) = (observe, logger.ofChanges)
    }

    package var route: Route {
        Route(
            .post, RouteLabel.erasures.rawValue, bodyLimit: Limits.body, waitLimit: Limits.wait
        ) { context, body in
            try charging.admit(context, isLong: true) { try work(context, body) }
        }
    }

    private func work(_ context: RequestContext, _ body: ReservedBody) throws -> ChargedWork {
        guard context.client.may.contains(.erase) else { throw Problem.rightMissing(.erase) }
        guard RequestMediaType.json.accepts(context.header.contentType) else { throw Problem.unsupportedMediaType }
        let request = try ErasureRequestBody(decoding: body.bytes.readableBytesUInt8Span)
        try context.client.apps.require(request.bundleID)
        return ChargedWork(bundleID: request.bundleID) {
            let client = context.client.name
            guard places.take(for: client) else { throw Problem.erasureInProgress }
            defer { places.release(of: client) }
            return Reply(try await erase(request, of: client))
        }
    }

    private func erase(
        _ request: ErasureRequestBody, of client: String
    ) async throws(StoreUnreachable) -> ErasureCount {
        let metadata: Logger.Metadata = ["client": "\(client)", "bundle_id": "\(request.bundleID)"]
        do throws(StoreUnreachable) {
            let count = try await logger.recording("Erasure of a customer's data", metadata) {
                () throws(StoreUnreachable) in
                try await erasure.erase(
                    request.bundleID, originalTransactionIDs: request.originalTransactionIDs, account: request.account)
            } outcome: { count in
                let numbers = count.map { ("erased_\($0.rawValue)", Logger.MetadataValue.stringConvertible($1)) }
                return Logger.Metadata(uniqueKeysWithValues: numbers + [("outcome", "done")])
            }
            observe(.done(count))
            return count
        } catch {
            observe(.failed)
            throw error
        }
    }
}

/// The places of the erasures that a node does at a time: each reads whole logs, and all cached results. Each client
/// has one place.
private final class ErasurePlaces: Sendable {
    private let clients = Mutex<Set<String>>([])

    func take(for client: String) -> Bool {
        clients.withLock { $0.count < ErasureRoute.Limits.atOnce && $0.insert(client).inserted }
    }

    func release(of client: String) { clients.withLock { _ = $0.remove(client) } }
}

extension Reply {
    /// Creates the answer: the number of entries of each kind.
    fileprivate init(_ count: ErasureCount) {
        self.init { json in
            json.object("erased") { json in
                for kind in CustomerData.allCases {
                    json.key(named: kind.rawValue)
                    json.integer(count[kind] ?? 0)
                }
            }
        }
    }
}

/// The JSON body of `POST /v1/erasures`.
struct ErasureRequestBody: Sendable {
    enum Field: String, CaseIterable {
        case bundleID = "bundle_id"
        case account
        case originalTransactionIDs = "original_transaction_ids"
    }

    private(set) var bundleID = ""
    private(set) var account: Account?
    /// Empty if only the account is named.
    private(set) var originalTransactionIDs: [String] = []

    init(decoding bytes: Span<UInt8>) throws(JSONFault) {
        var reader = JSONReader(bytes)
        let seen: Set<Field> = try reader.fields { (field, reader) throws(JSONFault) in
            try read(field, from: &reader)
        }
        guard seen.contains(.bundleID) else {
            throw JSONFault(.missingField, field: Field.bundleID.rawValue, at: reader.position)
        }
        guard account != nil || !originalTransactionIDs.isEmpty else {
            let expected = "a list of at least one ID, unless \"\(Field.account.rawValue)\" is sent"
            throw JSONFault(
                .notAccepted(expected), field: Field.originalTransactionIDs.rawValue, at: reader.position)
        }
    }

    private mutating func read(_ field: Field, from reader: inout JSONReader) throws(JSONFault) {
        let start = reader.position
        switch field {
        case .bundleID:
            bundleID = try reader.text()
            guard bundleID.isBundleID else { throw JSONFault(.notAccepted("a bundle ID"), at: start) }
        case .account:
            account = Account(try reader.text())
            guard account != nil else {
                throw JSONFault(.notAccepted("1 to \(Account.Limits.bytes) bytes of text"), at: start)
            }
        case .originalTransactionIDs:
            for text in try reader.strings(maximumCount: ErasureSubject.Limits.chains) {
                let id = try reader.value(of: text, maximumBytes: JSONReader.maximumTextBytes)
                guard id.isTransactionID else {
                    throw JSONFault(
                        .notAccepted("a list of IDs of \(TransactionIDForm.description)"), at: text.range.lowerBound)
                }
                originalTransactionIDs.append(id)
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

#if DEBUG || RECEIPT_FUZZING  // The tested code is internal; a release build has nothing of this module.
    @testable internal import Receipts

    /// A broken promise of a parser: it must hold for any bytes.
    public struct BrokenInvariant: Error, CustomStringConvertible {
        /// The promise.
        public let description: String

        init(_ description: String) {
            self.description = description
        }
    }

    /// The parsers under test. Each must never crash, and keeps promises that are checked.
    public enum FuzzTarget: UInt8, CaseIterable, Sendable {
        // Add new ones at the end: the corpus refers to targets by number.
        /// Text to bytes.
        case base64
        /// The PKCS #7 container.
        case container
        /// Xcode's BER form.
        case ber
        /// The payload, as if it were signed.
        case fields
        /// One certificate, and its key in OpenSSL.
        case certificate
        /// Changes to genuine receipts, through the whole verifier.
        case verifier
        /// Dates.
        case date
        /// JSON, read as a tree, skipped, and as the body of a request.
        case json
        /// Replies of Redis.
        case reply
        /// The bytes of a client's connection.
        case edge
        /// Values of the shared store.
        case stored
        /// Header fields and dates of Apple.
        case header
        /// Bodies of Apple's responses.
        case answer
        /// The clients file.
        case clients
        /// Forms, and the answers to them.
        case form
        /// Transaction receipts, and their purchase information as if it were signed.
        case transactionReceipt
        /// Signed data of StoreKit 2.
        case jws
        /// Paths and queries of calls to the App Store Server API, from clients of the proxy.
        case serverAPICall
        /// Replies of the App Store Server API.
        case serverAPIReply
        /// Replies of Redis to the stores, with what another writer stored.
        case stores
        /// Histories of customers, with payloads as if they were signed.
        case history
        /// Notifications, with payloads as if they were signed, and the states and events that they make.
        case notification
        /// The header of the PROXY protocol.
        case proxyHeader
        /// Bodies of plugins in apps.
        case pluginRequest
        /// Bodies of requests for signatures, and what is signed.
        case signatureRequest

        /// The target of an input, chosen by its first byte; nil for an empty input.
        public init?(of input: [UInt8]) {
            guard let first = input.first else { return nil }
            self = Self.allCases[Int(first) % Self.allCases.count]
        }

        /// Runs an input: its first byte chooses the target, which receives the others.
        public static func run(_ input: [UInt8]) throws {
            guard let target = FuzzTarget(of: input) else { return }
            let bytes = Array(input.dropFirst())
            switch target {
            case .base64: try checkBase64(bytes)
            case .container: try checkContainer(bytes)
            case .ber: try checkBER(bytes)
            case .fields: try checkFields(bytes)
            case .certificate: try checkCertificate(bytes)
            case .verifier: try checkVerifier(bytes)
            case .date: try checkDate(bytes)
            case .json: try checkJSON(bytes)
            case .reply: try checkReply(bytes)
            case .edge: try checkEdge(bytes)
            case .stored: try checkStored(bytes)
            case .header: try checkHeader(bytes)
            case .answer: try checkAnswer(bytes)
            case .clients: try checkClients(bytes)
            case .form: try checkForm(bytes)
            case .transactionReceipt: try checkTransactionReceipt(bytes)
            case .jws: try checkJWS(bytes)
            case .serverAPICall: try checkServerAPICall(bytes)
            case .serverAPIReply: try checkServerAPIReply(bytes)
            case .stores: try checkStores(bytes)
            case .history: try checkHistory(bytes)
            case .notification: try checkNotification(bytes)
            case .proxyHeader: try checkProxyHeader(bytes)
            case .pluginRequest: try checkPluginRequest(bytes)
            case .signatureRequest: try checkSignatureRequest(bytes)
            }
        }

        func input(_ bytes: [UInt8]) -> [UInt8] { [rawValue] + bytes }
    }

    func expect(_ holds: Bool, _ promise: @autoclosure () -> String) throws {
        guard holds else { throw BrokenInvariant(promise()) }
    }

    extension Range<Int> {
        func contains(_ other: Range<Int>) -> Bool {
            lowerBound <= other.lowerBound && other.upperBound <= upperBound
        }
    }

    extension ReceiptError {
        /// Checks that an error's offset is within the bytes, or at their end where something is missing.
        func checkLocation(in bytes: [UInt8]) throws {
            guard case .offset(let offset) = location else { return }
            try expect((0...bytes.count).contains(offset), "\(rule.rawValue) at \(offset) of \(bytes.count) bytes")
        }
    }
#endif

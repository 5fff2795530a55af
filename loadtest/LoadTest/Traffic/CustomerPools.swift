// SPDX-License-Identifier: Apache-2.0

internal import AppleSimulator
internal import FoundationEssentials
internal import NIOCore
internal import ReceiptForge

/// Requests about the customers of a simulated Apple: with a signed transaction, with a receipt, and with a transaction ID
/// alone.
struct CustomerPools: Sendable {
    private let signed: [ByteBuffer]
    /// Receipts in both forms; empty if the mix has none.
    private var receipts: [ByteBuffer] = [], verifyReceipt: [ByteBuffer] = []
    private let known: [ByteBuffer]
    private let unknown: RequestForm
    private let popularity: KeyPopularity

    init(
        _ customers: SimulatedCustomers, _ pki: TransactionPKI, zipf: Double,
        _ form: (RequestForm.Content) -> RequestForm
    ) {
        let (bySignature, byID) = (form(.signedTransaction), form(.transactionID(ofApp: SimulatedCustomers.bundleID)))
        signed = (0..<customers.count).map { bySignature.request(customers.signedTransaction($0, by: pki)) }
        known = (0..<customers.count).map { byID.request(customers.transactionID($0)) }
        unknown = byID
        popularity = KeyPopularity(keys: customers.count, exponent: zipf)
    }

    mutating func addReceipts(
        of customers: SimulatedCustomers, _ pki: ForgedPKI, _ form: (RequestForm.Content) -> RequestForm
    ) {
        let (own, apples) = (form(.receipt), form(.verifyReceipt))
        let texts = (0..<customers.count).map { customers.receipt($0, by: pki) }
        (receipts, verifyReceipt) = (texts.map(own.request), texts.map(apples.request))
    }

    func next(_ kind: RequestKind, using generator: inout SplitMix64) -> ByteBuffer {
        guard kind != .unknownID else { return unknown.request(Self.unknownID(using: &generator)) }
        let customer = popularity.key(at: generator.fraction())
        switch kind {
        case .signed: return signed[customer]
        case .customerReceipt: return receipts[customer]
        case .verifyReceipt: return verifyReceipt[customer]
        default: return known[customer]
        }
    }

    /// Returns 16 digits; customers' IDs begin with a 2.
    private static func unknownID(using generator: inout SplitMix64) -> String {
        String(9_000_000_000_000_000 + generator.next() % 1_000_000_000_000_000)
    }
}

extension TransactionPKI {
    /// The authority of fleets in this process. No two copies of one seed have the same root, and gateways trust its bytes.
    static let ofFleets = TransactionPKI(seed: CorpusCommand.defaultSeed)

    /// The authority of a folder that `corpus` wrote; without a folder, the authority of fleets.
    init(corpus folder: String?) throws(CorpusAuthorityError) {
        guard let folder else {
            self = .ofFleets
            return
        }
        try self.init(corpusDirectory: folder)
    }
}

extension UTCDate {
    static var now: UTCDate { UTCDate(secondsSince1970: Int64(Date().timeIntervalSince1970)) }
}

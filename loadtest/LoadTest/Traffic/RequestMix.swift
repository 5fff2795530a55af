// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Glibc

/// The content of a request; the raw values appear in `--mix`.
enum RequestKind: String, CaseIterable, Sendable {
    case repeated = "repeat"
    /// Genuine, and never sent before.
    case fresh
    /// No receipt at all: bytes are damaged where the encoding shows the damage.
    case malformed
    /// Well formed, with a signature that does not fit. No two are equal.
    case forged
    /// Genuine, with a subscription that ends during the run.
    case nearExpiry = "near-expiry"
    /// A signed transaction of a customer of the simulated Apple.
    case signed
    case customerReceipt = "customer-receipt"
    /// The same receipt in Apple's form, at the path `/verifyReceipt`.
    case verifyReceipt = "verify-receipt"
    /// The transaction ID of such a customer, without evidence.
    case knownID = "known-id"
    /// A transaction ID that Apple does not know. No two are equal.
    case unknownID = "unknown-id"
    /// A notification of Apple's about a customer, never sent before.
    case notification
    /// A notification that was sent before, byte for byte.
    case duplicateNotification = "duplicate-notification"

    /// True if requests of this kind are about customers of the simulated Apple.
    var isOfCustomer: Bool { [.signed, .customerReceipt, .verifyReceipt, .knownID, .unknownID].contains(self) }
}

/// The source that a request wants its answer from, as `POST /v1/verify` names it.
enum VerifyMode: String, CaseIterable, Hashable, Sendable, ExpressibleByArgument {
    /// Apple if it matters, else the receipt.
    case auto
    case local
    case apple
}

struct RequestMix: Hashable, Sendable {
    /// The shares of all kinds, in their order; together 1.
    private let shares: [Double]

    static let repeated = only(.repeated)

    static func only(_ kind: RequestKind) -> RequestMix {
        RequestMix(shares: RequestKind.allCases.map { $0 == kind ? 1 : 0 })
    }

    subscript(_ kind: RequestKind) -> Double {
        zip(RequestKind.allCases, shares).first { $0.0 == kind }?.1 ?? 0
    }

    /// Returns the kind that a number from 0 to below 1 falls on.
    func kind(at fraction: Double) -> RequestKind {
        var rest = fraction
        for (kind, share) in zip(RequestKind.allCases, shares) {
            if rest < share { return kind }
            rest -= share
        }
        // Shares that were rounded may leave a gap at the end.
        return RequestKind.allCases.last { self[$0] > 0 } ?? .repeated
    }

    /// True if some requests are made from the receipts that are sent again and again.
    var sendsRepeated: Bool { [.repeated, .malformed, .forged].contains { self[$0] > 0 } }

    /// True if some requests carry receipts that are made for the run.
    var sendsReceipts: Bool { sendsRepeated || self[.fresh] > 0 || self[.nearExpiry] > 0 }

    var sendsNotifications: Bool { self[.notification] > 0 || self[.duplicateNotification] > 0 }

    var sendsCustomerReceipts: Bool { self[.customerReceipt] > 0 || self[.verifyReceipt] > 0 }

    var sendsCustomers: Bool { RequestKind.allCases.contains { $0.isOfCustomer && self[$0] > 0 } }

    var byName: [String: Double] {
        Dictionary(
            uniqueKeysWithValues: zip(RequestKind.allCases, shares).filter { $0.1 > 0 }.map { ($0.rawValue, $1) })
    }
}

extension RequestMix: ExpressibleByArgument {
    /// Takes shares that make 1; a missing rest is `repeated`, unless its share is given.
    init?(_ given: [RequestKind: Double]) {
        var given = given
        let sum = given.values.reduce(0, +)
        guard given.values.allSatisfy({ (0...1).contains($0) }), sum <= 1 + Self.tolerance else { return nil }
        if given[.repeated] == nil { given[.repeated] = max(0, 1 - sum) }
        guard abs(given.values.reduce(0, +) - 1) <= Self.tolerance else { return nil }
        self.init(shares: RequestKind.allCases.map { given[$0] ?? 0 })
    }

    private static let tolerance = 1e-9

    /// Reads `repeat=0.9,fresh=0.05,forged=0.05`.
    init?(argument: String) {
        var given: [RequestKind: Double] = [:]
        for part in argument.split(separator: ",", omittingEmptySubsequences: false) {
            let words = part.split(separator: "=", omittingEmptySubsequences: false)
            guard words.count == 2, let kind = RequestKind(rawValue: String(words[0])), let share = Double(words[1]),
                given.updateValue(share, forKey: kind) == nil
            else { return nil }
        }
        self.init(given)
    }

    var defaultValueDescription: String {
        RequestKind.allCases.filter { self[$0] > 0 }.map { "\($0.rawValue)=\(self[$0])" }.joined(separator: ",")
    }
}

/// The popularity of keys: the k-th key's is in proportion to 1 / k to the power of an exponent (Zipf's law at 1).
struct KeyPopularity: Sendable {
    let keys: Int
    /// The share of all keys up to each; empty where all are alike.
    private let cumulated: [Double]

    /// - Parameter exponent: 0 or more.
    init(keys: Int, exponent: Double) {
        self.keys = keys
        guard exponent > 0, keys > 0 else {
            cumulated = []
            return
        }
        var sum = 0.0
        let sums = (1...keys).map { key in
            sum += pow(Double(key), -exponent)
            return sum
        }
        cumulated = sums.map { $0 / sum }
    }

    /// Returns the key, counted from 0, that a number from 0 to below 1 falls on.
    func key(at fraction: Double) -> Int {
        guard !cumulated.isEmpty else { return min(keys - 1, Int(fraction * Double(keys))) }
        var low = 0, high = keys - 1
        while low < high {
            let middle = (low + high) / 2
            if fraction < cumulated[middle] { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

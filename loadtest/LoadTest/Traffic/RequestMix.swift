// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser

/// The share of each kind of request.
struct RequestMix: Hashable, Sendable {
    /// Of all kinds, in their order; together 1.
    private let shares: [Double]

    /// Repeated receipts alone.
    static let repeated = RequestMix(shares: RequestKind.allCases.map { $0 == .repeated ? 1 : 0 })

    private init(shares: [Double]) {
        self.shares = shares
    }

    /// Takes shares that make 1; what is missing is repeated, unless its share is given.
    init?(_ given: [RequestKind: Double]) {
        var given = given
        let sum = given.values.reduce(0, +)
        guard given.values.allSatisfy({ (0...1).contains($0) }), sum <= 1 + Self.tolerance else { return nil }
        if given[.repeated] == nil { given[.repeated] = max(0, 1 - sum) }
        guard abs(given.values.reduce(0, +) - 1) <= Self.tolerance else { return nil }
        shares = RequestKind.allCases.map { given[$0] ?? 0 }
    }

    private static let tolerance = 1e-9

    subscript(_ kind: RequestKind) -> Double {
        zip(RequestKind.allCases, shares).first { $0.0 == kind }?.1 ?? 0
    }

    /// The kind that a number from 0 to below 1 falls on.
    func kind(at fraction: Double) -> RequestKind {
        var rest = fraction
        for (kind, share) in zip(RequestKind.allCases, shares) {
            if rest < share { return kind }
            rest -= share
        }
        // Shares that were rounded may leave a gap at the end.
        return RequestKind.allCases.last { self[$0] > 0 } ?? .repeated
    }

    /// The shares above 0 by name.
    var byName: [String: Double] {
        Dictionary(
            uniqueKeysWithValues: zip(RequestKind.allCases, shares).filter { $0.1 > 0 }.map { ($0.rawValue, $1) })
    }
}

extension RequestMix: ExpressibleByArgument {
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

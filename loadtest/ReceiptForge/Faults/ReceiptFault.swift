// SPDX-License-Identifier: Apache-2.0

package import Receipts

/// One named difference from ordinary evidence, and the answer a verifier must give.
///
/// Some evidence is odd but expected to be genuine: a verifier that rejects everything unusual is as wrong as a
/// verifier that accepts everything signed. Apart from the difference the evidence is correct and correctly signed.
package struct NamedFault<Forge: FaultApplying>: Sendable {
    /// A stable name in kebab case, fit for a file name.
    package let name: String
    package let expected: ExpectedAnswer
    /// The answer about a JWS of a verifier to whom its operator gave the root as a certificate, which stands for every
    /// root of its name and key, and closes chains that leave it out.
    package let expectedBelowOperatorsRoot: ExpectedAnswer
    /// True if a verifier that accepts transaction receipts of version 2 gives the answer.
    package let acceptsVersion2: Bool
    /// The difference and its significance, in one sentence or two.
    package let explanation: String
    let recipe: Forge.Recipe

    init(
        _ name: String, _ expected: ExpectedAnswer, belowOperatorsRoot other: ExpectedAnswer? = nil,
        acceptsVersion2: Bool = false, _ explanation: String, _ recipe: Forge.Recipe
    ) {
        self.name = name
        self.expected = expected
        expectedBelowOperatorsRoot = other ?? expected
        self.acceptsVersion2 = acceptsVersion2
        self.explanation = explanation
        self.recipe = recipe
    }

    package init?(named name: String) {
        guard let fault = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = fault
    }
}

/// Applies faults to one sample.
package protocol FaultApplying: Sendable {
    /// The step at which the difference is made. All later steps are correct.
    associatedtype Recipe: Sendable

    /// Every fault, in the order of a verifier's work.
    static var faults: [NamedFault<Self>] { get }
}

extension FaultApplying {
    func edited<Value>(_ value: Value, by edit: (inout Value) -> Void) -> Value {
        var value = value
        edit(&value)
        return value
    }
}

extension NamedFault: CaseIterable {
    package static var allCases: [Self] { Forge.faults }
}

extension NamedFault: Hashable, CustomStringConvertible {
    /// Compares the names, which are unique.
    package static func == (left: Self, right: Self) -> Bool { left.name == right.name }

    package func hash(into hasher: inout Hasher) { hasher.combine(name) }

    package var description: String { name }
}

/// A fault of an app receipt.
package typealias ReceiptFault = NamedFault<FaultForge>

/// A fault of a signed transaction. The verifier pins the forged root by its fingerprint, as it does Apple's, for the
/// environments Production and Sandbox, and trusts nothing else.
package typealias JWSFault = NamedFault<JWSForge>

/// A fault of a transaction receipt. The verifier trusts the forged root for the environment Sandbox, and has the
/// forge's intermediates.
package typealias TransactionReceiptFault = NamedFault<TransactionReceiptForge>

/// The answer of a verifier that trusts the forged root for the environment Sandbox, and nothing else.
package enum ExpectedAnswer: Sendable, Hashable {
    /// The receipt is valid, however odd it looks.
    case genuine
    case rejected(Rule)
    /// The text is not base64, so there is no verdict.
    case badRequest(Base64Error.Fault)

    /// `genuine`, `rejected` or `bad_request`.
    package var verdict: String {
        switch self {
        case .genuine: "genuine"
        case .rejected: "rejected"
        case .badRequest: "bad_request"
        }
    }

    /// The name of the broken rule or of the base64 fault; nil if genuine.
    package var reason: String? {
        switch self {
        case .genuine: nil
        case .rejected(let rule): rule.rawValue
        case .badRequest(let fault): fault.rawValue
        }
    }
}

package enum ForgedEvidence: Sendable, Hashable {
    /// A receipt, correctly encoded or not.
    case der([UInt8])
    /// A text in place of base64.
    case text(String)
    /// A JWS, which is sent as it is.
    case jws([UInt8])

    /// The bytes that a client sends.
    var sent: [UInt8] {
        if case .jws(let bytes) = self { return bytes }
        return Array(base64.utf8)
    }

    package var base64: String {
        switch self {
        case .der(let bytes), .jws(let bytes): Base64Encoder.text(bytes)
        case .text(let text): text
        }
    }
}

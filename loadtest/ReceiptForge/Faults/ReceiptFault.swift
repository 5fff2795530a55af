// SPDX-License-Identifier: Apache-2.0

package import Receipts

/// One named difference from ordinary evidence, and the answer a verifier must give.
///
/// Some evidence is odd but expected to be genuine: a verifier that rejects everything unusual is as wrong as a
/// verifier that accepts everything signed. Apart from the difference the evidence is correct and correctly signed.
///
/// ```swift
/// .rejected("bundle-id-missing", .attributeMissing).attributes { $0.remove(.bundleID) }
///     .because("Without attribute 2 the receipt fits every app.")
/// ```
package struct NamedFault<Forge: FaultApplying>: Sendable {
    /// A stable name in kebab case, fit for a file name.
    package let name: String
    package let expected: ExpectedAnswer
    /// The answer about a JWS of a verifier to whom its operator gave the root as a certificate, which stands for every
    /// root of its name and key, and closes chains that leave it out.
    package private(set) var expectedBelowOperatorsRoot: ExpectedAnswer
    /// True if a verifier that accepts transaction receipts of version 2 gives the answer.
    package private(set) var acceptsVersion2 = false
    /// The difference and its significance, in one sentence or two.
    package private(set) var explanation = ""
    fileprivate var evidence: Make<Forge, Forge.Evidence> = { $0.ordinary }
    fileprivate var contents: Make<Forge, Forge.Contents?> = { $0.contents }

    private init(_ name: String, _ expected: ExpectedAnswer) {
        self.name = name
        self.expected = expected
        expectedBelowOperatorsRoot = expected
    }

    package init?(named name: String) {
        guard let fault = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = fault
    }
}

/// A row of a table of faults: the answer, the step at which the difference is made, and the explanation.
extension NamedFault {
    static func genuine(_ name: String) -> Self { Self(name, .genuine) }
    static func rejected(_ name: String, _ rule: Rule) -> Self { Self(name, .rejected(rule)) }
    static func badRequest(_ name: String, _ fault: Base64Error.Fault) -> Self { Self(name, .badRequest(fault)) }

    func because(_ explanation: String) -> Self { with { $0.explanation = explanation } }
    func belowOperatorsRoot(_ answer: ExpectedAnswer) -> Self { with { $0.expectedBelowOperatorsRoot = answer } }
    var acceptingVersion2: Self { with { $0.acceptsVersion2 = true } }

    /// - Parameter contents: the contents that a verifier must read, if the fault changes them.
    func evidence(
        _ evidence: @escaping Make<Forge, Forge.Evidence>,
        reading contents: @escaping Make<Forge, Forge.Contents?> = { $0.contents }
    ) -> Self {
        with { ($0.evidence, $0.contents) = (evidence, contents) }
    }

    private func with(_ change: (inout Self) -> Void) -> Self {
        var fault = self
        change(&fault)
        return fault
    }
}

/// Applies faults to one sample.
package protocol FaultApplying: Sendable {
    associatedtype Evidence
    associatedtype Contents

    /// Every fault, in the order of a verifier's work.
    static var faults: [NamedFault<Self>] { get }

    /// The contents of the sample.
    var contents: Contents { get }
    /// The sample without a fault.
    var ordinary: Evidence { get }
}

extension FaultApplying {
    /// Returns the evidence with a fault.
    package func evidence(with fault: NamedFault<Self>) -> Evidence { fault.evidence(self) }

    /// Returns the contents that a verifier must read from evidence with this fault; nil unless it is genuine and they
    /// are known.
    package func contents(with fault: NamedFault<Self>) -> Contents? {
        fault.expected == .genuine ? fault.contents(self) : nil
    }

    func edited<Value>(_ value: Value, by edit: (inout Value) -> Void) -> Value {
        var value = value
        edit(&value)
        return value
    }
}

/// Makes a value for a forge, or edits a value.
typealias Make<Forge, Value> = @Sendable (Forge) -> Value
typealias Edit<Value> = @Sendable (inout Value) -> Void

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

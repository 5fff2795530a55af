// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Receipts

/// One named difference from an ordinary receipt, and the answer a verifier must give.
///
/// Some receipts are odd but expected to be genuine: a verifier that rejects everything unusual is as wrong as a
/// verifier that accepts everything signed. Apart from the difference the receipt is correct and correctly signed.
package struct Fault: Sendable {
    /// A stable name in kebab case, fit for a file name.
    package let name: String
    package let expected: ExpectedAnswer
    /// The difference and its significance, in one sentence or two.
    package let explanation: String
    let recipe: Recipe

    init(_ name: String, _ expected: ExpectedAnswer, _ explanation: String, _ recipe: Recipe) {
        self.name = name
        self.expected = expected
        self.explanation = explanation
        self.recipe = recipe
    }

    package init?(named name: String) {
        guard let fault = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = fault
    }
}

extension Fault {
    /// The step at which the difference is made. All later steps are correct.
    enum Recipe: Sendable {
        case text(@Sendable (FaultForge) -> String)
        case bytes(@Sendable (FaultForge) -> [UInt8])
        /// A container made from scratch.
        case container(@Sendable (FaultForge) -> SignedDataTemplate)
        /// The finished container, after signing.
        case afterSigning(@Sendable (inout SignedDataTemplate) -> Void)
        /// The contents of the receipt, before signing.
        case contents(@Sendable (inout ReceiptContents) -> Void)
        /// The attributes of the payload, before signing.
        case attributes(@Sendable (inout AttributeSet) -> Void)
        /// The certificates, before their authorities sign them.
        case chain(@Sendable (inout Chain) -> Void)
    }
}

extension Fault: CaseIterable {
    /// Every fault, in the order of a verifier's work: text, encoding, container, payload, chain, signature.
    package static let allCases: [Fault] =
        legitimate + base64 + encoding + limits + container + signedAttributes + attributes + values + certificates
        + chains + signatures
}

extension Fault: Hashable, CustomStringConvertible {
    /// Compares the names, which are unique.
    package static func == (left: Fault, right: Fault) -> Bool { left.name == right.name }

    package func hash(into hasher: inout Hasher) { hasher.combine(name) }

    package var description: String { name }
}

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

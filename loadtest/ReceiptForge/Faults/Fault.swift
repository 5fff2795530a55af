// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// One named way in which a receipt differs from an ordinary one, and what a verifier must say to it.
///
/// Some of them are odd but legitimate, and expected to be genuine: a verifier that refuses everything unusual is as
/// wrong as one that accepts everything signed. Apart from the one difference the receipt is in order: whatever has to
/// be signed again, is.
public struct Fault: Sendable {
    /// A stable name in kebab case, fit for a file name.
    public let name: String
    /// The only right answer.
    public let expected: ExpectedAnswer
    /// What the difference is and why it matters, in one sentence or two.
    public let explanation: String
    let recipe: Recipe

    init(_ name: String, _ expected: ExpectedAnswer, _ explanation: String, _ recipe: Recipe) {
        self.name = name
        self.expected = expected
        self.explanation = explanation
        self.recipe = recipe
    }

    /// The fault with this name.
    public init?(named name: String) {
        guard let fault = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = fault
    }
}

extension Fault {
    /// Where the difference is made. Everything that depends on it afterwards is made properly.
    enum Recipe: Sendable {
        /// In the text a client sends.
        case text(@Sendable (FaultForge) -> String)
        /// In the octets of the receipt.
        case bytes(@Sendable (FaultForge) -> [UInt8])
        /// In a container made from scratch.
        case container(@Sendable (FaultForge) -> SignedData)
        /// In the finished container, after signing.
        case afterSigning(@Sendable (inout SignedData) -> Void)
        /// In what the receipt says, before signing.
        case contents(@Sendable (inout ReceiptContents) -> Void)
        /// In the attributes of the payload, before signing.
        case attributes(@Sendable (inout AttributeSet) -> Void)
        /// In the certificates, before their authorities sign them.
        case chain(@Sendable (inout Chain) -> Void)
    }
}

extension Fault: CaseIterable {
    /// Every fault, in the order of a verifier's work: text, encoding, container, payload, chain, signature.
    public static let allCases: [Fault] =
        legitimate + base64 + encoding + limits + container + signedAttributes + attributes + values + certificates
        + chains + signatures
}

extension Fault: Hashable, CustomStringConvertible {
    /// Names are unique.
    public static func == (left: Fault, right: Fault) -> Bool { left.name == right.name }

    /// Hashes the name.
    public func hash(into hasher: inout Hasher) { hasher.combine(name) }

    /// The name, for test reports.
    public var description: String { name }
}

// SPDX-License-Identifier: Apache-2.0

internal import AppStore
internal import Gateway
internal import JSON
internal import Yams

extension ClientsFile {
    private static let scopeFields = ["promotional_offers", "introductory_offers", "advanced_commerce"]

    /// Reads what a client may have signed, by app:
    /// ```yaml
    /// com.example.shop:
    ///   promotional_offers:
    ///     com.example.shop.monthly: [comeback, spring]
    ///   introductory_offers: [com.example.shop.monthly]
    ///   advanced_commerce: [course-1]   # SKUs, or "*" for any
    /// ```
    /// The right and the list are each worthless alone, and a fault.
    mutating func readSignatures(
        _ node: Node?, of client: Node, forApps apps: PermittedApps, may: Set<Client.Permission>
    ) -> [String: SignatureScope] {
        let right = Client.Permission.sign.rawValue
        guard let node else {
            if may.contains(.sign) { report("may: [\(right)] needs signatures: the products and offers", at: client) }
            return [:]
        }
        if !may.contains(.sign) { report("signatures needs may: [\(right)]", at: node) }
        guard let mapping = node.mapping else {
            report("signatures must be a mapping from apps to \(Self.scopeFields.joined(separator: ", "))", at: node)
            return [:]
        }
        var scopes: [String: SignatureScope] = [:]
        for (key, value) in mapping {
            let star = "signatures names each app"
            guard let bundleID = readApp(key, of: "signatures", permitted: apps, star: star) else { continue }
            scopes[bundleID] = readSignatureScope(value)
        }
        return scopes
    }

    private mutating func readSignatureScope(_ node: Node) -> SignatureScope? {
        guard let fields = fields(of: node, named: Self.scopeFields) else { return nil }
        var scope = SignatureScope()
        if let node = fields["promotional_offers"] { scope.promotionalOffers = readPromotionalOffers(node) }
        scope.introductoryOffers = signableTexts(fields["introductory_offers"], named: "introductory_offers")
        if let node = fields["advanced_commerce"] { scope.advancedCommerce = readSKUs(node) }
        return scope
    }

    private mutating func readPromotionalOffers(_ node: Node) -> [SignableText: Set<SignableText>] {
        guard let mapping = node.mapping else {
            report("promotional_offers must be a mapping from products to lists of offers", at: node)
            return [:]
        }
        var offers: [SignableText: Set<SignableText>] = [:]
        for (key, list) in mapping {
            guard let product = signableText(key, named: "a product of promotional_offers") else { continue }
            offers[product] = signableTexts(list, named: "promotional_offers of a product")
        }
        return offers
    }

    private mutating func readSKUs(_ node: Node) -> SignatureScope.SKUs {
        if node.scalar?.string == "*" { return .any }
        let skus = elements(of: node, named: "advanced_commerce").compactMap { node -> OutsideText? in
            guard let sku = text(node, named: "advanced_commerce", of: node) else { return nil }
            if sku == "*" { report("\"*\" stands for any SKU only without a list: advanced_commerce: \"*\"", at: node) }
            guard sku.utf8.count <= AdvancedCommerceRequest.Limits.skuBytes else {
                return rejected("a SKU has \(AdvancedCommerceRequest.Limits.skuDescription)", at: node)
            }
            return OutsideText(sku)
        }
        return .only(Set(skus))
    }

    private mutating func signableTexts(_ list: Node?, named name: String) -> Set<SignableText> {
        Set(elements(of: list, named: name).compactMap { signableText($0, named: name) })
    }

    private mutating func signableText(_ node: Node, named name: String) -> SignableText? {
        guard let text = text(node, named: name, of: node) else { return nil }
        return SignableText(text) ?? rejected("\(name) must have \(SignableText.Limits.description)", at: node)
    }
}

// SPDX-License-Identifier: Apache-2.0

import AppStore
import Testing

@testable import Clients
@testable import ServerTestSupport

@Suite("What clients may have signed")
struct SignatureScopeTests {
    @Test func `offers are listed by app and product`() throws {
        let client = try Self.client(
            "{a: {promotional_offers: {monthly: [x, y]}, introductory_offers: [monthly]}, b: {}}")
        func may(_ product: String, _ offer: String, _ app: String) throws -> Bool {
            let request = StoreKitRequest.promotionalOffer(
                ProductOffer(productID: try Self.text(product), offerIdentifier: try Self.text(offer)),
                transactionID: nil)
            return client.signatureGap(for: request, ofApp: app) == nil
        }
        #expect(try may("monthly", "x", "a") && may("monthly", "y", "a"))
        #expect(try !may("monthly", "z", "a") && !may("yearly", "x", "a"))
        #expect(try !may("monthly", "x", "b") && !may("monthly", "x", "c"))
        for (product, isListed) in [("monthly", true), ("yearly", false)] {
            let request = StoreKitRequest.introductoryOfferEligibility(
                productID: try Self.text(product), isEligible: true, transactionID: "7")
            #expect((client.signatureGap(for: request, ofApp: "a") == nil) == isListed)
            #expect(client.signatureGap(for: request, ofApp: "b") != nil)
        }
    }

    @Test(
        arguments: [
            ("", ["x"], false), ("", [], false), ("advanced_commerce: []", ["x"], false),
            ("advanced_commerce: []", [], false), ("advanced_commerce: [x, y]", ["x"], true),
            ("advanced_commerce: [x, y]", ["x", "y"], true), ("advanced_commerce: [x, y]", ["x", "z"], false),
            ("advanced_commerce: [x, y]", [], false), ("advanced_commerce: '*'", ["z"], true),
            ("advanced_commerce: '*'", [], true),
            // Equal for Swift's String.
            ("advanced_commerce: [\u{E9}]", ["e\u{301}"], false), ("advanced_commerce: [\u{E9}]", ["\u{E9}"], true),
        ] as [(String, [String], Bool)])
    func `of Advanced Commerce every SKU is listed, or all are permitted`(
        field: String, skus: [String], isPermitted: Bool
    ) throws {
        let items = skus.map { #"{"SKU":"\#($0)"}"# }.joined(separator: ",")
        let json = """
            {"operation":"CREATE_SUBSCRIPTION","version":"1","items":[\(items)],\
            "requestInfo":{"requestReferenceId":"6d3f2b0e-7c0e-4c57-9a8e-0c6a1f9f1a10"}}
            """
        let request = StoreKitRequest.advancedCommerce(try AdvancedCommerceRequest(Array(json.utf8)))
        #expect(try (Self.client("{a: {\(field)}}").signatureGap(for: request, ofApp: "a") == nil) == isPermitted)
    }

    @Test func `clients differ by what they may have signed, whichever key a request carried`() throws {
        let clients = try ["{a: {introductory_offers: [x]}}", "{a: {introductory_offers: [y]}}", "{}"].map(Self.client)
        #expect(Set(clients).count == 3)
        #expect(clients[0].identified(by: clients[0].keys[0]) == clients[0])
        #expect(clients[0].identified(by: clients[0].keys[0]).signatures == clients[0].signatures)
    }

    @Test(arguments: [
        ("may: [sign]", "may: [sign] needs signatures: the products and offers"),
        ("signatures: {}", "signatures needs may: [sign]"),
        ("may: [purge], signatures: {a: {}}", "signatures needs may: [sign]"),
        ("may: [Sign], signatures: {}", "may takes only: purge, ownership, erase, sign, trace"),
        (
            "may: [sign], signatures: [x]",
            "signatures must be a mapping from apps to promotional_offers, introductory_offers, advanced_commerce"
        ),
        ("may: [sign], signatures: {c: {}}", "the client may not use the app c: add it to apps first"),
        ("may: [sign], signatures: {'*': {}}", "\"*\" is no app: signatures names each app"),
        ("may: [sign], signatures: {a: [x]}", "must have the fields promotional_offers"),
    ])
    func `a fault is named with its line`(fields: String, problem: String) {
        expect(problem, of: fields)
    }

    private static let characters = "must have 1 to 256 visible ASCII characters"

    @Test(arguments: [
        ("offers: []", "offers is not a field here"),
        ("promotional_offers: [x]", "promotional_offers must be a mapping from products to lists of offers"),
        ("promotional_offers: {x: y}", "promotional_offers of a product must be a list"),
        ("promotional_offers: {'x y': [z]}", "a product of promotional_offers \(characters)"),
        ("introductory_offers: ['x y']", "introductory_offers \(characters)"),
        ("introductory_offers: x", "introductory_offers must be a list"),
        ("advanced_commerce: x", "advanced_commerce must be a list"),
        ("advanced_commerce: ['*', x]", "\"*\" stands for any SKU only without a list: advanced_commerce: \"*\""),
        ("advanced_commerce: [\(String(repeating: "x", count: 257))]", "a SKU has 1 to 256 bytes of text"),
    ])
    func `a fault of what an app may have signed is named with its line`(field: String, problem: String) {
        expect(problem, of: "may: [sign], signatures: {a: {\(field)}}")
    }

    private func expect(_ problem: String, of fields: String) {
        let found = configurationProblems(reading: {
            try ClientsFile("clients:\n- {name: shop, apps: [a, b], \(ClientsFile.unusedKeys), \(fields)}")
        })
        #expect(found.contains { $0.hasPrefix("clients.yaml:2: \(problem)") }, "\(found)")
    }

    @Test(arguments: ["apps: [a], keys: []", "form: {keys: [], apps: []}"])
    func `a client without API keys has nothing signed`(fields: String) {
        let found = configurationProblems(reading: {
            try ClientsFile("clients:\n- {name: shop, \(fields), signatures: {a: {}}}")
        })
        let problem = "signatures is for API keys, and this client has none: remove it, or add keys"
        #expect(found.contains("clients.yaml:2: \(problem)"), "\(found)")
    }

    @Test func `an app without a key is a fault that the start names`() throws {
        let client = try Self.client("{b: {introductory_offers: [x]}, a: {introductory_offers: [x]}}")
        let key = ServerAPIKeyFixture.key
        func seen(_ keys: ServerAPIKeys) -> String? {
            AccessRules(clients: [client], serverAPIKeys: keys).signatureFault?.seen
        }
        let fault = "Clients may have requests signed for"
        #expect(seen(ServerAPIKeys())?.hasPrefix("\(fault) a, b, which have no key") == true)
        #expect(seen(ServerAPIKeys(ofApps: ["a": key]))?.hasPrefix("\(fault) b, which have no key") == true)
        #expect(seen(ServerAPIKeys(account: key)) == nil)
        #expect(AccessRules(clients: []).signatureFault == nil)
    }

    // MARK: - Steps

    private static func client(_ signatures: String) throws -> Client {
        let file = try ClientsFile(
            "clients:\n- {name: shop, apps: [a, b], \(ClientsFile.unusedKeys), may: [sign], signatures: \(signatures)}")
        return try #require(file.clients.first)
    }

    private static func text(_ text: String) throws -> SignableText { try #require(SignableText(text)) }
}

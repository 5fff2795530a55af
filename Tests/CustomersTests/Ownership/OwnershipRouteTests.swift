// SPDX-License-Identifier: Apache-2.0

import Customers
import Gateway
import HTTPTypes
import NIOHTTP1
import Receipts
import Resilience
import Testing

@testable import Clients
@testable import HTTPServer
@testable import ServerTestSupport

@Suite("PUT and DELETE /v1/ownership/{original_transaction_id}")
struct OwnershipRouteTests {
    private typealias Site = OwnershipSite
    private static let id = "2000000123456789"
    private static let account = "secret-account"
    private static let body = #"{"account":"\#(account)"}"#

    // MARK: - Changes

    @Test func `a transfer binds a purchase to another account`() async throws {
        let site = try Site()
        #expect(await site.binding(Site.chain(Self.id), by: "before") == .new)
        let reply = try await site.send(.PUT, Self.id, Self.body)
        #expect(reply.status == .ok && reply.text == #"{"transferred":"\#(Self.id)"}"#)
        #expect(await site.binding(Site.chain(Self.id), by: "before") == .other)
        #expect(await site.binding(Site.chain(Self.id), by: Self.account) == .same)
    }

    @Test func `a forgotten purchase is bound to no account, and forgetting it again is 404`() async throws {
        let site = try Site()
        #expect(await site.binding(Site.chain(Self.id), by: "before") == .new)
        let reply = try await site.send(.DELETE, Self.id)
        #expect(reply.status == .ok && reply.text == #"{"forgotten":"\#(Self.id)"}"#)
        let again = try await site.send(.DELETE, Self.id)
        #expect(again.status == .notFound && again.code == "not_found")
        #expect(await site.binding(Site.chain(Self.id), by: "after") == .new)
    }

    @Test func `a request names app and environment, or means the only app and production`() async throws {
        let apps = PermittedApps.only([Site.app, "com.example.other"])
        let site = try Site(client: Site.client(apps: apps))
        let body = #"{"bundle_id":"com.example.other","environment":"Sandbox","account":"new"}"#
        #expect(try await site.send(.PUT, Self.id, body).status == .ok)
        let chain = Site.chain(Self.id, .sandbox, bundleID: "com.example.other")
        #expect(await site.binding(chain, by: "new") == .same)
        #expect(await site.binding(Site.chain(Self.id, .sandbox), by: "new") == .new)
        let query = "bundle_id=com.example.other&environment="
        #expect(try await site.send(.DELETE, "\(Self.id)?\(query)Production").status == .notFound)
        #expect(try await site.send(.DELETE, "\(Self.id)?\(query)Sandbox").status == .ok)
    }

    @Test(arguments: [HTTPMethod.PUT, .DELETE])
    func `each change is one line of the log, without account and purchase`(method: HTTPMethod) async throws {
        let site = try Site()
        _ = await site.binding(Site.chain(Self.id), by: Self.account)
        _ = try await site.send(method, Self.id, Self.body)
        #expect(site.audit.count == 1)
        for part in [
            #""client":"shop""#, #""bundle_id":"com.example.shop""#, #""environment":"Production""#,
            #""outcome":"done""#, #""operation":"\#(method == .PUT ? "transfer" : "forget")""#,
        ] {
            #expect(site.audit.allSatisfy { $0.contains(part) }, "\(part)")
        }
        #expect(site.log.containing(Self.account).isEmpty && site.log.containing(Self.id).isEmpty)
    }

    @Test(arguments: [HTTPMethod.PUT, .DELETE])
    func `without the store a change is 503, and the log says so`(method: HTTPMethod) async throws {
        let site = try Site()
        site.store.fail(.all)
        let reply = try await site.send(method, Self.id, Self.body)
        #expect(reply.status == .serviceUnavailable && reply.code == "store_unreachable")
        #expect(site.audit.count == 1 && site.audit[0].contains(#""outcome":"store_unreachable""#))
    }

    // MARK: - Refusals

    @Test(arguments: [HTTPMethod.PUT, .DELETE])
    func `a change needs a permission`(method: HTTPMethod) async throws {
        let site = try Site(client: Site.client(may: [.purge, .erase]))
        let reply = try await site.send(method, Self.id, Self.body)
        #expect(reply.status == .forbidden && reply.code == "operation_not_permitted" && site.audit.isEmpty)
    }

    @Test func `a change has the limits of other requests, also one that is wrong`() async throws {
        let rate = RatePolicy(name: "rate", quota: 2, window: .seconds(3600))
        let limits = ClientLimits(policies: [ClientPolicy(subject: .client, rate: rate)])
        let site = try Site(
            client: Client(name: "shop", apps: .only([Site.app]), keys: [], limits: limits, may: [.ownership]))
        #expect(try await site.send(.PUT, Self.id, Self.body).status == .ok)
        #expect(try await site.send(.DELETE, "wrong").status == .badRequest)
        for method in [HTTPMethod.PUT, .DELETE] {
            let refused = try await site.send(method, Self.id, Self.body)
            #expect(refused.status == .tooManyRequests && refused.code == "quota_exceeded")
        }
        #expect(site.audit.count == 1)
    }

    @Test func `the app of another client is 403`() async throws {
        let site = try Site()
        _ = await site.binding(Site.chain(Self.id, bundleID: "com.example.other"), by: "owner")
        let body = #"{"bundle_id":"com.example.other","account":"new"}"#
        for reply in [
            try await site.send(.PUT, Self.id, body),
            try await site.send(.DELETE, "\(Self.id)?bundle_id=com.example.other"),
        ] {
            #expect(reply.status == .forbidden && reply.code == "app_not_permitted")
        }
        #expect(await site.binding(Site.chain(Self.id, bundleID: "com.example.other"), by: "owner") == .same)
    }

    @Test(arguments: [PermittedApps.all, .only(["a", "b"])])
    func `a client of several apps must name one`(apps: PermittedApps) async throws {
        let site = try Site(client: Site.client(apps: apps))
        for (method, code) in [(HTTPMethod.PUT, "invalid_body"), (.DELETE, "invalid_query")] {
            let reply = try await site.send(method, Self.id, Self.body)
            #expect(reply.status == .badRequest && reply.code == code)
            #expect(reply.text.contains(#""field":"bundle_id""#))
        }
    }

    @Test(arguments: ["abc", "12-a", "123456789012345678901234567890123"])
    func `another form of the ID is 400`(id: String) async throws {
        let site = try Site()
        for method in [HTTPMethod.PUT, .DELETE] {
            #expect(try await site.send(method, id, Self.body).code == "invalid_transaction_id")
        }
    }

    @Test(
        arguments: [
            ("", "empty_body", nil), ("[]", "not_an_object", nil), ("{}", "missing_field", "account"),
            (#"{"account":""}"#, "value_not_accepted", "account"),
            (#"{"account":"\#(String(repeating: "x", count: 257))"}"#, "text_too_long", "account"),
            (#"{"account":7}"#, "wrong_type", "account"), (#"{"account":null}"#, "wrong_type", "account"),
            (#"{"account":"a","account":"a"}"#, "duplicate_field", "account"),
            (#"{"account":"a","acount":"a"}"#, "unknown_field", "acount"),
            (#"{"account":"a","environment":"Xcode"}"#, "value_not_accepted", "environment"),
            (#"{"account":"a","environment":"production"}"#, "value_not_accepted", "environment"),
            (#"{"account":"a","bundle_id":"a b"}"#, "value_not_accepted", "bundle_id"),
            (#"{"account":"a"} x"#, "trailing_data", nil),
        ] as [(String, String, String?)])
    func `a faulty body is 400 with its field, and never repeats a value`(
        body: String, fault: String, field: String?
    ) async throws {
        let site = try Site()
        let reply = try await site.send(.PUT, Self.id, body)
        #expect(reply.status == .badRequest && reply.code == "invalid_body")
        #expect(reply.text.contains(#""fault":"\#(fault)""#), "\(reply.text)")
        if let field { #expect(reply.text.contains(#""field":"\#(field)""#), "\(reply.text)") }
        #expect(site.audit.isEmpty)
    }

    @Test func `an account of the maximum length is accepted`() async throws {
        let site = try Site(), account = String(repeating: "x", count: Account.Limits.bytes)
        #expect(try await site.send(.PUT, Self.id, #"{"account":"\#(account)"}"#).status == .ok)
        #expect(await site.binding(Site.chain(Self.id), by: account) == .same)
    }

    @Test(arguments: [
        "environment=Xcode", "environment=", "bundle_id=", "account=a", "environment=Sandbox&environment=Sandbox",
    ])
    func `a faulty query is 400`(query: String) async throws {
        let reply = try await Site().send(.DELETE, "\(Self.id)?\(query)")
        #expect(reply.status == .badRequest && reply.code == "invalid_query", "\(reply.text)")
    }

    @Test func `another content type is 415`() async throws {
        let reply = try await Site().send(.PUT, Self.id, Self.body, contentType: "text/plain")
        #expect(reply.status == .unsupportedMediaType)
    }
}

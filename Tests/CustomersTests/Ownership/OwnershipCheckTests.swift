// SPDX-License-Identifier: Apache-2.0

import Customers
import Gateway
import Receipts
import Testing
import TestSupport

@testable import API

@Suite("The check of an account against purchases")
struct OwnershipCheckTests {
    private typealias Site = OwnershipSite
    private static let uuid = "7e3fb20b-4cdb-47cc-936d-99d65f608138"
    private static let chain = OwnershipSite.chain("2000000123456789")

    private func check(
        _ site: Site, _ claims: [OwnershipClaim], by id: String, _ policy: OwnershipPolicy = .reject
    ) async throws -> OwnershipDecision {
        let account = try #require(Account(id))
        return await site.check.ownership(of: claims, account: account, client: Site.client(ownership: policy))
    }

    @Test func `the first account is bound, and the policy decides on others`() async throws {
        let site = try Site(), claims = [OwnershipClaim(Self.chain)]
        #expect(try await check(site, claims, by: "a").ownership == .firstSeen)
        #expect(try await check(site, claims, by: "a").ownership == .same)
        for (policy, isRejected) in [(OwnershipPolicy.report, false), (.reject, true)] {
            let decision = try await check(site, claims, by: "b", policy)
            #expect(decision.ownership == .other && decision.isRejected == isRejected)
        }
        #expect(
            site.events.all == [.checked(.firstSeen), .checked(.same)] + [
                .checked(.other), .checked(.other), .rejected,
            ])
    }

    @Test func `a signed token decides, and its use is recorded all the same`() async throws {
        let site = try Site()
        #expect(try await check(site, [OwnershipClaim(Self.chain)], by: "thief").ownership == .firstSeen)
        let claims = [OwnershipClaim(Self.chain, appAccountToken: Self.uuid.uppercased())]
        let decision = try await check(site, claims, by: Self.uuid)
        #expect(decision.ownership == .same && !decision.isRejected)
        let account = try #require(Account(Self.uuid))
        let subject = ErasureSubject(bundleID: Site.app, chains: [], account: account)
        #expect(try await site.store.erase(subject) == [.ownership: 1])
    }

    @Test func `without the store the ownership is unknown, unless a token decides, and nothing is rejected`()
        async throws
    {
        let site = try Site(), claims = [OwnershipClaim(Self.chain)]
        _ = try await check(site, claims, by: "a")
        site.store.fail(.all)
        let decision = try await check(site, claims, by: "b")
        #expect(decision.ownership == .unknown && !decision.isRejected)
        let signed = [OwnershipClaim(Self.chain, appAccountToken: Self.uuid)]
        #expect(try await check(site, signed, by: Self.uuid).ownership == .same)
        site.store.fail(nil)
        #expect(try await check(site, claims, by: "b").isRejected)
    }

    @Test func `the purchases of one app in two environments are apart`() async throws {
        let site = try Site(), sandbox = OwnershipClaim(Site.chain("2000000123456789", .sandbox))
        #expect(try await check(site, [OwnershipClaim(Self.chain)], by: "a").ownership == .firstSeen)
        #expect(try await check(site, [sandbox], by: "b").ownership == .firstSeen)
        #expect(try await check(site, [sandbox], by: "a").ownership == .other)
    }

    @Test func `without purchases the ownership is unknown`() async throws {
        let site = try Site()
        let decision = try await check(site, [], by: "a")
        #expect(decision.ownership == .unknown && !decision.isRejected)
        #expect(site.events.all == [.checked(.unknown)])
    }

    @Test func `a purchase that many accounts use makes one event, which names none of them`() async throws {
        let site = try Site(), claims = [OwnershipClaim(Self.chain)]
        for id in ["first-account", "second-account", "third-account"] { _ = try await check(site, claims, by: id) }
        #expect(site.store.events(about: Self.chain).isEmpty)
        _ = try await check(site, claims, by: "fourth-account")
        try await eventually { !site.announcements.isEmpty }
        _ = try await check(site, claims, by: "fifth-account")
        let events = site.store.events(about: Self.chain)
        #expect(events.map(\.type) == [.fraudSuspected] && site.announcements == [Self.chain.partition])
        #expect(events.first?.originalTransactionID == Self.chain.originalTransactionID)
        let json = String(decoding: events.first?.json ?? [], as: UTF8.self)
        #expect(json.contains(#""account_count":4,"window_seconds":2592000,"#) && !json.contains("-account"))
        #expect(site.events.all.count { $0 == .fraudSuspected } == 1)
    }

    @Test func `no answer waits for a report, and few reports wait`() async throws {
        let site = try Site(holdsReports: true), claims = [OwnershipClaim(Self.chain)]
        let maximum = SuspicionReports.Limits.requests
        for number in 0..<maximum + 10 { #expect(try await check(site, claims, by: "\(number)").ownership != .unknown) }
        try await eventually { site.store.reports == maximum }
        #expect(site.store.events(about: Self.chain).isEmpty)
        site.store.releaseReports()
        try await eventually { site.events.all.contains(.fraudSuspected) }
        #expect(site.store.reports == maximum)
    }

    @Test func `a suspicion that could not be written is written at the next use`() async throws {
        let site = try Site(), claims = [OwnershipClaim(Self.chain)]
        site.store.fail(.reports)
        for id in ["a", "b", "c", "d"] { _ = try await check(site, claims, by: id) }
        try await eventually { site.store.reports == 1 }
        #expect(try await check(site, claims, by: "d").ownership == .other)
        try await eventually { site.store.reports == 2 }
        #expect(site.store.events(about: Self.chain).isEmpty && site.announcements.isEmpty)
        site.store.fail(nil)
        _ = try await check(site, claims, by: "a")
        try await eventually { site.events.all.contains(.fraudSuspected) }
        #expect(site.store.events(about: Self.chain).count == 1)
    }

    @Test func `of one request few uses are reported, and none after a failure`() async throws {
        let site = try Site(), maximum = SuspicionReports.Limits.uses
        let claims = (1...maximum + 4).map { OwnershipClaim(Site.chain("\($0)")) }
        for id in ["a", "b", "c"] { _ = try await check(site, claims, by: id) }
        let account = try #require(Account("d"))
        let recorded = try #require(await site.store.record(account, using: claims.map(\.chain)))
        let uses = SuspiciousUse.all(of: claims, recorded)
        #expect(uses.map(\.claim) == claims && uses.allSatisfy { $0.accounts == 4 })
        let reports = SuspicionReports(
            site.store, rules: OwnershipRules(), clock: { UnreliableOwnershipStore.now }, onEvents: { _ in })
        site.store.fail(.reports)
        await reports.report(uses)
        #expect(site.store.reports == 1)
        site.store.fail(nil)
        await reports.report(uses)
        #expect(site.store.reports == 1 + maximum)
        let reported = claims.count { !site.store.events(about: $0.chain).isEmpty }
        #expect(reported == maximum)
    }
}

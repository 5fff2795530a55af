// SPDX-License-Identifier: Apache-2.0

import Gateway
import RealServers
import ReceiptForge
import Receipts
import Testing
import TestSupport

@testable import Customers
@testable import RedisStore
@testable import ServerTestSupport

/// Random notifications of one customer, stored in a real Redis and applied by two nodes: the state in the end depends
/// neither on the order of the deliveries nor on their number.
@Suite(.timeLimit(.patient)) struct NotificationOrderTests {
    private var stage: NotificationStage { .current }

    enum Order: CaseIterable {
        case asSigned, reversed, random
        /// Each three times, all at once.
        case inParallel
    }

    private static let events = 30

    @Test(.redis, arguments: Order.allCases)
    func `any order of deliveries leaves the newest signed state`(order: Order) async throws {
        for seed in 0..<8 as Range<UInt64> {
            let story = CustomerStory(seed: seed, events: Self.events), deliveries = order.arranged(story, seed)
            let nodes = [Node(stage, until: story.end), Node(stage, until: story.end)]
            let outcomes = try await Self.deliver(deliveries, of: story, to: nodes, inParallel: order == .inParallel)
            #expect(outcomes.count { $0 == .stored } == Self.events, "seed \(seed)")
            #expect(outcomes.count { $0 == .duplicate } == deliveries.count - Self.events, "seed \(seed)")
            try await Self.expectNothingLeft(of: story, in: stage.store())
            #expect(try await story.signatures(in: stage.store()) == story.finalSignatures, "seed \(seed)")
        }
    }

    @Test func `a delivery of everything once more changes nothing`() async throws {
        let story = CustomerStory(seed: 99, events: Self.events)
        try await NotificationStage.with { stage in
            let node = Node(stage, until: story.end)
            for _ in 1...2 { _ = try await Self.deliver(story.events, of: story, to: [node], inParallel: false) }
            // As after the loss of all identities: each is stored and applied a second time.
            for partition in AppPartition.all(of: story.bundleID) {
                try stage.server.ask("DEL", NotificationKeys(partition).seen.text)
            }
            let outcomes = try await Self.deliver(story.events.reversed(), of: story, to: [node], inParallel: false)
            #expect(outcomes.allSatisfy { $0 == .stored })
            #expect(try await story.signatures(in: stage.store()) == story.finalSignatures)
        }
    }

    private static func expectNothingLeft(of story: CustomerStory, in store: RedisNotifications) async throws {
        for partition in AppPartition.all(of: story.bundleID) {
            let survey = try #require(await store.survey(partition))
            #expect(survey.entries == 0 && survey.bytes == 0 && survey.deadLetters == 0)
        }
    }

    /// Delivers notifications to nodes in turn. Each node applies what it stored, at once.
    private static func deliver(
        _ events: [NotifiedEvent], of story: CustomerStory, to nodes: [Node], inParallel: Bool
    ) async throws -> [IntakeOutcome] {
        try await withThrowingTaskGroup(of: IntakeOutcome.self) { group in
            var outcomes: [IntakeOutcome] = []
            for (number, event) in events.enumerated() {
                let node = nodes[number % nodes.count], payload = event.jws(signedBy: SignedSamples.pki)
                group.addTask { try await node.take(payload, at: story.end, in: story.partition(of: event)) }
                if !inParallel, let outcome = try await group.next() { outcomes.append(outcome) }
            }
            for try await outcome in group { outcomes.append(outcome) }
            return outcomes
        }
    }

    /// The parts of a gateway that handle notifications.
    private struct Node: Sendable {
        let intake: NotificationIntake
        let applier: NotificationApplier

        init(_ stage: NotificationStage, until end: Timestamp) {
            let verifier = NotificationVerifier.ofAllApps, store = stage.store()
            intake = NotificationIntake(verifier, queue: store, observe: { _ in }, onStored: { _ in })
            applier = NotificationApplier(
                queue: store, states: store, purging: EmbeddedUpstreamCache(maximumBytes: 0).purges.purge,
                verifier: verifier, apps: { [] }, refresh: { _ in }, observe: { _ in }, onEvents: { _ in },
                onSurvey: { _, _ in }, clock: { end })
        }

        /// Stores a notification, and applies what is stored beside it.
        func take(
            _ payload: [UInt8], at now: Timestamp, in partition: AppPartition
        ) async throws -> IntakeOutcome {
            let outcome = try #require(try await intake.accept(signedPayload: payload, at: now))
            await applier.apply(partition, includingStalled: false)
            return outcome
        }
    }
}

extension NotificationOrderTests.Order {
    fileprivate func arranged(_ story: CustomerStory, _ seed: UInt64) -> [NotifiedEvent] {
        var generator = SplitMix64(seed: TestSeed.number(seed), purpose: "order")
        switch self {
        case .asSigned: return story.events
        case .reversed: return story.events.reversed()
        case .random: return story.events.shuffled(using: &generator)
        case .inParallel: return (story.events + story.events + story.events).shuffled(using: &generator)
        }
    }
}

extension CustomerStory {
    fileprivate var bundleID: String { events[0].transaction.bundleID ?? "" }

    fileprivate func partition(of event: NotifiedEvent) -> AppPartition { chain(of: event).partition }

    private func chain(of event: NotifiedEvent) -> PurchaseChain {
        PurchaseChain(
            bundleID: bundleID, environment: .sandbox,
            originalTransactionID: event.transaction.originalTransactionID ?? "")
    }

    /// The dates of signing that hold in the end, by transaction ID, and the plan's date.
    fileprivate var finalSignatures: [String: Timestamp] {
        var dates = finalTransactions.compactMapValues(\.signedDate)
        dates["plan"] = finalState?.signedDate
        return dates
    }

    /// Returns these dates as a store has them.
    fileprivate func signatures(in store: RedisNotifications) async throws -> [String: Timestamp] {
        let chains = Array(Set(events.map { chain(of: $0) }))
        let states = try #require(await store.states(of: chains))
        var dates: [String: Timestamp] = [:]
        for transaction in states.flatMap(\.transactions) { dates[transaction.transactionID] = transaction.signedDate }
        for renewal in states.flatMap(\.renewals) { dates["plan"] = renewal.signedDate }
        return dates
    }
}

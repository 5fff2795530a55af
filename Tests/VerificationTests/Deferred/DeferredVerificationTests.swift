// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOHTTP1
import ReceiptForge
import Receipts
import Testing
import TestSupport

@testable import API
@testable import Clients
@testable import Customers
@testable import Gateway
@testable import HTTPServer
@testable import ServerTestSupport

@Suite("Deferred verifications", .timeLimit(.patient))
struct DeferredVerificationTests {
    private static let async: HTTPHeaders = ["Prefer": "respond-async"]

    private static func keyed(_ key: String) -> HTTPHeaders { ["Prefer": "respond-async", "Idempotency-Key": key] }

    // MARK: - Life

    @Test func `a request that Apple does not answer is answered later`() async throws {
        let site = try DeferredSite()
        let answer = try await site.verify(Self.async)
        #expect(answer.status == 202 && answer.text("status") == "waiting" && answer.verdict == "undecided")
        #expect(answer.field(.preferenceApplied) == "respond-async" && answer.field(.cacheControl) == "no-store")
        #expect(answer.field(.retryAfter).flatMap { Int($0) }.map { (1...60).contains($0) } == true)
        #expect(answer.text("id")?.hasPrefix("ver_") == true && answer.text("id")?.count == 26)
        #expect(answer.location == "/v1/verifications/\(answer.text("id") ?? "")")
        #expect(answer.isDurable == false && answer.attempts == 0)
        #expect(try await site.get(answer.location).status == 202)

        site.apple.comeBack()
        try await site.work()
        let done = try await site.get(answer.location)
        #expect(done.status == 200 && done.text("status") == "done" && done.verdict == "genuine")
        #expect(done.field(.retryAfter) == nil && done.attempts == 1)
        #expect(site.events.now == [.created])
    }

    @Test func `a signed answer is not deferred`() async throws {
        let client = Client.deferring("shop", .undecided)
        let site = try DeferredSite([client], answerKeys: AnswerKeys(repeating: 7))
        #expect(try await site.verify(as: client).status == 202)
        for fields in [HTTPHeaders([("Accept", "application/jose")]), Self.keyed("1").accepting("application/jose")] {
            let answer = try await site.verify(as: client, fields)
            #expect(answer.status == 200 && answer.field(.contentType) == "application/jose")
        }
        #expect(site.events.now == [.created])
    }

    @Test func `a job that Apple does not answer either waits on`() async throws {
        let site = try DeferredSite()
        let answer = try await site.verify(Self.async)
        let outcomes = try await site.work()
        guard case .waiting(let result, .request(.upstreamTimeout))? = outcomes.first else {
            Issue.record("\(outcomes)")
            return
        }
        #expect(result.verdict == "undecided" && result.bundleID == DeferredSite.app)
        #expect(try await site.get(answer.location).attempts == 1)
    }

    @Test func `a request that waits is answered when the job ends`() async throws {
        let site = try DeferredSite()
        let location = try await site.verify(Self.async).location
        site.apple.comeBack()
        async let waiting = site.get("\(location)?wait=60")
        try await eventually { site.watcher.count > 0 }
        try await site.work()
        let answer = try await waiting
        #expect(answer.status == 200 && answer.verdict == "genuine")
    }

    @Test func `only the client that made a job sees it`() async throws {
        let site = try DeferredSite()
        let location = try await site.verify(Self.async).location
        let refused = try await site.get(location, as: DeferredSite.other)
        #expect(refused.status == 404 && refused.text("code") == "not_found")
        #expect(try await site.get("/v1/verifications/ver_unknown").status == 404)
        #expect(try await site.get(location + "?wait=61").text("field") == "wait")
        #expect(try await site.get(location + "?x=1").text("code") == "invalid_query")
    }

    @Test func `a client that lost the app sees no job of it`() async throws {
        let site = try DeferredSite()
        let keyed = Self.keyed("order-1")
        let location = try await site.verify(#"{"transaction_id":"2"}"#, as: DeferredSite.shop, keyed).location
        let narrowed = Client(name: "shop", apps: .only(["com.example.news"]), keys: [])
        let later = try DeferredSite([narrowed], store: site.store)
        let refused = try await later.get(location, as: narrowed)
        #expect(refused.status == 403 && refused.text("code") == "app_not_permitted")
        let body = #"{"transaction_id":"2","bundle_id":"com.example.shop"}"#
        #expect(try await site.verify(body, as: narrowed, keyed).status == 403)
        #expect(try await site.get(location).status == 202)
    }

    @Test func `deferred lookups of unknown IDs have the limit of others`() async throws {
        var limits = ClientLimits()
        limits.unknownIDsPerMinute = 2
        let client = Client(name: "shop", apps: .only([DeferredSite.app]), keys: [], limits: limits)
        let site = try DeferredSite([client])
        for number in 1...6 {
            #expect(try await site.verify(#"{"transaction_id":"9\#(number)"}"#, as: client, Self.async).status == 202)
        }
        site.apple.comeBack()
        for _ in 1...3 { try await site.work() }
        // The others wait until the client has tokens again, half a minute later.
        #expect((2..<6).contains(site.apple.unknown))
        #expect(try await site.store.list(.waiting, maximum: 9).count == 6 - site.apple.unknown)
    }

    // MARK: - Answers at once

    @Test func `a full answer, a rejection and mode local are 200`() async throws {
        let site = try DeferredSite()
        site.apple.comeBack()
        for (body, verdict) in [
            (#"{"transaction_id":"2"}"#, "genuine"), (#"{"transaction_id":"7"}"#, "rejected"),
            (#"{"receipt":"AQID"}"#, "rejected"), (#"{"transaction_id":"3","mode":"local"}"#, "undecided"),
        ] {
            let answer = try await site.verify(body, Self.async)
            #expect(answer.status == 200 && answer.verdict == verdict, "\(body)")
            #expect(answer.field(.preferenceApplied) == nil)
        }
        #expect(site.events.now.isEmpty)
    }

    @Test func `without a preference or a setting nothing is deferred`() async throws {
        let site = try DeferredSite()
        let answer = try await site.verify()
        #expect(answer.status == 200 && answer.verdict == "undecided" && site.events.now.isEmpty)
    }

    @Test func `a cached answer goes before a job`() async throws {
        let site = try DeferredSite()
        site.apple.comeBack()
        _ = try await site.verify()
        let cached = try await site.verify(Self.async)
        #expect(cached.status == 200 && cached.body.contains(#""cache":"near""#))
    }

    @Test func `without the store the plain answer is sent`() async throws {
        for refusal in [JobRefusal.evicts, .tooLarge] {
            let site = try DeferredSite(store: UnreachableJobs(refusal: refusal))
            let answer = try await site.verify(Self.async)
            #expect(answer.status == 200 && answer.field(.preferenceApplied) == nil)
            #expect(site.events.now == [.refused(refusal)])
        }
        let site = try DeferredSite(store: UnreachableJobs())
        for fields in [Self.async, Self.keyed("a")] {
            let answer = try await site.verify(fields)
            #expect(answer.status == 200 && answer.verdict == "undecided" && answer.field(.preferenceApplied) == nil)
        }
        #expect(site.events.now == [.refused(.storeUnreachable), .refused(.storeUnreachable)])
        let job = try await site.get("/v1/verifications/ver_0")
        #expect(job.status == 503 && job.text("code") == "store_unreachable")
    }

    // MARK: - Joining

    @Test func `the same request joins its waiting job`() async throws {
        let site = try DeferredSite()
        let first = try await site.verify(Self.async), second = try await site.verify(Self.async)
        #expect(second.status == 202 && second.location == first.location)
        let other = try await site.verify(#"{"transaction_id":"3"}"#, Self.async)
        #expect(other.location != first.location)
        #expect(site.events.now == [.created, .joined, .created])
    }

    @Test func `a key names a job as long as it is kept, and no other request`() async throws {
        let site = try DeferredSite()
        let first = try await site.verify(Self.keyed("a"))
        #expect(try await site.verify(Self.keyed("a")).location == first.location)
        let reused = try await site.verify(#"{"transaction_id":"3"}"#, Self.keyed("a"))
        #expect(reused.status == 422 && reused.text("code") == "idempotency_key_reused")
        site.apple.comeBack()
        try await site.work()
        let ended = try await site.verify(["Idempotency-Key": "a"])
        #expect(ended.status == 200 && ended.text("verdict") == "genuine")
        #expect(ended.field(.contentLocation) == first.location)
        let invalid = try await site.verify(["Idempotency-Key": "a b"])
        #expect(invalid.status == 400 && invalid.text("code") == "invalid_idempotency_key")
    }

    // MARK: - Limits

    @Test func `beyond the client's limit a request that prefers a job gets 429`() async throws {
        var rules = JobRules()
        rules.maximumCount = 1
        let site = try DeferredSite(rules: rules)
        _ = try await site.verify(Self.async)
        let refused = try await site.verify(#"{"transaction_id":"3"}"#, Self.async)
        #expect(refused.status == 429 && refused.text("code") == "quota_exceeded")
        #expect(refused.field(.retryAfter) == "60")
        #expect(site.events.now == [.created, .refused(.clientLimit)])
    }

    @Test func `beyond the limit of all clients it gets 503`() async throws {
        var rules = JobRules()
        rules.maximumTotalBytes = 1
        let refused = try await DeferredSite(rules: rules).verify(Self.async)
        #expect(refused.status == 503 && refused.text("code") == "overloaded" && refused.field(.retryAfter) == "60")
    }

    // MARK: - The client's setting

    @Test func `a setting defers without a preference`() async throws {
        let client = Client.deferring("shop", .undecided), site = try DeferredSite([client])
        let answer = try await site.verify(as: client)
        #expect(answer.status == 202 && answer.field(.preferenceApplied) == nil && !answer.location.isEmpty)
    }

    @Test(arguments: [(DeferralPolicy.undecided, 200), (.degraded, 202)])
    func `a genuine answer without Apple is deferred only if the setting says so`(
        policy: DeferralPolicy, status: Int
    ) async throws {
        let client = Client.deferring("shop", policy)
        let terms = try DeferralTerms.of(RequestContext.forTests().header, client)
        let answer = answer(.genuine, [.upstreamTimeout])
        #expect(terms?.defers(answer, to: VerificationOptions()) == (status == 202))
        let repairable = self.answer(.genuine, [.customerLimit, .sharedSecretRejected])
        #expect(terms?.defers(repairable, to: VerificationOptions()) == false)
    }

    @Test func `a limit refuses a request without a verdict, whatever defers it`() async throws {
        var rules = JobRules()
        rules.maximumCount = 1
        let client = Client.deferring("shop", .degraded), site = try DeferredSite([client], rules: rules)
        _ = try await site.verify(as: client)
        let refused = try await site.verify(#"{"transaction_id":"3"}"#, as: client)
        // It has no Prefer to leave out.
        #expect(refused.status == 429 && refused.text("detail")?.contains("Prefer") == false)
    }

    @Test func `a job has the thousand newest chains of an answer`() {
        let transactions = (1000...2000).map { Transaction(productID: "item", transactionID: "\($0)") }
        let answer = Answer(
            verdict: .genuine, subject: nil,
            entitlements: Entitlements(in: TransactionList(transactions), at: .now(), rules: SubscriptionRules()),
            provenance: Provenance(source: .local, cache: .miss, verifiedAt: .now()), freshUntil: .now())
        let chains = JobResult(answer, json: []).originalTransactionIDs
        #expect(chains.count == 1000 && chains.first == "2000" && !chains.contains("1000"))
    }

    /// Events name the first chain. Apple's history has later purchases of the customer, which the client did not send.
    @Test(arguments: [VerificationSubject.lookup(bundleID: PluginSamples.bundleID, transactionID: "11"), nil])
    func `the purchase that was sent is the first of a job, whatever the customer bought later`(
        lookup: VerificationSubject?
    ) throws {
        var contents = TransactionContents()
        (contents.transactionID, contents.originalTransactionID) = ("11", "10")
        let history = [
            PluginSamples.period("pro", "10", from: -900, to: -500),
            PluginSamples.period("pro", "11", chain: "10", from: -500, to: 500),
            PluginSamples.item("gold", "30", at: -5), PluginSamples.item("coins", "20", at: -50),
        ]
        let answer = try PluginSamples.answer(history, sent: contents)
        let about = Answer(
            verdict: .genuine, subject: lookup ?? answer.subject, entitlements: answer.entitlements,
            provenance: answer.provenance, freshUntil: answer.freshUntil)
        #expect(JobResult(about, json: []).originalTransactionIDs == ["10", "30", "20"])
        let nameless = Answer(
            verdict: .genuine, entitlements: answer.entitlements, provenance: answer.provenance, freshUntil: .now())
        #expect(JobResult(nameless, json: []).originalTransactionIDs == ["30", "20", "10"])
    }

    // MARK: - Attempts

    @Test func `a job of a client that is gone, or has lost the app, is impossible`() async throws {
        let site = try DeferredSite([DeferredSite.shop])
        _ = try await site.verify(Self.async)
        let taken = try await site.store.take(1, in: .production, lease: .seconds(60))
        let job = try #require(taken.first?.job)
        var request = try #require(job.request)
        #expect(request.chains.map(\.environment) == [.production, .sandbox])
        let others = try DeferredSite([DeferredSite.other])
        #expect(await others.runner.run(job, request) == .impossible)
        let elsewhere = Client(name: "shop", apps: .only(["com.example.news"]), keys: [])
        let news = try DeferredSite([elsewhere])
        #expect(await news.runner.run(job, request) == .impossible)
        // Its app has no key yet.
        request.options.expectations.bundleID = "com.example.news"
        #expect(await news.runner.run(job, request) == .waiting(job.result, .request(nil)))
    }

    @Test(arguments: [
        ([DegradedReason.circuitOpen], true), ([.upstreamPaused, .upstreamBudget], true), ([.stopping], true),
        ([.upstreamTimeout], false), ([.circuitOpen, .upstreamReset], false), ([], false),
    ])
    func `only an upstream that cannot be called holds back other jobs`(
        reasons: [DegradedReason], isUpstream: Bool
    ) {
        let isObstacle = if case .upstream = JobObstacle(reasons) { true } else { false }
        #expect(isObstacle == isUpstream)
    }

    @Test func `without a verdict a repair is worth the wait`() {
        #expect(answer(.genuine, []).isFinal && answer(.genuine, [.sharedSecretRejected]).isFinal)
        #expect(!answer(.genuine, [.customerLimit, .upstreamReset]).isFinal)
        #expect(!answer(.undecided(.upstreamDidNotAnswer), [.sharedSecretRejected]).isFinal)
        #expect(answer(.undecided(.upstreamDidNotAnswer), [.customerLimit]).isFinal)
        #expect(!answer(.undecided(.notCached), []).isFinal)
    }

    private func answer(_ verdict: Verdict, _ reasons: [DegradedReason]) -> Answer {
        Answer(
            verdict: verdict,
            provenance: Provenance(source: .local, cache: .miss, verifiedAt: .now(), degradedReasons: reasons),
            freshUntil: .now())
    }
}

extension DeferredSite {
    fileprivate func verify(_ fields: HTTPHeaders) async throws -> DeferredAnswer {
        try await verify(#"{"transaction_id":"2"}"#, fields)
    }

    fileprivate func verify(_ body: String, _ fields: HTTPHeaders) async throws -> DeferredAnswer {
        try await verify(body, as: Self.shop, fields)
    }
}

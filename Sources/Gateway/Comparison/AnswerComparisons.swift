// SPDX-License-Identifier: Apache-2.0

package import Receipts
package import Resilience
internal import Synchronization

/// The fate of an answer that was selected for a comparison, for metrics.
package enum ComparisonEvent: Sendable {
    case compared(ComparisonPair, differences: Set<ComparedField>)
    case skipped(ComparisonPair, ComparisonObstacle)
    /// The shared store did not take a result.
    case unstored(ComparisonPair)
}

/// The reasons why an answer is not compared. The raw values appear in metrics.
package enum ComparisonObstacle: String, CaseIterable, Hashable, Sendable {
    /// The other source gave no answer.
    case unanswered
    /// Too many answers wait for their comparison in this node.
    case queueFull = "queue_full"
    /// The comparisons of the fleet have used up their requests to Apple.
    case overBudget = "over_budget"
    /// Apple fails, or clients' requests need it.
    case upstreamBusy = "upstream_busy"
}

/// Compares a share of the answers with what another source says, in the background.
///
/// ```
/// answer ──▶ sampled? ──▶ comparable? ──▶ queue ──▶ budget ──▶ the other source ──▶ AnswerComparison ──▶ ComparisonStore
///                                           └──▶ full: counted, and forgotten
/// ```
///
/// No answer waits for a comparison, and none is changed by it.
package final class AnswerComparisons: Sendable {
    private struct Job: Sendable {
        let pair: ComparisonPair
        let answer: Answer
        let evaluated: EvaluatedRequest
        let evidence: VerifiedEvidence
        let bytes: Int
    }

    private let rules: ComparisonRules
    private let apple: UpstreamVerification
    private let results: any ComparisonStore
    private let limiter: any RateLimiter
    private let observe: @Sendable (ComparisonEvent) -> Void
    private let clock: @Sendable () -> Timestamp
    private let random: @Sendable () -> Double
    private let charge: RateCharge
    private let queue: (stream: AsyncStream<Job>, continuation: AsyncStream<Job>.Continuation)
    private let waitingBytes = Atomic(0)

    /// - Parameter random: returns a random number from 0 to below 1.
    package init(
        _ rules: ComparisonRules, _ apple: UpstreamVerification, store: any ComparisonStore,
        limiter: any RateLimiter, observe: @escaping @Sendable (ComparisonEvent) -> Void,
        clock: @escaping @Sendable () -> Timestamp, random: @escaping @Sendable () -> Double = SampleNumbers().next
    ) {
        (self.rules, self.apple, results, self.limiter) = (rules, apple, store, limiter)
        (self.observe, self.clock, self.random) = (observe, clock, random)
        let policy = RatePolicy(name: "comparison", quota: rules.requestsPerSecond, window: .seconds(1))
        // No client has an empty name.
        charge = RateCharge(RateBucket(client: "", policy: policy))
        queue = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(ComparisonRules.Limits.waiting))
    }

    /// The bytes of answers and evidence that are not compared yet.
    var heldBytes: Int { waitingBytes.load(ordering: .relaxed) }

    // MARK: - On the path of an answer

    func isSampled() -> Bool { random() < rules.share }

    /// Queues an answer for each of its comparisons. Returns at once.
    func offer(_ answer: Answer, to evaluated: EvaluatedRequest) {
        guard answer.verdict == .genuine, answer.rejectedItems.isEmpty, answer.provenance.cache == .miss,
            !answer.provenance.isDegraded, let evidence = evaluated.subject.evidence, !answer.transactions.isEmpty,
            evidence.environment?.isApples ?? true
        else { return }
        let compared = EvaluatedRequest(copying: evaluated, request: evaluated.request.compared)
        // The evidence with its facts, which take less, and Apple's answer: its JSON, or a history of any length.
        let history = answer.provenance.source == .serverAPI ? answer.transactions.values.byteCount : 0
        let bytes = 2 * compared.request.subject.byteCount + (answer.upstreamBody?.count ?? 0) + history
        for pair in rules.mode.pairs where canCompare(answer, of: compared, pair) {
            enqueue(Job(pair: pair, answer: answer, evaluated: compared, evidence: evidence, bytes: bytes))
        }
    }

    private func canCompare(_ answer: Answer, of evaluated: EvaluatedRequest, _ pair: ComparisonPair) -> Bool {
        switch (pair, answer.provenance.source) {
        case (.localAndApple, .local), (.localAndApple, .notification): apple.interface(for: evaluated) != nil
        case (.localAndApple, .apple): apple.canAnswer(evaluated, by: .verifyReceipt)
        case (.localAndApple, .serverAPI): true
        case (.verifyReceiptAndServerAPI, .apple), (.verifyReceiptAndServerAPI, .serverAPI):
            UpstreamAPI.allCases.allSatisfy { apple.canAnswer(evaluated, by: $0) }
        case (.verifyReceiptAndServerAPI, _): false
        }
    }

    private func enqueue(_ job: Job) {
        let held = waitingBytes.add(job.bytes, ordering: .relaxed).newValue
        guard held <= ComparisonRules.Limits.waitingBytes, case .enqueued = queue.continuation.yield(job) else {
            waitingBytes.subtract(job.bytes, ordering: .relaxed)
            return observe(.skipped(job.pair, .queueFull))
        }
    }

    // MARK: - In the background

    /// Compares the queued answers until the task is cancelled.
    package func run() async {
        await withTaskGroup(of: Void.self) { group in
            var running = 0
            for await job in queue.stream {
                if running == ComparisonRules.Limits.concurrency {
                    await group.next()
                    running -= 1
                }
                group.addTask { await self.compare(job) }
                running += 1
            }
        }
    }

    private func compare(_ job: Job) async {
        defer { waitingBytes.subtract(job.bytes, ordering: .relaxed) }
        let other = await otherAnswer(job)
        // The shutdown ended the wait for Apple.
        guard !Task.isCancelled else { return }
        switch other {
        case .answer(let other):
            let comparison = comparison(of: job, with: other)
            await record(comparison.differences, age: comparison.age, job)
        case .none(let reason):
            let kind = ComparisonKind(.verdict, job.answer.verdict.name, reason.rawValue)
            await record([ComparisonDifference(kind: kind)], age: nil, job)
        case .obstacle(let obstacle):
            observe(.skipped(job.pair, obstacle))
            if obstacle == .unanswered { await store(.unanswered, of: job.pair) }
        }
    }

    private enum OtherAnswer {
        case answer(Answer)
        /// The source has none about this evidence, now or later.
        case none(DegradedReason)
        case obstacle(ComparisonObstacle)
    }

    private func otherAnswer(_ job: Job) async -> OtherAnswer {
        let api: UpstreamAPI?
        switch (job.pair, job.answer.provenance.source) {
        // What Apple signed is known already.
        case (.localAndApple, .apple), (.localAndApple, .serverAPI): return .answer(job.evaluated.local())
        case (.localAndApple, _): api = apple.interface(for: job.evaluated)
        case (.verifyReceiptAndServerAPI, let source): api = source == .apple ? .serverAPI : .verifyReceipt
        }
        guard let api else { return .obstacle(.unanswered) }
        guard apple.guards(of: api, for: job.evaluated).isIdle else { return .obstacle(.upstreamBusy) }
        guard await limiter.admit([charge]).isAdmitted else { return .obstacle(.overBudget) }
        switch await apple.answer(to: job.evaluated, by: api) {
        case .success(let answer): return .answer(answer)
        case .failure(let reason): return isLasting(reason, job) ? .none(reason) : .obstacle(.unanswered)
        }
    }

    /// Returns true for a reason that the next request would meet as well. Apple's index may lack a new purchase.
    private func isLasting(_ reason: DegradedReason, _ job: Job) -> Bool {
        let isNew = !job.evaluated.recentChains.isDisjoint(with: job.evaluated.lookupIDs)
        return reason.facts.isOfEvidence || (reason == .transactionUnknown && !isNew)
    }

    private func comparison(of job: Job, with other: Answer) -> AnswerComparison {
        let excludesOld = job.evaluated.request.options.excludesOldTransactions
        let (answered, compared) = (
            ComparedAnswer(job.answer, about: job.evidence, excludesOldTransactions: excludesOld),
            ComparedAnswer(other, about: job.evidence, excludesOldTransactions: excludesOld)
        )
        return AnswerComparison(
            answered, with: compared, about: job.evidence, lateRenewal: job.evaluated.rules.lateRenewal)
    }

    // MARK: - Results

    private func record(_ differences: [ComparisonDifference], age: Int64?, _ job: Job) async {
        observe(.compared(job.pair, differences: Set(differences.map(\.kind.field))))
        let examples = differences.map { ($0.kind, example(of: $0, age: age, job)) }
        await store(.compared(Dictionary(examples) { first, _ in first }), of: job.pair)
    }

    private func example(
        of difference: ComparisonDifference, age: Int64?, _ job: Job
    ) -> ComparisonExample {
        let hour = clock().millisecondsSince1970 / 3_600_000
        var example = ComparisonExample(
            hour: Timestamp(millisecondsSince1970: hour * 3_600_000), evidence: job.evaluated.request.subject.kind)
        example.bundleID = job.evidence.bundleID.flatMap(ComparisonExample.name)
        example.productID = difference.productID.flatMap(ComparisonExample.name)
        example.environment = job.evidence.environment
        (example.age, example.seconds) = (age.map(ComparisonExample.rough), difference.seconds)
        return example
    }

    private func store(_ result: ComparisonResult, of pair: ComparisonPair) async {
        do throws(StoreUnreachable) {
            try await results.record(result, of: pair, at: clock())
        } catch {
            observe(.unstored(pair))
        }
    }
}

extension VerificationRequest {
    /// The request for a new answer of Apple, which no client pays for or waits for. It holds no memory of the client's.
    fileprivate var compared: VerificationRequest {
        var options = options
        (options.mode, options.maximumAge, options.waitLimit, options.account) = (.apple, .zero, nil, nil)
        return VerificationRequest(subject, options: options)
    }
}

extension ComparisonExample {
    /// Returns a number of seconds in whole minutes, hours or days if it has them: the exact time of a signature would
    /// distinguish receipts.
    fileprivate static func rough(_ seconds: Int64) -> Int64 {
        let unit: Int64 = [86_400, 3600, 60].first { $0 <= seconds } ?? 1
        return seconds / unit * unit
    }

    /// Returns a name that is plain and short; nil for another text.
    fileprivate static func name(_ text: String) -> String? {
        let isPlain = text.utf8.count <= Limits.nameBytes && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        return isPlain ? text : nil
    }
}

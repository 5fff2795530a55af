// SPDX-License-Identifier: Apache-2.0

import Cryptography
import Customers
import JSON
import Receipts
import Resilience
import Testing

@testable import Gateway
@testable import RedisStore

/// The stored forms stay as they are: during an upgrade, gateways of two versions read each other's. A form that must
/// change gets another version, and here another digest.
struct StoredFormTests {
    @Test(arguments: [
        ("an answer", "b6f9cbf802b47120", StoredFormSamples.results[0]),
        ("an account that was not found", "6a47be8752a9b967", StoredFormSamples.results[1]),
        ("a failure", "42b21ce4fef9a39f", StoredFormSamples.results[2]),
        ("an unknown transaction", "0d1167fe9ddae342", StoredFormSamples.results[3]),
        ("an alias", "be23d0940e1dcbad", StoredFormSamples.results[4]),
        ("an alias under an operator's root", "3d372f2fea671ca0", StoredFormSamples.aliasUnderRoot),
        ("an event", "c97884542d40b30e", StoredFormSamples.event.storedBytes),
        ("a held event", "665b97a772206b83", StoredFormSamples.held.storedBytes),
        ("a dead event", "7dccd30bdf89eb98", StoredFormSamples.dead.storedBytes),
        ("a notification", "1b9f6376372e1729", StoredFormSamples.notification.storedBytes),
        ("a signed transaction", "875f01a1d236e51e", StoredFormSamples.transaction.storedBytes),
        ("a signed plan", "b287b65f116b3015", StoredFormSamples.plans[0].storedBytes),
        ("a signed plan with a status", "bac3adf66008dfe1", StoredFormSamples.plans[1].storedBytes),
        ("a downgrade", "b1273c15ff9889c1", StoredFormSamples.plans[2].storedBytes),
        ("the details of a chain", "bc17a5f74b1b0993", StoredFormSamples.details.storedBytes),
        ("a chain of an account", "31ac91c3e2ecc2a6", StoredAccountChain(StoredFormSamples.chain).storedBytes),
        ("the constants of a job", "e6502e1ef73c5b27", JobConstants(StoredFormSamples.job).storedBytes),
        ("a job's result", "d6d35f1c415fde62", StoredFormSamples.job.result.storedBytes),
        ("a job about a receipt", "1fa96b4e285bdc93", StoredFormSamples.requests[0].storedBytes),
        ("a job about transactions", "61d6b65890d9f959", StoredFormSamples.requests[1].storedBytes),
        ("a job about an ID", "0422b443920b367c", StoredFormSamples.requests[2].storedBytes),
    ])
    func `a stored form is the form of earlier versions`(name: String, digest: String, bytes: [UInt8]) {
        let found = ASCII.hexadecimal(HashFunction.sha256.digest(of: bytes).prefix(8))
        #expect(found == digest, "\(name)")
    }

    @Test func `the identity of a job's request is the identity of earlier versions`() {
        let found = StoredFormSamples.requests.map { ASCII.hexadecimal($0.identity.prefix(8)) }
        #expect(found == ["408841e8a9a4197b", "66cd1da2d68fb7b0", "6345e7f85b3ce50d"])
    }

    @Test func `an answer whose signed object is no JSON object is malformed`() throws {
        var bytes = StoredFormSamples.results[0]
        #expect(throws: Never.self) { try StoredResult(storedBytes: bytes) }
        let start = try #require(bytes.firstRange(of: Array(#"{"items""#.utf8))?.lowerBound)
        bytes[start] = UInt8(ascii: "[")
        #expect(throws: StoredFormFault.malformed) { try StoredResult(storedBytes: bytes) }
    }
}

private enum StoredFormSamples {
    static let chain = PurchaseChain(
        bundleID: "com.example.shop", environment: .sandbox, originalTransactionID: "2000000123456789")

    static func time(_ seconds: Int64) -> Timestamp {
        Timestamp(millisecondsSince1970: 1_700_000_000_123 + seconds * 1000)
    }

    /// One of each kind.
    static let results: [[UInt8]] = {
        var transaction = Transaction(productID: "monthly", transactionID: "2000000987654321")
        (transaction.expiresDate, transaction.productType) = (time(1000), .autoRenewableSubscription)
        (transaction.signedFields, transaction.isUpgraded) = (.value(saleFields), true)
        var renewal = plan
        renewal.status = ReportedStatus(.inGracePeriod, at: time(4))
        var answer = UpstreamAnswer(
            environment: .sandbox, bundleID: chain.bundleID,
            transactions: [transaction, Transaction(productID: "coins", transactionID: "7")], renewals: [renewal],
            latestReceipt: [1, 2], body: Array(#"{"status":0}"#.utf8), revision: "1700000000000_für Dich")
        answer.unfinishedConsumables = .known(["7", "", "für"])
        answer.lacksItems = true
        let results: [UpstreamResult] = [
            .answered(answer), .accountNotFound, .unanswered(.upstreamDisagrees), .unknownTransaction(.idInvalid),
            .alias(alias),
        ]
        return results.map { bytes(of: $0) }
    }()

    static let aliasUnderRoot: [UInt8] = {
        let root = Fingerprint(of: [1].span)
        return bytes(of: .alias(alias), roots: [OperatorsRoot(root, .sandbox), OperatorsRoot(root, .production)])
    }()

    private static let alias = TransactionAlias(
        originalTransactionID: chain.originalTransactionID, environment: .sandbox, bundleID: chain.bundleID)

    private static func bytes(of result: UpstreamResult, roots: Set<OperatorsRoot> = []) -> [UInt8] {
        let known = CachedResult(
            result, status: 21_007, fetchedAt: time(100), freshUntil: time(130), took: .milliseconds(250),
            purges: PurgePosition(history: .max, number: 12, name: 1 << 40), roots: roots)
        return StoredResult(known: known, retention: .seconds(3600)).bytes ?? []
    }

    private static var saleFields: SignedTransactionFields {
        var fields = SignedTransactionFields()
        (fields.signedDate, fields.storefront, fields.price) = (time(1), "DEU", -4990)
        (fields.transactionReason, fields.commitmentTotalBillingPeriods) = ("PURCHASE", 12)
        fields.advancedCommerceInfo = Array(#"{"items":[{"SKU":"gold"}]}"#.utf8)
        return fields
    }

    private static var plan: Renewal {
        var fields = SignedRenewalFields()
        (fields.signedDate, fields.renewalPrice) = (time(1), .max)
        fields.eligibleWinBackOfferIDs = ["winback", ""]
        var renewal = Renewal(originalTransactionID: chain.originalTransactionID)
        (renewal.productID, renewal.willRenew, renewal.priceConsent) = ("monthly", false, .pending)
        renewal.signedFields = .value(fields)
        return renewal
    }

    static let transaction: SignedStateItem = {
        var transaction = Transaction(productID: "monthly", transactionID: "2000000987654321")
        (transaction.originalTransactionID, transaction.signedFields) = ("2000000123456789", .value(saleFields))
        return .transaction(transaction)
    }()

    /// Without a status, with one, and with a downgrade.
    static let plans: [SignedStateItem] = {
        var expired = plan
        expired.status = ReportedStatus(.expired, at: time(5))
        var downgraded = plan
        downgraded.isDowngrade = true
        return [plan, expired, downgraded].map { .renewal($0) }
    }()

    static let event = Event(
        id: "evt_1", type: .verificationCompleted, bundleID: chain.bundleID, environment: .sandbox,
        originalTransactionID: chain.originalTransactionID, occurredAt: time(3), json: Array(#"{"id":"evt_1"}"#.utf8),
        signedData: Array("{}".utf8))

    private static let position = EventPosition(milliseconds: 4_000_000_000_000, counter: 1, number: 2)

    static let held: HeldEvent = {
        var event = HeldEvent(position, chain: "chain")
        (event.attempts, event.nextAttempt) = (3, time(9))
        return event
    }()

    static let dead = DeadDelivery(
        position: position, eventID: "evt_1", chain: "chain", attempts: 10, reason: "timeout", time: time(8))

    static let notification = NotificationRecord(.v1, Array(#"{"a":1}"#.utf8), receivedAt: time(6))

    static let details = ChainDetails(ChainRecord(chain, announced: ["evt_1"], isRenamed: true), revision: 7)

    static let job: VerificationJob = {
        let result = JobResult(
            json: Array("{}".utf8), verdict: "undecided", reason: "upstream_did_not_answer", isDegraded: true,
            environment: .sandbox, bundleID: chain.bundleID, originalTransactionIDs: ["1", "2"])
        return VerificationJob(
            id: "ver_1", client: "shop", createdAt: time(1), deadline: time(2), lane: .sandbox, request: nil,
            result: result)
    }()

    static let requests: [JobRequest] = {
        var options = JobOptions()
        options.expectations = Expectations(
            bundleID: chain.bundleID, applicationVersion: "1.0", deviceIdentifier: [0, 255])
        (options.mode, options.maximumAge, options.account) = (.apple, .seconds(60), Account("käufer 1"))
        (options.excludesOldTransactions, options.includesUnknown) = (true, true)
        let set = SignedTransactions([[1], []], renewalInfos: [[2]], appTransaction: [4], acceptsPart: true)
        return [
            JobRequest(.evidence(.appReceipt([0x30, 0x80])), options, chains: [chain]),
            JobRequest(.evidence(.signedTransactions(set)), JobOptions(), chains: []),
            JobRequest(.transactionID("2000000012345678"), JobOptions(), chains: []),
        ]
    }()
}

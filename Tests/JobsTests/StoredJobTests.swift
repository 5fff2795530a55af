// SPDX-License-Identifier: Apache-2.0

import Customers
import Gateway
import Receipts
import Testing

struct StoredJobTests {
    private static let subjects: [RequestSubject] = [
        .evidence(.appReceipt([0x30, 0x80])),
        .evidence(.transactionReceipt(Array("{}".utf8))),
        .evidence(.jws(Array("a.b.c".utf8))),
        .evidence(.signedTransactions(SignedTransactions([[1, 2], [], [3]]))),
        .evidence(
            .signedTransactions(
                SignedTransactions([[1]], renewalInfos: [[2], [3]], appTransaction: [4], acceptsPart: true))),
        .transactionID("2000000012345678"),
    ]

    private static let chains = [
        PurchaseChain(bundleID: "com.example.shop", environment: .production, originalTransactionID: "1"),
        PurchaseChain(bundleID: "com.example.shop", environment: .sandbox, originalTransactionID: "2"),
    ]

    private static let options: JobOptions = {
        var options = JobOptions()
        options.expectations = Expectations(
            bundleID: "com.example.shop", applicationVersion: "1.0", deviceIdentifier: [0, 255])
        (options.mode, options.maximumAge) = (.apple, .seconds(60))
        (options.excludesOldTransactions, options.wantsLatestReceipt) = (true, true)
        (options.includesUnknown, options.account) = (true, Account("käufer 1"))
        return options
    }()

    private static let result = JobResult(
        json: Array("{}".utf8), verdict: "undecided", reason: "upstream_did_not_answer", isDegraded: true,
        environment: .sandbox, bundleID: "com.example.shop", originalTransactionIDs: ["1", "2"])

    @Test(arguments: subjects) func `a request is read as it was written`(subject: RequestSubject) throws {
        for options in [JobOptions(), Self.options] {
            for chains in [[], Self.chains] {
                let request = JobRequest(subject, options, chains: chains)
                #expect(try JobRequest(storedBytes: request.storedBytes) == request)
            }
        }
    }

    @Test func `a result is read as it was written`() throws {
        for result in [Self.result, JobResult(json: [], verdict: "genuine")] {
            #expect(try JobResult(storedBytes: result.storedBytes) == result)
        }
    }

    @Test func `a head is read as it was written, and a part of one is malformed`() throws {
        let head = JobConstants(JobBench().job(1)), bytes = head.storedBytes
        #expect(try JobConstants(storedBytes: bytes) == head)
        for count in 0..<bytes.count {
            #expect(throws: StoredFormFault.malformed) { _ = try JobConstants(storedBytes: Array(bytes.prefix(count))) }
        }
        #expect(throws: StoredFormFault.malformed) { _ = try JobConstants(storedBytes: bytes + [0]) }
        #expect(throws: StoredFormFault.unknownVersion(2)) { _ = try JobConstants(storedBytes: [2, 0, 0]) }
    }

    @Test(arguments: subjects) func `a part of a request, or more than one, is malformed`(subject: RequestSubject) {
        let bytes = JobRequest(subject, Self.options, chains: Self.chains).storedBytes
        for count in 0..<bytes.count {
            #expect(throws: StoredFormFault.malformed) { _ = try JobRequest(storedBytes: Array(bytes.prefix(count))) }
        }
        #expect(throws: StoredFormFault.malformed) { _ = try JobRequest(storedBytes: bytes + [0]) }
    }

    @Test func `a part of a result, or more than one, is malformed`() {
        let bytes = Self.result.storedBytes
        for count in 0..<bytes.count {
            #expect(throws: StoredFormFault.malformed) { _ = try JobResult(storedBytes: Array(bytes.prefix(count))) }
        }
        #expect(throws: StoredFormFault.malformed) { _ = try JobResult(storedBytes: bytes + [0]) }
    }

    @Test(arguments: subjects) func `a changed byte is malformed, or another request`(subject: RequestSubject) {
        let request = JobRequest(subject, Self.options, chains: Self.chains), bytes = request.storedBytes
        for index in bytes.indices {
            for change: UInt8 in [1, 0x80, 0xFF] {
                var changed = bytes
                changed[index] ^= change
                let read = try? JobRequest(storedBytes: changed)
                #expect(read != request, "byte \(index)")
            }
        }
    }

    @Test func `a newer form is named`() {
        #expect(throws: StoredFormFault.unknownVersion(3)) { _ = try JobRequest(storedBytes: [3, 0, 0]) }
        #expect(throws: StoredFormFault.unknownVersion(2)) { _ = try JobResult(storedBytes: [2, 0, 0]) }
    }

    @Test func `a request that older versions can read keeps their form`() throws {
        var request = JobRequest(Self.subjects[0], JobOptions(), chains: [])
        #expect(request.storedBytes.first == 1)
        request.options.includesUnknown = true
        #expect(request.storedBytes.first == 2)
        #expect(try JobRequest(storedBytes: request.storedBytes) == request)
    }

    @Test func `chains do not change the identity of a request, and everything else does`() {
        var requests = Self.subjects.map { JobRequest($0, JobOptions(), chains: []) }
        let edits: [(inout JobOptions) -> Void] = [
            { $0.expectations.bundleID = "a" }, { $0.expectations.applicationVersion = "a" },
            { $0.expectations.deviceIdentifier = [97] }, { $0.mode = .apple }, { $0.maximumAge = .seconds(1) },
            { $0.excludesOldTransactions = true }, { $0.wantsLatestReceipt = true }, { $0.includesUnknown = true },
            { $0.account = Account("a") },
        ]
        for edit in edits {
            var options = JobOptions()
            edit(&options)
            requests.append(JobRequest(Self.subjects[0], options, chains: []))
        }
        #expect(Set(requests.map(\.identity)).count == requests.count)
        for request in requests {
            #expect(JobRequest(request.subject, request.options, chains: Self.chains).identity == request.identity)
            #expect(request.identity.count == 32)
        }
    }
}

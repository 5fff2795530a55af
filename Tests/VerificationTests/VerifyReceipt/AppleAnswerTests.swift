// SPDX-License-Identifier: Apache-2.0

import Foundation
import JSON
import RealCorpus
import Receipts
import Testing

@testable import API
@testable import AppStore
@testable import Gateway
@testable import ServerTestSupport

/// Real answers of Apple, which are not part of this repository.
@Suite(.enabled(if: RealCorpus.answers != nil, Comment(rawValue: RealCorpus.answersMissing)))
struct AppleAnswerTests {
    @Test func `the corpus has answers with a receipt`() throws {
        let responses = try AppleAnswers.all().map { try VerifyReceiptResponse(parsing: $0.body) }
        #expect(responses.contains { $0.status == .valid && !$0.latestReceiptInfo.isEmpty })
    }

    @Test(arguments: try AppleAnswers.all())
    func `an answer survives reading and writing`(_ answer: AppleAnswers.Answer) throws {
        let response = try VerifyReceiptResponse(parsing: answer.body)
        #expect(response.body == answer.body)
        let written = response.json.bytes
        // Two independent readers agree on what was written.
        #expect(try JSONValue(parsing: written) == response.json)
        let objects = try [answer.body, written].map {
            try JSONSerialization.jsonObject(with: Data($0)) as? NSDictionary
        }
        #expect(objects[0] != nil && objects[0] == objects[1])
    }

    @Test(arguments: try AppleAnswers.all())
    func `every date of an answer is the same in all its forms`(_ answer: AppleAnswers.Answer) throws {
        for (name, object) in try JSONValue(parsing: answer.body).objectsWithDates {
            // iOS 6 style answers have milliseconds under some plain names.
            guard let gmt = object[name]?.string, gmt.contains(" ") else { continue }
            let date = try #require(AppleDate(gmt), "\(name)")
            #expect(date.gmt == gmt)
            if let pacific = object[name + "_pst"]?.string { #expect(date.pacific == pacific) }
            // In some answers without a receipt, the milliseconds alone have been altered.
            guard answer.receiptData != nil, let milliseconds = object[name + "_ms"]?.string else { continue }
            #expect(try #require(AppleDate(milliseconds)).gmt == gmt)
        }
    }

    @Test(arguments: try AppleAnswers.all().filter { $0.receiptData != nil })
    func `the local answer equals Apple's, except for fields only Apple knows`(
        _ answer: AppleAnswers.Answer
    ) throws {
        let apple = try VerifyReceiptResponse(parsing: answer.body)
        guard apple.status == .valid else { return }
        let now = try #require(apple.receiptDate("request_date"))
        let local = try Self.localAnswer(to: answer, at: now)
        let differences = Set(Self.fields(of: apple)).symmetricDifference(Self.fields(of: local))
        #expect(differences.filter { !Self.isApplesAlone($0, local) } == [])
        #expect(local.json["receipt"]?.names == apple.json["receipt"]?.names, "in Apple's order")
        for (ours, apples) in try zip(#require(local.inApp), #require(apple.inApp)) {
            #expect(ours.names == apples.names.filter { $0 != "in_app_ownership_type" }, "in Apple's order")
        }
        // The comparison is not empty.
        #expect(try Self.fields(of: local).count > 12 * #require(local.inApp).count)
    }

    @Test(arguments: try AppleAnswers.all().filter { $0.receiptData != nil })
    func `a known latest receipt is returned`(_ answer: AppleAnswers.Answer) throws {
        let apple = try VerifyReceiptResponse(parsing: answer.body)
        guard apple.status == .valid, let latest = apple.latestReceipt else { return }
        let now = try #require(apple.receiptDate("request_date"))
        let known = VerifyReceiptResponse.latestReceipt(ofKnown: answer.body.span)
        #expect(known == latest)
        #expect(try Self.localAnswer(to: answer, latestReceipt: known, at: now).latestReceipt == latest)
        let sent = try #require(try Self.localAnswer(to: answer, at: now).latestReceipt)
        #expect(try Base64.decode(sent) == Base64.decode(#require(answer.receiptData)))
    }

    private static func localAnswer(
        to answer: AppleAnswers.Answer, latestReceipt: String? = nil, at now: Timestamp
    ) throws -> VerifyReceiptResponse {
        let receipt = try ReceiptVerifier().verify(Base64.decode(#require(answer.receiptData)), at: now)
        let body = AppReceiptResponse(
            receipt: receipt,
            entitlements: Entitlements(
                in: TransactionList(receipt.purchases.map { Transaction($0) }), at: now, rules: SubscriptionRules()),
            latestReceipt: latestReceipt, requestDate: now
        ).body
        return try VerifyReceiptResponse(parsing: body)
    }

    /// A value of an answer and its path; a transaction appears by its identifier, since Apple's lists have no order.
    private struct Field: Hashable {
        let location: [String]
        let value: JSONValue
    }

    /// Returns all values of an answer.
    private static func fields(of answer: VerifyReceiptResponse) -> [Field] {
        fields(of: answer.json, at: [])
    }

    private static func fields(of value: JSONValue, at location: [String]) -> [Field] {
        if let members = value.members {
            return members.flatMap { fields(of: $0.value, at: location + [$0.name.description]) }
        }
        guard let elements = value.elements else { return [Field(location: location, value: value)] }
        return [Field(location: location + ["list"], value: .null)]
            + elements.enumerated().flatMap { index, element in
                fields(of: element, at: location + [element["transaction_id"]?.string ?? "\(index)"])
            }
    }

    /// Returns true for the only permitted differences: data Apple adds to the signed data.
    private static func isApplesAlone(_ field: Field, _ local: VerifyReceiptResponse) -> Bool {
        switch field.location.first {
        // Renewals, which receipts do not contain, and a receipt that Apple creates for each answer.
        case "pending_renewal_info", "latest_receipt": true
        case "latest_receipt_info":
            // Apple's data about a transaction, and transactions later than the receipt.
            ["in_app_ownership_type", "subscription_group_identifier"].contains(field.location.last)
                || !local.latestReceiptInfo.contains { field.location.contains($0.transactionID) }
        case "receipt": field.location.last == "in_app_ownership_type"
        default: false
        }
    }
}

extension JSONValue {
    fileprivate var names: [String] { (members ?? []).map(\.name.description) }
}

extension JSONValue {
    /// Returns each object of this tree with the names of its dates in milliseconds.
    fileprivate var objectsWithDates: [(name: String, object: JSONValue)] {
        let names = (members ?? []).map(\.name.description).filter { $0.hasSuffix("_ms") }
        let inside = (members?.map(\.value) ?? elements ?? []).flatMap(\.objectsWithDates)
        return names.map { (String($0.dropLast(3)), self) } + inside
    }
}

/// The corpus of answers.
enum AppleAnswers {
    /// Apple's answer as JSON, and its receipt if known.
    struct Answer: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let body: [UInt8]
        var receiptData: String?
    }

    /// Returns all answers; none without a folder, which skips the suite.
    static func all() throws -> [Answer] {
        guard RealCorpus.answers != nil else { return [] }
        let pairs = try RealCorpus.files(in: RealCorpus.answers).map { file in
            // Members keep Apple's order.
            let pair = try JSONValue(parsing: Array(Data(contentsOf: file)))
            let response = try #require(pair["response"])
            return Answer(
                testDescription: file.lastPathComponent, body: response.bytes, receiptData: pair["receipt-data"]?.string
            )
        }
        let alone = try RealCorpus.files(in: RealCorpus.folder(besideReceipts: "responses")).map { file in
            Answer(testDescription: file.lastPathComponent, body: Array(try Data(contentsOf: file)))
        }
        return pairs + alone
    }
}

extension VerifyReceiptResponse {
    /// `receipt.in_app` as it was sent.
    fileprivate var inApp: [JSONValue]? { json["receipt"]?["in_app"]?.elements }

    /// Returns a date of the receipt, which may decide nothing.
    func receiptDate(_ name: String) -> Timestamp? {
        json["receipt"]?[name + "_ms"]?.string.flatMap { AppleDate(milliseconds: $0) }?.timestamp
    }
}

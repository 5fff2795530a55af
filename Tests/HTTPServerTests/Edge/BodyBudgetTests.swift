// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Clients
@testable import HTTPServer

/// The memory for bodies whose senders are not identified before they are read.
struct BodyBudgetTests {
    private static func sender(_ address: String) throws -> BodySender {
        .unidentified(try #require(NetworkAddress(address)).source)
    }

    @Test func `unidentified senders share a quarter, and one address has an eighth of that`() throws {
        let budget = BodyBudget(.mebibytes(256)), part = 64 << 10
        func fill(_ address: String) throws -> Int {
            var count = 0
            while budget.reserve(part, ofBodyWith: part, from: try Self.sender(address)) == nil { count += part }
            return count
        }
        #expect(try fill("192.0.2.1") == 8 << 20)
        #expect(try (2...7).map { try fill("192.0.2.\($0)") } == Array(repeating: 8 << 20, count: 6))
        #expect(try fill("2001:db8::1") == 8 << 20)
        #expect(try fill("2001:db8:0:0:1::1") == 0 && budget.reserved == 64 << 20)
        #expect(budget.reserve(192 << 20, ofBodyWith: part) == nil)
    }

    @Test func `large bodies leave half of that quarter to ordinary ones`() throws {
        let budget = BodyBudget(.mebibytes(256)), large = 1 << 20
        var taken = 0
        for number in 0..<64
        where budget.reserve(large, ofBodyWith: large, from: try Self.sender("192.0.2.\(number)")) == nil {
            taken += large
        }
        #expect(taken == 32 << 20)
        #expect(budget.reserve(large, ofBodyWith: 128 << 10, from: try Self.sender("192.0.2.100")) == nil)
    }

    @Test func `in a small budget one address has a mebibyte`() throws {
        let budget = BodyBudget(.mebibytes(16)), mebibyte = 1 << 20, sender = try Self.sender("192.0.2.1")
        #expect(budget.reserve(mebibyte, ofBodyWith: 1, from: sender) == nil)
        #expect(budget.reserve(1, ofBodyWith: 1, from: sender) != nil)
    }

    @Test func `what one address may never have is told apart from what it may not have now`() throws {
        let budget = BodyBudget(.mebibytes(256)), sender = try Self.sender("192.0.2.1")
        #expect(budget.refusal(of: 9_000_000, from: sender) == .bodyBeyondShare)
        #expect(budget.refusal(of: 9_000_000) == nil)
        #expect(budget.reserve(8 << 20, ofBodyWith: 8 << 20, from: sender) == nil)
        #expect(budget.refusal(of: 1, from: sender) == .tooManyOfAddress)
        #expect(budget.refusal(of: 1, from: try Self.sender("192.0.2.2")) == nil)
        #expect(budget.reserve(248 << 20, ofBodyWith: 1) == nil)
        #expect(budget.refusal(of: 1) == .overloaded)
    }

    @Test func `a body counts for its client once it is identified`() throws {
        let budget = BodyBudget(.mebibytes(64)), sender = try Self.sender("192.0.2.1")
        do {
            let first = BodyReservation(from: budget, for: sender), second = BodyReservation(from: budget, for: sender)
            #expect(first.grow(by: 2 << 20) && !second.grow(by: 1))
            first.identify()
            #expect(budget.reserved == 2 << 20 && second.grow(by: 2 << 20) && first.grow(by: 8 << 20))
        }
        #expect(budget.reserved == 0 && budget.reserve(2 << 20, ofBodyWith: 1, from: sender) == nil)
    }
}

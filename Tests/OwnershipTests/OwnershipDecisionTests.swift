// SPDX-License-Identifier: Apache-2.0

import Customers
import Gateway
import Receipts
import Testing

/// One row of the decision table: the token of a purchase, its binding, and the relation that follows.
struct DecisionRow: CustomTestStringConvertible {
    let token: Token
    /// Nil if the store is unreachable.
    let binding: RecordedUse.Binding?
    let ownership: Ownership

    enum Token: CaseIterable { case equal, other, absent }

    var testDescription: String { "\(token), \(binding.map { "\($0)" } ?? "unreachable")" }

    static let all =
        [RecordedUse.Binding.new, .same, .other, .unknown, nil].map {
            DecisionRow(token: .equal, binding: $0, ownership: .same)
        }
        + [Token.other, .absent].flatMap { token in
            [
                DecisionRow(token: token, binding: .new, ownership: .firstSeen),
                DecisionRow(token: token, binding: .same, ownership: .same),
                DecisionRow(token: token, binding: .other, ownership: .other),
                DecisionRow(token: token, binding: .unknown, ownership: .unknown),
                DecisionRow(token: token, binding: nil, ownership: .unknown),
            ]
        }
}

@Suite struct OwnershipDecisionTests {
    private typealias Samples = OwnershipSamples

    // MARK: - One purchase

    @Test(arguments: DecisionRow.all, [false, true])
    func `a token equal to the account decides, and else the binding`(
        row: DecisionRow, isFamilyShared: Bool
    ) throws {
        let claim = Samples.claim(1, token: row.token, isFamilyShared: isFamilyShared)
        let uses = row.binding.map { [RecordedUse($0)] }
        for policy in OwnershipPolicy.allCases {
            let decision = OwnershipDecision([claim], of: try Samples.account(), uses, under: policy)
            #expect(decision.ownership == row.ownership)
            let isRejected = policy == .reject && row.ownership == .other && !isFamilyShared
            #expect(decision.isRejected == isRejected, "\(policy)")
        }
    }

    @Test(arguments: [
        (Samples.uuid, true), (Samples.uuid.uppercased(), true), (String(Samples.uuid.dropLast()), false),
        (Samples.uuid + "0", false), (Samples.uuid.replacing("-", with: ""), false),
        ("{\(Samples.uuid)}", false), ("7E3FB20B-4CDB-47CC-936D-99D65F608139", false), ("", false),
    ])
    func `tokens are compared as UUIDs`(token: String, isEqual: Bool) throws {
        let claim = OwnershipClaim(Samples.chain(1), appAccountToken: token)
        for id in [Samples.uuid, Samples.uuid.uppercased()] {
            let account = try #require(Account(id))
            #expect(claim.ownership(of: account, .other) == (isEqual ? .same : .other))
        }
    }

    @Test(arguments: ["user-42", "00000000", "7e3fb20b4cdb47cc936d99d65f608138"])
    func `an account that is no UUID equals no token, not even the same text`(id: String) throws {
        let claim = OwnershipClaim(Samples.chain(1), appAccountToken: id)
        #expect(claim.ownership(of: try #require(Account(id)), .other) == .other)
    }

    // MARK: - Several purchases

    @Test(
        arguments: [
            ([.same], .same), ([.same, .new], .firstSeen), ([.new, .same], .firstSeen), ([.same, .unknown], .unknown),
            ([.new, .unknown, .same], .unknown), ([.same, .unknown, .other], .other), ([.other, .new], .other),
            ([], .unknown),
        ] as [([RecordedUse.Binding], Ownership)])
    func `the weakest relation counts`(bindings: [RecordedUse.Binding], ownership: Ownership) throws {
        let claims = bindings.indices.map { Samples.claim($0) }
        let decision = OwnershipDecision(
            claims, of: try Samples.account(), bindings.map { RecordedUse($0) }, under: .reject)
        #expect(decision.ownership == ownership)
        #expect(decision.isRejected == bindings.contains(.other))
    }

    @Test func `another account's purchase is rejected beside one that the family shares`() throws {
        let claims = [Samples.claim(1, isFamilyShared: true), Samples.claim(2)]
        let account = try Samples.account()
        for (bindings, isRejected) in [([.other, .same], false), ([.same, .other], true)]
            as [([RecordedUse.Binding], Bool)]
        {
            let decision = OwnershipDecision(claims, of: account, bindings.map { RecordedUse($0) }, under: .reject)
            #expect(decision.ownership == .other && decision.isRejected == isRejected)
        }
    }

    @Test func `without the store only a token decides, and nothing is rejected`() throws {
        let claims = [Samples.claim(1, token: .equal), Samples.claim(2, token: .other)]
        let account = try Samples.account()
        #expect(OwnershipDecision(claims, of: account, nil, under: .reject).ownership == .unknown)
        #expect(!OwnershipDecision(claims, of: account, nil, under: .reject).isRejected)
        #expect(OwnershipDecision(Array(claims.prefix(1)), of: account, nil, under: .reject).ownership == .same)
    }
}

enum OwnershipSamples {
    static let app = "com.example.shop"
    static let uuid = "7e3fb20b-4cdb-47cc-936d-99d65f608138"

    static func account(_ id: String = uuid) throws -> Account { try #require(Account(id)) }

    static func chain(_ number: Int, bundleID: String = app) -> PurchaseChain {
        PurchaseChain(bundleID: bundleID, environment: .production, originalTransactionID: "100000\(number)")
    }

    static func claim(
        _ number: Int, token: DecisionRow.Token = .absent, isFamilyShared: Bool = false
    ) -> OwnershipClaim {
        let text: String? =
            switch token {
            case .equal: uuid.uppercased()
            case .other: "00000000-4cdb-47cc-936d-99d65f608138"
            case .absent: nil
            }
        return OwnershipClaim(chain(number), appAccountToken: text, isFamilyShared: isFamilyShared)
    }
}

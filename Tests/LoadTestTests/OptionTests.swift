// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import ReceiptForge
import Testing

@testable import LoadTest

struct OptionTests {
    @Test func `without options verify measures the four sizes for a second each`() throws {
        let plan = try VerifyCommand.parse([]).plan
        #expect(plan.purchases == [1, 3, 9, 187] && plan.duration == .seconds(1) && plan.receipts == 64)
        #expect(plan.threads.first == 1 && plan.seed == 1)
    }

    @Test(arguments: [ForgedEvidenceKind.jws, .transactionReceipt, .notification])
    func `all other evidence has one purchase`(_ evidence: ForgedEvidenceKind) throws {
        let plan = try VerifyCommand.parse(["--evidence", evidence.rawValue]).plan
        #expect(plan.evidence == evidence && plan.purchases == [1])
    }

    @Test func `options of verify reach the plan`() throws {
        let options = ["--purchases", "3,1", "--threads", "4", "--duration", "0.25", "--receipts", "7", "--seed", "9"]
        let plan = try VerifyCommand.parse(options).plan
        let expected = VerifyPlan(
            purchases: [3, 1], threads: [4], duration: .milliseconds(250), receipts: 7, seed: 9)
        #expect(plan == expected)
    }

    @Test(arguments: [
        ["--purchases", "1,x"], ["--purchases", ""], ["--purchases", "1,,2"], ["--purchases", "3,3"],
        ["--purchases", "1001"], ["--threads", "0"], ["--threads", "1025"], ["--duration", "0"], ["--duration", "nan"],
        ["--receipts", "0"], ["--format", "xml"], ["--seed", "-1"], ["--evidence", "token"],
        ["--evidence", "jws", "--purchases", "3"],
    ])
    func `verify refuses what it cannot measure`(options: [String]) {
        #expect(throws: (any Error).self) { try VerifyCommand.parse(options) }
    }

    @Test(arguments: [[], ["--out", "x", "--count", "0"], ["--out", "x", "--count", "1000001"]])
    func `corpus refuses what it cannot write`(options: [String]) {
        #expect(throws: (any Error).self) { try CorpusCommand.parse(options) }
    }

    @Test func `a faulty list is answered with what would be right`() {
        let error = #expect(throws: (any Error).self) { try VerifyCommand.parse(["--threads", "1,0"]) }
        let message = error.map(VerifyCommand.message(for:))
        #expect(message == "--threads takes different numbers from 1 to 1024, separated by commas, not '1,0'.")
    }

    @Test func `help shows the defaults`() {
        #expect(VerifyCommand.helpMessage().contains("(default: 1,3,9,187)"))
        #expect(CorpusCommand.helpMessage().contains("(default: 1000)"))
    }

    @Test func `help fits a hundred columns`() {
        let commands: [any ParsableCommand.Type] = [ReceiptLoadtest.self] + ReceiptLoadtest.configuration.subcommands
        for command in commands {
            let lines = ReceiptLoadtest.helpMessage(for: command, columns: 100).split(separator: "\n")
            #expect(lines.count > 3 && lines.allSatisfy { $0.count <= 100 }, "\(command)")
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import Foundation
import ReceiptForge
import Testing
import TestSupport

/// The end of `verifyReceipt` with a real gateway: announced, and as a failure that nothing announced.
///
/// Each receipt shows a month that ended three days ago. Apple knows that it was renewed.
@Suite(.timeLimit(.patient)) struct EndOfVerifyReceiptTests {
    private static let source = "app_store_server_api"

    @Test func `after the end answers in Apple's form are rebuilt from the Server API`() async throws {
        try await AfterVerifyReceiptStage.run { stage in
            try await stage.announceEnd()
            try stage.play("{api: verify_receipt, fault: {http_status: 410}}")
            for number in 2..<5 {
                let answer = try await stage.verifyReceipt(Sample.receipt(number))
                #expect(answer.source == Self.source && answer.degraded == nil && answer.isActive, "\(answer)")
            }
            let verdict = try await stage.verify(Sample.receipt(5))
            #expect(verdict.isServerAPIs && verdict.states == ["active"], "\(verdict)")
            #expect(stage.calls.verifyReceipt == 1 && stage.calls.serverAPI >= 4)
            #expect(try await stage.answers(from: Self.source) == 4)
            #expect(try await stage.answers(from: "apple") == 1)
            #expect(try await stage.appWithoutKey() == nil)
        }
    }

    @Test(arguments: ["{http_status: 410}", "html", nil])
    func `without an announcement, too, the Server API answers when verifyReceipt fails`(fault: String?) async throws {
        try await AfterVerifyReceiptStage.run { stage in
            if let fault {
                try stage.play("{api: verify_receipt, fault: \(fault)}")
            } else {
                await stage.apple.refuseVerifyReceipt()
            }
            let answer = try await stage.verifyReceipt(Sample.receipt(1))
            #expect(answer.source == Self.source && answer.degraded == nil && answer.isActive, "\(answer)")
            let verdict = try await stage.verify(Sample.receipt(2))
            #expect(verdict.isServerAPIs && verdict.states == ["active"], "\(verdict)")
            #expect(try await stage.answers(from: Self.source) == 2)
            // It is still the first: the fault may pass.
            try stage.play()
            try await stage.apple.acceptVerifyReceipt()
            var number = 3
            try await eventually("verifyReceipt is used again") {
                number += 1
                return try await stage.verifyReceipt(Sample.receipt(number)).source == "apple"
            }
        }
    }

    @Test func `without a key the receipt's own answer says that Apple is missing`() async throws {
        try await AfterVerifyReceiptStage.run(hasKey: false) { stage in
            try await stage.announceEnd()
            #expect(try await stage.appWithoutKey() == 1)
            await stage.apple.refuseVerifyReceipt()
            let answer = try await stage.verifyReceipt(Sample.receipt(2))
            #expect(answer.source == "local" && answer.degraded == "upstream_unreachable", "\(answer)")
            #expect(answer.transactionIDs == [Sample.transactionID(2)] && !answer.isActive)
            #expect(try await stage.answers(from: "local") == 1)
            #expect(stage.calls.serverAPI == 0)
        }
    }

    @Test func `a receipt without purchases is answered from itself`() async throws {
        try await AfterVerifyReceiptStage.run { stage in
            try await stage.announceEnd()
            await stage.apple.refuseVerifyReceipt()
            let contents = ReceiptContents(bundleID: Sample.bundleID, creationDate: Sample.now.advanced(byDays: -1))
            let receipt = Data(Sample.pki.sign(contents, asType: "Production")).base64EncodedString()
            let answer = try await stage.verifyReceipt(receipt)
            #expect(answer.source == "local" && answer.degraded == nil && answer.transactionIDs.isEmpty, "\(answer)")
            #expect(try await stage.answers(from: "local") == 1)
        }
    }

    @Test func `an end that is taken back returns the receipts to verifyReceipt`() async throws {
        try await AfterVerifyReceiptStage.run { stage in
            try await stage.announceEnd()
            #expect(try await stage.verifyReceipt(Sample.receipt(2)).source == Self.source)
            // A transaction that the Server API does not know: verifyReceipt answers, and names the new end.
            let postponed = "{api: verify_receipt, sunset_in: 365d}"
            try stage.play("{api: server_api, fault: {server_api_error: 4040010}}", postponed)
            #expect(try await stage.verifyReceipt(Sample.receipt(3)).source == "apple")
            try stage.play(postponed)
            #expect(try await stage.verifyReceipt(Sample.receipt(4)).source == "apple")
            #expect(try await stage.ramp() == 0)
        }
    }
}

extension ForgedPKI {
    /// Signs an app receipt of this type.
    fileprivate func sign(_ contents: ReceiptContents, asType type: String) -> [UInt8] {
        var contents = contents
        contents.receiptType = type
        return sign(contents)
    }
}

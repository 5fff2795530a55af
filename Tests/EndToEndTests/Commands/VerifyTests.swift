// SPDX-License-Identifier: Apache-2.0

import Foundation
import ReceiptForge
import Receipts
import Testing
import TestSupport

/// `receipt-gateway verify`: evidence in files, without a gateway.
@Suite(.timeLimit(.patient)) struct VerifyTests {
    private static let signed = TransactionPKI(seed: 31)

    private let folder: ScratchFolder
    private let root: String

    init() throws {
        folder = try ScratchFolder()
        root = try folder.write(Sample.pki.rootPEM, to: "root.pem") + "=Production+Sandbox"
    }

    private func verify(_ arguments: String..., environment: [String: String] = [:]) async throws -> Program.Outcome {
        try await Program.gateway.run(["verify"] + arguments, environment: environment)
    }

    private func write(_ bytes: Data, to name: String) throws -> String {
        let file = folder.url.appending(path: name)
        try bytes.write(to: file)
        return file.path
    }

    @Test func `a genuine receipt is shown as a table, from base64 as from its bytes`() async throws {
        let text = Sample.receipt(endingAfterDays: 5), bytes = try #require(Data(base64Encoded: text))
        let encoded = try await verify("--root", root, folder.write(text + "\n", to: "receipt.b64"))
        #expect(encoded.status == 0 && encoded.errors.isEmpty, "\(encoded)")
        #expect(encoded.output.hasPrefix("genuine: \(Sample.bundleID), Production\n\nSUBSCRIPTION "), "\(encoded)")
        #expect(encoded.output.contains(" active ") && encoded.output.contains("\n\nTRANSACTION "), "\(encoded)")
        let binary = try await verify("--root", root, write(bytes, to: "receipt.der"))
        #expect(binary.status == 0 && binary.output == encoded.output, "\(binary)")
    }

    @Test func `the answer in JSON is the gateway's in mode local`() async throws {
        let root = root
        let gateway = try await RunningGateway(["GATEWAY_TRUST_ROOTS": root])
        for text in [Sample.receipt(), Sample.forged()] {
            let file = try folder.write(text, to: "receipt.b64")
            // The roots of the configuration count, too.
            let printed = try await verify("--format", "json", file, environment: ["GATEWAY_TRUST_ROOTS": root])
            var own = try members(Data(printed.output.utf8))
            var served = try members(try await gateway.verify(text, ["mode": "local"]).body)
            #expect(printed.status == (served["verdict"] as? String == "genuine" ? 0 : 1), "\(printed)")
            #expect((own["provenance"] as? NSDictionary)?["source"] as? String == "local")
            // They were verified at different times.
            (own["provenance"], served["provenance"]) = (nil, nil)
            #expect(own as NSDictionary == served as NSDictionary)
        }
        #expect(await gateway.stop() == 0)
    }

    private func members(_ json: Data) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: json) as? [String: Any])
    }

    @Test func `a JWS and a transaction receipt are verified as well, from standard input`() async throws {
        var contents = TransactionContents()
        contents.signedDate = .now().advanced(by: .seconds(-60))
        let jws = String(decoding: Self.signed.jws(contents), as: UTF8.self)
        let signedRoot = try folder.write(Self.signed.root.pem, to: "signed.pem")
        let file = try folder.write(jws + "\n", to: "transaction.jws")
        let script = #""$0" verify --root "$1" - <"$2""#
        let read = try await Program.shell.run(["-c", script, Program.gateway.url.path, signedRoot, file])
        #expect(read.status == 0 && read.output.hasPrefix("genuine: com.example.forge, Sandbox\n"), "\(read)")

        let intermediates = ["GATEWAY_TRUST_INTERMEDIATES": try folder.write(Sample.pki.intermediate.pem, to: "i.pem")]
        let list = try #require(Data(base64Encoded: Sample.transactionReceipt(endingAfterDays: 5)))
        let old = try await verify("--root", root, write(list, to: "list"), environment: intermediates)
        #expect(old.status == 0 && old.output.hasPrefix("genuine: \(Sample.bundleID), "), "\(old)")
    }

    @Test func `a rejection has its reason and status 1`() async throws {
        let file = try folder.write(Sample.forged(), to: "forged.b64")
        let forged = try await verify("--root", root, file)
        #expect(forged.status == 1 && forged.output.hasPrefix("rejected: anchor_untrusted\nThe chain "), "\(forged)")
    }

    @Test(arguments: [
        ("", "is empty"), (#"{"productId": "a"}"#, "is decoded JSON"), ("MIIB*", "outside the base64 alphabet"),
        (#"{"receipt": "MIIB"}"#, #"put the value of "receipt" alone into the file"#),
    ])
    func `what is no evidence is named, and has status 2`(text: String, fault: String) async throws {
        let file = try folder.write(text, to: "file"), found = try await verify(file)
        #expect(found.status == 2 && found.output.isEmpty, "\(found)")
        #expect(found.errors.hasPrefix("\(file): ") && found.errors.contains(fault), "\(found)")
    }

    @Test func `a missing file has status 2, a wrong root 78 or 64`() async throws {
        let missing = try await verify("/nowhere")
        #expect(missing.status == 2 && missing.errors == "/nowhere: does not exist\n", "\(missing)")
        let file = try folder.write(Sample.receipt(), to: "receipt.b64")
        let rootless = try await verify("--root", "/nowhere", file)
        #expect(rootless.status == 78 && rootless.errors.contains("--root: /nowhere does not exist"), "\(rootless)")
        let misnamed = try await verify("--root", "root.pem=Staging", file)
        #expect(misnamed.status == 64 && misnamed.errors.contains(#""Staging""#), "\(misnamed)")
    }
}

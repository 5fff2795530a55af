// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import ArgumentParser
import Foundation
import ReceiptForge
import Testing

@testable import LoadTest

/// `receipt-loadtest apple`, up to the servers.
struct AppleCommandTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "loadtest-\(UUID().uuidString)")

    private func withFolder(_ body: () async throws -> Void) async throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body()
    }

    private func put(_ text: String, in file: String) throws -> String {
        let url = folder.appending(path: file)
        try Data(text.utf8).write(to: url)
        return url.path
    }

    private func text(of file: String) throws -> String {
        try String(contentsOf: folder.appending(path: file), encoding: .utf8)
    }

    @Test func `a corpus, its receipts and a scenario meet`() async throws {
        try await withFolder {
            try await CorpusWriter(directory: folder.path).write(Corpus(seed: 3, genuineReceipts: 1))
            let scenario = try put("faults: [{fault: {http_status: 503}, requests: 1}]", in: "scenario.yaml")
            let apple = try await AppleCommand.parse(["--pki", folder.path, "--scenario", scenario]).start()
            let body = "{\"receipt-data\":\"\(try text(of: "genuine-1.b64"))\"}"
            let answers = [try await post(body, to: apple.sandboxURL), try await post(body, to: apple.sandboxURL)]
            await apple.stop()
            #expect(answers[0].hasPrefix("<html>") && answers[1].hasPrefix("{\"status\":0,"))
        }
    }

    private func post(_ body: String, to url: String) async throws -> String {
        let target = try LoadTarget(url)
        let reply = try await Exchange(target: target).send(
            RequestForm.request("POST", target, [], body: Array(body.utf8)))
        return String(decoding: reply.body, as: UTF8.self)
    }

    @Test func `a scenario with a fault is named with its line`() async throws {
        try await withFolder {
            let path = try put("seed: 1\nfaults: [{fault: slow}]\n", in: "scenario.yaml")
            let error = #expect(throws: ContentError<ScenarioError>.self) { try Scenario.read(path) }
            #expect(error?.description.hasPrefix("\(path): line 2: 'slow' is unknown here") == true)
            #expect(throws: FileError.notReadable(path: path + "x")) { try Scenario.read(path + "x") }
        }
    }

    @Test func `an identity is made once and used again`() async throws {
        try await withFolder {
            let path = folder.appending(path: "tls").path
            let first = try TLSFolder(path: path).identity()
            #expect(try TLSFolder(path: path).identity() == first)
            #expect(try text(of: "tls/server.pem") == first.certificatePEM)
            #expect(try text(of: "tls/ca.pem").hasPrefix("-----BEGIN CERTIFICATE-----"))
            let key = try FileManager.default.attributesOfItem(atPath: path + "/server.key")
            #expect(key[.posixPermissions] as? Int == 0o600)
        }
    }

    @Test func `half an identity is refused and left alone`() async throws {
        try await withFolder {
            _ = try put("mine", in: "server.key")
            #expect(throws: TLSFolderError.halfPresent(path: folder.path)) {
                try TLSFolder(path: folder.path).identity()
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["server.key"])
        }
    }

    @Test func `a folder without keys is explained`() async throws {
        try await withFolder {
            let command = try AppleCommand.parse(["--pki", folder.path])
            let error = await #expect(throws: CorpusAuthorityError.self) { _ = try await command.start() }
            #expect(error?.description.contains("receipt-loadtest corpus --out \(folder.path)") == true)
        }
    }

    @Test func `the key of a corpus is left alone and named for a clients file`() async throws {
        try await withFolder {
            try await CorpusWriter(directory: folder.path).write(Corpus(seed: 3, genuineReceipts: 1))
            // A file that is written again would lose this.
            let file = folder.appending(path: ForgedAPIKey(seed: 3).fileName).path
            try FileManager.default.setAttributes([.posixPermissions: 0o440], ofItemAtPath: file)
            let (first, second) = (try APIKeyFile(folder: folder.path), try APIKeyFile(folder: folder.path))
            #expect(first.path == second.path && first.path.hasSuffix("/AuthKey_\(first.key.keyID).p8"))
            #expect(first.clientsFileLines == second.clientsFileLines)
            #expect(first.clientsFileLines.hasPrefix("server_api:\n  issuer_id: \(first.key.issuerID)\n"))
            #expect(first.clientsFileLines.hasSuffix("  private_key_file: \(first.path)\n"))
            #expect(try text(of: first.key.fileName) == first.key.privateKeyPEM)
            let key = try FileManager.default.attributesOfItem(atPath: first.path)
            #expect(key[.posixPermissions] as? Int == 0o440)
        }
    }

    @Test func `the Server API answers about customers that were ordered`() async throws {
        try await withFolder {
            try await CorpusWriter(directory: folder.path).write(Corpus(seed: 3, genuineReceipts: 1))
            let options = ["--pki", folder.path, "--customers", "2", "--customers-app", "com.example.a"]
            let apple = try await AppleCommand.parse(options).start()
            let id = AppleSimulator.transactionID(ofCustomer: 1)
            let target = try LoadTarget("\(apple.productionBaseURL)/inApps/v1/transactions/\(id)")
            let now = UTCDate(secondsSince1970: Int64(Date().timeIntervalSince1970))
            let token = try ForgedAPIKey(corpusDirectory: folder.path).token(bundleID: "com.example.a", issuedAt: now)
            let fields = [HeaderField(name: "Authorization", value: "Bearer \(token)")]
            let reply = try await Exchange(target: target).send(
                RequestForm.request("GET", target, fields, body: nil))
            await apple.stop()
            #expect(String(decoding: reply.body, as: UTF8.self).hasPrefix("{\"signedTransactionInfo\":\"ey"))
        }
    }

    @Test(arguments: [
        ["--customers", "-1"], ["--customers", "10000001"], ["--customers-environment", "xcode"],
    ])
    func `impossible customers are refused`(options: [String]) {
        #expect(throws: (any Error).self) { try AppleCommand.parse(options) }
    }

    @Test(arguments: ["-0.1", "1.1", "nan"])
    func `a time scale is a factor from 0 to 1`(scale: String) {
        #expect(throws: (any Error).self) { try AppleCommand.parse(["--notification-time-scale=" + scale]) }
    }

    @Test(arguments: [["--production-port", "65536"], ["--sandbox-port", "-1"], ["--port", "1"]])
    func `what cannot be listened on is refused`(options: [String]) {
        #expect(throws: (any Error).self) { try AppleCommand.parse(options) }
    }
}

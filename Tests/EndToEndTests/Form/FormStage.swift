// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// A clients file with form accounts, and a gateway that reads it.
struct FormStage {
    /// An account as the tests describe it.
    struct Account {
        var name: String
        var key: String
        /// The lines of its apps in the clients file.
        var apps: [String]
        /// More lines below `form`.
        var more = ""
    }

    static let encryptionKey = String(repeating: "0123456789abcdef", count: 4)

    let folder: ScratchFolder
    let settings: [String: String]

    init(_ accounts: [Account], and more: String = "") async throws {
        folder = try ScratchFolder()
        settings = APIKey.pepper.merging([
            "GATEWAY_CLIENTS_FILE": folder.url.appending(path: "clients.yaml").path
        ]) { $1 }
        try folder.replace("key", with: Self.encryptionKey)
        try await write(accounts, and: more)
    }

    func write(_ accounts: [Account], and more: String = "") async throws {
        var text = "clients:\n" + more
        for account in accounts {
            let hashed = try await Self.run("hash-key --import", input: account.key)
            text += "- name: \(account.name)\n  form:\n    keys:\n\(hashed.output)    apps:\n"
            text += account.apps.map { "    - {\($0)}\n" }.joined() + account.more
        }
        try folder.replace("clients.yaml", with: text)
    }

    /// Returns the lines of an app.
    func app(_ token: String, _ bundleID: String = Sample.bundleID, encrypts: Bool = false) -> String {
        let key = encrypts ? ", encryption_key_file: \(folder.url.appending(path: "key").path)" : ""
        return "token: \(token), bundle_id: \(bundleID)\(key)"
    }

    /// Runs a command of the gateway that reads standard input.
    static func run(_ command: String, input: String, _ settings: [String: String] = [:]) async throws
        -> Program.Outcome
    {
        try await Program.shell.run(
            ["-c", "printf %s \"$INPUT\" | \(Program.gateway.url.path) \(command)"],
            environment: APIKey.pepper.merging(["INPUT": input]) { $1 }.merging(settings) { $1 })
    }
}

/// An answer of the form API.
struct FormReply: Sendable {
    let answer: HTTPAnswer

    init(_ answer: HTTPAnswer) { self.answer = answer }

    var http: Int { answer.status }
    var contentType: String { answer.contentType }
    var headers: [String: String] { answer.headers }
    var body: Data { answer.body }

    /// Empty for an encrypted answer.
    var json: [String: Any] { (try? JSONSerialization.jsonObject(with: body) as? [String: Any]) ?? [:] }

    var status: Int? { json["status"] as? Int }

    /// Decrypts the answer with `openssl enc`, as a client does: the vector, then the ciphertext.
    func decrypted(with key: String = FormStage.encryptionKey) async throws -> [String: Any] {
        let bytes = try #require(Data(base64Encoded: body))
        let vector = bytes.prefix(16).map { String(format: "%02x", $0) }.joined()
        let file = try ScratchFolder()
        try bytes.dropFirst(16).write(to: file.url.appending(path: "ciphertext"))
        let outcome = try await Program.named.run([
            "openssl", "enc", "-d", "-aes-\(key.count * 4)-cbc", "-K", key, "-iv", vector, "-in",
            file.url.appending(path: "ciphertext").path,
        ])
        try #require(outcome.status == 0, "\(outcome.errors)")
        return try #require(try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any])
    }
}

extension RunningGateway {
    /// Sends a form as the sample client of this API does: without percent-encoding.
    func form(_ key: String, _ token: String, _ receipt: String, to path: String = "/api") async throws -> FormReply {
        try await form("apikey=\(key)&token=\(token)&receipt=\(receipt)", to: path)
    }

    func form(_ body: String, to path: String = "/api") async throws -> FormReply {
        try await FormReply(post(Data(body.utf8), to: path, contentType: "application/x-www-form-urlencoded"))
    }
}

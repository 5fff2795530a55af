// SPDX-License-Identifier: Apache-2.0
//
// A client of the form API: POST /api and POST /apiencrypted. Swift 6, nothing but Foundation; CommonCrypto on Apple's
// systems, and the program openssl elsewhere.
//
//   swiftc -parse-as-library FormClient.swift -o form-client
//   ./form-client RECEIPT.b64 BUNDLE_ID PRODUCT_ID
//
// prints whether to unlock the product, and why. RECEIPTS_URL, RECEIPTS_FORM_KEY and RECEIPTS_FORM_TOKEN name the
// gateway, the account's key and the app's token. With RECEIPTS_ENCRYPTION_KEY (16 or 32 bytes in hexadecimal digits) the
// answer is encrypted.

import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif
#if canImport(CommonCrypto)
    import CommonCrypto
#endif

/// The part of an answer that this client reads.
struct FormAnswer: Decodable {
    struct Receipt: Decodable { let bundle_id: String, in_app: [Item], latest_receipt_info: [Item]? }
    struct Item: Decodable { let product_id: String, transaction_id: String }
    let status: Int, description: String, receipt: Receipt?
}

/// No answer now: try again later, and do not lock what is unlocked.
struct NoAnswer: Error { let why: String }

struct FormClient {
    var url = URL(string: "http://127.0.0.1:8080")
    var key = "", token = ""
    /// Empty for answers in clear.
    var encryptionKey: [UInt8] = []

    func verify(_ receipt: String) async throws -> FormAnswer {
        guard let url else { throw NoAnswer(why: "RECEIPTS_URL is no URL") }
        var request = URLRequest(url: url.appendingPathComponent(encryptionKey.isEmpty ? "api" : "apiencrypted"))
        request.httpMethod = "POST"
        request.setValue("application/x-www-form-urlencoded", forHTTPHeaderField: "Content-Type")
        // As clients of this protocol do: base64 stays as it is, so the form is not percent-encoded.
        request.httpBody = Data("apikey=\(key)&token=\(token)&receipt=\(receipt)".utf8)
        let body: Data
        do {
            // The HTTP status does not matter: every body has a status of its own.
            (body, _) = try await URLSession.shared.data(for: request)
        } catch let error as URLError {
            throw NoAnswer(why: "URLError \(error.code.rawValue)")
        }
        // Only a success is encrypted, and base64 does not begin with a brace.
        let text = body.first == UInt8(ascii: "{") ? body : try decrypted(body)
        guard let answer = try? JSONDecoder().decode(FormAnswer.self, from: text) else {
            throw NoAnswer(why: "the answer is unreadable")
        }
        // Nothing is wrong with the receipt: the gateway has no answer now, or cannot verify its kind yet.
        guard ![500, 21005].contains(answer.status) else { throw NoAnswer(why: answer.description) }
        return answer
    }

    /// The text behind base64 of the initialization vector and the ciphertext.
    private func decrypted(_ body: Data) throws -> Data {
        guard let message = Data(base64Encoded: body), message.count >= 32 else {
            throw NoAnswer(why: "the answer is unreadable")
        }
        return try decrypt([UInt8](message.dropFirst(16)), vector: [UInt8](message.prefix(16)))
    }

    #if canImport(CommonCrypto)
        private func decrypt(_ ciphertext: [UInt8], vector: [UInt8]) throws -> Data {
            var text = [UInt8](repeating: 0, count: ciphertext.count), count = 0
            let status = CCCrypt(
                CCOperation(kCCDecrypt), CCAlgorithm(kCCAlgorithmAES), CCOptions(kCCOptionPKCS7Padding), encryptionKey,
                encryptionKey.count, vector, ciphertext, ciphertext.count, &text, text.count, &count)
            guard status == kCCSuccess else { throw NoAnswer(why: "the answer is not encrypted with this key") }
            return Data(text.prefix(count))
        }
    #else
        private func decrypt(_ ciphertext: [UInt8], vector: [UInt8]) throws -> Data {
            let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
            try Data(ciphertext).write(to: file)
            defer { try? FileManager.default.removeItem(at: file) }
            let openssl = Process(), output = Pipe()
            openssl.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            // Other users of this machine see the arguments: good enough to try the protocol out, and for nothing else.
            openssl.arguments = [
                "openssl", "enc", "-d", "-aes-\(encryptionKey.count * 8)-cbc", "-K", Self.hexadecimal(encryptionKey),
                "-iv", Self.hexadecimal(vector), "-in", file.path,
            ]
            openssl.standardOutput = output
            try openssl.run()
            let text = try output.fileHandleForReading.readToEnd() ?? Data()
            openssl.waitUntilExit()
            guard openssl.terminationStatus == 0 else {
                throw NoAnswer(why: "the answer is not encrypted with this key")
            }
            return text
        }

        private static func hexadecimal(_ bytes: [UInt8]) -> String {
            bytes.map { String(format: "%02x", $0) }.joined()
        }
    #endif
}

struct Decision {
    var unlock: Bool, why: String

    /// The decision about a product. Status 0 alone says only that the receipt is genuine.
    init(_ answer: FormAnswer, bundleID: String, productID: String) {
        guard answer.status == 0, let receipt = answer.receipt else {
            self.init(unlock: false, why: "\(answer.status) \(answer.description)")
            return
        }
        guard receipt.bundle_id == bundleID else {
            self.init(unlock: false, why: "the receipt is of another app")
            return
        }
        // Renewals stand in latest_receipt_info; receipts without subscriptions have none.
        let latest = receipt.latest_receipt_info ?? [], items = latest.isEmpty ? receipt.in_app : latest
        let isThere = items.contains { $0.product_id == productID }
        self.init(
            unlock: isThere,
            why: isThere ? "\(productID), \(items.count) transactions" : "the product is not in the receipt")
    }

    private init(unlock: Bool, why: String) { (self.unlock, self.why) = (unlock, why) }
}

@main struct Main {
    static func main() async throws {
        let environment = ProcessInfo.processInfo.environment, words = CommandLine.arguments
        guard words.count == 4 else {
            print("form-client RECEIPT.b64 BUNDLE_ID PRODUCT_ID")
            exit(64)
        }
        var client = FormClient()
        if let url = environment["RECEIPTS_URL"] { client.url = URL(string: url) }
        (client.key, client.token) = (environment["RECEIPTS_FORM_KEY"] ?? "", environment["RECEIPTS_FORM_TOKEN"] ?? "")
        let digits = Array(environment["RECEIPTS_ENCRYPTION_KEY"] ?? "")
        client.encryptionKey = stride(from: 0, to: digits.count - 1, by: 2).compactMap {
            UInt8(String(digits[$0...$0 + 1]), radix: 16)
        }
        let receipt = try String(contentsOfFile: words[1], encoding: .utf8).filter { !$0.isWhitespace }
        do {
            let decision = Decision(try await client.verify(receipt), bundleID: words[2], productID: words[3])
            print(decision.unlock ? "unlock" : "keep locked", "–", decision.why)
            exit(decision.unlock ? 0 : 1)
        } catch let error as NoAnswer {
            print("later –", error.why)
            exit(75)
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
//
// A receiver of the gateway's events (docs/events.md). Swift 6, with Foundation and one of CryptoKit (Apple's systems),
// swift-crypto (in a package) or OpenSSL:
//
//   swiftc -parse-as-library -I Sources/COpenSSL docs/clients/swift/WebhookReceiver.swift -o webhook-receiver
//   WEBHOOK_KEYS=whsec_… ./webhook-receiver EVENTS.jsonl
//
// takes webhooks on WEBHOOK_PORT (8000) of this machine, and stores each event once, as a line of a file. WEBHOOK_KEYS has
// the secret `whsec_…` (HMAC), or the public key `whpk_…` (Ed25519); during a rotation both old and new, separated by a
// space. In a server with Vapor or Hummingbird keep WebhookVerifier and EventFile, and pass them the raw body.

import Foundation

#if canImport(CryptoKit)
    import CryptoKit
#elseif canImport(Crypto)
    import Crypto
#else
    import COpenSSL
#endif

/// A request that is not from the gateway, or is a copy of an old one.
struct Rejection: Error { let status: Int, why: String }

/// The check of signatures by the rules of Standard Webhooks (https://www.standardwebhooks.com).
struct WebhookVerifier {
    /// The age at which a copied request is refused.
    static let toleranceSeconds = 5 * 60.0
    private enum Key { case symmetric(Data), ed25519(Data) }

    private let keys: [Key]

    /// Creates a check with keys in the form of Standard Webhooks; nil if one is in another form.
    init?(keys: [String]) {
        let decoded = keys.compactMap { text -> Key? in
            guard let bytes = Data(base64Encoded: String(text.drop { $0 != "_" }.dropFirst())) else { return nil }
            if text.hasPrefix("whsec_") { return .symmetric(bytes) }
            return text.hasPrefix("whpk_") && bytes.count == 32 ? .ed25519(bytes) : nil
        }
        guard !keys.isEmpty, decoded.count == keys.count else { return nil }
        self.keys = decoded
    }

    /// Throws unless one of the signatures is by one of the keys.
    /// - Parameters:
    ///   - headers: the fields of the request, with names in lower case.
    ///   - body: the bytes as they came.
    /// - Returns: the event's ID.
    func verify(_ headers: [String: String], _ body: Data, now: Date) throws(Rejection) -> String {
        guard let id = headers["webhook-id"], !id.isEmpty, let timestamp = headers["webhook-timestamp"],
            timestamp.count <= 12, timestamp.utf8.allSatisfy({ (48...57).contains($0) }),
            let seconds = Double(timestamp)
        else { throw Rejection(status: 401, why: "webhook-id or webhook-timestamp is missing or malformed") }
        guard abs(now.timeIntervalSince1970 - seconds) <= Self.toleranceSeconds else {
            throw Rejection(status: 401, why: "webhook-timestamp is more than five minutes off")
        }
        let signed = Data("\(id).\(timestamp).".utf8) + body
        let isGenuine = (headers["webhook-signature"] ?? "").split(separator: " ").contains { text in
            let parts = text.split(separator: ",", maxSplits: 1)
            guard parts.count == 2, let signature = Data(base64Encoded: String(parts[1])) else { return false }
            return keys.contains { Self.holds(parts[0], signature, over: signed, $0) }
        }
        guard isGenuine else { throw Rejection(status: 401, why: "no signature is by one of the keys") }
        return id
    }

    private static func holds(_ version: Substring, _ signature: Data, over signed: Data, _ key: Key) -> Bool {
        switch key {
        case .symmetric(let secret): version == "v1" && isHMAC(signature, of: signed, secret)
        case .ed25519(let publicKey): version == "v1a" && isEd25519(signature, of: signed, publicKey)
        }
    }

    #if canImport(CryptoKit) || canImport(Crypto)
        /// Takes the same time wherever the two values differ.
        private static func isHMAC(_ signature: Data, of signed: Data, _ secret: Data) -> Bool {
            HMAC<SHA256>.isValidAuthenticationCode(
                signature, authenticating: signed, using: SymmetricKey(data: secret))
        }

        private static func isEd25519(_ signature: Data, of signed: Data, _ publicKey: Data) -> Bool {
            let key = try? Curve25519.Signing.PublicKey(rawRepresentation: publicKey)
            return key?.isValidSignature(signature, for: signed) ?? false
        }
    #else
        /// Takes the same time wherever the two values differ.
        private static func isHMAC(_ signature: Data, of signed: Data, _ secret: Data) -> Bool {
            let (given, key, text) = ([UInt8](signature), [UInt8](secret), [UInt8](signed))
            var expected = [UInt8](repeating: 0, count: 32), count = 0
            let made = EVP_Q_mac(
                nil, "HMAC", nil, "SHA256", nil, key, key.count, text, text.count, &expected, expected.count, &count)
            return made != nil && given.count == count && CRYPTO_memcmp(given, expected, count) == 0
        }

        private static func isEd25519(_ signature: Data, of signed: Data, _ publicKey: Data) -> Bool {
            let (given, bytes, text) = ([UInt8](signature), [UInt8](publicKey), [UInt8](signed))
            let key = EVP_PKEY_new_raw_public_key_ex(nil, "ED25519", nil, bytes, bytes.count)
            let context = EVP_MD_CTX_new()
            defer {
                EVP_MD_CTX_free(context)
                EVP_PKEY_free(key)
            }
            guard key != nil, EVP_DigestVerifyInit(context, nil, nil, nil, key) == 1 else { return false }
            return EVP_DigestVerify(context, given, given.count, text, text.count) == 1
        }
    #endif
}

/// The events, each once: a line with its ID, written before the answer. The file serves one process; several need a
/// database, with the ID as primary key.
final class EventFile {
    private let file: FileHandle
    private var ids: Set<String> = []

    init(_ path: String) throws {
        if !FileManager.default.fileExists(atPath: path) { try Data().write(to: URL(fileURLWithPath: path)) }
        file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        let text = try file.readToEnd() ?? Data()
        // A crash may cut the last line off: its event got no answer, and the gateway sends it again.
        let length = text.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        try file.truncate(atOffset: UInt64(length))
        for line in text.prefix(length).split(separator: UInt8(ascii: "\n")) {
            ids.insert(try JSONDecoder().decode(Line.self, from: Data(line)).id)
        }
    }

    private struct Line: Decodable { let id: String }

    /// Stores an event.
    /// - Returns: false if it was stored before. Then it has no effect.
    func add(_ id: String, _ event: [String: Any]) throws -> Bool {
        guard !ids.contains(id) else { return false }
        let line = try JSONSerialization.data(withJSONObject: ["id": id, "event": event]) + Data("\n".utf8)
        let length = try file.seekToEnd()
        do {
            try file.write(contentsOf: line)
            try file.synchronize()
        } catch {
            try file.truncate(atOffset: length)
            throw error
        }
        ids.insert(id)
        return true
    }
}

/// The answers to webhooks.
struct Receiver {
    let verifier: WebhookVerifier, events: EventFile

    /// Stores the event of a request, and returns the status of the answer. Work that takes time is for later, from the
    /// file: the gateway waits some seconds only.
    func receive(_ request: Request) -> Int {
        do {
            let id = try verifier.verify(request.headers, request.body, now: Date())
            // Only now is anything of the body read.
            guard let event = try? JSONSerialization.jsonObject(with: request.body) as? [String: Any],
                let type = event["type"] as? String
            else { throw Rejection(status: 400, why: "the body is no event") }
            // After a gap an earlier event of this purchase is missing: verify its transaction ID for the current state.
            let words = event["gap"] as? Bool == true ? "\(type) after a gap" : type
            log(id, try events.add(id, event) ? words : "again: no effect")
            return 204
        } catch let rejection as Rejection {
            log("rejected:", rejection.why)
            return rejection.status
        } catch {
            // The gateway sends it again.
            log("not stored:", "\(error)")
            return 503
        }
    }
}

/// Writes a line at once, also into a file.
func log(_ words: String...) {
    FileHandle.standardOutput.write(Data((words.joined(separator: " ") + "\n").utf8))
}

// MARK: - HTTP

/// A request, of which the example reads the fields and the body.
struct Request { var headers: [String: String], body: Data }

/// A server for one connection at a time, so that the example runs alone. Use your framework's in production.
struct SmallServer {
    private enum Limits {
        static let head = 16 << 10, body = 1 << 20, waitSeconds = 10
    }

    let port: UInt16

    func serve(_ answer: (Request) -> Int) {
        #if canImport(Darwin)
            let stream = SOCK_STREAM
        #else
            let stream = Int32(SOCK_STREAM.rawValue)
        #endif
        // A client that left is no reason to end.
        signal(SIGPIPE, SIG_IGN)
        let listener = socket(AF_INET, stream, 0)
        var yes: Int32 = 1
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let bound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard bound == 0, listen(listener, 64) == 0 else {
            log("port \(port) is not free")
            exit(1)
        }
        log("listening on port \(port)")
        while true { serve(accept(listener, nil, nil), answer) }
    }

    private func serve(_ connection: Int32, _ answer: (Request) -> Int) {
        defer { close(connection) }
        var wait = timeval(tv_sec: Limits.waitSeconds, tv_usec: 0)
        setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &wait, socklen_t(MemoryLayout<timeval>.size))
        let status: Int
        do {
            guard let request = try read(connection) else { return }
            status = answer(request)
        } catch {
            status = error.status
        }
        // Status and reason are all that matters to the gateway.
        let text = "HTTP/1.1 \(status) \(status < 300 ? "Stored" : "Not stored")\r\nConnection: close\r\n"
        let head = [UInt8]((text + (status == 204 ? "\r\n" : "Content-Length: 0\r\n\r\n")).utf8)
        _ = send(connection, head, head.count, 0)
    }

    /// Reads a request; nil if it does not come in time.
    private func read(_ connection: Int32) throws(Rejection) -> Request? {
        var bytes = Data(), end: Range<Data.Index>?
        while end == nil {
            guard bytes.count < Limits.head, let more = more(connection) else { return nil }
            bytes += more
            end = bytes.firstRange(of: Data("\r\n\r\n".utf8))
        }
        guard let end else { return nil }
        let headers = Self.fields(String(decoding: bytes[..<end.lowerBound], as: UTF8.self))
        guard let length = headers["content-length"].flatMap(Int.init), length >= 0 else {
            throw Rejection(status: 411, why: "no length")
        }
        guard length <= Limits.body else { throw Rejection(status: 413, why: "the body is too large") }
        var body = Data(bytes[end.upperBound...])
        while body.count < length {
            guard let more = more(connection) else { return nil }
            body += more
        }
        return Request(headers: headers, body: body.prefix(length))
    }

    private func more(_ connection: Int32) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        let count = recv(connection, &buffer, buffer.count, 0)
        return count > 0 ? Array(buffer.prefix(count)) : nil
    }

    private static func fields(_ head: String) -> [String: String] {
        var fields: [String: String] = [:]
        for line in head.components(separatedBy: "\r\n").dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2 else { continue }
            fields[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
        }
        return fields
    }
}

@main struct Main {
    static func main() throws {
        let environment = ProcessInfo.processInfo.environment, words = CommandLine.arguments
        let keys = (environment["WEBHOOK_KEYS"] ?? "").split(separator: " ").map(String.init)
        guard words.count == 2, let verifier = WebhookVerifier(keys: keys) else {
            log("usage: WEBHOOK_KEYS=whsec_… webhook-receiver EVENTS.jsonl")
            exit(64)
        }
        let receiver = Receiver(verifier: verifier, events: try EventFile(words[1]))
        SmallServer(port: environment["WEBHOOK_PORT"].flatMap(UInt16.init) ?? 8000).serve(receiver.receive)
    }
}

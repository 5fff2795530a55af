// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import Cryptography

struct AESCBCEncryptionTests {
    /// The ciphertexts of the `openssl` program, for texts around the size of a block.
    @Test(arguments: [16, 32], [0, 1, 15, 16, 17, 31, 32, 1000, 70_000])
    func `the ciphertext is the one of openssl(1)`(keyBytes: Int, textBytes: Int) throws {
        let key = (0..<keyBytes).map { UInt8($0 * 7) }
        let vector = (0..<16).map { UInt8(200 - $0) }
        let text = (0..<textBytes).map { UInt8(truncatingIfNeeded: $0 * 31) }
        let encrypted = try #require(AESCBCEncryption(key: key)).encrypt(text.span, vector)
        #expect(Array(encrypted.prefix(16)) == vector)
        #expect(Array(encrypted.dropFirst(16)) == (try openssl(["-e"], key, vector, text)))
    }

    @Test(arguments: [16, 32]) func `openssl(1) decrypts what is encrypted under a random vector`(keyBytes: Int) throws
    {
        let key = [UInt8](repeating: 9, count: keyBytes), text = Array("{\"status\":0}".utf8)
        let encrypted = try #require(AESCBCEncryption(key: key)).encrypt(text.span)
        let (vector, ciphertext) = (Array(encrypted.prefix(16)), Array(encrypted.dropFirst(16)))
        #expect(try openssl(["-d"], key, vector, ciphertext) == text)
    }

    @Test func `a vector is never used twice`() throws {
        let encryption = try #require(AESCBCEncryption(key: [UInt8](repeating: 1, count: 16)))
        let text: [UInt8] = []
        let vectors = (0..<10_000).map { _ in Array(encryption.encrypt(text.span).prefix(16)) }
        #expect(Set(vectors).count == vectors.count)
    }

    @Test(arguments: [0, 15, 17, 24, 31, 33, 64]) func `a key has 16 or 32 bytes`(count: Int) {
        #expect(AESCBCEncryption(key: [UInt8](repeating: 1, count: count)) == nil)
    }

    @Test func `a dump does not show the key`() throws {
        let encryption = try #require(AESCBCEncryption(key: [UInt8](repeating: 42, count: 16)))
        var text = ""
        dump(encryption, to: &text)
        #expect(!(text + "\(encryption)").contains("42"))
    }

    /// Runs `openssl enc`, which pads as PKCS #7 says.
    private func openssl(
        _ direction: [String], _ key: [UInt8], _ vector: [UInt8], _ input: [UInt8]
    ) throws -> [UInt8] {
        func hexadecimal(_ bytes: [UInt8]) -> String {
            bytes.map { String(format: "%02x", $0) }.joined()
        }
        let file = FileManager.default.temporaryDirectory.appending(path: "cbc-\(UUID().uuidString)")
        try Data(input).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let program = Process(), output = Pipe()
        program.executableURL = URL(filePath: "/usr/bin/openssl")
        program.arguments =
            ["enc", "-aes-\(key.count * 8)-cbc", "-K", hexadecimal(key), "-iv", hexadecimal(vector), "-in", file.path]
            + direction
        program.standardOutput = output
        try program.run()
        let bytes = try output.fileHandleForReading.readToEnd() ?? Data()
        program.waitUntilExit()
        try #require(program.terminationStatus == 0)
        return Array(bytes)
    }
}

// SPDX-License-Identifier: Apache-2.0

import Foundation
import ReceiptForge
import Testing

@testable import HTTPServer

/// Keys, and certificates that openssl(1) makes.
extension TemporaryFolder {
    /// Writes the key of the App Store Server API that a simulated Apple accepts, and returns its line of a clients file.
    func serverAPIKey() throws -> String {
        let key = ForgedAPIKey(seed: Forged.pki.seed)
        try write(key.privateKeyPEM, to: key.fileName)
        let file = path(key.fileName)
        return "server_api: {issuer_id: \(key.issuerID), key_id: \(key.keyID), private_key_file: \(file)}"
    }

    /// Makes `NAME.pem` and `NAME.key`, signed by itself or another.
    /// - Parameter key: the arguments of openssl(1) for the kind of key.
    func makeCertificate(
        _ name: String, subjectAlternativeName: String = "DNS:localhost,IP:127.0.0.1", issuer: String? = nil,
        key: [String] = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    ) throws {
        let signer = issuer.map { ["-CA", path("\($0).pem"), "-CAkey", path("\($0).key")] } ?? []
        let made = try openssl(
            [
                "req", "-x509", "-nodes", "-days", "30",
                "-subj", "/CN=\(name)", "-addext", "subjectAltName=\(subjectAlternativeName)",
                "-keyout", path("\(name).key"), "-out", path("\(name).pem"),
            ] + key + signer)
        try #require(made.status == 0, "\(made.output)")
    }

    /// Copies a certificate and a key to the places of `files("served")`.
    func serve(_ certificate: String, keyOf key: String) throws {
        for (file, name) in [("\(certificate).pem", "served.pem"), ("\(key).key", "served.key")] {
            try write(String(contentsOfFile: path(file), encoding: .utf8), to: name)
        }
    }

    func files(_ name: String) -> TLSFiles {
        var files = TLSFiles()
        (files.certificate, files.key) = (path("\(name).pem"), path("\(name).key"))
        return files
    }

    /// Runs openssl(1) with a text as its input, and returns both outputs together.
    func openssl(_ arguments: String..., input: String = "") throws -> (status: Int32, output: String) {
        try openssl(arguments, input: input)
    }

    func openssl(_ arguments: [String], input: String = "") throws -> (status: Int32, output: String) {
        let sent = url("input-\(UUID().uuidString)")
        try Data(input.utf8).write(to: sent)
        let program = Process(), output = Pipe()
        program.executableURL = URL(filePath: "/usr/bin/openssl")
        program.arguments = arguments
        program.standardInput = try FileHandle(forReadingFrom: sent)
        (program.standardOutput, program.standardError) = (output, output)
        try program.run()
        let bytes = try output.fileHandleForReading.readToEnd() ?? Data()
        program.waitUntilExit()
        return (program.terminationStatus, String(decoding: bytes, as: UTF8.self))
    }
}

// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Clients
internal import Cryptography
internal import Settings

/// `receipt-gateway seal-key`
struct SealKeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "seal-key",
        abstract: "Encrypt an app's encryption key for the clients file.",
        discussion: """
            Reads the key for answers of `POST /apiencrypted` from standard input, and prints what to paste under \
            the app in the clients file. Only a gateway with the same pepper can open it. To make a key:

              openssl rand -base64 32 | receipt-gateway seal-key

            The key's form is the one of `gateway.form.encryption_keys`. A key may also stay in a file of its own: \
            set `encryption_key_file`.

            Exit status: 0 with a sealed key, 64 if standard input has no key of that form, 78 if there is no pepper \
            or OpenSSL offers no AES.
            """)

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        let (pepper, form) = try options.orExit { () throws(ConfigurationProblems) in
            try checkOpenSSL()
            try ClientsFileSeal.checkOpenSSL()
            return try options.source.keySettings()
        }
        let key = try StandardInput.secret(maximumBytes: 256)
        guard form.encryption(key.exposed) != nil else { throw ValidationError("The key must be \(form.accepted).") }
        print("          encryption_key: \(ClientsFileSeal(pepper: pepper).seal(key))")
    }
}

enum StandardInput {
    /// Reads the first line as a secret. Arguments would be visible to other users of the machine.
    static func secret(maximumBytes: Int) throws -> Secret {
        if let line = readLine(), (1...maximumBytes).contains(line.utf8.count), !line.contains(" ") {
            return Secret(line)
        }
        throw ValidationError(
            "Standard input must have a key of 1 to \(maximumBytes) bytes, without spaces, in its first line.")
    }
}

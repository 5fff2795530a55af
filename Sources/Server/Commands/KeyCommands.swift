// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Clients
internal import Cryptography
internal import JSON
internal import Settings
internal import Telemetry

struct HashKeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hash-key",
        abstract: "Make an API key for a client, or hash a form key that exists.",
        discussion: """
            Prints a new key once, on standard error, for the client; and on standard output what to paste under \
            `keys:` in the clients file. The file holds HMAC-SHA256(pepper, secret) only: it is of no use without \
            the pepper, and the key cannot be recovered from it.

            The pepper is read from GATEWAY_API_KEY_PEPPER, GATEWAY_API_KEY_PEPPER_FILE or the configuration file, \
            and must be the one the gateway runs with. To make one:

              export GATEWAY_API_KEY_PEPPER="$(openssl rand -base64 32)"

            The client sends the key as `Authorization: Bearer KEY` or `X-API-Key: KEY`.

            With `--import`, the command reads a key of `POST /api` that clients already use from standard input, and \
            prints what to paste under `form:` and `keys:`:

              receipt-gateway hash-key --import < key.txt

            Exit status: 0 with a key, 64 if standard input has no key, 78 if there is no pepper or it is too short.
            """)

    @Flag(name: .customLong("import"), help: "Hash a form key from standard input.")
    var isImporting = false

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        let pepper = try orExit { () throws(ConfigurationProblems) in
            try checkOpenSSL()
            return try options.source.keySettings().pepper
        }
        guard !isImporting else {
            let key = try StandardInput.secret(maximumBytes: FormAuthenticator.maximumBytes)
            let hash = FormKeyHasher(pepper: pepper).hash(ofKey: Array(key.exposed.utf8).span)
            return print("        - hash: hmac-sha256:\(ASCII.hexadecimal(hash))")
        }
        let key = APIKey.random()
        StandardError.write("The key, shown only now:\n\n  \(key.exposed)\n\n")
        print(key.clientsFileSnippet(hasher: KeyHasher(pepper: pepper)))
    }
}

extension APIKey {
    func clientsFileSnippet(hasher: KeyHasher) -> String {
        """
              - id: \(id)
                hash: hmac-sha256:\(ASCII.hexadecimal(hasher.hash(secret)))
        """
    }
}

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
        let (pepper, form) = try orExit { () throws(ConfigurationProblems) in
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

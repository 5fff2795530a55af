// SPDX-License-Identifier: Apache-2.0

internal import API
internal import ArgumentParser
internal import Clients
internal import Telemetry
#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

struct InitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Write a configuration with a first client and its API key.",
        usage: """
            receipt-gateway init --app <bundle-id> ... [--client <name>]
              [--folder <folder>]
            """,
        discussion: """
            Writes gateway.yaml, the settings with comments; clients.yaml, a client that may use these apps; and pepper, \
            the secret behind the hashes of API keys, for its owner only. Prints the client's key once, on standard \
            error, and the next command on standard output:

              receipt-gateway init --app com.example.shop
              receipt-gateway init --app com.example.shop --folder /etc/receipt-gateway

            A file that exists is never replaced. `receipt-gateway hash-key` makes further keys.

            Exit status: 0 with all three files, 1 if a file exists or cannot be written, 64 if the command line is wrong; \
            then no file is left behind.
            """)

    @Option(help: ArgumentHelp("An app of the client; repeatable.", valueName: "bundle-id"))
    var app: [String] = []

    @Option(help: ArgumentHelp("The name of the client in logs.", valueName: "name"))
    var client = "backend"

    @Option(
        help: ArgumentHelp("The folder of the files, made if there is none.", valueName: "folder"),
        completion: .directory)
    var folder = "."

    func validate() throws {
        guard !app.isEmpty else { throw ValidationError("Name the app with --app, such as --app com.example.shop.") }
        if let wrong = app.first(where: { !$0.isBundleID }) {
            throw ValidationError("\(wrong.printable()) is not a bundle ID.")
        }
        guard !folder.isEmpty, folder == folder.printable(maximum: .max) else {
            throw ValidationError("--folder must be a path without control characters.")
        }
    }

    func run() async throws {
        try orExit { () throws(ConfigurationProblems) in try checkOpenSSL() }
        let first = FirstConfiguration(folder: absoluteFolder, client: client, apps: app, key: .random())
        do throws(ConfigurationProblems) {
            try first.check()
        } catch {
            throw ValidationError(error.description)
        }
        if let fault = first.write() {
            StandardError.write("\(fault). Nothing was written.\n")
            throw ExitCode.failure
        }
        StandardError.write(
            """
            The key of \(client), shown only now:

              \(first.key.exposed)

            Wrote \(first.files.map(\.name).listed) in \(first.folder). Next:

            """)
        print("receipt-gateway serve --config \(first.path("gateway.yaml").quotedForShell)")
    }

    /// The files refer to each other by whole paths, so that the gateway may be started anywhere.
    private var absoluteFolder: String {
        let name = folder.count > 1 && folder.hasSuffix("/") ? String(folder.dropLast()) : folder
        if name.hasPrefix("/") { return name }
        let current = FileManager.default.currentDirectoryPath
        return name == "." ? current : "\(current)/\(name)"
    }
}

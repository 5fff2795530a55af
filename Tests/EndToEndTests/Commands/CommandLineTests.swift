// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TestSupport

/// The help of the programs, and their shell completion.
@Suite(.timeLimit(.patient)) struct CommandLineTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    @Test func `docs/commands.md is the --help of both programs; make commands writes it`() async throws {
        let script = Self.root.appending(path: ".ci/commands").path
        let made = try await Program.named.run([script, Program.gateway.url.deletingLastPathComponent().path])
        let kept = try String(contentsOf: Self.root.appending(path: "docs/commands.md"), encoding: .utf8)
        #expect(made.status == 0 && made.errors.isEmpty, "\(made.errors)")
        #expect(made.output == kept, "the help has changed: run `make commands`")
    }

    @Test func `the help fits into a terminal, and explains each exit status`() async throws {
        let subcommands = try await Self.subcommands(of: [])
        #expect(
            subcommands == [
                ["serve"], ["check-config"], ["doctor"], ["health"], ["notifications"], ["events"],
                ["webhook"], ["verifications"], ["hash-key"], ["seal-key"],
            ])
        let inner = try await Self.subcommands(of: ["notifications"])
        #expect(inner == [["notifications", "backfill"], ["notifications", "test"]])
        let ofEvents = try await Self.subcommands(of: ["events"])
        #expect(ofEvents == ["list", "show", "endpoints", "replay", "redeliver"].map { ["events", $0] })
        let ofWebhooks = try await Self.subcommands(of: ["webhook"])
        #expect(ofWebhooks == [["webhook", "test"]])
        let ofVerifications = try await Self.subcommands(of: ["verifications"])
        #expect(ofVerifications == ["list", "show"].map { ["verifications", $0] })
        for subcommand in subcommands + inner + ofEvents + ofWebhooks + ofVerifications {
            let text = try await Program.gateway.run(subcommand + ["--help"]).output
            #expect(text.contains("Exit status: 0"), "\(text)")
            #expect(text.split(separator: "\n").allSatisfy { $0.count <= 80 }, "\(text)")
        }
    }

    private static func subcommands(of command: [String]) async throws -> [[String]] {
        let help = try await Program.gateway.run(command + ["--help"]).output
        return help.matches(of: /(?m)^  ([a-z][a-z-]*)(?: \(default\))? {2,}\S/).map { command + [String($0.output.1)] }
    }

    @Test(arguments: [
        (["receipt-gateway", "do"], "doctor"), (["receipt-gateway", "health", "--re"], "--ready"),
        (["receipt-gateway", "doctor", "--format", "j"], "json"),
        (["receipt-gateway", "serve", "--conf"], "--config"), (["receipt-loadtest", "scen"], "scenario"),
    ])
    func `bash completes commands, options and values`(_ words: [String], completion: String) async throws {
        let program = words[0] == "receipt-gateway" ? Program.gateway : Program.loadTest
        // As bash calls it: the words so far, which of them the cursor is on, and what `complete` named.
        let script = """
            source <("$1" --generate-completion-script bash); shift
            COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
            $(complete -p "$1" | sed -E 's/.*-F ([^ ]+).*/\\1/') "$1" "${COMP_WORDS[$COMP_CWORD]}" "${COMP_WORDS[$COMP_CWORD-1]}"
            printf '%s\\n' "${COMPREPLY[@]}"
            """
        let outcome = try await Program.named.run(["bash", "-c", script, "bash", program.url.path] + words)
        let replies = outcome.output.split(separator: "\n").map { $0.filter { $0 != " " } }
        #expect(replies == [completion], "\(outcome)")
    }
}

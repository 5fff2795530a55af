// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TestSupport

/// The help of the programs, and their shell completion.
@Suite(.timeLimit(.patient)) struct CommandLineTests {
    @Test func `docs/commands.md is the --help of both programs; make commands writes it`() async throws {
        let script = repositoryRoot.appending(path: ".ci/commands").path
        let made = try await Program.named.run([script, Program.gateway.url.deletingLastPathComponent().path])
        let kept = try String(contentsOf: repositoryRoot.appending(path: "docs/commands.md"), encoding: .utf8)
        #expect(made.status == 0 && made.errors.isEmpty, "\(made.errors)")
        #expect(made.output == kept, "the help has changed: run `make commands`")
    }

    @Test func `the help fits into a terminal, and explains each exit status`() async throws {
        let subcommands = try await Self.subcommands(of: [])
        #expect(
            subcommands == [
                ["serve"], ["init"], ["check-config"], ["doctor"], ["health"], ["verify"], ["notifications"],
                ["events"],
                ["webhook"], ["verifications"], ["comparison"], ["hash-key"], ["seal-key"],
            ])
        let inner = try await Self.subcommands(of: ["notifications"])
        #expect(inner == ["backfill", "test", "dead"].map { ["notifications", $0] })
        let ofEvents = try await Self.subcommands(of: ["events"])
        #expect(ofEvents == ["list", "show", "endpoints", "replay", "redeliver"].map { ["events", $0] })
        let ofWebhooks = try await Self.subcommands(of: ["webhook"])
        #expect(ofWebhooks == ["list", "test"].map { ["webhook", $0] })
        let ofVerifications = try await Self.subcommands(of: ["verifications"])
        #expect(ofVerifications == ["list", "show"].map { ["verifications", $0] })
        let ofComparisons = try await Self.subcommands(of: ["comparison"])
        #expect(ofComparisons == [["comparison", "report"]])
        for subcommand in subcommands + inner + ofEvents + ofWebhooks + ofVerifications + ofComparisons {
            let text = try await Program.gateway.run(subcommand + ["--help"]).output
            #expect(text.contains("Exit status: 0"), "\(text)")
            #expect(text.split(separator: "\n").allSatisfy { $0.count <= 80 }, "\(text)")
        }
    }

    /// False under the thread sanitizer, which needs /proc, and in a container that forbids namespaces.
    private static let canHideProc: Bool = {
        guard ProcessInfo.processInfo.environment["TSAN_OPTIONS"] == nil else { return false }
        let probe = Process()
        (probe.executableURL, probe.arguments) = (URL(filePath: "/usr/bin/env"), namespace + ["true"])
        guard (try? probe.run()) != nil else { return false }
        probe.waitUntilExit()
        return probe.terminationStatus == 0
    }()

    private static let namespace = ["unshare", "--user", "--map-root-user", "--mount"]

    @Test(.enabled(if: canHideProc, "this machine runs no program without /proc"))
    func `without /proc no command becomes serve`() async throws {
        let script = #"mount -t tmpfs none /proc && exec timeout 10 "$0" check-config"#
        let outcome = try await Program.named.run(
            Self.namespace + ["sh", "-c", script, Program.gateway.url.path])
        #expect(outcome.status == 1 && outcome.output.isEmpty, "\(outcome)")
        #expect(outcome.errors == "receipt-gateway: the arguments cannot be read; mount /proc\n")
    }

    @Test func `every command has a manual page with its options and exit status`() async throws {
        let folder = try ScratchFolder(), script = repositoryRoot.appending(path: ".ci/man").path
        let programs = Program.gateway.url.deletingLastPathComponent().path
        let made = try await Program.named.run([script, programs, folder.url.path])
        #expect(made.status == 0 && made.output.isEmpty && made.errors.isEmpty, "\(made)")
        let man = folder.url.appending(path: "man1")
        let pages = try FileManager.default.contentsOfDirectory(atPath: man.path)
        let kept = try String(contentsOf: repositoryRoot.appending(path: "docs/commands.md"), encoding: .utf8)
        let commands = kept.matches(of: /(?m)^##+ (receipt-[a-z -]+)$/).map { $0.output.1.replacing(" ", with: "-") }
        #expect(pages.sorted() == commands.map { "\($0).1" }.sorted())
        for page in pages {
            let text = try String(contentsOf: man.appending(path: page), encoding: .utf8)
            let requests = Set(text.matches(of: /(?m)^[.'](\S+)/).map { String($0.output.1) })
            #expect(
                requests.isSubset(of: ["\\\"", "TH", "SH", "PP", "TP", "B", "BR", "EX", "EE", "RS", "RE"]), "\(page)")
            #expect(text.utf8.allSatisfy { $0 < 0x80 }, "\(page)")
        }
        let verify = try String(contentsOf: man.appending(path: "receipt-gateway-verify.1"), encoding: .utf8)
        #expect(verify.contains(".SH NAME\nreceipt\\-gateway\\-verify \\- Verify "))
        #expect(verify.contains(#"\-\-root <file>"#) && verify.contains(".SH EXIT STATUS\n0 if "))
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

// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Foundation

/// `receipt-loadtest memory-probe`: the process that `verify --memory` starts to measure in.
struct MemoryProbeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "memory-probe", abstract: "Measure the receipt in a folder; verify --memory calls this.",
        shouldDisplay: false)

    @Argument(help: "Folder with root.pem, small.b64 and receipt.b64.")
    var folder: String

    @Option(help: "How to print the result.")
    var format = OutputFormat.text

    func run() throws {
        let sample = MemorySample(folder: folder)
        let report = try MemoryProbe(sample: sample).measure()
        print(try format == .json ? JSONText.of(report) : report.text)
    }
}

extension MemoryProbeCommand {
    /// Measures in a process of its own, which prints the result.
    static func runInNewProcess(on sample: MemorySample, format: OutputFormat) throws {
        let process = Process()
        process.executableURL = URL(filePath: "/proc/self/exe")
        process.arguments = ["memory-probe", sample.folder, "--format", format.rawValue]
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw MemoryError.failed(status: process.terminationStatus) }
    }
}

// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser

/// `receipt-loadtest report`
struct ReportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Make one HTML page of a result, which needs no network and no script.",
        discussion: """
            Examples:

              receipt-loadtest report result.json
              receipt-loadtest report result.json -o - > report.html

            The result may be somebody else's: it is checked, and nothing in it becomes part of the page but its numbers \
            and texts.
            """)

    @Argument(help: ArgumentHelp("The JSON that http wrote.", valueName: "result.json"))
    var result: String

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "Where to write the page; - is standard output (default: beside the result).", valueName: "path"))
    var output: String?

    func run() throws {
        let page = try RunPage(RunResultFile.read(result)).html()
        try PageFile(output ?? PageFile.beside(result)).write(page)
    }
}

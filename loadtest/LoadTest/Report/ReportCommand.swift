// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser

struct ReportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Make an HTML page of a result, which needs no network and no script.",
        discussion: """
            Examples:

              receipt-loadtest report result.json
              receipt-loadtest report result.json -o - > report.html

            The result may come from a third party: it is checked, and only its numbers and texts appear on the page.
            """)

    @Argument(help: .value("result.json", "The JSON that http wrote."))
    var result: String

    @Option(
        name: .shortAndLong,
        help: .value("path", "The file of the page; - is standard output (default: beside the result)."))
    var output: String?

    func run() throws {
        let page = try RunPage(RunResultFile.read(result)).html()
        try PageFile.write(page, to: output ?? PageFile.beside(result))
    }
}

enum PageFile {
    /// Returns `result.html` for `result.json`.
    static func beside(_ result: String) -> String {
        (result.hasSuffix(".json") ? result.dropLast(5) : result[...]) + ".html"
    }

    /// Writes the whole page or nothing.
    static func write(_ page: String, to path: String) throws(FileError) {
        if path == "-" { return StandardOutput.write(page) }
        try FileError.write(page, to: path)
        ProgressStream.write("The page is in \(path).\n")
    }
}

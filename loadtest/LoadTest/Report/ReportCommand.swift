// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser

struct ReportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Make an offline HTML page of a result.",
        discussion: """
            Examples:

              receipt-loadtest report result.json
              receipt-loadtest report result.json -o - > report.html
              receipt-loadtest report .bench/latest.json -o bench.html

            The page is one file with the result inside, and loads nothing. Viewers that run no scripts show the figures \
            without plots. The result may come from a third party: its texts are shown, and never run.
            """)

    @Argument(help: .value("result.json", "The JSON of http, scenario, bench, webhooks or deferred."))
    var result: String

    @Option(
        name: .shortAndLong,
        help: .value("path", "The file of the page; - is standard output (default: beside the result)."))
    var output: String?

    func run() throws {
        // Once: it may be a pipe.
        let text = try RunResultFile.bytes(of: result)
        let figures: FigureReport? = try? JSONOutput.read(text)
        let page = try figures?.page ?? RunResultFile.read(text, from: result).page
        try page.write(to: output ?? (result.hasSuffix(".json") ? result.dropLast(5) : result[...]) + ".html")
    }
}

extension ReportPage {
    /// Writes the whole page or nothing; `-` is standard output.
    func write(to path: String) throws {
        if path == "-" { return StandardOutput.write(try html()) }
        try FileError.write(try html(), to: path)
        ProgressStream.write("The page is in \(path).\n")
    }
}

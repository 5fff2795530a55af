// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Clients
internal import Settings

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check the gateway's environment, and say how to fix each problem.",
        discussion: """
            Checks the configuration, expiring keys, Redis, the connection to Apple, certificates, system limits and \
            ports, with the same code as `serve`. Prints one line for each: ok, warning or failed. Takes as long as \
            the slowest check, and \(Doctor.Limits.time.components.seconds) seconds at most. A gateway may run meanwhile.

            Redis receives every command that the gateway sends, on keys of its own, which expire or are \
            deleted within a second. Apple receives an empty receipt without a secret: only a customer's receipt can \
            show whether a shared secret is right. \
            The keys of the App Store Server API are tried with signed calls about a transaction that does not exist.

            Run it with the same limits, network and files as the gateway:

              receipt-gateway doctor --config /etc/receipt-gateway/gateway.yaml
              docker compose exec gateway-1 receipt-gateway doctor
              kubectl exec deploy/receipt-gateway -- receipt-gateway doctor

            Environment: the settings, as for `serve`; NO_COLOR for no colours on a terminal.

            Exit status: 0 if nothing failed, warnings or not; 1 if something did; 78 if the configuration is wrong, \
            and nothing else was checked.
            """)

    @OptionGroup var options: ConfigurationOptions

    @Option(help: "The output format: text, or one JSON object.")
    var format = OutputFormat.text

    func run() async throws {
        let report = await report()
        switch format {
        case .text: print(report.text(hasColours: hasColours), terminator: "")
        case .json: print(report.json, terminator: "")
        }
        if report.isMisconfigured { throw ExitCode.misconfigured }
        if report.level == .failed { throw ExitCode.failure }
    }

    /// True for a terminal without `NO_COLOR` (<https://no-color.org>).
    private var hasColours: Bool {
        CLibrary.isStandardOutputTerminal && options.environment["NO_COLOR", default: ""].isEmpty
    }

    private func report() async -> DoctorReport {
        do throws(ConfigurationProblems) {
            let configuration = try options.source.load()
            try configuration.tryOut()
            let doctor = Doctor(configuration: configuration, environment: options.environment)
            return DoctorReport(observations: await doctor.check())
        } catch {
            return DoctorReport(observations: error.observations)
        }
    }
}

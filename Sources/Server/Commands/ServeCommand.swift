// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Clients
internal import CoreMetrics
internal import HTTPServer
internal import Logging
internal import NIOCore
internal import ServiceLifecycle
internal import Settings
internal import Telemetry

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run the gateway.",
        discussion: """
            Listens on 127.0.0.1:8080 for clients (POST /v1/verify, and POST /verifyReceipt in Apple's form) and on \
            127.0.0.1:9090 for /livez, /readyz and /metrics, unless configured otherwise; http://127.0.0.1:9090/ \
            is the status page. Logs go to standard error, one JSON object per line.

              receipt-gateway serve --config /etc/receipt-gateway/gateway.yaml
              GATEWAY_HTTP_PORT=8081 GATEWAY_ADMIN_PORT=9091 receipt-gateway serve

            The gateway sends genuine receipts to Apple: GATEWAY_APPLE_SHARED_SECRET is your account's shared secret. \
            Keys of the App Store Server API are named in the clients file. GATEWAY_APPLE_ENABLED=false sends Apple \
            nothing.

            SIGTERM makes /readyz fail, serves on for gateway.shutdown.drain_delay, then finishes requests in flight \
            within gateway.shutdown.grace. SIGINT does the same without the delay. SIGHUP rereads the clients file, \
            the pepper, the shared secrets, all keys and certificates, and gateway.apple.receipt_upstream, as a change \
            of one of their files does; other changes need a restart.

            Exit status: 0 after a shutdown, 78 if the configuration is wrong, 1 for other failures such as a port \
            that is in use.
            """)

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        CrashReport.leaveOutMemory()
        defer { StandardError.log.flush() }
        CLibrary.mapLargeBlocks()
        let files = FileReadings()
        let configuration = try options.load(through: files)
        NIOSingletons.groupLoopCountSuggestion = ProcessStatistics.usableCores
        let settings = LogSettings(configuration.log.values)
        let logger = Logger(label: "receipt-gateway") { label in
            JSONLogHandler(
                label: label, settings: settings, metadataProvider: .currentRequest, write: StandardError.log.append)
        }
        let requestLines = LogBatcher(handOn: StandardError.log.append)
        // Before the log itself is flushed.
        defer { requestLines.flush() }
        var dependencies = Dependencies(
            logger: logger, logSettings: settings, requestLines: requestLines,
            droppedLogLines: { StandardError.log.droppedLines }, shutdownRequests: await .signals())
        dependencies.reloading = Reloading(source: options.source, files: files, triggers: await .ofProcess())
        let server = try orExit { [dependencies] () throws(ConfigurationProblems) in
            try buildGatewayServer(configuration, in: dependencies)
        }
        MetricsSystem.bootstrap(server.metrics)
        logger.notice("Starting", metadata: ["version": "\(Version.withCommit)"])
        do {
            try await server.services.run()
        } catch let error as IOError where error.errnoCode == CLibrary.addressInUse {
            StandardError.write(
                """
                Another process listens on port \(configuration.http.listener.port) (data plane; GATEWAY_HTTP_PORT) or \
                \(configuration.admin.port) (admin plane; GATEWAY_ADMIN_PORT) already. Stop it, or set another port.

                """)
            throw ExitCode.failure
        }
    }
}

/// The report that Swift's runtime writes to standard error at a crash.
enum CrashReport {
    private static let variable = "SWIFT_BACKTRACE"

    /// Leaves memory out of the report: by default it has the bytes that registers point to, which may be evidence or a
    /// key. The runtime reads its options before the program begins, so the process starts anew, once. Options of the
    /// operator that say something about registers stay.
    static func leaveOutMemory() {
        let options = CLibrary.environment(variable) ?? ""
        guard !options.contains("registers=") else { return }
        let all = options.isEmpty ? "registers=none" : "\(options),registers=none"
        CLibrary.startAnew(setting: variable, to: all)
    }
}

extension ProcessStatistics {
    /// The cores of this machine that this process may use. Each has an event loop; more would only compete.
    static var usableCores: Int { min(System.coreCount, allowedCores ?? .max) }
}

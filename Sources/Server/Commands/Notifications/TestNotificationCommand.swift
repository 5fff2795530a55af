// SPDX-License-Identifier: Apache-2.0

internal import AppStore
internal import ArgumentParser
internal import Clients
internal import Customers
internal import Gateway
internal import Receipts
internal import Telemetry

struct TestNotificationCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "test",
        abstract: "Request a test notification from Apple, and wait until it arrives.",
        usage: """
            receipt-gateway notifications test --app <bundle-id>
              [--environment <environment>] [--timeout <seconds>] [--config <file>]
            """,
        discussion: """
            Requests a notification of the type TEST from Apple (Request a Test Notification), which Apple sends to \
            the URL in App Store Connect, and waits until a gateway of this fleet has verified and stored it. If it \
            does not arrive, the command shows Apple's attempts to deliver it, and advice:

              receipt-gateway notifications test --app com.example.app
              receipt-gateway notifications test --app com.example.app \\
                --environment sandbox --timeout 120

            The command looks for the notification in Redis. It needs the same Redis and the same \
            GATEWAY_CACHE_KEYS as the gateways, and a key of the App Store Server API for the app.

            Exit status: 0 if the notification has arrived, 1 if it has not, or Apple did not send one, 64 if the \
            command line is wrong, 78 if the configuration is wrong or has no Redis or no key.
            """)

    @Option(help: ArgumentHelp("The app.", valueName: "bundle-id"))
    var app: String

    @Option(help: "The environment whose notification URL is tested.")
    var environment = UpstreamEnvironment.production

    @Option(help: ArgumentHelp("The seconds to wait for the notification, 1 to 600.", valueName: "seconds"))
    var timeout = 60

    @OptionGroup var options: ConfigurationOptions

    func validate() throws {
        guard (1...600).contains(timeout) else { throw ValidationError("--timeout must be 1 to 600 seconds.") }
    }

    func run() async throws {
        let configuration = try options.load()
        let connections = try orExit { () throws(ConfigurationProblems) in
            try NotificationConnections(configuration, requiring: app)
        }
        let delivery = TestDelivery(
            history: connections.history, queue: connections.store, timeout: .seconds(timeout))
        let result = try await connections.use {
            await delivery.run(app, Environment(environment)) { StandardError.write($0 + "\n") }
        }
        print(result.text)
        if !result.isSuccess { throw ExitCode.failure }
    }
}

/// The delivery of a test notification, from the request to Apple to the store of the fleet.
struct TestDelivery: Sendable {
    enum Limits {
        /// The time between two looks into the store.
        static let pause: Duration = .milliseconds(200)
    }

    enum Result: Hashable, Sendable {
        case arrived(after: Duration)
        case notSent(TestNotificationFault)
        /// Apple's attempts to deliver it.
        case missing([SendAttempt])
        /// It did not arrive, and Apple does not say why.
        case unexplained(TestNotificationFault)
        case storeUnreachable

        var isSuccess: Bool { if case .arrived = self { true } else { false } }

        var text: String {
            switch self {
            case .arrived(let span):
                "The test notification has arrived, \(span.components.seconds) s after the request."
            case .notSent(let fault): "Apple sent no test notification. \(fault.advice)"
            case .unexplained(let fault):
                "The test notification has not arrived, and Apple's attempts are unknown. \(fault.advice)"
            case .missing(let attempts): Self.text(attempts)
            case .storeUnreachable:
                "Redis does not answer, so it is unknown if the notification has arrived. Run `receipt-gateway doctor`."
            }
        }

        private static func text(_ attempts: [SendAttempt]) -> String {
            guard let last = attempts.last else {
                return """
                    The test notification has not arrived, and Apple has not tried to deliver it yet. Wait, and repeat the \
                    command; delivery takes up to some minutes.
                    """
            }
            let lines = attempts.map { "  \($0.date)  \($0.result.printable())" }.joined(separator: "\n")
            return "The test notification has not arrived. Apple's attempts:\n\(lines)\n\(last.advice)"
        }
    }

    let history: ServerAPINotificationHistory
    let queue: any NotificationQueue
    let timeout: Duration

    func run(_ bundleID: String, _ environment: Environment, report: (String) -> Void) async -> Result {
        let start = ContinuousClock.now
        let test: TestNotification
        do throws(TestNotificationFault) {
            test = try await history.requestTest(bundleID, environment)
        } catch {
            return .notSent(error)
        }
        report("Apple accepted the request. Waiting up to \(timeout.components.seconds) s for the notification …")
        do throws(StoreUnreachable) {
            guard try await hasArrived(test, before: start + timeout) else { return await missing(test) }
            return .arrived(after: start.duration(to: .now))
        } catch {
            return .storeUnreachable
        }
    }

    private func hasArrived(
        _ test: TestNotification, before deadline: ContinuousClock.Instant
    ) async throws(StoreUnreachable) -> Bool {
        let partition = AppPartition(bundleID: test.bundleID, of: test.identity)
        while try await !queue.hasSeen(test.identity, in: partition) {
            guard ContinuousClock.now < deadline, (try? await Task.sleep(for: Limits.pause)) != nil else {
                return false
            }
        }
        return true
    }

    private func missing(_ test: TestNotification) async -> Result {
        do throws(TestNotificationFault) {
            return .missing(try await history.attempts(of: test))
        } catch {
            return error == .notFound ? .missing([]) : .unexplained(error)
        }
    }
}

extension TestNotificationFault {
    fileprivate var advice: String {
        switch self {
        case .noURL:
            """
            App Store Connect has no URL for this environment: set it under App Information, App Store Server \
            Notifications, with version 2.
            """
        case .notFound: "Apple does not know the test notification."
        case .unanswered(.serverAPIKeyRejected):
            """
            Apple does not know the app in this environment, or rejects its key (401). Until an app is released, \
            only --environment sandbox works. `receipt-gateway doctor` checks the key.
            """
        case .unanswered(let reason):
            "Apple did not answer (\(reason.rawValue)). `receipt-gateway doctor` checks the connection."
        }
    }
}

extension SendAttempt {
    /// The remedy of a failed attempt, or of an attempt that reached another server.
    fileprivate var advice: String {
        switch result {
        case "SUCCESS":
            """
            A server acknowledged it, but no gateway of this fleet has stored it: check that the URL in App Store \
            Connect leads to these gateways, and that this command uses their Redis and their GATEWAY_CACHE_KEYS.
            """
        case "UNSUCCESSFUL_HTTP_RESPONSE_CODE":
            """
            The server at the URL answered with an error. Check the path, /apple/notifications with the configured \
            token, and the gateways' log and metrics for the reason.
            """
        case "TLS_ISSUE":
            "Apple rejects the certificate: it must be issued by a public authority, complete and not expired."
        case "TIMED_OUT", "NO_RESPONSE":
            """
            No answer in time. Check that the URL is reachable from the Internet, and that firewalls admit Apple \
            (17.0.0.0/8) on the URL's port.
            """
        case "SOCKET_ISSUE", "PREMATURE_CLOSE":
            "The connection ended early. Check the load balancer in front of the gateways."
        case "CIRCULAR_REDIRECT": "The URL redirects. Set the final URL in App Store Connect."
        default: "Check the load balancer in front of the gateways: its answer was not the gateway's."
        }
    }
}

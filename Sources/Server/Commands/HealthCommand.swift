// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Clients
internal import HTTPClient
internal import HTTPServer
internal import Settings

struct HealthCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "health",
        abstract: "Check whether the gateway on this machine is alive, or ready.",
        discussion: """
            Requests /livez on the admin plane, with --ready /readyz, and prints the result in one line. For container \
            health checks, and for scripts that wait for a gateway:

              receipt-gateway health
              until receipt-gateway health --ready; do sleep 1; done

            Of the configuration it reads only the address of the admin plane: GATEWAY_ADMIN_HOST, GATEWAY_ADMIN_PORT, \
            or the file. No secret needs to be readable.

            Exit status: 0 if it is, 1 if it is not or does not answer within two seconds, 78 if these settings are \
            wrong.
            """)

    @OptionGroup var options: ConfigurationOptions

    @Flag(help: "Check whether it accepts requests, not only whether it runs.")
    var ready = false

    func run() async throws {
        let admin = try orExit { () throws(ConfigurationProblems) in try options.source.admin() }
        guard admin.port != 0 else {
            print("gateway.admin.port is 0: the gateway's log names the port that the system chose")
            throw ExitCode.failure
        }
        let condition = try await LocalGateway(admin).condition(at: ready ? "/readyz" : "/livez")
        print(condition.line(asked: ready ? "ready" : "alive", at: admin))
        if condition != .healthy { throw ExitCode.failure }
    }
}

extension LocalGateway.Condition {
    fileprivate func line(asked word: String, at admin: ListenerConfiguration) -> String {
        let location = "\(admin.reachableHost):\(admin.port)"
        return switch self {
        case .healthy: word
        case .unhealthy(let status, let detail): "not \(word): HTTP \(status): \(detail)"
        case .unreachable(.connect): "not \(word): no process listens on \(location) (gateway.admin.host and port)"
        case .unreachable(.timeout): "not \(word): no answer from \(location) within two seconds"
        case .unreachable(let error): "not \(word): no answer from \(location) (\(error))"
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

internal import Clients

/// The environment variables that OpenTelemetry's specification names, each for a setting of the gateway
/// (https://opentelemetry.io/docs/specs/otel/protocol/exporter/). The gateway's own name of a setting wins.
struct StandardVariables {
    private struct Variable: Sendable {
        let name: String
        /// Returns the value in the form of the setting.
        var form: @Sendable (String) -> String = { $0 }
    }

    /// The variables of each setting, the first that is set counts.
    private static let settings: [(setting: String, variables: [Variable])] = [
        (
            "endpoint",
            [
                Variable(name: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") { $0.hasPath ? $0 : $0 + "/" },
                Variable(name: "OTEL_EXPORTER_OTLP_ENDPOINT") { $0 + ($0.hasSuffix("/") ? "" : "/") + "v1/traces" },
            ]
        ),
        ("protocol", ofExporter("PROTOCOL")), ("headers", ofExporter("HEADERS")),
        ("timeout", ofExporter("TIMEOUT") { $0.allSatisfy(\.isNumber) ? $0 + "ms" : $0 }),
        ("ca_file", ofExporter("CERTIFICATE")),
        ("sampler", [Variable(name: "OTEL_TRACES_SAMPLER")]),
        ("ratio", [Variable(name: "OTEL_TRACES_SAMPLER_ARG")]),
        ("service_name", [Variable(name: "OTEL_SERVICE_NAME")]),
        ("resource_attributes", [Variable(name: "OTEL_RESOURCE_ATTRIBUTES")]),
    ]

    private static func ofExporter(_ name: String, form: @escaping @Sendable (String) -> String = { $0 }) -> [Variable]
    {
        ["TRACES_", ""].map { Variable(name: "OTEL_EXPORTER_OTLP_\($0)\(name)", form: form) }
    }

    /// The values by the gateway's names of settings that no variable of the gateway sets.
    private(set) var values: [String: String] = [:]
    /// The variables of these values, by the gateway's names.
    private(set) var origins: [String: String] = [:]
    private(set) var problems: [ConfigurationProblem] = []

    /// Reads the variables, if spans are exported: other programs of a cluster may have settings that fit none here.
    /// - Parameter hasEndpoint: true if the gateway's own settings name an endpoint.
    init(_ environment: [String: String], hasEndpoint: Bool) {
        let isOff =
            environment["OTEL_SDK_DISABLED"]?.lowercased() == "true"
            || environment["OTEL_TRACES_EXPORTER"] == "none"
        guard !isOff else { return }
        for (setting, variables) in Self.settings {
            let own = "GATEWAY_TRACES_\(setting.uppercased())"
            guard environment[own] == nil, environment[own + "_FILE"] == nil,
                let variable = variables.first(where: { environment[$0.name] != nil })
            else { continue }
            values[own] = environment[variable.name].map(variable.form)
            origins[own] = variable.name
        }
        guard hasEndpoint || values["GATEWAY_TRACES_ENDPOINT"] != nil else {
            (values, origins) = ([:], [:])
            return
        }
        // The gateway's own endpoint is there for OTLP, whatever other programs export by.
        problems =
            (hasEndpoint ? [] : Self.unsupportedExporters(in: environment)) + Self.unsupportedOptions(in: environment)
    }

    private static func unsupportedExporters(in environment: [String: String]) -> [ConfigurationProblem] {
        let name = "OTEL_TRACES_EXPORTER"
        guard let exporter = environment[name], exporter != "otlp" else { return [] }
        let fault =
            "the gateway exports spans by OTLP only, not by \"\(exporter)\"; set it to otlp, or to none to export none"
        return [ConfigurationProblem(location: name, fault: fault)]
    }

    private static func unsupportedOptions(in environment: [String: String]) -> [ConfigurationProblem] {
        let names = ["COMPRESSION", "CLIENT_KEY", "CLIENT_CERTIFICATE"].flatMap { ofExporter($0).map(\.name) }
        return names.filter { environment[$0].map { $0 != "none" } ?? false }.map { name in
            let fault = "is set, and the gateway exports spans without compression and client certificates; remove it"
            return ConfigurationProblem(location: name, fault: fault)
        }
    }
}

extension String {
    /// True for a URL with a path.
    fileprivate var hasPath: Bool {
        split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false).count > 3
    }
}

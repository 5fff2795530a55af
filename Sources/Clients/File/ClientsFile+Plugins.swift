// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import Yams

extension ClientsFile {
    /// Reads the protocols of a client whose keys are in apps; none for a backend.
    ///
    /// Anyone can read such a key in a copy of the app. So the client has nothing that only a backend may have, and its
    /// apps are named.
    mutating func readPlugins(_ fields: [String: Node], _ apps: PermittedApps?) -> Set<PluginProtocol> {
        guard let node = fields["plugins"] else { return [] }
        let plugins: Set<PluginProtocol> = words(node, named: "plugins")
        if node.sequence?.isEmpty == true {
            report(
                "plugins is empty: list \(PluginProtocol.allCases.map(\.rawValue).joined(separator: ", "))", at: node)
        }
        for name in Self.backendFields + ["certificates", "unknown_ids_per_minute"] {
            guard let node = fields[name] else { continue }
            report(
                "\(name) is not for a client with plugins, whose keys are in apps: give it to another client", at: node)
        }
        if apps == .all { report("a client with plugins lists its apps: \"*\" is for backends", at: fields["apps"]) }
        return plugins
    }
}

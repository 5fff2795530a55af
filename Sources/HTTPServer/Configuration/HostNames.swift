// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Clients
internal import JSON

/// Host names in lower case.
package struct HostNames: Hashable, Sendable {
    package private(set) var names: [String] = []

    package init(_ names: [String] = []) {
        self.names = names
    }

    package func adding(hostOf listener: ListenerConfiguration) -> HostNames {
        guard NetworkAddress(listener.host) == nil, let name = try? Self.name(listener.host) else { return self }
        return HostNames(names + [name])
    }

    private static func name(_ text: String) throws(ConfigurationValueFault) -> String {
        guard text.utf8.allSatisfy(ASCII.isSafe) else {
            throw ConfigurationValueFault(description: "\"\(text)\" is not a host name; leave out the port")
        }
        guard (1...253).contains(text.utf8.count), !text.hasPrefix(".") else {
            throw ConfigurationValueFault(description: "\"\(text)\" is not a host name")
        }
        let name = text.lowercased()
        return name.hasSuffix(".") ? String(name.dropLast()) : name
    }
}

extension HostNames: ConfigurationValue {
    package static var accepted: String { "host names separated by commas, such as gateway,gateway.payments.svc" }

    package init(configuration text: String) throws(ConfigurationValueFault) {
        self.init()
        for part in text.split(separator: ",") { names.append(try Self.name(part.trimmingWhiteSpace())) }
    }

    package var configurationText: String { names.joined(separator: ",") }
}

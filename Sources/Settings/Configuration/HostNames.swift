// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Host names in lower case.
package struct HostNames: Hashable, Sendable {
    package private(set) var names: [String] = []

    /// - Parameter names: in lower case.
    package init(_ names: [String] = []) {
        self.names = names
    }

    /// Returns these names and the listener's host, if that is a name.
    package func adding(hostOf listener: ListenerConfiguration) -> HostNames {
        var all = self
        if NetworkAddress(listener.host) == nil, let name = try? HostName(listener.host).text { all.names.append(name) }
        return all
    }
}

/// One host name, without a port.
private struct HostName {
    let text: String

    init(_ text: String) throws(ConfigurationValueFault) {
        let bytes = text.utf8.span
        for index in bytes.indices
        where !bytes[index].isBase64URL && bytes[index] != UInt8(ascii: ".") {
            throw ConfigurationValueFault(description: "\"\(text)\" is not a host name; leave out the port")
        }
        guard bytes.count > 0, bytes.count <= 253, text.utf8.first != UInt8(ascii: ".") else {
            throw ConfigurationValueFault(description: "\"\(text)\" is not a host name")
        }
        let name = text.lowercased()
        self.text = name.hasSuffix(".") ? String(name.dropLast()) : name
    }
}

extension HostNames: ConfigurationValue {
    package static var accepted: String { "host names separated by commas, such as gateway,gateway.payments.svc" }

    package init(configuration text: String) throws(ConfigurationValueFault) {
        self.init()
        for part in text.split(separator: ",") { names.append(try HostName(part.trimmingWhiteSpace()).text) }
    }

    package var configurationText: String { names.joined(separator: ",") }
}

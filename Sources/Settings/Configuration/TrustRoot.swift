// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// A certificate file the operator trusts, and what receipts under it may claim to be.
package struct TrustRoot: Hashable, Sendable {
    /// A PEM file with one or more certificates.
    package var path: String
    /// The environments receipts under it may be for.
    var environments: Set<Environment>
}

extension TrustRoot {
    /// Reads `path`, `path=Sandbox` or `path=Sandbox+Xcode`. Nobody gets Production without writing it.
    fileprivate init(_ text: String) throws(ConfigurationValueFault) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        path = String(parts[0])
        environments = []
        if path.isEmpty { throw ConfigurationValueFault(description: "\"\(text)\" names no file") }
        for name in parts.count > 1 ? parts[1].split(separator: "+", omittingEmptySubsequences: false) : ["Sandbox"] {
            guard let environment = Environment(rawValue: String(name)) else {
                throw ConfigurationValueFault(description: "\"\(name)\" in \"\(text)\" is no environment")
            }
            environments.insert(environment)
        }
    }

    fileprivate var text: String {
        path + "=" + environments.map(\.rawValue).sorted().joined(separator: "+")
    }
}

extension [TrustRoot]: ConfigurationValue {
    package static var accepted: String {
        "PEM files separated by commas, each optionally followed by =Production, =Sandbox or =Xcode, joined with +"
    }

    package init(configuration text: String) throws(ConfigurationValueFault) {
        self = []
        for part in text.split(separator: ",") { append(try TrustRoot(part.trimmingWhiteSpace())) }
    }

    package var configurationText: String { map(\.text).joined(separator: ",") }
}

extension Substring {
    /// The text without white space at its ends.
    func trimmingWhiteSpace() -> String {
        let start = drop(while: \.isWhitespace)
        return String(start.reversed().drop(while: \.isWhitespace).reversed())
    }
}

extension TrustStore {
    /// Apple's roots and the operator's.
    /// - Throws: Everything that is wrong with the files.
    package init(
        adding roots: [TrustRoot], readFile: (String) throws(FileFault) -> String = TextFile.read
    ) throws(ConfigurationProblems) {
        self = .apple
        var problems: [ConfigurationProblem] = []
        for root in roots {
            do throws(FileFault) {
                try add(root, pem: readFile(root.path))
            } catch {
                problems.append(ConfigurationProblem(error))
            }
        }
        guard problems.isEmpty else { throw ConfigurationProblems(problems: problems) }
    }

    private mutating func add(_ root: TrustRoot, pem: String) throws(FileFault) {
        do throws(TrustAnchorError) {
            try add(pem: pem, environments: root.environments)
        } catch {
            throw FileFault(path: root.path, description: error.description)
        }
        // It would be taken here, and every receipt below it would be rejected.
        guard anchors.allSatisfy(\.isForReceipts) else {
            throw FileFault(
                path: root.path, description: "holds a root with an elliptic key, and receipts are signed with RSA")
        }
    }
}

// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Secrets
internal import Yams

extension ClientsFile {
    /// The bounds of a shared secret. Those of App Store Connect have 32 characters; the rest is reserve.
    enum SecretLimits {
        static let characters = 16...64
    }

    /// Reads the list of apps with their own shared secret.
    mutating func readApps(_ nodes: [Node], readFile: (String) throws(FileFault) -> String) {
        var bundleIDs: Set<String> = []
        for node in nodes {
            let fields = fields(
                of: node, named: ["bundle_id", "shared_secret", "shared_secret_file"], showsUnknown: false)
            let secret = readSecret(fields, of: node, readFile: readFile)
            guard let bundleID = text(fields["bundle_id"], named: "bundle_id", of: node) else { continue }
            if bundleID == "*" { report("the secret for any app is gateway.apple.shared_secret", at: node) }
            if !bundleIDs.insert(bundleID).inserted {
                report("the app \(bundleID.printable()) appears twice", at: fields["bundle_id"])
            }
            sharedSecrets[bundleID] = secret
        }
    }

    private mutating func readSecret(
        _ fields: [String: Node], of app: Node, readFile: (String) throws(FileFault) -> String
    ) -> Secret? {
        switch (fields["shared_secret"], fields["shared_secret_file"]) {
        case (nil, nil): report("an app needs shared_secret_file, or shared_secret", at: app)
        case (_?, _?): report("shared_secret and shared_secret_file are both set; set only one", at: app)
        case (let node?, nil):
            guard let text = text(node, named: "shared_secret", of: app) else { return nil }
            return secret(text, named: "shared_secret", at: node)
        case (nil, let node?):
            guard let path = text(node, named: "shared_secret_file", of: app) else { return nil }
            do throws(FileFault) {
                return secret(try readFile(path).withoutLineEnds, named: "the file of shared_secret_file", at: node)
            } catch {
                // Without the path: it may be the secret, set in the wrong field.
                report("the file of shared_secret_file \(error.description)", at: node)
            }
        }
        return nil
    }

    private mutating func secret(_ text: String, named name: String, at node: Node) -> Secret? {
        let isVisible = text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        if isVisible, SecretLimits.characters.contains(text.utf8.count) { return Secret(text) }
        let range = SecretLimits.characters
        report("\(name) must hold \(range.lowerBound) to \(range.upperBound) visible ASCII characters", at: node)
        return nil
    }
}

// SPDX-License-Identifier: Apache-2.0

package import Cryptography
internal import Gateway
internal import Yams

/// The settings that reading form accounts depends on.
package struct FormAccountRules: Sendable {
    /// The form of encryption keys.
    var keyForm = EncryptionKeyForm.encoded
    /// Opens sealed values; nil is a problem of its own.
    var pepper: Secret?

    package init(keyForm: EncryptionKeyForm = .encoded, pepper: Secret? = nil) {
        self.keyForm = keyForm
        self.pepper = pepper
    }
}

extension ClientsFile {
    /// Reads the form account of a client.
    mutating func readForm(_ node: Node, ofClientNamed name: String?) {
        guard let fields = fields(of: node, named: ["keys", "apps"] + Self.limitFields) else { return }
        for name in ["keys", "apps"] where fields[name] == nil { report("form needs \(name)", at: node) }
        let keys = elements(of: fields["keys"], named: "keys").compactMap { readFormKey($0) }
        let nodes = elements(of: fields["apps"], named: "apps")
        let apps = nodes.compactMap { readFormApp($0) }
        for (index, app) in apps.enumerated() where apps[..<index].contains(where: { $0.token == app.token }) {
            report("two apps have the same token", at: nodes[index])
        }
        let limits = readLimits(fields, unlessSet: .ofApps)
        guard let name else { return }
        let client = Client(
            name: "\(name)/form", apps: .only(Set(apps.map(\.bundleID))), keys: [], limits: limits)
        checkName(of: client, at: node)
        formAccounts.append(FormAccount(client: client, keys: keys, apps: apps))
    }

    private mutating func readFormKey(_ node: Node) -> FormKey? {
        guard let fields = fields(of: node, named: ["hash", "expires"], showsUnknown: false) else { return nil }
        let hash = readHash(text(fields["hash"], named: "hash", of: node), at: fields["hash"] ?? node)
        let expires = readExpiry(fields["expires"])
        guard let hash else { return nil }
        if !formKeyHashes.insert(hash).inserted { report("this key is there twice", at: node) }
        return FormKey(hash: hash, expires: expires)
    }

    private mutating func readFormApp(_ node: Node) -> FormApp? {
        let names = ["token", "bundle_id", "encryption_key", "encryption_key_file"]
        guard let fields = fields(of: node, named: names + Self.sharedSecretFields, showsUnknown: false) else {
            return nil
        }
        let token = text(fields["token"], named: "token", of: node)
        let bundleID = text(fields["bundle_id"], named: "bundle_id", of: node)
        let encryption = readEncryption(fields, at: node)
        let sharedSecret = readSharedSecret(fields)
        guard let token, let bundleID else { return nil }
        if bundleID == "*" { report("bundle_id must name one app", at: fields["bundle_id"]) }
        let maximumBytes = FormAuthenticator.maximumBytes
        if token.utf8.count > maximumBytes || token.contains(" ") {
            report("token must have up to \(maximumBytes) bytes, and no space", at: fields["token"])
        }
        return FormApp(token: Secret(token), bundleID: bundleID, encryption: encryption, sharedSecret: sharedSecret)
    }

    private mutating func readEncryption(_ fields: [String: Node], at node: Node) -> AESCBCEncryption? {
        guard fields["encryption_key"] != nil || fields["encryption_key_file"] != nil else { return nil }
        do throws(ConfigurationProblems) {
            try ClientsFileSeal.checkOpenSSL()
        } catch {
            for problem in error.problems { add(problem) }
            return nil
        }
        guard let key = readEncryptionKey(fields) else { return nil }
        return formRules.keyForm.encryption(key.exposed)
            ?? rejected("the encryption key must be \(formRules.keyForm.accepted)", at: node)
    }

    private mutating func readEncryptionKey(_ fields: [String: Node]) -> Secret? {
        if let node = fields["encryption_key_file"], fields["encryption_key"] == nil {
            return readSecretFile(node, named: "encryption_key_file")
        }
        guard let node = fields["encryption_key"] else { return nil }
        if fields["encryption_key_file"] != nil {
            report("encryption_key and encryption_key_file are both set; set only one", at: node)
        }
        // The seal is made here, after OpenSSL has been checked.
        guard let pepper = formRules.pepper else { return nil }
        if let key = ClientsFileSeal(pepper: pepper).open(node.scalar?.string ?? "") { return key }
        return rejected(
            "encryption_key must be sealed with this pepper, as `receipt-gateway seal-key` prints it; or set "
                + "encryption_key_file", at: node)
    }
}

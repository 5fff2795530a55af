// SPDX-License-Identifier: Apache-2.0

internal import AppStore
internal import Cryptography
internal import Gateway
internal import JSON
internal import Yams

extension ClientsFile {
    // MARK: - Keys of the App Store Server API

    /// The length of a key ID. App Store Connect issues key IDs of 10 characters; the rest is reserve.
    private static let keyIDLength = 8...16

    private static let serverAPIFields = ["issuer_id", "key_id", "private_key_file"]

    /// Reads a key of the App Store Server API, and its file.
    mutating func readServerAPIKey(_ node: Node) -> ServerAPIKey? {
        // Unknown names are hidden: a line of the private key looks like a name.
        guard let fields = fields(of: node, named: Self.serverAPIFields, showsUnknown: false) else { return nil }
        let issuerID = readIssuerID(fields["issuer_id"], of: node)
        let keyID = readKeyID(fields["key_id"], of: node)
        let privateKey = readPrivateKey(fields["private_key_file"], of: node)
        guard let issuerID, let keyID, let privateKey else { return nil }
        return ServerAPIKey(issuerID: issuerID, keyID: keyID, privateKey: privateKey)
    }

    /// Returns the issuer in lower case, as App Store Connect shows it.
    private mutating func readIssuerID(_ node: Node?, of parent: Node) -> String? {
        guard let text = text(node, named: "issuer_id", of: parent) else { return nil }
        if ASCII.bytes(uuid: text.utf8Span.span) != nil { return text.lowercased() }
        return rejected(
            "issuer_id must be a UUID, as App Store Connect shows it (Users and Access, Integrations, In-App Purchase)",
            at: node)
    }

    private mutating func readKeyID(_ node: Node?, of parent: Node) -> String? {
        guard let text = text(node, named: "key_id", of: parent) else { return nil }
        let length = Self.keyIDLength
        let isAlphanumeric = text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
        if length.contains(text.utf8.count), isAlphanumeric { return text }
        return rejected("key_id must be \(length.lowerBound) to \(length.upperBound) letters and digits", at: node)
    }

    private mutating func readPrivateKey(_ node: Node?, of parent: Node) -> ECSigningKey? {
        let name = Self.serverAPIFields[2]
        guard let node else { return rejected("\(name) is missing", at: parent) }
        guard let text = readSecretFile(node, named: name, showsPath: \.isNoKey) else { return nil }
        if let key = ECSigningKey(pem: Array(text.exposed.utf8)) { return key }
        return rejected(
            "the file of \(name) must hold a private key for P-256 in PEM, without a passphrase: the .p8 file of App "
                + "Store Connect", at: node)
    }

    /// Reads the number of an app at Apple.
    mutating func readAppAppleID(_ fields: [String: Node]) -> Int64? {
        let accepted = "a positive integer: the app's Apple ID in App Store Connect (App Information)"
        let number: Int? = value("app_apple_id", of: fields, accepted: accepted) { $0 > 0 }
        return number.map(Int64.init)
    }

    // MARK: - Rights

    /// Reads the rights of a client: one list for all its apps, or a list for each app that is named.
    mutating func readAppleRights(_ node: Node?, forApps apps: PermittedApps) -> Client.AppleRights {
        guard let node else { return .none }
        guard let mapping = node.mapping else { return .everyApp(readRights(node)) }
        var rights: [String: Set<Client.AppleRight>] = [:]
        for (key, list) in mapping {
            let star = "apple as a list gives rights for each app of the client"
            guard let bundleID = readApp(key, of: "apple", permitted: apps, star: star) else { continue }
            rights[bundleID] = readRights(list)
        }
        return .byApp(rights)
    }

    /// Reads an app in a mapping of a client.
    /// - Parameter star: what to know instead of `"*"`.
    mutating func readApp(_ key: Node, of name: String, permitted apps: PermittedApps, star: String) -> String? {
        guard let bundleID = text(key, named: "an app of \(name)", of: key) else { return nil }
        if bundleID == "*" {
            report("\"*\" is no app: \(star)", at: key)
        } else if !apps.contains(bundleID) {
            report("the client may not use the app \(bundleID.printable()): add it to apps first", at: key)
        }
        return bundleID
    }

    private mutating func readRights(_ list: Node) -> Set<Client.AppleRight> {
        guard list.sequence != nil else {
            report("apple must be a list of rights, or a mapping from apps to such lists", at: list)
            return []
        }
        return words(list, named: "apple")
    }

    /// Reads a list of words of a closed set.
    mutating func words<Word: CaseIterable & RawRepresentable<String> & Hashable>(
        _ list: Node?, named name: String
    ) -> Set<Word> {
        Set(
            elements(of: list, named: name).compactMap { node in
                let words = Word.allCases.map(\.rawValue).joined(separator: ", ")
                return Word(rawValue: node.scalar?.string ?? "") ?? rejected("\(name) takes only: \(words)", at: node)
            })
    }
}

extension String {
    /// True for most paths, and for no private key: PEM and base64 have no dot, and the base64 of DER begins with M.
    fileprivate var isNoKey: Bool { hasPrefix("/") || contains(".") }
}

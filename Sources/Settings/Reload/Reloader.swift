// SPDX-License-Identifier: Apache-2.0

package import Clients
package import Gateway
package import HTTPServer
package import Receipts
internal import Synchronization
package import Telemetry

/// Reads the configuration again and applies the settings that may change while the gateway runs: all of them, or none
/// if there is a problem.
package struct Reloader: Sendable {
    private let source: ConfigurationSource
    private let access: CurrentAccess
    private let verifier: CurrentVerifier
    private let certificates: CurrentServerCertificates
    private let readOnce: [(setting: String, path: String, fingerprint: Fingerprint?)]
    /// The configuration in force; settings that need a restart keep their first value.
    private var inForce: GatewayConfiguration
    private var watch: FileWatch

    /// - Parameters:
    ///   - files: the files that were read at the start.
    ///   - configuration: the configuration they gave.
    ///   - access: the access rules of that configuration.
    ///   - verifier: trusts the roots of that configuration.
    ///   - certificates: the listeners' certificates of that configuration.
    package init(
        _ source: ConfigurationSource, files: FileReadings, _ configuration: GatewayConfiguration,
        _ access: CurrentAccess, _ verifier: CurrentVerifier,
        _ certificates: CurrentServerCertificates = CurrentServerCertificates()
    ) {
        (self.source, self.access, self.verifier, self.certificates) = (source, access, verifier, certificates)
        inForce = configuration
        readOnce = configuration.peerFiles.map { ($0, $1, files.fingerprint(ofFile: $1)) }
        watch = FileWatch(read: files.signatures)
    }

    /// - Returns: true if it is time for a reload.
    package mutating func checkFiles() -> Bool {
        watch.check(Dictionary(uniqueKeysWithValues: watch.paths.map { ($0, CLibrary.signature(ofFile: $0)) }))
    }

    package mutating func reload(at now: Timestamp) -> LastReload {
        let files = FileReadings()
        var reload = LastReload(time: now, result: .unchanged)
        do throws(ConfigurationProblems) {
            let found = try source.load(readFile: files.read)
            // The resulting configuration must be consistent as well: the listener keeps its address.
            let next = inForce.reloaded(from: found)
            reload.awaitingRestart = settingsAwaitingRestart(found, next, files)
            reload.changed = try adopt(next, files, at: now)
            if !reload.changed.isEmpty { reload.result = .success }
        } catch {
            reload.result = .refused
            reload.problems = error.problems.prefix(ConfigurationProblems.maximumShown).map(\.description)
        }
        watch = FileWatch(read: files.signatures)
        return reload
    }

    /// Puts the next configuration into force, unless it has problems.
    /// - Returns: the settings that changed.
    private mutating func adopt(
        _ next: GatewayConfiguration, _ files: FileReadings, at now: Timestamp
    ) throws(ConfigurationProblems) -> [String] {
        var read: (rules: AccessRules?, trustStore: TrustStore?, certificates: ServerCertificates?)
        var problems = ConfigurationProblems.of { () throws(ConfigurationProblems) in
            let clients = try ClientsFile(next, at: now, readFile: files.read)
            let rules = AccessRules(next, clients, try AnswerKeys(next, readFile: files.read))
            read.rules = rules
            let problems = next.contradictions + rules.problems(after: access.now.rules)
            guard problems.isEmpty else { throw ConfigurationProblems(problems: problems) }
        }
        problems += ConfigurationProblems.of { () throws(ConfigurationProblems) in
            read.trustStore = try TrustStore(next, readFile: files.read)
        }
        problems += ConfigurationProblems.of { () throws(ConfigurationProblems) in
            read.certificates = try ServerCertificates(next, readFile: files.read)
        }
        guard problems.isEmpty, let rules = read.rules, let trustStore = read.trustStore,
            let served = read.certificates
        else { throw ConfigurationProblems(problems: problems) }
        let trusted = verifier.now.trustStore
        let accessChanges =
            rules.settingsChanged(since: access.now.rules) + trustStore.settingsChanged(since: trusted)
        let certificateChanges = served.settingsChanged(since: certificates.now)
        // The roots first: a request that finds no earlier answer must not be verified under earlier roots.
        if trustStore != trusted { verifier.trust(trustStore) }
        if !accessChanges.isEmpty {
            access.replace(with: access.now.followed(by: rules, verdictsHold: trustStore == trusted))
        }
        if !certificateChanges.isEmpty { certificates.replace(with: served) }
        inForce = next
        return accessChanges + certificateChanges
    }

    private func settingsAwaitingRestart(
        _ found: GatewayConfiguration, _ next: GatewayConfiguration, _ files: FileReadings
    ) -> [String] {
        let settings = ConfigurationKeys.all.filter { $0.differs(next, found) }.map(\.fileName)
        // A file that is briefly missing has not changed.
        let contents = readOnce.filter { item in
            files.fingerprint(ofFile: item.path).map { $0 != item.fingerprint } ?? false
        }
        return settings + contents.map { "\($0.setting) (\($0.path))" }
    }
}

extension AccessRules {
    fileprivate func settingsChanged(since old: AccessRules) -> [String] {
        var names: [String] = []
        let isFileNew =
            clients != old.clients || formAccounts != old.formAccounts || secrets.ofApps != old.secrets.ofApps
            || serverAPIKeys != old.serverAPIKeys || receiptUpstreams.ofApps != old.receiptUpstreams.ofApps
            || webhooks != old.webhooks
        if isFileNew { names.append("gateway.clients_file") }
        if pepper != old.pepper { names.append("gateway.api_key_pepper") }
        if secrets.primary != old.secrets.primary { names.append("gateway.apple.shared_secret") }
        if receiptUpstreams.primary != old.receiptUpstreams.primary { names.append("gateway.apple.receipt_upstream") }
        if answerKeys != old.answerKeys { names.append("gateway.signed_answers") }
        return names
    }

    /// Without clients the gateway would serve everyone: a file was perhaps emptied. A new pepper with old hashes would
    /// lock out every client: a rotation was done by half.
    fileprivate func problems(after old: AccessRules) -> [ConfigurationProblem] {
        guard clients != nil || old.clients == nil else {
            return [
                ConfigurationProblem(
                    location: "gateway.clients_file",
                    fault: "has been removed: requests would need no key; restart the gateway if that is meant")
            ]
        }
        guard pepper != old.pepper else { return [] }
        let count = Set(old.keyHashes).intersection(keyHashes).count
        guard count > 0 else { return [] }
        return [
            ConfigurationProblem(
                location: "gateway.api_key_pepper",
                fault: """
                    has changed, but \(count) of the hashes in the clients file were made with the previous one: their \
                    clients would be locked out; make new keys with `receipt-gateway hash-key`, and replace the \
                    pepper before the clients file, or both in one step
                    """)
        ]
    }

    fileprivate var keyHashes: [[UInt8]] {
        (clients ?? []).flatMap(\.keys).map(\.hash) + formAccounts.flatMap(\.keys).map(\.hash)
    }
}

extension TrustStore {
    fileprivate func settingsChanged(since old: TrustStore) -> [String] {
        (anchors == old.anchors ? [] : ["gateway.trust_roots"])
            + (hasIntermediates(of: old) ? [] : ["gateway.trust.intermediates"])
    }
}

extension GatewayConfiguration {
    /// Returns this configuration with the values of another that may change while the gateway runs.
    func reloaded(from other: GatewayConfiguration) -> GatewayConfiguration {
        var next = self
        // Webhooks are begun at the start, so a first clients file waits for it.
        if clientsFile != nil { (next.clientsFile, next.apiKeyPepper) = (other.clientsFile, other.apiKeyPepper) }
        next.apple.sharedSecret = other.apple.sharedSecret
        next.apple.receiptUpstream = other.apple.receiptUpstream
        (next.trustRoots, next.intermediatesFile) = (other.trustRoots, other.intermediatesFile)
        next.signedAnswers = other.signedAnswers
        next.http.listener.tls = http.listener.tls.reloaded(from: other.http.listener.tls)
        next.admin.tls = admin.tls.reloaded(from: other.admin.tls)
        return next
    }
}

extension TLSFiles {
    /// Returns other paths, if they do not switch TLS on or off.
    fileprivate func reloaded(from other: TLSFiles) -> TLSFiles { isEnabled == other.isEnabled ? other : self }
}

package enum ReloadTrigger: String, Sendable {
    /// SIGHUP.
    case signal
    /// A periodic check of the files, which reads them if they changed.
    case poll
}

/// The last reload, for metrics and the status page.
package struct LastReload: Hashable, Sendable {
    package var time: Timestamp
    package var result: ReloadResult
    /// The problems, one sentence each; empty unless rejected.
    package var problems: [String] = []
    package var changed: [String] = []
    /// The changed settings that take effect after a restart only.
    package var awaitingRestart: [String] = []
}

package final class ReloadHistory: Sendable {
    private let state = Mutex<LastReload?>(nil)

    package init() {}

    package var last: LastReload? { state.withLock { $0 } }

    package func record(_ reload: LastReload) {
        state.withLock { $0 = reload }
    }
}

/// Decides when to read files again: after they changed and then stayed the same between two checks, so that no
/// half-written file is read, nor one of two that are replaced together.
struct FileWatch: Sendable {
    private var read: FileSignatures
    private var seen: FileSignatures

    init(read: FileSignatures) {
        self.read = read
        seen = read
    }

    var paths: some Collection<String> { read.keys }

    /// - Returns: true if it is time to read.
    mutating func check(_ now: FileSignatures) -> Bool {
        defer { seen = now }
        return now != read && now == seen
    }
}

/// The files read for one load of the configuration. Each is read once, so that a change meanwhile yields no mixed
/// state. Its signature is taken before, so that the change is noticed later.
package final class FileReadings: Sendable {
    private let readings = Mutex<[String: (signature: FileSignature?, text: Result<String, FileFault>)]>([:])

    package init() {}

    package func read(_ path: String) throws(FileFault) -> String {
        if let known = readings.withLock({ $0[path] }) { return try known.text.get() }
        let signature = CLibrary.signature(ofFile: path)
        let text = Result { () throws(FileFault) in try TextFile.read(path) }
        readings.withLock { $0[path] = (signature, text) }
        return try text.get()
    }

    /// The signatures of the files before they were read; nil for a missing file.
    var signatures: FileSignatures { readings.withLock { $0.mapValues(\.signature) } }

    /// Returns SHA-256 of a file's text; nil if it cannot be read.
    func fingerprint(ofFile path: String) -> Fingerprint? {
        (try? read(path)).map { Fingerprint(of: Array($0.utf8).span) }
    }
}

/// File signatures by path; nil for a missing file.
typealias FileSignatures = [String: FileSignature?]

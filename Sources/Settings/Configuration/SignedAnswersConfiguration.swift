// SPDX-License-Identifier: Apache-2.0

package import Clients
internal import Cryptography

/// The answers that are signed for clients that request it.
package struct SignedAnswersConfiguration: Hashable, Sendable {
    /// Private keys on P-256 in PEM; the first signs. None signs no answers.
    package var keyFiles: [String] = []
    package var lifetime: Duration = .seconds(300)
}

extension AnswerKeys {
    /// Reads the keys; nil if none are configured.
    /// - Throws: all problems of the files.
    package convenience init?(
        _ configuration: GatewayConfiguration, readFile: FileReader = TextFile.read
    ) throws(ConfigurationProblems) {
        let paths = configuration.signedAnswers.keyFiles
        guard !paths.isEmpty else { return nil }
        var keys: [ECSigningKey] = []
        var problems: [ConfigurationProblem] = []
        func report(_ fault: String) {
            problems.append(ConfigurationProblem(location: "gateway.signed_answers.key_files", fault: fault))
        }
        if !Limits.keys.contains(paths.count) { report("takes at most \(Limits.keys.upperBound) files") }
        for path in paths.prefix(Limits.keys.upperBound) {
            let shown = TextFile.shown(path)
            do throws(FileFault) {
                guard let key = ECSigningKey(pem: Array(try readFile(path).utf8)) else {
                    report("\(shown) must hold a private key for P-256 in PEM, without a passphrase")
                    continue
                }
                if keys.contains(key) { report("\(shown) has the key of an earlier file") }
                keys.append(key)
            } catch {
                report("\(shown) \(error.description)")
            }
        }
        guard problems.isEmpty else { throw ConfigurationProblems(problems: problems) }
        self.init(
            signingWith: keys[0], publishing: Array(keys.dropFirst()), lifetime: configuration.signedAnswers.lifetime)
    }
}

// SPDX-License-Identifier: Apache-2.0

package import Clients
package import HTTPServer

extension ServerCertificates {
    /// Reads the certificates of both listeners.
    /// - Throws: all problems of the files.
    package init(
        _ configuration: GatewayConfiguration, readFile: @escaping FileReader = TextFile.read
    ) throws(ConfigurationProblems) {
        self.init()
        var problems: [ConfigurationProblem] = []
        do throws(ConfigurationProblems) {
            data = try ServerCertificate(configuration.http.listener.tls, of: "gateway.http.tls", readFile: readFile)
        } catch {
            problems += error.problems
        }
        do throws(ConfigurationProblems) {
            admin = try ServerCertificate(configuration.admin.tls, of: "gateway.admin.tls", readFile: readFile)
        } catch {
            problems += error.problems
        }
        guard problems.isEmpty else { throw ConfigurationProblems(problems: problems) }
    }

    /// Returns the groups of settings whose files have other contents.
    func settingsChanged(since old: ServerCertificates) -> [String] {
        (data?.fingerprint == old.data?.fingerprint ? [] : ["gateway.http.tls"])
            + (admin?.fingerprint == old.admin?.fingerprint ? [] : ["gateway.admin.tls"])
    }
}

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
        var problems = ConfigurationProblems.of { () throws(ConfigurationProblems) in
            data = try ServerCertificate(configuration.http.listener.tls, of: "gateway.http.tls", readFile: readFile)
        }
        problems += ConfigurationProblems.of { () throws(ConfigurationProblems) in
            admin = try ServerCertificate(configuration.admin.tls, of: "gateway.admin.tls", readFile: readFile)
        }
        guard problems.isEmpty else { throw ConfigurationProblems(problems: problems) }
    }

    /// Returns the groups of settings whose files have other contents.
    func settingsChanged(since old: ServerCertificates) -> [String] {
        (data?.fingerprint == old.data?.fingerprint ? [] : ["gateway.http.tls"])
            + (admin?.fingerprint == old.admin?.fingerprint ? [] : ["gateway.admin.tls"])
    }
}

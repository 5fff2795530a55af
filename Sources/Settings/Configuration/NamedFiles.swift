// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts

extension GatewayConfiguration {
    /// Returns the problems of the files that settings name, as far as they show without starting.
    func problemsInNamedFiles(
        at now: Timestamp, readFile: (String) throws(FileFault) -> String
    ) -> [ConfigurationProblem] {
        problemsInTrustRoots(readFile: readFile) + problemsInClientsFile(at: now, readFile: readFile)
    }

    private func problemsInTrustRoots(
        readFile: (String) throws(FileFault) -> String
    ) -> [ConfigurationProblem] {
        do throws(ConfigurationProblems) {
            _ = try TrustStore(adding: trustRoots, readFile: readFile)
            return []
        } catch {
            return error.problems
        }
    }

    private func problemsInClientsFile(
        at now: Timestamp, readFile: (String) throws(FileFault) -> String
    ) -> [ConfigurationProblem] {
        guard let clientsFile else { return [] }
        do throws(ConfigurationProblems) {
            _ = try ClientsFile(at: clientsFile, now: now, readFile: readFile)
            return []
        } catch {
            return error.problems
        }
    }
}

extension ConfigurationProblem {
    /// Creates the problem of an unreadable file that a setting names.
    package init(_ fault: FileFault) {
        self.init(location: fault.path, fault: fault.description)
    }
}

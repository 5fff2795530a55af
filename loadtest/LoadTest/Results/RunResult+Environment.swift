// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

extension RunResult {
    /// Where the generator ran.
    struct Environment: Codable, Hashable, Sendable {
        /// Of this program.
        var version: String
        /// The commit it was built from, if that is known.
        var revision: String?
        /// Its command line, without values of headers: they may be secret.
        var arguments: [String]
        /// The processor's name.
        var cpu: String
        /// Of the machine.
        var cores: Int
        /// Those that this process may use.
        var allowedCores: [Int]
        var kernel: String
        var memoryBytes: Int

        private enum CodingKeys: String, CodingKey {
            case version, revision, arguments, cpu, cores, kernel
            case allowedCores = "allowed_cores"
            case memoryBytes = "memory_bytes"
        }
    }

    /// How well the generator did what was asked of it.
    struct Generator: Codable, Hashable, Sendable {
        var keptSchedule: Bool
        /// How long after they were due requests were sent.
        var sendLag: Distribution
        /// Requests that were sent too late to count as on time.
        var lateSends: Int
        var cpuSeconds: Double
        /// Of one core for each worker: 1 means that it had nothing left to give.
        var cpuShare: Double

        private enum CodingKeys: String, CodingKey {
            case keptSchedule = "kept_schedule"
            case sendLag = "send_lag"
            case lateSends = "late_sends"
            case cpuSeconds = "cpu_seconds"
            case cpuShare = "cpu_share"
        }
    }
}

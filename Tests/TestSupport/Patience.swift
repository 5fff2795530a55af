// SPDX-License-Identifier: Apache-2.0

internal import Foundation
public import Testing

/// The times after which a test stops waiting for an event that must come.
///
/// They are far above every real wait: an event that did not come by then is lost, on however slow a machine.
public enum Patience {
    /// The number by which this machine is slower than a usual one: `TEST_PATIENCE`, which `.ci/test` measures; 1
    /// without it.
    public static let scale = min(max(Double(ProcessInfo.processInfo.environment["TEST_PATIENCE"] ?? "") ?? 1, 1), 10)

    /// The longest wait for one event.
    public static let forEvent = Duration.seconds(500 * scale)

    /// The time limit of an operation of the code under test that must succeed.
    public static let forOperation = Duration.seconds(60 * scale)

    /// `forOperation` as a setting of the gateway: the longest one that its deadlines of Redis and Apple may have.
    public static let operationSetting = "30s"

    /// A time limit of the code under test that one step of a test may wait out, and that every other step keeps.
    public static let forLimit = Duration.seconds(5 * scale)

    /// `forLimit` as a setting of the gateway, and at most 30 seconds: settings have bounds.
    public static let limitSetting = "\(Int(min(5 * scale, 30)))s"
}

extension TimeLimitTrait.Duration {
    /// The longest time of one test. A test beyond it hangs.
    public static var patient: Self { .minutes(Int(20 * Patience.scale)) }
}

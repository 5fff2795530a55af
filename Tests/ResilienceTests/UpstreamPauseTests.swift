// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Resilience

struct UpstreamPauseTests {
    @Test func `there is no pause until an upstream requests one, and none after it`() {
        var pause = UpstreamPause()
        #expect(pause.remaining(at: at(.zero)) == nil)
        pause.pause(until: at(.seconds(10)), at: at(.zero))
        #expect(pause.remaining(at: at(.zero)) == .seconds(10))
        #expect(pause.remaining(at: at(.milliseconds(9999))) == .milliseconds(1))
        #expect(pause.remaining(at: at(.seconds(10))) == nil)
    }

    @Test(arguments: [([10, 20], 20), ([20, 10], 20), ([20, -5], 20), ([-5], 0), ([3600], 3600), ([3601], 3600)])
    func `the latest of all pauses counts, but no more than an hour`(seconds: [Int], expected: Int) {
        var pause = UpstreamPause()
        for second in seconds { pause.pause(until: at(.seconds(second)), at: at(.zero)) }
        #expect(pause.remaining(at: at(.zero)) == (expected == 0 ? nil : .seconds(expected)))
    }

    @Test func `a clock that jumps never pauses for more than an hour from then on`() {
        for first in extremeInstants {
            for second in extremeInstants {
                var pause = UpstreamPause()
                pause.pause(until: at(.seconds(Int64.max)), at: first)
                #expect(pause.remaining(at: second) ?? .zero <= .seconds(3600))
                #expect(pause.remaining(at: second + .seconds(3600)) == nil)
            }
        }
    }
}

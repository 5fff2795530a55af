// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Calendar arithmetic on years that begin in March, so that the leap day is the last day of its year.
extension UTCDate {
    /// The parts of a date in UTC.
    struct Components: Sendable, Hashable {
        var year, month, day, hour, minute, second: Int64
    }

    /// Returns the days from 1970-01-01 to the given date of the proleptic Gregorian calendar.
    static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        let marchYear = month > 2 ? year : year - 1
        let marchMonth = (month + 9) % 12
        return daysBeforeMarch(of: marchYear) + daysBeforeMonth(marchMonth) + day - 1
    }

    var components: Components {
        let days = Self.floorDivide(secondsSince1970, by: 86_400)
        let second = secondsSince1970 - days * 86_400
        var marchYear = 1970 + Self.floorDivide(days, by: 366)
        while Self.daysBeforeMarch(of: marchYear + 1) <= days { marchYear += 1 }
        while Self.daysBeforeMarch(of: marchYear) > days { marchYear -= 1 }
        let dayOfYear = days - Self.daysBeforeMarch(of: marchYear)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let month = (marchMonth + 2) % 12 + 1
        return Components(
            year: month > 2 ? marchYear : marchYear + 1, month: month,
            day: dayOfYear - Self.daysBeforeMonth(marchMonth) + 1,
            hour: second / 3_600, minute: second / 60 % 60, second: second % 60)
    }

    /// Returns the days from 1970-01-01 to 1 March of `year`.
    private static func daysBeforeMarch(of year: Int64) -> Int64 {
        let leapDays = floorDivide(year, by: 4) - floorDivide(year, by: 100) + floorDivide(year, by: 400)
        // 719,468 days lie between 0000-03-01 and 1970-01-01.
        return year * 365 + leapDays - 719_468
    }

    /// Returns the days before a month that counts from March = 0: 31, 30, 31, 30, 31 repeats every 153.
    private static func daysBeforeMonth(_ marchMonth: Int64) -> Int64 {
        (153 * marchMonth + 2) / 5
    }

    private static func floorDivide(_ value: Int64, by divisor: Int64) -> Int64 {
        value >= 0 ? value / divisor : -((-value + divisor - 1) / divisor)
    }
}

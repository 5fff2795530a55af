// SPDX-License-Identifier: Apache-2.0

import Testing

/// Tests of three gateway processes with a load balancer and a Redis. One after another: several fleets at once would
/// overload the machine.
@Suite(.serialized) enum FleetTests {}

// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import Testing

/// Tests of three gateway processes with a load balancer and a Redis. One after another: several fleets at once would
/// overload the machine.
@Suite(.serialized) enum FleetTests {}

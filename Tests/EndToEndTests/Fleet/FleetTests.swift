// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import Testing

/// What three gateway processes, a load balancer and a Redis do together. One after the other: a machine that runs several
/// fleets at once tests its own patience.
@Suite(.serialized) enum FleetTests {}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

// The functions are written in Swift, in FleetTokenClientC; here the header proves to be C on its own.
#include "fleetpass_token_client.h"

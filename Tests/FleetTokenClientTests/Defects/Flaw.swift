// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// One defect of the published samples, as a switch of ``SampleShapedFetcher``.
enum Flaw: Hashable, Sendable {
    // What is asked for.
    case requestWithoutID, idNotEscaped, taskIgnored, noCredentials, answersMayBeCached
    case addressNotChecked, plainHTTPAccepted, sessionPerFetch

    // What is made of an answer.
    case statusIgnored, networkErrorHidden, bodyTakenForAnObject, tokenTakenForAString, tokenNotRead
    case expiryTakenAsAbsolute, expiryTakenAsRelative, millisecondsTakenAsSeconds, lifeThousandfold
    case missingExpiryIgnored, stringExpiryRefused

    // How tokens are kept.
    case noCache, noMargin, endIncluded, phoneDateTrusted, noWayToDropToken
    case oneSlot, slotNamedByLastCall, tornWrites

    // How calls are served.
    case noSingleFlight, oneFlightForAll, noBackOff, sixtySecondTimeout, noDeadline
    case synchronousCompletion, completionOnMainQueue, completionOnSessionQueue
    case silentWithoutID, emptyIDAccepted, missingIDClearsCache
    case droppedWhenReleased, ownerUsedAfterRelease
    case tokenLogged
}

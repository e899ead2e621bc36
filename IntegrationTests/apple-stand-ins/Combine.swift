// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

/// As much of Apple's module as the example apps use, to check their types where it is not there.
public protocol ObservableObject: AnyObject {}

@propertyWrapper public struct Published<Value> {
    public init(wrappedValue: Value) {}

    @available(*, unavailable) public var wrappedValue: Value {
        get { fatalError() }
        set {}
    }

    public static subscript<Owner: AnyObject>(
        _enclosingInstance owner: Owner, wrapped value: ReferenceWritableKeyPath<Owner, Value>,
        storage place: ReferenceWritableKeyPath<Owner, Published<Value>>
    ) -> Value {
        get { fatalError() }
        set {}
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import GRPCCore
import GRPCProtobuf
import SwiftProtobuf

/// gRPC's server reflection, so that tools such as grpcurl can call the engine without .proto files.
///
/// It describes the public API only and needs no token. Older tools ask for it by its former name, with the same messages.
struct ReflectionRPCs: Grpc_Reflection_V1_ServerReflection.StreamingServiceProtocol {
    /// `v1alpha`, as tools ask for it that are older than `v1`.
    private static let formerName = MethodDescriptor(
        fullyQualifiedService: "grpc.reflection.v1alpha.ServerReflection", method: "ServerReflectionInfo")

    /// What is asked.
    static let methods = [Grpc_Reflection_V1_ServerReflection.Method.ServerReflectionInfo.descriptor, Self.formerName]

    /// How many ask at once, who are asked for no token.
    static let maximumCalls = 100

    private let index: ServiceIndex
    private let places = CallPlaces(maximumCalls)

    init(index: ServiceIndex) {
        self.index = index
    }

    func registerMethods<Transport: ServerTransport>(with router: inout RPCRouter<Transport>) {
        for method in Self.methods {
            router.registerHandler(
                forMethod: method,
                deserializer: ProtobufDeserializer<Grpc_Reflection_V1_ServerReflectionRequest>(),
                serializer: ProtobufSerializer<Grpc_Reflection_V1_ServerReflectionResponse>(),
                handler: { try await self.serverReflectionInfo(request: $0, context: $1) }
            )
        }
    }

    func serverReflectionInfo(
        request: StreamingServerRequest<Grpc_Reflection_V1_ServerReflectionRequest>, context: ServerContext
    ) async throws -> StreamingServerResponse<Grpc_Reflection_V1_ServerReflectionResponse> {
        StreamingServerResponse { writer in
            guard self.places.take() else {
                throw RPCError(code: .resourceExhausted, message: "Too many ask for reflection; call again.")
            }
            defer { self.places.giveBack() }
            // Who keeps the call open between questions is no reason for the server to wait with its end.
            try await withThrowingTaskGroup { group in
                group.addTask {
                    for try await question in request.messages { try await writer.write(self.answer(question)) }
                }
                group.addTask { try await context.cancellation.cancelled }
                defer { group.cancelAll() }
                try await group.next()
            }
            return [:]
        }
    }

    private func answer(
        _ question: Grpc_Reflection_V1_ServerReflectionRequest
    ) -> Grpc_Reflection_V1_ServerReflectionResponse {
        .with {
            $0.validHost = question.host
            $0.originalRequest = question
            switch question.messageRequest {
            case .listServices:
                $0.listServicesResponse.service = self.index.services.sorted().map { name in .with { $0.name = name } }
            case .fileByFilename(let name):
                $0.messageResponse = Self.files(self.index.file(named: name), for: name)
            case .fileContainingSymbol(let symbol):
                $0.messageResponse = Self.files(self.index.file(declaring: symbol), for: symbol)
            case .fileContainingExtension(let wanted):
                $0.messageResponse = Self.files([], for: "extension \(wanted.extensionNumber)")
            case .allExtensionNumbersOfType(let type):
                $0.allExtensionNumbersResponse.baseTypeName = type
            case nil:
                $0.errorResponse = Self.error(.invalidArgument, "The request asks for nothing.")
            }
        }
    }

    private static func files(
        _ files: [[UInt8]], for name: String
    ) -> Grpc_Reflection_V1_ServerReflectionResponse.OneOf_MessageResponse {
        guard !files.isEmpty else { return .errorResponse(self.error(.notFound, "Unknown: \(name.prefix(128))")) }
        return .fileDescriptorResponse(.with { $0.fileDescriptorProto = files.map { .init($0) } })
    }

    private static func error(_ code: Status.Code, _ message: String) -> Grpc_Reflection_V1_ErrorResponse {
        .with {
            $0.errorCode = Int32(code.rawValue)
            $0.errorMessage = message
        }
    }
}

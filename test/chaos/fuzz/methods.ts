import protobuf from 'protobufjs';
import { allDescriptors } from '../../../api/codec/descriptors.ts';

/** A method of any service, as the descriptors tell: a new one is fuzzed without a word here. */
export interface AnyMethod {
  readonly path: string;
  readonly request: protobuf.Type;
  readonly requestStream: boolean;
  readonly responseStream: boolean;
}

/** Every method of every service of ours. */
export function allMethods(): AnyMethod[] {
  const found: AnyMethod[] = [];
  const visit = (at: protobuf.NamespaceBase): void => {
    for (const nested of at.nestedArray) {
      if (nested instanceof protobuf.Service) found.push(...nested.methodsArray.map((method) => methodOf(nested, method)));
      if (nested instanceof protobuf.Namespace) visit(nested);
    }
  };
  visit(allDescriptors());
  return found;
}

function methodOf(service: protobuf.Service, method: protobuf.Method): AnyMethod {
  method.resolve();
  const { resolvedRequestType } = method;
  if (!resolvedRequestType) throw new Error(`method ${method.fullName} has no request`);
  return {
    path: `/${service.fullName.slice(1)}/${method.name}`,
    request: resolvedRequestType,
    requestStream: method.requestStream ?? false,
    responseStream: method.responseStream ?? false,
  };
}

/** Those of libraries, which have no descriptors here: they get bytes only. */
export const libraryPaths: readonly string[] = [
  '/grpc.health.v1.Health/Check',
  '/grpc.health.v1.Health/List',
  '/grpc.health.v1.Health/Watch',
  '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
  '/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo',
];

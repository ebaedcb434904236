import type { ServiceDefinition } from '@grpc/grpc-js';
import type { Method } from 'protobufjs';
import { serviceType } from '../../api/codec/descriptors.ts';

const pass = (bytes: Buffer): Buffer => bytes;

/**
 * A service as grpc-js wants it, made from the descriptors. Messages stay encoded: handlers decode requests themselves,
 * so that a damaged one is an INVALID_ARGUMENT and not an INTERNAL, and answers pass through as they are stored.
 */
export function serviceDefinition(name: string): ServiceDefinition {
  return Object.fromEntries(serviceType(name).methodsArray.map((method) => [method.name, methodDefinition(name, method)]));
}

function methodDefinition(service: string, method: Method) {
  return {
    path: `/${service}/${method.name}`,
    requestStream: method.requestStream ?? false,
    responseStream: method.responseStream ?? false,
    requestSerialize: pass,
    requestDeserialize: pass,
    responseSerialize: pass,
    responseDeserialize: pass,
    originalName: method.name,
  };
}

import type { ServiceDefinition } from '@grpc/grpc-js';
import type { Method, Root } from 'protobufjs';
import { messageType } from '../../api/codec/message.ts';

const pass = (bytes: Buffer): Buffer => bytes;

/** The tree that holds every message and service, of the API and of whatever was added to it. */
export function descriptorRoot(): Root {
  return messageType('berth.meta.v1.ObjectMeta').root;
}

/**
 * A service as grpc-js wants it, made from the descriptors. Messages stay encoded: handlers decode requests themselves, so that a
 * damaged one is an INVALID_ARGUMENT and not an INTERNAL, and answers pass through as they are stored.
 */
export function serviceDefinition(name: string): ServiceDefinition {
  const service = descriptorRoot().lookupService(name);
  return Object.fromEntries(service.methodsArray.map((method) => [method.name, methodDefinition(name, method)]));
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

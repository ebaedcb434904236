import { type ChannelOptions, Client, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import protobuf from 'protobufjs';
import { onAbort } from '../../client/abort.ts';
import { type CheckResult, failure, joinHostPort, success } from './check-result.ts';
import { userAgent } from './http-get.ts';

const checkMethod = '/grpc.health.v1.Health/Check';
const serving = 1;
const statusNames = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'];

// Each check has a connection of its own, and none of them is tried again by itself.
const options: ChannelOptions = {
  'grpc.use_local_subchannel_pool': 1,
  'grpc.enable_retries': 0,
  'grpc.service_config_disable_resolution': 1,
  'grpc.enable_http_proxy': 0,
  'grpc.primary_user_agent': userAgent,
};

/** Asks the standard health service for one service; "" is the server as a whole. */
export function checkGrpc(
  service: string,
  target: { readonly host: string; readonly port: number },
  timeoutMs: number,
  signal: AbortSignal,
): Promise<CheckResult> {
  const address = joinHostPort(target);
  const client = new Client(address, credentials.createInsecure(), options);
  return new Promise((resolve) => {
    const call = client.makeUnaryRequest(
      checkMethod,
      encodeRequest,
      decodeStatus,
      service,
      new Metadata(),
      { deadline: Date.now() + timeoutMs },
      (error, answer) => {
        unlink();
        client.close();
        resolve(error === null ? judge(answer ?? 0) : failure(wordsOf(error, address, timeoutMs)));
      },
    );
    const unlink = onAbort(signal, () => call.cancel());
  });
}

function judge(answer: number): CheckResult {
  if (answer === serving) return success;
  return failure(`service unhealthy (responded with "${statusNames[answer] ?? answer}")`);
}

function wordsOf(error: ServiceError, address: string, timeoutMs: number): string {
  if (error.code === status.UNIMPLEMENTED)
    return `error: this server does not implement the grpc health protocol (grpc.health.v1.Health): ${error.details}`;
  if (error.code === status.DEADLINE_EXCEEDED) return `timeout: health rpc did not complete within ${timeoutMs / 1000}s`;
  if (error.code === status.UNAVAILABLE)
    return `timeout: failed to connect service "${address}" within ${timeoutMs / 1000}s: ${error.details}`;
  return `error: health rpc probe failed: ${error.message}`;
}

// Both messages have one field, number 1: so small that they need no descriptors.
const serviceTag = 0x0a;
const statusTag = 0x08;

/** HealthCheckRequest { string service = 1 }. */
export function encodeRequest(service: string): Buffer {
  const writer = protobuf.Writer.create();
  if (service !== '') writer.uint32(serviceTag).string(service);
  return Buffer.from(writer.finish());
}

/** HealthCheckResponse { ServingStatus status = 1 }; absent is 0. Throws RangeError for bytes that are cut off. */
export function decodeStatus(message: Buffer): number {
  const reader = protobuf.Reader.create(message);
  let answer = 0;
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    if (tag === statusTag) answer = reader.int32();
    else reader.skipType(tag & 7);
  }
  return answer;
}

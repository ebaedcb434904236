import { Server } from '@grpc/grpc-js';
import type { Arrivals } from '../connections/arrivals.ts';
import { defaultKeepalive, type Keepalive } from '../connections/keepalive.ts';
import { sessionOptions } from '../connections/tls.ts';
import { refuseMalformed } from './malformed-calls.ts';

/** Objects have at most 1.5 MiB; the rest is room for JSON and what stands around them. */
export const MAX_RECEIVE_BYTES = 4 * 1024 * 1024;
/**
 * Pages have at most 2 MiB, but hold one object at least: in JSON one of 1.5 MiB has 9 MiB where every character is
 * written as \\u0001.
 */
export const MAX_SEND_BYTES = 12 * 1024 * 1024;

/** A server that notices dead peers and bounds messages; `listener/` bounds the rest. */
export function createGrpcServer(arrivals: Arrivals, keepalive: Keepalive = defaultKeepalive): Server {
  return new Server({
    'grpc.max_receive_message_length': MAX_RECEIVE_BYTES,
    'grpc.max_send_message_length': MAX_SEND_BYTES,
    'grpc.keepalive_time_ms': keepalive.timeMs,
    'grpc.keepalive_timeout_ms': keepalive.timeoutMs,
    'grpc.max_connection_idle_ms': 30 * 60_000,
    // Those of a local socket; TLS has them with its credentials.
    'grpc.max_concurrent_streams': sessionOptions.settings.maxConcurrentStreams,
    'grpc-node.max_session_memory': sessionOptions.maxSessionMemory,
    'grpc.enable_channelz': 0,
    interceptors: [refuseMalformed(arrivals)],
  });
}

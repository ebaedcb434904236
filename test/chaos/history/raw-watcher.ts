import * as grpc from '@grpc/grpc-js';
import { decodeMessage, encodeMessage } from '../../../api/codec/message.ts';
import type { ConfigMap } from '../../../api/generated/types.ts';
import { type ConnectOptions, pause, type WatchEvent } from '../../../client/index.ts';
import { namespace, retryMs, Sight, type Watcher } from './watcher.ts';

export interface RawOptions {
  readonly name: string;
  /** The version that it begins with. */
  readonly from: number;
  readonly bookmarks: boolean;
  readonly labelSelector?: string;
  /** Awaited before each watch: the watcher stays away for so long. */
  readonly mayOpen?: () => Promise<void>;
}

const asIs = (bytes: Buffer): Buffer => bytes;
const quick = {
  'grpc.initial_reconnect_backoff_ms': retryMs,
  'grpc.max_reconnect_backoff_ms': 4 * retryMs,
  'grpc.use_local_subchannel_pool': 1,
  // TLS may not name a server by its address.
  'grpc.ssl_target_name_override': 'localhost',
};

function rawClient({ address, ca, key, cert }: ConnectOptions): grpc.Client {
  const pem = (text: string | undefined): Buffer | null => (text === undefined ? null : Buffer.from(text));
  return new grpc.Client(address, grpc.credentials.createSsl(Buffer.from(ca), pem(key), pem(cert)), quick);
}

/** A watch without any client of ours: the gRPC library, bytes, and the last version seen. */
export function createRawWatcher(target: ConnectOptions, options: RawOptions): Watcher {
  const { name, from, labelSelector, bookmarks, mayOpen } = options;
  const sight = new Sight();
  sight.begin(from);
  const client = rawClient(target);
  let resuming = false;

  async function watch(signal: AbortSignal): Promise<void> {
    const request = encodeMessage('berth.meta.v1.WatchRequest', {
      namespace,
      options: { resourceVersion: String(sight.to), allowWatchBookmarks: bookmarks, ...(labelSelector ? { labelSelector } : {}) },
    });
    const call = client.makeServerStreamRequest('/berth.core.v1.ConfigMaps/Watch', asIs, asIs, request);
    const cancel = (): void => call.cancel();
    signal.addEventListener('abort', cancel);
    try {
      for await (const bytes of call) {
        const { events = [] } = decodeMessage<{ events?: WatchEvent<ConfigMap>[] }>(
          'berth.core.v1.ConfigMapWatchResponse',
          bytes as Buffer,
        );
        if (resuming) sight.resumes++;
        resuming = false;
        sight.take(events);
      }
    } finally {
      resuming = true;
      signal.removeEventListener('abort', cancel);
    }
  }

  /** As the contract asks: what is expired is listed again. */
  async function list(): Promise<void> {
    const request = encodeMessage('berth.meta.v1.ListRequest', { namespace, options: { limit: 1 } });
    const answer = await new Promise<Buffer>((resolve, reject) => {
      client.makeUnaryRequest('/berth.core.v1.ConfigMaps/List', asIs, asIs, request, (error, bytes) =>
        error ? reject(error) : resolve(bytes!),
      );
    });
    const { metadata } = decodeMessage<{ metadata?: { resourceVersion?: string } }>('berth.core.v1.ConfigMapList', answer);
    const newest = Number(metadata?.resourceVersion);
    sight.expired.push({ from: sight.to, newest });
    sight.begin(newest);
    resuming = false;
  }

  async function survive(error: unknown, signal: AbortSignal): Promise<void> {
    const { code } = error as { code?: number };
    if (code === grpc.status.OUT_OF_RANGE) await list().catch(() => pause(retryMs, signal));
    else if (code === grpc.status.UNAVAILABLE || code === grpc.status.RESOURCE_EXHAUSTED) await pause(retryMs, signal);
    else throw error;
  }

  async function run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await mayOpen?.();
      try {
        await watch(signal);
      } catch (error) {
        if (!signal.aborted) await survive(error, signal);
      }
    }
    client.close();
  }

  return { name, sight, run };
}

import { notFound } from '../../api/errors/index.ts';
import type { Open } from '../../api/generated/types.ts';
import { linkAbort, onAbort } from '../../client/abort.ts';
import { createBackoff } from '../../client/backoff.ts';
import type { TunnelClient, TunnelStream } from '../../client/client.ts';
import { type Clock, pause } from '../../client/clock.ts';
import type { Logger } from '../../client/logger.ts';
import type { PodRecord } from '../pod/pod-record.ts';
import type { ContainerAccess } from '../runtime/runtime.ts';
import { serveExec } from './serve-exec.ts';
import { serveLogs } from './serve-logs.ts';
import { toApiError } from './stream-errors.ts';

export interface TunnelOptions {
  readonly client: TunnelClient;
  readonly access: ContainerAccess;
  get(podUid: string): PodRecord | undefined;
  readonly nodeName: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Streams at once; more are refused, so that readers of logs cannot eat the agent. */
const maxStreams = 200;

/** Keeps the control stream open and serves what the server asks for, until aborted. Never throws. */
export async function runTunnel(options: TunnelOptions, signal: AbortSignal): Promise<void> {
  const backoff = createBackoff({ initialMs: 200, maxMs: 5_000 });
  const streams = new Set<string>();
  while (!signal.aborted) {
    try {
      const control = options.client.control(options.nodeName, signal);
      for await (const open of control.requests()) {
        backoff.reset();
        if (streams.size >= maxStreams) {
          const refusal = new Error(`node "${options.nodeName}" serves ${maxStreams} streams already: try again later`);
          control.refuse(open.streamId ?? '', toApiError(refusal)).catch(() => {});
        } else void serve(options, open, streams, signal);
      }
    } catch (err) {
      if (!signal.aborted) options.logger.debug({ err }, 'the control stream ended, will open it again');
    }
    await pause(backoff.next(), signal, options.clock);
  }
}

async function serve(options: TunnelOptions, open: Open, streams: Set<string>, signal: AbortSignal): Promise<void> {
  const streamId = open.streamId ?? '';
  streams.add(streamId);
  const abort = linkAbort(signal);
  const stream = options.client.serve(streamId, abort.signal);
  const unlink = onAbort(stream.closed, abort.abort);
  try {
    await serveOpened(options, open, stream, abort.signal);
    stream.end();
  } catch (error) {
    await stream.fail(toApiError(error)).catch(() => {});
  } finally {
    unlink();
    abort.unlink();
    streams.delete(streamId);
  }
}

async function serveOpened(options: TunnelOptions, open: Open, stream: TunnelStream, signal: AbortSignal): Promise<void> {
  const record = options.get(open.podUid ?? '');
  const request = open.logs ?? open.exec;
  if (record === undefined) throw notFound({ kind: 'Pod', namespace: request?.namespace ?? '', name: request?.name ?? '' });
  const nowMs = options.clock.now();
  if (open.logs !== undefined)
    await serveLogs({ access: options.access, record, options: open.logs.options ?? {}, nowMs }, stream, signal);
  else await serveExec({ access: options.access, record, options: open.exec?.options ?? {} }, stream, signal);
}

import { badRequest, exhausted, unavailable } from '../../api/errors/index.ts';
import type { GetUsageHistoryRequest, LogLevel, Open } from '../../api/generated/types.ts';
import { changeLogLevel, isLogLevel, type LogLevelControl } from '../../api/meta/log-level.ts';
import type { MetricsRegistry } from '../../api/metrics/index.ts';
import { linkAbort, onAbort } from '../../client/abort.ts';
import { createBackoff } from '../../client/backoff.ts';
import type { TunnelClient, TunnelStream } from '../../client/client.ts';
import { type Clock, pause } from '../../client/clock.ts';
import type { Logger } from '../../client/logger.ts';
import type { PodDialer } from '../machine/pod-dialer.ts';
import type { UsageHistory } from '../machine/usage-history.ts';
import type { NetCheckSource } from '../net-check/net-check.ts';
import type { PodRecord } from '../pod/pod-record.ts';
import type { ContainerAccess } from '../runtime/runtime.ts';
import { serveReadFiles, serveWriteFiles } from './serve-files.ts';
import { serveLogs } from './serve-logs.ts';
import { serveMetrics } from './serve-metrics.ts';
import { nodeLogFolder, serveNodeLogs } from './serve-node-logs.ts';
import { servePortForward } from './serve-port-forward.ts';
import { serveAttach, serveExec } from './serve-terminal.ts';
import { computeUsageHistory } from './serve-usage.ts';
import { toApiError } from './stream-errors.ts';

export interface TunnelOptions {
  readonly client: TunnelClient;
  readonly access: ContainerAccess;
  readonly dialer: PodDialer;
  readonly history: UsageHistory;
  readonly netCheck: NetCheckSource;
  readonly metrics: MetricsRegistry;
  /** Whose files nodes/proxy shows; /var/log unless given. */
  readonly logFolder?: string | undefined;
  get(podUid: string): PodRecord | undefined;
  /** The uid under which this machine knows a pod of the API. */
  uidHere?(apiUid: string): string;
  readonly nodeName: string;
  readonly logLevel?: LogLevelControl | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Streams at once; more are refused, so that readers of logs cannot eat the agent. */
const maxStreams = 200;
/** How long the reason of a failure may take to be sent. */
const failMs = 5_000;

/** Keeps the control stream open and serves the server's requests, until aborted. Never throws. */
export async function runTunnel(options: TunnelOptions, signal: AbortSignal): Promise<void> {
  const backoff = createBackoff({ initialMs: 200, maxMs: 5_000 });
  const streams = new Set<string>();
  while (!signal.aborted) {
    try {
      const control = options.client.control(options.nodeName, signal);
      for await (const open of control.requests()) {
        backoff.reset();
        if (streams.size >= maxStreams) {
          const refusal = exhausted(
            `node "${options.nodeName}" serves ${maxStreams} streams already: close some or try again later`,
          );
          control.refuse(open.streamId ?? '', refusal).catch(() => {});
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
  const { requestId } = open;
  const stream = options.client.serve(streamId, abort.signal, requestId);
  const unlink = onAbort(stream.closed, abort.abort);
  try {
    await serveOpened(options, open, stream, abort.signal);
    // An aborted stream is incomplete.
    if (!abort.signal.aborted) stream.end();
  } catch (error) {
    options.logger.debug({ requestId, streamId, err: error }, 'a stream failed');
    const told = stream.fail(toApiError(error)).then(
      () => true,
      () => true,
    );
    // A reader that stands still does not even take the reason: it must not keep its place.
    const late = pause(failMs, abort.signal, options.clock).then(() => false);
    if (!(await Promise.race([told, late]))) abort.abort();
  } finally {
    unlink();
    abort.unlink();
    streams.delete(streamId);
  }
}

async function serveOpened(options: TunnelOptions, open: Open, stream: TunnelStream, signal: AbortSignal): Promise<void> {
  const { access, clock } = options;
  const podUid = options.uidHere?.(open.podUid ?? '') ?? open.podUid ?? '';
  if (open.logLevel) return await serveLogLevel(options, open, open.logLevel, stream);
  if (open.usageHistory) return await serveUsageHistory(options, podUid, open.usageHistory, stream);
  if (open.metricsPage) return await serveMetrics(options.metrics, open.metricsPage.path ?? '', stream);
  if (open.nodeLog) return await serveNodeLogs(options.logFolder ?? nodeLogFolder, open.nodeLog, stream);
  if (open.netCheck) return await stream.write({ netCheck: await options.netCheck(signal) });
  const record = options.get(podUid);
  if (record === undefined) throw unknownPod(open);
  const request = { access, record, signal };
  if (open.logs) await serveLogs(request, open.logs, stream, clock.now());
  else if (open.exec) await serveExec(request, open.exec.options ?? {}, stream);
  else if (open.attach) await serveAttach(request, open.attach, stream);
  else if (open.portForward) await servePortForward(request, open.portForward.options ?? {}, stream, options.dialer);
  else if (open.readFiles) await serveReadFiles(request, open.readFiles, stream, clock);
  else if (open.writeFiles) await serveWriteFiles(request, open.writeFiles, stream, clock);
  else throw badRequest('this agent does not know what the server asks for: update it');
}

async function serveUsageHistory(
  { history, nodeName }: TunnelOptions,
  podUid: string,
  wanted: GetUsageHistoryRequest,
  stream: TunnelStream,
): Promise<void> {
  await stream.write({ usageHistory: computeUsageHistory({ history, nodeName, podUid, wanted }) });
}

async function serveLogLevel(
  { logLevel, logger }: TunnelOptions,
  { requestId }: Open,
  { level = '' }: LogLevel,
  stream: TunnelStream,
): Promise<void> {
  if (!logLevel) throw badRequest('this agent was started with a log whose level cannot be changed');
  const before = logLevel.get();
  if (isLogLevel(level) && level !== before)
    changeLogLevel(logLevel, level, () => logger.warn({ requestId, before, level }, 'the log level was changed'));
  await stream.write({ logLevel: { level: logLevel.get() } });
}

/** The server knows the pod, but this agent does not: its informer lags, or the pod was just removed. */
function unknownPod({ logs, ...open }: Open): Error {
  const start = logs ?? open.exec ?? open.attach ?? open.portForward ?? open.readFiles ?? open.writeFiles;
  const name = start?.name ?? '';
  if (logs && !logs.containerID)
    return badRequest(`container "${logs.options?.container ?? ''}" in pod "${name}" is waiting to start: ContainerCreating`);
  return unavailable(`pod "${name}" has not been started by its node yet, or has just gone: try again`);
}

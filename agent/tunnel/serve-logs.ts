import type { PodLogOptions } from '../../api/generated/types.ts';
import { toDate } from '../../api/meta/time.ts';
import type { TunnelStream } from '../../client/client.ts';
import type { PodRecord } from '../pod/pod-record.ts';
import type { ContainerAccess } from '../runtime/runtime.ts';
import { chooseForLogs } from './choose-container.ts';

export interface LogsRequest {
  readonly access: ContainerAccess;
  readonly record: PodRecord;
  readonly options: PodLogOptions;
  readonly nowMs: number;
}

/** Sends a container's log, no faster than the reader takes it. Throws ApiError or RuntimeError. */
export async function serveLogs(
  { access, record, options, nowMs }: LogsRequest,
  stream: TunnelStream,
  signal: AbortSignal,
): Promise<void> {
  const container = chooseForLogs(record, options.container, options.previous === true);
  const since = options.sinceSeconds === undefined ? undefined : new Date(nowMs - options.sinceSeconds * 1000);
  const wanted = {
    follow: options.follow === true,
    tailLines: options.tailLines,
    sinceTime: options.sinceTime === undefined ? since : toDate(options.sinceTime),
    timestamps: options.timestamps === true,
    limitBytes: options.limitBytes,
  };
  for await (const data of access.logs(container.id, wanted, signal)) {
    await stream.write({ logs: { data: Buffer.from(data.buffer, data.byteOffset, data.byteLength) } });
  }
}

import type { PodLogsRequest } from '../../api/generated/types.ts';
import { timestamp, toDate } from '../../api/meta/time.ts';
import type { TunnelStream } from '../../client/client.ts';
import { chooseForLogs } from './choose-container.ts';
import { asBuffer } from './serve-terminal.ts';
import type { StreamRequest } from './stream-request.ts';

/**
 * Sends a container's log, no faster than the reader takes it; first which run of it this is.
 * Throws ApiError or RuntimeError.
 */
export async function serveLogs(
  { access, record, signal }: StreamRequest,
  { options = {}, containerID }: PodLogsRequest,
  stream: TunnelStream,
  nowMs: number,
): Promise<void> {
  const container = chooseForLogs(record, {
    wanted: options.container,
    previous: options.previous === true,
    containerID: containerID ?? '',
  });
  const since = options.sinceSeconds === undefined ? undefined : new Date(nowMs - options.sinceSeconds * 1000);
  const wanted = {
    follow: options.follow === true,
    tailLines: options.tailLines,
    sinceTime: options.sinceTime === undefined ? since : toDate(options.sinceTime),
    timestamps: options.timestamps === true,
    limitBytes: options.limitBytes,
  };
  await stream.write({ logs: { containerID: container.id, openedAt: timestamp(new Date(nowMs)) } });
  for await (const data of access.logs(container.id, wanted, signal)) await stream.write({ logs: { data: asBuffer(data) } });
}

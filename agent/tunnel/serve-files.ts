import { badRequest, unavailable } from '../../api/errors/index.ts';
import type { FileStat, PodReadFilesRequest, PodWriteFilesStart } from '../../api/generated/types.ts';
import { linkAbort } from '../../client/abort.ts';
import type { TunnelStream } from '../../client/client.ts';
import type { Clock } from '../../client/clock.ts';
import { isLeaving } from '../pod/pod-lifecycle.ts';
import type { PodRecord } from '../pod/pod-record.ts';
import type { FileInfo } from '../runtime/runtime.ts';
import { chooseForFiles } from './choose-container.ts';
import { asBuffer } from './serve-terminal.ts';
import type { StreamRequest } from './stream-request.ts';

/**
 * How long nothing may move in a copy. The engine locks the container meanwhile: a reader that stalls would keep it
 * from being looked at and stopped.
 */
const stallMs = 30_000;
/** How soon a copy makes way for a pod that is to go. */
const checkMs = 500;

/** Sends what a path is and then its archive, no faster than the reader takes it. Throws ApiError or RuntimeError. */
export async function serveReadFiles(
  { access, record, signal }: StreamRequest,
  { options = {}, statOnly = false }: PodReadFilesRequest,
  stream: TunnelStream,
  clock: Clock,
): Promise<void> {
  const container = chooseForFiles(record, options.container);
  const path = options.path ?? '';
  if (statOnly) {
    await stream.write({ readFiles: { stat: toStat(await access.stat(container.id, path, signal)) } });
    return;
  }
  await whileMoving({ record, clock, signal }, async (moved, stop) => {
    const { info, archive } = await access.readFiles(container.id, path, stop);
    await stream.write({ readFiles: { stat: toStat(info) } });
    for await (const data of archive()) {
      moved();
      await stream.write({ readFiles: { data: asBuffer(data) } });
      moved();
    }
  });
}

/** Unpacks what the client sends. Throws ApiError or RuntimeError. */
export async function serveWriteFiles(
  { access, record, signal }: StreamRequest,
  { options = {} }: PodWriteFilesStart,
  stream: TunnelStream,
  clock: Clock,
): Promise<void> {
  const container = chooseForFiles(record, options.container);
  await whileMoving({ record, clock, signal }, (moved, stop) =>
    access.writeFiles(container.id, options.path ?? '', received(stream, moved), stop),
  );
  await stream.write({ writeFiles: { written: {} } });
}

async function* received(stream: TunnelStream, moved: () => void): AsyncGenerator<Uint8Array> {
  for await (const { data, dataEnd } of stream.input('writeFiles')) {
    moved();
    if (data && data.length > 0) yield data;
    if (dataEnd) return;
  }
  throw badRequest('write files: the archive ended before its end');
}

interface CopyLimits {
  readonly record: PodRecord;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Runs a copy; ends it, with the reason, when nothing moves for `stallMs` and when the pod is to go. */
async function whileMoving(
  { record, clock, signal }: CopyLimits,
  copy: (moved: () => void, stop: AbortSignal) => Promise<void>,
): Promise<void> {
  const abort = linkAbort(signal);
  let movedAt = clock.now();
  let end: (error: Error) => void = () => {};
  const ended = new Promise<never>((_, reject) => {
    end = reject;
  });
  let cancelCheck = () => {};
  const check = (): void => {
    if (isLeaving(record.life))
      end(unavailable(`the copy was ended: pod "${record.pod?.metadata?.name ?? ''}" is being deleted`));
    else if (clock.now() - movedAt >= stallMs) end(unavailable(`the copy was ended: nothing moved for ${stallMs / 1000} s`));
    else cancelCheck = clock.after(checkMs, check);
  };
  cancelCheck = clock.after(checkMs, check);
  const moved = (): void => {
    movedAt = clock.now();
  };
  const copying = copy(moved, abort.signal);
  copying.catch(() => {});
  try {
    await Promise.race([copying, ended]);
  } finally {
    cancelCheck();
    abort.abort();
    abort.unlink();
  }
}

function toStat({ name, size, mode, type, owner }: FileInfo): FileStat {
  return { name, size, mode, type, runsAsUser: owner.uid, runsAsGroup: owner.gid };
}

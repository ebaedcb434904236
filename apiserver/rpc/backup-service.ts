import type { ServerWritableStream, UntypedServiceImplementation } from '@grpc/grpc-js';
import { encodeMessage } from '../../api/codec/message.ts';
import { ApiError, exhausted, failedPrecondition, unavailable } from '../../api/errors/index.ts';
import type { BackupResponse } from '../../api/generated/types.ts';
import { decodeStrictly } from '../registry/decode.ts';
import { translateStorageError } from '../registry/storage-errors.ts';
import { BackupEncoder } from '../storage/backup/backup-format.ts';
import type { BackupSource } from '../storage/backup/backup-source.ts';
import { StorageError } from '../storage/storage-error.ts';
import type { CallContext } from '../verbs/call-context.ts';
import type { CallPipeline } from './call-pipeline.ts';
import { resetUnread } from './caller.ts';
import { serviceDefinition } from './definitions.ts';
import { send } from './tunnel/duplex.ts';

export const BACKUP_SERVICE = 'berth.server.v1.Backups';

/** Small enough that other calls do not wait for the reading of a page. */
const PAGE_BYTES = 256 * 1024;
/** Each reads the whole store; more at once would only be slower. */
const MAX_BACKUPS = 2;
/** A client that takes nothing for so long is cut off: it would keep others from theirs. */
const STALL_MS = 60_000;

type BackupCall = ServerWritableStream<Buffer, Buffer>;

/** Backups of the store, for administrators. `source` is undefined when what the server keeps ends with it. */
export function backupService(source: BackupSource | undefined, pipeline: CallPipeline, now: () => Date) {
  let running = 0;
  const implementation: UntypedServiceImplementation = {
    Backup: pipeline.stream((request, context) => {
      decodeStrictly('berth.server.v1.BackupRequest', request, 'request');
      context.authorize({ verb: 'create', kind: 'Backup', namespace: '', name: '' });
      if (!source)
        throw failedPrecondition(
          'NotSupported',
          'this server keeps its objects in memory only: there is nothing that could be restored',
        );
      return {
        run: async (call) => {
          if (running >= MAX_BACKUPS)
            throw exhausted(`${running} backups are being made already: try again when they are done`, 10_000);
          running += 1;
          try {
            await writeBackup(source, call, context, now());
          } catch (error) {
            throw explain(error);
          } finally {
            running -= 1;
          }
        },
      };
    }),
  };
  return { definition: serviceDefinition(BACKUP_SERVICE), implementation };
}

async function writeBackup(source: BackupSource, call: BackupCall, { signal }: CallContext, now: Date): Promise<void> {
  const { revision, bytes, pages } = source.begin();
  const encoder = new BackupEncoder();
  let objects = 0;
  const header = encoder.header({ revision, createdAt: now.toISOString() });
  await write(call, { data: header, totalBytes: bytes, resourceVersion: String(revision) }, signal);
  for (const records of pages(PAGE_BYTES)) {
    objects += records.length;
    await write(call, { data: encoder.records(records) }, signal);
  }
  await write(call, { data: encoder.end(), objects }, signal);
}

/** Resolves when there is room for more. */
async function write(call: BackupCall, response: Partial<BackupResponse>, signal: AbortSignal): Promise<void> {
  const stalled = new AbortController();
  const end = (): void => stalled.abort();
  const timer = setTimeout(end, STALL_MS);
  signal.addEventListener('abort', end);
  try {
    if (signal.aborted) end();
    await send(call, encodeMessage('berth.server.v1.BackupResponse', response), stalled.signal);
  } catch (error) {
    if (!stalled.signal.aborted) throw error;
    if (signal.aborted) throw unavailable('the API server is stopping, or the client has gone: make the backup again');
    resetUnread(call);
    throw exhausted('the backup was cut off because it was not read: make it again', 1_000);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
  }
}

function explain(error: unknown): unknown {
  if (error instanceof StorageError && error.code === 'compacted')
    return new ApiError('ABORTED', 'Expired', 'the backup took longer than the history of its moment is kept: make it again', {
      cause: error,
    });
  return translateStorageError(error, { kind: 'Backup', name: '' });
}

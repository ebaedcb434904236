import { createHash } from 'node:crypto';
import { internal } from '../../api/errors/index.ts';
import type { BackupResponse } from '../../api/generated/types.ts';
import type { Connection, Method } from '../connection/connection.ts';
import type { CallOptions } from './resource-client.ts';

const method: Method = {
  path: '/berth.server.v1.Backups/Backup',
  request: 'berth.server.v1.BackupRequest',
  response: 'berth.server.v1.BackupResponse',
};
const digestBytes = 32;

/** Copies of all that the API server keeps. For administrators. */
export interface BackupClient {
  /**
   * The bytes of a backup, to be written one behind the other; the first piece says about how many there will be, the
   * last how many objects. Reads no faster than the caller. It is whole only when the loop ends without an error:
   * throws INTERNAL when the checksum at its end is not that of what came.
   */
  backup(call?: CallOptions): AsyncIterable<BackupResponse>;
}

export function createBackupClient(connection: Connection): BackupClient {
  return { backup: (call) => checked(connection.stream<BackupResponse>(method, {}, call)) };
}

async function* checked(responses: AsyncIterable<BackupResponse>): AsyncGenerator<BackupResponse> {
  const hash = createHash('sha256');
  /** May be the checksum, which is not part of what it is made of. */
  let tail = Buffer.alloc(0);
  for await (const response of responses) {
    const bytes = Buffer.concat([tail, response.data ?? Buffer.alloc(0)]);
    const end = Math.max(0, bytes.length - digestBytes);
    hash.update(bytes.subarray(0, end));
    tail = bytes.subarray(end);
    yield response;
  }
  if (!hash.digest().equals(tail)) throw internal('the backup did not arrive whole: make it again');
}

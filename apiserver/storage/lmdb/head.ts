/**
 * Where the newest write of a key stands in the log. A deleted key keeps its head until the deletion is compacted away.
 */
export interface Head {
  readonly revision: number;
  /** Bytes of the log record. */
  readonly size: number;
  readonly deleted: boolean;
}

const headSize = 11;

export function encodeHead(head: Head): Buffer {
  const buffer = Buffer.allocUnsafe(headSize);
  buffer.writeUIntBE(head.revision, 0, 6);
  buffer.writeUInt32BE(head.size, 6);
  buffer[10] = head.deleted ? 1 : 0;
  return buffer;
}

export function decodeHead(buffer: Buffer): Head {
  return { revision: buffer.readUIntBE(0, 6), size: buffer.readUInt32BE(6), deleted: buffer[10] === 1 };
}

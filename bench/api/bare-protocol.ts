/** The methods of the bare server. */
export const barePath = {
  create: '/bench.Bare/Create',
  get: '/bench.Bare/Get',
  watch: '/bench.Bare/Watch',
  play: '/bench.Bare/Play',
  page: '/bench.Bare/Page',
} as const;

const LENGTH_BYTES = 4;

/** Messages one after the other, each behind its length. */
export function joinFrames(messages: readonly Buffer[]): Buffer {
  return Buffer.concat(
    messages.flatMap((message) => {
      const head = Buffer.alloc(LENGTH_BYTES);
      head.writeUInt32BE(message.length);
      return [head, message];
    }),
  );
}

export function cutFrames(bytes: Buffer): Buffer[] {
  const messages: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = at + LENGTH_BYTES + bytes.readUInt32BE(at);
    messages.push(bytes.subarray(at + LENGTH_BYTES, end));
    at = end;
  }
  return messages;
}

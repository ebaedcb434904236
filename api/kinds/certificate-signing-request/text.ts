/** PEM is ASCII. Bytes come as Buffers or plain arrays, whoever decoded them. */
export function textOf(bytes: Uint8Array | undefined): string {
  return bytes === undefined ? '' : Buffer.from(bytes).toString('latin1');
}

/** PEM is ASCII. Bytes come as Buffers or plain arrays, depending on the decoder. */
export function textOf(bytes: Uint8Array | undefined): string {
  return bytes === undefined ? '' : Buffer.from(bytes).toString('latin1');
}

/** An encoded message that is made while it is sent, so that a large one never stands in memory as a whole. */
export interface Pieces {
  readonly length: number;
  /** Together `length` bytes. */
  make(): Iterable<Uint8Array>;
}

/** The message as one, for a transport that takes no other. */
export function joinPieces(pieces: Pieces): Buffer {
  return Buffer.concat([...pieces.make()], pieces.length);
}
